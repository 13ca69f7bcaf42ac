"""Cache of contradiction probabilities, keyed by pair of statements.

The cache also queues the pairs that a model still has to read. These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from hunchd.consolidation.lexicon import canonical_stem
from hunchd.domain.memory import Memory
from hunchd.embedding.model_digests import ENTAILMENT_DIGEST
from hunchd.text.words import STATEMENT_STOP_WORDS

MAX_QUOTED_WORDS: Final = 4  # words of each side that a reason quotes
_WORD = re.compile(r"[\w./@-]+")


class EntailmentCache:
    """Cached probabilities of pairs, and the pairs that are still unread.

    `earlier_lines` are lines from earlier runs, as returned by `dump_lines`.
    """

    def __init__(self, earlier_lines: Iterable[str] = ()) -> None:
        self._earlier = dict(entry for line in earlier_lines if (entry := _parse_line(line)) is not None)
        self._used: dict[str, float] = {}  # earlier results that are still asked for
        self._unread: dict[str, tuple[Memory, Memory]] = {}

    def get(self, a: Memory, b: Memory, first: str, second: str) -> float | None:
        """Return the probability for two memories with the statements `first` and `second`.

        Returns None if no model has read the pair yet, and adds the pair to the unread ones.
        """
        name = make_pair_key(first, second)
        probability = self._earlier.get(name)
        if probability is None:
            self._unread.setdefault(name, (a, b))
        else:
            self._used[name] = probability
        return probability

    def list_unread(self, limit: int) -> list[tuple[str, Memory, Memory]]:
        """Return at most `limit` unread pairs with their names, those with the newest memories first."""
        newest = sorted(self._unread.items(), key=lambda one: one[1][1].updated, reverse=True)
        return [(name, a, b) for name, (a, b) in newest[:limit]]

    def record(self, name: str, probability: float | None) -> tuple[Memory, Memory] | None:
        """Store the probability of an unread pair, and return the pair.

        A `probability` of None, which means that the model could not read the pair, is not stored. Returns None if
        the pair was not among the unread ones.
        """
        pair = self._unread.pop(name, None)
        if pair is not None and probability is not None:
            self._used[name] = probability
        return pair

    def dump_lines(self) -> Iterator[str]:
        """Yield the results to keep for the next run, as lines of text."""
        return (f"{name} {probability:.3f}" for name, probability in self._used.items())


def make_pair_key(first: str, second: str) -> str:
    """Return the cache key of two statements, which does not depend on their order.

    The key includes the digest of the model, so that a different model reads all pairs again.
    """
    text = "\0".join((ENTAILMENT_DIGEST, *sorted((first, second))))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def describe_difference(a: str, b: str) -> str:
    """Describe a contradiction found by the model by the words that only one statement has."""
    mine, others = _collect_content_words(a), _collect_content_words(b)
    only_a, only_b = (
        " ".join([one[word] for word in one if word not in other][:MAX_QUOTED_WORDS])
        for one, other in ((mine, others), (others, mine))
    )
    if not (only_a and only_b):
        return "according to a model, they cannot both hold"
    return f"one says otherwise: '{only_a}' against '{only_b}'"


def _collect_content_words(text: str) -> dict[str, str]:
    """Map the stems of the content words to the words, in order."""
    candidates = (word.strip(".-/") for word in _WORD.findall(text))
    return {
        canonical_stem(word.lower()): word for word in candidates if word and word.lower() not in STATEMENT_STOP_WORDS
    }


def _parse_line(line: str) -> tuple[str, float] | None:
    name, _, probability = line.partition(" ")
    try:
        return name, float(probability)
    except ValueError:  # damaged line: the pair is read again
        return None
