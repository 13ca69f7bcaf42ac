"""Selection of the project's topics to suggest for the current file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hunchd.domain.context import Focus, Prediction
from hunchd.features.context.fact_candidates import extract_words

MOST = 10  # topics
COMMON, LEAST_COMMON = 0.3, 3  # share and number of topics from which a word tells none from another
FEWEST = 3  # below it the largest topics of the project are added


def nearest_topics(topics: Sequence[str], focus: Focus, prediction: Prediction) -> tuple[str, ...]:
    """Return the topics that the likely files and the question mention.

    Topics of the likeliest files come first. If too few topics are mentioned, or nothing is predicted, the largest
    topics of the project follow.
    """
    weights: dict[str, float] = {}
    for path in (focus.file, *focus.open_files):
        _weigh(weights, path or "", 1.0)
    _weigh(weights, focus.query, 1.0)
    for file in prediction.files:
        _weigh(weights, file.path, file.confidence)
    times = Counter(word for topic in topics for word in extract_words(topic))
    for word in [word for word in weights if times[word] > max(LEAST_COMMON, COMMON * len(topics))]:
        del weights[word]  # the project's own name, in most of its topics
    scored_topics = [(sum(weights.get(word, 0.0) for word in extract_words(topic)), topic) for topic in topics]
    near = [topic for score, topic in sorted(scored_topics, key=lambda pair: -pair[0]) if score > 0][:MOST]
    rest = [topic for topic in topics if topic not in near] if len(near) < FEWEST else []
    return tuple([*near, *rest][:MOST])


def _weigh(weights: dict[str, float], text: str, weight: float) -> None:
    for word in extract_words(text):
        weights[word] = max(weights.get(word, 0.0), weight)
