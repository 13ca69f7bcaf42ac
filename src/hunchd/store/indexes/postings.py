"""Inverted index with BM25 ranking, made of arrays that may be memory-mapped.

A query adds up the gain of each text, term by term: 1 ms for ten terms among 100,000 texts. Older texts are in one
immutable block, which may be mapped from a file; newer ones are added to a tail. From time to time both are merged
into a new block without the texts that were deleted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hunchd.store.indexes.nearness import Mask, Slots
from hunchd.text.bm25 import LARGEST_GAIN, inverse_document_frequency, length_norm

# Cap of the length normalisation, in mean lengths: such a text is really many texts, the history of a module or a log,
# and a line of it that answers a query does not count less for the others.
LONGEST: Final = 8.0
# A posting is the number of a text and its count of the term, which is capped.
TIMES_BITS: Final = 6
MOST_TIMES: Final = (1 << TIMES_BITS) - 1
_SAMPLED: Final = 8  # one of this many texts is sampled to estimate the k-th score
_AT_ONCE: Final = 1 << 18  # postings that are merged in one step, in about 10 MB

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.uint32]
Scores = npt.NDArray[np.float64]
Norms = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Block:
    """Immutable part of the index; texts are numbered from 0 up.

    `postings[begins[i]:begins[i + 1]]` are the postings of `terms[i]`, in order.
    """

    terms: Keys  # ascending
    begins: Numbers  # one element more than `terms`
    postings: Numbers
    lengths: Numbers  # of each text, in terms
    keys: Keys  # by which the owner identifies the text

    def counts(self, begin: int = 0, end: int | None = None) -> npt.NDArray[np.int64]:
        """Return the number of texts with each term of a range."""
        begins = self.begins[begin : len(self.begins) if end is None else end + 1].astype(np.int64)
        return begins[1:] - begins[:-1]


@dataclass(frozen=True, slots=True)
class Piece:
    """Postings of some terms of a new block.

    Pieces come in the order of their terms.
    """

    terms: Keys
    counts: Numbers  # number of postings of each term
    postings: Numbers


def nothing() -> Block:
    """Return an empty block."""
    empty = np.zeros(0, np.uint32)
    return Block(np.zeros(0, np.uint64), np.zeros(1, np.uint32), empty, empty, np.zeros(0, np.uint64))


class _Norms:
    """Cache of the BM25 length norms, which seldom change."""

    def __init__(self) -> None:
        self._norms: Norms = np.zeros(0, np.float32)
        self._mean = 0.0

    def of(self, lengths: Numbers, mean: float) -> Norms:
        if len(lengths) != len(self._norms) or mean != self._mean:
            usual = max(mean, 1.0)
            base, slope = length_norm(usual)
            held_back = np.minimum(lengths, LONGEST * usual).astype(np.float32)
            self._norms = held_back * np.float32(slope) + np.float32(base)
            self._mean = mean
        return self._norms


class Postings:
    """Inverted index of texts.

    The owner identifies a text by its slot, a number from 0 up, and across restarts by its key.
    """

    def __init__(self, block: Block | None = None, keys: Keys | None = None, living: Mask | None = None) -> None:
        """Take over the texts of `block` that still exist.

        Their keys belong to `living` slots.
        """
        self.block = block or nothing()
        keys = np.zeros(0, np.uint64) if keys is None else keys
        living = np.zeros(0, np.bool_) if living is None else living
        self._slots = _slots_of(self.block.keys, keys, living)
        self._length = int(self.block.lengths.sum(dtype=np.int64))
        self._norms, self._tail_norms = _Norms(), _Norms()
        self._passed: tuple[Mask, Mask] | None = None
        self._tail: dict[int, array[int]] = {}  # term → postings
        self._tail_keys, self._tail_lengths, self._tail_slots = array("Q"), array("I"), array("q")
        covered = np.zeros(len(living), np.bool_)
        covered[self._slots[self._slots >= 0]] = True
        self._waiting: list[int] = np.flatnonzero(living & ~covered)[::-1].tolist()

    def __len__(self) -> int:
        """Return the number of indexed texts, including deleted ones."""
        return len(self._slots) + len(self._tail_slots)

    @property
    def added(self) -> int:
        """Number of texts added since the block was built."""
        return len(self._tail_slots)

    def is_stale(self, living: Mask) -> bool:
        """Return True if texts were added or deleted since."""
        return bool(self._tail_slots) or not bool(_living(self._slots, living).all())

    @property
    def is_whole(self) -> bool:
        """True if every text is indexed."""
        return not self._waiting

    def waiting(self, many: int) -> list[int]:
        """Return the first `many` slots whose text is not indexed yet."""
        return self._waiting[-many:][::-1]

    def skip(self, many: int) -> None:
        """Remove the first `many` waiting slots.

        They were added or deleted.
        """
        del self._waiting[-many:]

    def add(self, slot: int, key: int, counts: Mapping[int, int]) -> None:
        """Index the text in `slot`, given as terms with counts."""
        number = len(self._tail_slots)
        tail = self._tail
        for term, times in counts.items():
            posting = number << TIMES_BITS | min(times, MOST_TIMES)
            if (postings := tail.get(term)) is None:
                tail[term] = array("I", (posting,))
            else:
                postings.append(posting)
        length = sum(counts.values())
        self._tail_keys.append(key)
        self._tail_lengths.append(length)
        self._tail_slots.append(slot)
        self._length += length

    def search(self, asked: Mapping[int, int], among: Mask, k: int) -> tuple[Slots, Scores]:
        """Return the `k` best slots of `among` with BM25 scores.

        `asked` maps each term to its weight. Ties are in the order of slots.
        """
        terms = np.fromiter(asked, np.uint64, len(asked))
        places = np.searchsorted(self.block.terms, terms)
        known = places < len(self.block.terms)
        known[known] = self.block.terms[places[known]] == terms[known]
        old: list[tuple[float, Numbers]] = []
        new: list[tuple[float, Numbers]] = []
        for term, place, there in zip(asked, places.tolist(), known.tolist(), strict=True):
            here = self.block.postings[self.block.begins[place] : self.block.begins[place + 1]] if there else _NONE
            late = np.array(self._tail.get(term, ()), np.uint32)
            weight = asked[term] * inverse_document_frequency(len(self), len(here) + len(late)) * LARGEST_GAIN
            old += [(weight, here)] if len(here) else []
            new += [(weight, late)] if len(late) else []
        mean = self._length / max(len(self), 1)
        slots, scores = _best(old, self._norms.of(self.block.lengths, mean), self._slots, self._living(among), k)
        if new:
            added = np.array(self._tail_slots, np.intp)
            norms = self._tail_norms.of(np.array(self._tail_lengths, np.uint32), mean)
            more, their = _best(new, norms, added, _living(added, among), k)
            slots, scores = np.concatenate([slots, more]), np.concatenate([scores, their])
        order = np.lexsort((slots, -scores))[:k]
        return slots[order], scores[order]

    def merged(self, living: Mask) -> tuple[Iterator[Piece], Numbers, Keys]:
        """Return a new block of the living texts, in pieces.

        Their lengths and keys are returned too. Nothing may be added before the pieces are consumed; searching is
        allowed.
        """
        tail_slots = np.array(self._tail_slots, np.intp)
        keep, keep_added = (_living(slots, living) for slots in (self._slots, tail_slots))
        first = int(np.count_nonzero(keep))
        numbers = (np.cumsum(keep) - 1).astype(np.uint32)
        added = (first + np.cumsum(keep_added) - 1).astype(np.uint32)
        lengths = np.concatenate([self.block.lengths[keep], np.array(self._tail_lengths, np.uint32)[keep_added]])
        keys = np.concatenate([self.block.keys[keep], np.array(self._tail_keys, np.uint64)[keep_added]])
        return self._pieces(keep, numbers, keep_added, added), lengths, keys

    def _living(self, among: Mask) -> Mask:
        """Return a mask of the block's texts in `among`.

        The last mask is cached.
        """
        if self._passed is None or self._passed[0] is not among:
            self._passed = (among, _living(self._slots, among))
        return self._passed[1]

    def _pieces(self, keep: Mask, numbers: Numbers, keep_added: Mask, added: Numbers) -> Iterator[Piece]:
        block, tail = self.block, np.sort(np.fromiter(self._tail, np.uint64, len(self._tail)))
        terms = np.union1d(block.terms, tail)
        places, tail_places = np.searchsorted(terms, block.terms), np.searchsorted(terms, tail)
        counts = np.zeros(len(terms), np.int64)
        counts[places] += block.counts()
        added_counts = np.array([len(self._tail[term]) for term in tail.tolist()], np.int64)
        counts[tail_places] += added_counts
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(terms):
            done = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, "right")))
            first, last = (int(at) for at in np.searchsorted(places, (begin, end)))
            first_added, last_added = (int(at) for at in np.searchsorted(tail_places, (begin, end)))
            here = block.postings[block.begins[first] : block.begins[last]]
            whose = np.repeat(places[first:last] - begin, block.counts(first, last))
            lists = [self._tail[term] for term in tail[first_added:last_added].tolist()]
            there = np.frombuffer(b"".join(lists), np.uint32)
            their = np.repeat(tail_places[first_added:last_added] - begin, added_counts[first_added:last_added])
            old, new = _renumbered(here, whose, keep, numbers), _renumbered(there, their, keep_added, added)
            yield _piece(terms[begin:end], (old, new))
            begin = end


_NONE: Final = np.zeros(0, np.uint32)


def _best(
    found: Sequence[tuple[float, Numbers]], norms: Norms, slots: Slots, living: Mask, k: int
) -> tuple[Slots, Scores]:
    """Return the best living texts of one part.

    `found` holds the weight and the postings of each term.
    """
    if not found:
        return np.zeros(0, np.intp), np.zeros(0, np.float64)
    postings = np.concatenate([one for _, one in found])
    texts = (postings >> TIMES_BITS).astype(np.intp)
    gains = (postings & MOST_TIMES).astype(np.float32)
    gains /= gains + norms[texts]
    gains *= np.repeat(np.array([weight for weight, _ in found], np.float32), [len(one) for _, one in found])
    scores = np.bincount(texts, gains, len(slots)).astype(np.float64, copy=False)
    there = np.flatnonzero((scores > 0) & living)
    if len(there) > k * _SAMPLED:  # the k-th score of a sample is a lower bound: the rest needs no sorting
        there = there[scores[there] >= _reached_by(k, scores[there[::_SAMPLED]])]
    if len(there) > k:
        there = there[scores[there] >= _reached_by(k, scores[there])]
    return slots[there], scores[there]


def _reached_by(k: int, scores: Scores) -> float:
    """Return the k-th best score."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _living(slots: Slots, living: Mask) -> Mask:
    """Return a mask of the slots that exist and live.

    Slots newer than the mask do not.
    """
    if not len(living):
        return np.zeros(len(slots), np.bool_)
    found: Mask = living.take(slots, mode="clip")
    return found & (slots >= 0) & (slots < len(living))


