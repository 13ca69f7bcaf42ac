"""Inverted index with BM25 ranking, made of arrays that may be memory-mapped.

For each term of a query, the index adds to the scores of the texts that contain it, which takes 1 ms for ten terms and
100,000 texts. Older texts are in one immutable block, which may be mapped from a file; newer texts are added to a tail
in memory. From time to time, block and tail are merged into a new block without the deleted texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hunchd.store.indexes.vector_scan import Mask, Slots
from hunchd.text.bm25 import LARGEST_GAIN, compute_idf, compute_length_norm

# Cap on the length in the normalisation, in mean lengths. A longer text is really many texts, such as the history of a
# module or a log, and a line in it that answers a query should not count less because of the other lines.
MAX_RELATIVE_LENGTH: Final = 8.0
# A posting combines the number of a text with the number of times that the term occurs in it, which is capped.
TIMES_BITS: Final = 6
MAX_TIMES: Final = (1 << TIMES_BITS) - 1
_SAMPLING_STEP: Final = 8  # one of this many texts is sampled to estimate the k-th score
_MERGE_BATCH: Final = 1 << 18  # postings that are merged in one step, in about 10 MB

KeyArray = npt.NDArray[np.uint64]
NumberArray = npt.NDArray[np.uint32]
ScoreArray = npt.NDArray[np.float64]
NormArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PostingsBlock:
    """Immutable part of the index; its texts are numbered from 0.

    `postings[begins[i]:begins[i + 1]]` are the postings of `terms[i]`, in ascending order.
    """

    terms: KeyArray  # ascending
    begins: NumberArray  # one element more than `terms`
    postings: NumberArray
    lengths: NumberArray  # length of each text, in terms
    keys: KeyArray  # keys by which the owner identifies the texts

    def count_texts(self, begin: int = 0, end: int | None = None) -> npt.NDArray[np.int64]:
        """Return, for each of `terms[begin:end]`, the number of texts that contain it."""
        begins = self.begins[begin : len(self.begins) if end is None else end + 1].astype(np.int64)
        return begins[1:] - begins[:-1]


@dataclass(frozen=True, slots=True)
class PostingsChunk:
    """Postings of some of the terms of a new block. Chunks are produced in the order of their terms."""

    terms: KeyArray
    counts: NumberArray  # number of postings of each term
    postings: NumberArray


def create_empty_block() -> PostingsBlock:
    """Return a block without texts."""
    empty = np.zeros(0, np.uint32)
    return PostingsBlock(np.zeros(0, np.uint64), np.zeros(1, np.uint32), empty, empty, np.zeros(0, np.uint64))


class _NormCache:
    """Cache of the BM25 length norms, which rarely change."""

    def __init__(self) -> None:
        self._norms: NormArray = np.zeros(0, np.float32)
        self._mean = 0.0

    def get_norms(self, lengths: NumberArray, mean: float) -> NormArray:
        if len(lengths) != len(self._norms) or mean != self._mean:
            clipped_mean = max(mean, 1.0)
            base, slope = compute_length_norm(clipped_mean)
            clipped_lengths = np.minimum(lengths, MAX_RELATIVE_LENGTH * clipped_mean).astype(np.float32)
            self._norms = clipped_lengths * np.float32(slope) + np.float32(base)
            self._mean = mean
        return self._norms


class WordPostings:
    """Inverted index of texts, made of a block and a tail.

    The caller identifies a text by its slot, a zero-based number, and across restarts by its key.
    """

    def __init__(
        self, block: PostingsBlock | None = None, keys: KeyArray | None = None, living: Mask | None = None
    ) -> None:
        """Create an index from those texts of `block` that still exist.

        `keys` contains the key of each slot, and `living` is a mask of slots. A text exists if its key is that of a
        living slot.
        """
        self.block = block or create_empty_block()
        keys = np.zeros(0, np.uint64) if keys is None else keys
        living = np.zeros(0, np.bool_) if living is None else living
        self._slots = _find_living_slots(self.block.keys, keys, living)
        self._total_length = int(self.block.lengths.sum(dtype=np.int64))
        self._norms, self._tail_norms = _NormCache(), _NormCache()
        self._living_cache: tuple[Mask, Mask] | None = None
        self._tail: dict[int, array[int]] = {}  # term → postings
        self._tail_keys, self._tail_lengths, self._tail_slots = array("Q"), array("I"), array("q")
        is_covered = np.zeros(len(living), np.bool_)
        is_covered[self._slots[self._slots >= 0]] = True
        self._unindexed_slots: list[int] = np.flatnonzero(living & ~is_covered)[::-1].tolist()

    def __len__(self) -> int:
        """Return the number of indexed texts, including deleted ones."""
        return len(self._slots) + len(self._tail_slots)

    @property
    def added_count(self) -> int:
        """Number of texts added since the block was built."""
        return len(self._tail_slots)

    def needs_merge(self, living: Mask) -> bool:
        """Return True if texts were added or deleted since the block was built."""
        return bool(self._tail_slots) or not bool(_mask_slots(self._slots, living).all())

    @property
    def is_complete(self) -> bool:
        """True if every text is indexed."""
        return not self._unindexed_slots

    def list_unindexed(self, limit: int) -> list[int]:
        """Return the first `limit` slots whose text is not indexed yet."""
        return self._unindexed_slots[-limit:][::-1]

    def drop_unindexed(self, count: int) -> None:
        """Remove the first `count` slots from the list of unindexed slots.

        Their texts have been indexed or deleted.
        """
        del self._unindexed_slots[-count:]

    def add(self, slot: int, key: int, counts: Mapping[int, int]) -> None:
        """Index the text in `slot`, given as its count of each term."""
        number = len(self._tail_slots)
        tail = self._tail
        for term, times in counts.items():
            posting = number << TIMES_BITS | min(times, MAX_TIMES)
            if (postings := tail.get(term)) is None:
                tail[term] = array("I", (posting,))
            else:
                postings.append(posting)
        length = sum(counts.values())
        self._tail_keys.append(key)
        self._tail_lengths.append(length)
        self._tail_slots.append(slot)
        self._total_length += length

    def search(self, query_terms: Mapping[int, int], among: Mask, k: int) -> tuple[Slots, ScoreArray]:
        """Return the `k` best slots in `among`, with BM25 scores.

        `query_terms` maps each term to its weight. Slots with equal scores are returned in ascending order.
        """
        terms = np.fromiter(query_terms, np.uint64, len(query_terms))
        places = np.searchsorted(self.block.terms, terms)
        in_block = places < len(self.block.terms)
        in_block[in_block] = self.block.terms[places[in_block]] == terms[in_block]
        block_postings: list[tuple[float, NumberArray]] = []
        tail_postings: list[tuple[float, NumberArray]] = []
        for term, place, is_known in zip(query_terms, places.tolist(), in_block.tolist(), strict=True):
            block_part = (
                self.block.postings[self.block.begins[place] : self.block.begins[place + 1]] if is_known else _NONE
            )
            tail_part = np.array(self._tail.get(term, ()), np.uint32)
            weight = query_terms[term] * compute_idf(len(self), len(block_part) + len(tail_part)) * LARGEST_GAIN
            block_postings += [(weight, block_part)] if len(block_part) else []
            tail_postings += [(weight, tail_part)] if len(tail_part) else []
        mean = self._total_length / max(len(self), 1)
        slots, scores = _rank_part(
            block_postings, self._norms.get_norms(self.block.lengths, mean), self._slots, self._mask_living(among), k
        )
        if tail_postings:
            tail_slots = np.array(self._tail_slots, np.intp)
            norms = self._tail_norms.get_norms(np.array(self._tail_lengths, np.uint32), mean)
            tail_best, tail_scores = _rank_part(tail_postings, norms, tail_slots, _mask_slots(tail_slots, among), k)
            slots, scores = np.concatenate([slots, tail_best]), np.concatenate([scores, tail_scores])
        order = np.lexsort((slots, -scores))[:k]
        return slots[order], scores[order]

    def merge_blocks(self, living: Mask) -> tuple[Iterator[PostingsChunk], NumberArray, KeyArray]:
        """Return a new block with the texts that are not deleted, as chunks.

        The lengths and keys of these texts are returned as well. Nothing may be added to the index until the chunks
        have been consumed; searching is allowed.
        """
        tail_slots = np.array(self._tail_slots, np.intp)
        keep, keep_added = (_mask_slots(slots, living) for slots in (self._slots, tail_slots))
        first = int(np.count_nonzero(keep))
        numbers = (np.cumsum(keep) - 1).astype(np.uint32)
        tail_numbers = (first + np.cumsum(keep_added) - 1).astype(np.uint32)
        lengths = np.concatenate([self.block.lengths[keep], np.array(self._tail_lengths, np.uint32)[keep_added]])
        keys = np.concatenate([self.block.keys[keep], np.array(self._tail_keys, np.uint64)[keep_added]])
        return self._merge_chunks(keep, numbers, keep_added, tail_numbers), lengths, keys

    def _mask_living(self, among: Mask) -> Mask:
        """Return a mask of the block's texts whose slots are in `among`. The latest mask is cached."""
        if self._living_cache is None or self._living_cache[0] is not among:
            self._living_cache = (among, _mask_slots(self._slots, among))
        return self._living_cache[1]

    def _merge_chunks(
        self, keep: Mask, numbers: NumberArray, keep_added: Mask, tail_numbers: NumberArray
    ) -> Iterator[PostingsChunk]:
        block, tail = self.block, np.sort(np.fromiter(self._tail, np.uint64, len(self._tail)))
        terms = np.union1d(block.terms, tail)
        places, tail_places = np.searchsorted(terms, block.terms), np.searchsorted(terms, tail)
        counts = np.zeros(len(terms), np.int64)
        counts[places] += block.count_texts()
        added_counts = np.array([len(self._tail[term]) for term in tail.tolist()], np.int64)
        counts[tail_places] += added_counts
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(terms):
            begin_offset = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, begin_offset + _MERGE_BATCH, "right")))
            first, last = (int(at) for at in np.searchsorted(places, (begin, end)))
            first_added, last_added = (int(at) for at in np.searchsorted(tail_places, (begin, end)))
            block_part = block.postings[block.begins[first] : block.begins[last]]
            block_terms = np.repeat(places[first:last] - begin, block.count_texts(first, last))
            lists = [self._tail[term] for term in tail[first_added:last_added].tolist()]
            tail_part = np.frombuffer(b"".join(lists), np.uint32)
            tail_terms = np.repeat(tail_places[first_added:last_added] - begin, added_counts[first_added:last_added])
            old, new = (
                _renumber(block_part, block_terms, keep, numbers),
                _renumber(tail_part, tail_terms, keep_added, tail_numbers),
            )
            yield _build_chunk(terms[begin:end], (old, new))
            begin = end


