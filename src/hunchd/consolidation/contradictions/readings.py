"""What a model has read of pairs of statements, each pair once; and what it still has to read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from hunchd.consolidation.contradictions.words import STOP, canonical, stem
from hunchd.domain.memory import Memory
from hunchd.embedding.digests import ENTAILMENT

DIFFERING: Final = 4  # words of either side that a reason quotes
_WORD = re.compile(r"[\w./@-]+")


class Readings:
    """`known` are lines as `lines` gives them: of earlier nights."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = dict(told for line in known if (told := _told(line)) is not None)
        self._met: dict[str, float] = {}  # of those known, what is still a question
        self._unread: dict[str, tuple[Memory, Memory]] = {}

    def of(self, a: Memory, b: Memory, first: str, second: str) -> float | None:
        """What was read of two memories that say `first` and `second`; None: nothing yet, it is noted."""
        name = pair_name(first, second)
        said = self._known.get(name)
        if said is None:
            self._unread.setdefault(name, (a, b))
        else:
            self._met[name] = said
        return said

    def unread(self, most: int) -> list[tuple[str, Memory, Memory]]:
        """Pairs with their names, those of the newest memories first."""
        newest = sorted(self._unread.items(), key=lambda one: one[1][1].updated, reverse=True)
        return [(name, a, b) for name, (a, b) in newest[:most]]

    def take(self, name: str, probability: float | None) -> tuple[Memory, Memory] | None:
        """Remember what was read of a pair, unless it could not be read, and give the pair. None: nobody has asked for
        it."""
        pair = self._unread.pop(name, None)
        if pair is not None and probability is not None:
            self._met[name] = probability
        return pair

    def lines(self) -> Iterator[str]:
        """What need not be read again."""
        return (f"{name} {probability:.3f}" for name, probability in self._met.items())


def pair_name(first: str, second: str) -> str:
    """The name of two statements in either order, for the model that reads them: another one reads them anew."""
    told = "\0".join((ENTAILMENT, *sorted((first, second))))
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def differing(a: str, b: str) -> str:
    """Why a model says that both cannot hold, by the words that only one side has."""
    mine, others = _words(a), _words(b)
    only_a, only_b = (
        " ".join([one[word] for word in one if word not in other][:DIFFERING])
        for one, other in ((mine, others), (others, mine))
    )
    if not (only_a and only_b):
        return "they cannot both hold, as a model reads them"
    return f"one says otherwise: '{only_a}' against '{only_b}'"


def _words(text: str) -> dict[str, str]:
    """The words that tell something, in their order, by stem."""
    found = (word.strip(".-/") for word in _WORD.findall(text))
    return {canonical(stem(word.lower())): word for word in found if word and word.lower() not in STOP}


def _told(line: str) -> tuple[str, float] | None:
    name, _, probability = line.partition(" ")
    try:
        return name, float(probability)
    except ValueError:  # the line is damaged: the pair is read again
        return None
