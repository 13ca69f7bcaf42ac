"""Cache of contradiction probabilities, keyed by pair of statements.

The entailment model judges how likely it is that two statements contradict each other. The cache also queues the
unread pairs, which the model has yet to judge. These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from hunchd.domain.memory import Memory
from hunchd.embedding.model_digests import ENTAILMENT_DIGEST
from hunchd.text.stemming import stem_statement
from hunchd.text.words import STATEMENT_STOP_WORDS

MAX_QUOTED_WORDS: Final = 4  # maximum words of each statement that a reason quotes
_WORD = re.compile(r"[\w./@-]+")


class EntailmentCache:
    """Cached probabilities for pairs of statements, and a queue of unread pairs.

    Unread pairs are those that the model has not judged yet. `earlier_lines` are lines that `dump_lines` returned in
    earlier runs.
    """

    def __init__(self, earlier_lines: Iterable[str] = ()) -> None:
        self._earlier = dict(entry for line in earlier_lines if (entry := _parse_line(line)) is not None)
        self._used: dict[str, float] = {}  # results that this run has used
        self._unread: dict[str, tuple[Memory, Memory]] = {}

    def get(self, a: Memory, b: Memory, first: str, second: str) -> float | None:
        """Return the probability that two memories contradict each other.

        `first` is the statement of `a`, and `second` that of `b`. If the model has not judged the pair yet, the
        pair is queued as unread and None is returned.
        """
        name = make_pair_key(first, second)
        probability = self._earlier.get(name)
        if probability is None:
            self._unread.setdefault(name, (a, b))
        else:
            self._used[name] = probability
        return probability

    def list_unread(self, limit: int) -> list[tuple[str, Memory, Memory]]:
        """Return at most `limit` unread pairs, those with the newest memories first.

        Each pair comes with its key in the cache.
        """
        newest = sorted(self._unread.items(), key=lambda one: one[1][1].updated, reverse=True)
        return [(name, a, b) for name, (a, b) in newest[:limit]]

    def record(self, name: str, probability: float | None) -> tuple[Memory, Memory] | None:
        """Store the probability for an unread pair; return the pair.

        `name` is the cache key of the pair. A `probability` of None, which means that the model could not judge the
        pair, is not stored. Returns None if the pair was not queued as unread.
        """
        pair = self._unread.pop(name, None)
        if pair is not None and probability is not None:
            self._used[name] = probability
        return pair

    def dump_lines(self) -> Iterator[str]:
        """Yield the probabilities used in this run, as lines of text.

        The next run reads them as `earlier_lines`.
        """
        return (f"{name} {probability:.3f}" for name, probability in self._used.items())


def make_pair_key(first: str, second: str) -> str:
    """Return the cache key for two statements.

    The key does not depend on the order of the statements. It includes the digest of the model, so that a different
    model judges all pairs again.
    """
    text = "\0".join((ENTAILMENT_DIGEST, *sorted((first, second))))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def describe_difference(a: str, b: str) -> str:
    """Describe a contradiction by quoting words that only one statement contains.

    The model itself gives no reason.
    """
    mine, others = _collect_content_words(a), _collect_content_words(b)
    only_a, only_b = (
        " ".join([one[word] for word in one if word not in other][:MAX_QUOTED_WORDS])
        for one, other in ((mine, others), (others, mine))
    )
    if not (only_a and only_b):
        return "according to a model, they cannot both hold"
    return f"they disagree: '{only_a}' against '{only_b}'"


def _collect_content_words(text: str) -> dict[str, str]:
    """Map the stem of each content word in `text` to the word.

    The words are in order of appearance.
    """
    candidates = (word.strip(".-/") for word in _WORD.findall(text))
    return {
        stem_statement(word.lower()): word for word in candidates if word and word.lower() not in STATEMENT_STOP_WORDS
    }


def _parse_line(line: str) -> tuple[str, float] | None:
    name, _, probability = line.partition(" ")
    try:
        return name, float(probability)
    except ValueError:  # damaged line: the model judges the pair again
        return None