_NONE: Final = np.zeros(0, np.uint32)


def _rank_part(
    weighted_postings: Sequence[tuple[float, NumberArray]], norms: NormArray, slots: Slots, living: Mask, k: int
) -> tuple[Slots, ScoreArray]:
    """Return the `k` best living texts in one part of the index, with their scores.

    The part is the block or the tail. `weighted_postings` contains the weight and the postings of each term. If
    several texts share the lowest of these scores, all of them are returned, so there may be more than `k`.
    """
    if not weighted_postings:
        return np.zeros(0, np.intp), np.zeros(0, np.float64)
    postings = np.concatenate([one for _, one in weighted_postings])
    texts = (postings >> TIMES_BITS).astype(np.intp)
    gains = (postings & MAX_TIMES).astype(np.float32)
    gains /= gains + norms[texts]
    gains *= np.repeat(
        np.array([weight for weight, _ in weighted_postings], np.float32), [len(one) for _, one in weighted_postings]
    )
    scores = np.bincount(texts, gains, len(slots)).astype(np.float64, copy=False)
    ranked_texts = np.flatnonzero((scores > 0) & living)
    if len(ranked_texts) > k * _SAMPLING_STEP:  # the k-th score of a sample is a lower bound: the rest needs no sorting
        ranked_texts = ranked_texts[scores[ranked_texts] >= _kth_best(k, scores[ranked_texts[::_SAMPLING_STEP]])]
    if len(ranked_texts) > k:
        ranked_texts = ranked_texts[scores[ranked_texts] >= _kth_best(k, scores[ranked_texts])]
    return slots[ranked_texts], scores[ranked_texts]


