"""Cache of entailment probabilities by pair of statements.

It also queues the pairs that a model still has to read. Pure functions.
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
    """Entailment results by pair, and the pairs that are still unread.

    `earlier_lines` are lines as `dump_lines` returns them, from earlier runs.
    """

    def __init__(self, earlier_lines: Iterable[str] = ()) -> None:
        self._earlier = dict(entry for line in earlier_lines if (entry := _parse_line(line)) is not None)
        self._used: dict[str, float] = {}  # earlier results that are still asked for
        self._unread: dict[str, tuple[Memory, Memory]] = {}

    def get(self, a: Memory, b: Memory, first: str, second: str) -> float | None:
        """Return the probability for two memories that state `first` and `second`.

        None: no model has read the pair yet; it is added to the unread ones.
        """
        name = make_pair_key(first, second)
        probability = self._earlier.get(name)
        if probability is None:
            self._unread.setdefault(name, (a, b))
        else:
            self._used[name] = probability
        return probability

    def list_unread(self, limit: int) -> list[tuple[str, Memory, Memory]]:
        """Return at most `limit` unread pairs with their names, newest memories first."""
        newest = sorted(self._unread.items(), key=lambda one: one[1][1].updated, reverse=True)
        return [(name, a, b) for name, (a, b) in newest[:limit]]

    def record(self, name: str, probability: float | None) -> tuple[Memory, Memory] | None:
        """Store the probability of an unread pair and return the pair.

        A `probability` of None (the model could not read it) is not stored. Returns None for a pair that nobody asked
        about.
        """
        pair = self._unread.pop(name, None)
        if pair is not None and probability is not None:
            self._used[name] = probability
        return pair

    def dump_lines(self) -> Iterator[str]:
        """Yield the results to keep, as lines for the next run."""
        return (f"{name} {probability:.3f}" for name, probability in self._used.items())


def make_pair_key(first: str, second: str) -> str:
    """Return the cache key of two statements, independent of their order.

    The key includes the digest of the model: another model reads all pairs anew.
    """
    text = "\0".join((ENTAILMENT_DIGEST, *sorted((first, second))))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def describe_difference(a: str, b: str) -> str:
    """Describe a model's contradiction by the words only one side has."""
    mine, others = _collect_content_words(a), _collect_content_words(b)
    only_a, only_b = (
        " ".join([one[word] for word in one if word not in other][:MAX_QUOTED_WORDS])
        for one, other in ((mine, others), (others, mine))
    )
    if not (only_a and only_b):
        return "they cannot both hold, as a model reads them"
    return f"one says otherwise: '{only_a}' against '{only_b}'"


def _collect_content_words(text: str) -> dict[str, str]:
    """Return the content words by stem, in their order."""
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
