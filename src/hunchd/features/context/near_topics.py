"""Selection of the topics that a bundle suggests if no file is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hunchd.domain.context import Focus, Prediction
from hunchd.features.context.fact_candidates import extract_words

MOST = 10  # topics
COMMON, LEAST_COMMON = 0.3, 3  # share and number of topics above which a word is too common to match
LEAST_NEAR = 0.1  # minimum sum of the weights of the words in a topic


def nearest_topics(
    topics: Sequence[str], focus: Focus, prediction: Prediction, *, project: str = ""
) -> tuple[str, ...]:
    """Return the topics that share words with the likely files or the question.

    Topics of the likeliest files come first; a topic with the same name as the `project` is left out. If nothing
    matches and there is no current file, the project's largest topics are returned. If there is a current file but
    no question, no topics are returned: they repeated words from the paths shown above them, and only one line in
    twelve was useful.
    """
    if focus.file and not focus.query:
        return ()
    weights: dict[str, float] = {}
    for path in (focus.file, *focus.open_files):
        _weigh(weights, path or "", 1.0)
    _weigh(weights, focus.query, 1.0)
    for file in prediction.files:
        _weigh(weights, file.path, file.confidence)
    times = Counter(word for topic in topics for word in extract_words(topic))
    for word in [word for word in weights if times[word] > max(LEAST_COMMON, COMMON * len(topics))]:
        del weights[word]  # such as the project's own name, which is in most of its topics
    scored_topics = [(sum(weights.get(word, 0.0) for word in extract_words(topic)), topic) for topic in topics]
    near = [
        topic
        for score, topic in sorted(scored_topics, key=lambda pair: -pair[0])
        if score >= LEAST_NEAR and not extract_words(topic) <= extract_words(project)
    ]
    return tuple(near[:MOST] if near or focus.file else topics[:MOST])


def _weigh(weights: dict[str, float], text: str, weight: float) -> None:
    for word in extract_words(text):
        weights[word] = max(weights.get(word, 0.0), weight)