def _kth_best(k: int, scores: ScoreArray) -> float:
    """Return the k-th highest score."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _mask_slots(slots: Slots, living: Mask) -> Mask:
    """Return a mask of `slots` that is True where the slot is set in `living`.

    It is False for negative slots and for slots beyond the end of `living`.
    """
    if not len(living):
        return np.zeros(len(slots), np.bool_)
    mask: Mask = living.take(slots, mode="clip")
    return mask & (slots >= 0) & (slots < len(living))


def _renumber(
    postings: NumberArray, term_indexes: npt.NDArray[np.intp], keep: Mask, numbers: NumberArray
) -> tuple[NumberArray, npt.NDArray[np.intp]]:
    """Return the postings of those texts that `keep` selects, and their terms' indexes.

    In the postings that are returned, the texts have their new numbers.
    """
    texts = postings >> TIMES_BITS
    is_kept = keep[texts]
    texts = texts[is_kept]
    return (numbers[texts] << TIMES_BITS) | (postings[is_kept] & MAX_TIMES), term_indexes[is_kept]


def _build_chunk(terms: KeyArray, parts: Sequence[tuple[NumberArray, npt.NDArray[np.intp]]]) -> PostingsChunk:
    postings, term_indexes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(term_indexes, kind="stable")
    counts = np.bincount(term_indexes, minlength=len(terms))
    is_present = counts > 0
    return PostingsChunk(terms[is_present], counts[is_present].astype(np.uint32), postings[order].astype(np.uint32))


def _find_living_slots(wanted_keys: KeyArray, keys: KeyArray, living: Mask) -> Slots:
    """Return the living slot for each wanted key, or -1 if there is none.

    If a wanted key is repeated, only its first occurrence gets the slot.
    """
    key_slots = np.full(len(wanted_keys), -1, np.intp)
    slots = np.flatnonzero(living)
    if not len(slots) or not len(wanted_keys):
        return key_slots
    slots = slots[np.argsort(keys[slots], kind="stable")]
    sorted_keys = keys[slots]
    at = np.minimum(np.searchsorted(sorted_keys, wanted_keys), len(sorted_keys) - 1)
    is_match = sorted_keys[at] == wanted_keys
    _, first = np.unique(wanted_keys, return_index=True)
    is_first = np.zeros(len(wanted_keys), np.bool_)
    is_first[first] = True
    key_slots[is_match & is_first] = slots[at[is_match & is_first]]
    return key_slots