def _renumbered(
    postings: Numbers, whose: npt.NDArray[np.intp], keep: Mask, numbers: Numbers
) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """Return the postings of the texts in `keep`, renumbered, and their terms."""
    texts = postings >> TIMES_BITS
    kept = keep[texts]
    texts = texts[kept]
    return (numbers[texts] << TIMES_BITS) | (postings[kept] & MOST_TIMES), whose[kept]


def _piece(terms: Keys, parts: Sequence[tuple[Numbers, npt.NDArray[np.intp]]]) -> Piece:
    postings, whose = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(whose, kind="stable")
    counts = np.bincount(whose, minlength=len(terms))
    there = counts > 0
    return Piece(terms[there], counts[there].astype(np.uint32), postings[order].astype(np.uint32))


def _slots_of(wanted: Keys, keys: Keys, living: Mask) -> Slots:
    """Return the living slot of each key, or -1.

    A repeated key is found once.
    """
    found = np.full(len(wanted), -1, np.intp)
    slots = np.flatnonzero(living)
    if not len(slots) or not len(wanted):
        return found
    slots = slots[np.argsort(keys[slots], kind="stable")]
    ordered = keys[slots]
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    there = ordered[at] == wanted
    _, first = np.unique(wanted, return_index=True)
    once = np.zeros(len(wanted), np.bool_)
    once[first] = True
    found[there & once] = slots[at[there & once]]
    return found
