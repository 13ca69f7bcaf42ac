"""Search in the code index of one project.

The index consists of a base segment, and a segment with the files changed since the base segment was built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hunchd.codesearch import segment as segments
from hunchd.codesearch.chunks import ChunkClass
from hunchd.codesearch.segment import Segment, join_arrays
from hunchd.text.bm25 import LARGEST_GAIN, compute_idf, compute_length_norms

BASE: Final = "code-base.index"
CHANGED_FILE: Final = "code-changed.index"

SATURATION: Final = (
    2.0  # parameter of BM25 for chunks, in which words count according to their field; files use the usual value
)
# The score of a file comes from its best chunks, each counting less than the one before: a single chunk often only
# mentions the subject.
LEAST_MAIN: Final = 0.5  # weight of a term from which it counts as part of the question
DECAY: Final = np.array([1.0, 0.6, 0.4, 0.3, 0.2], "<f4")
MOST_CHUNKS: Final = 2_000  # chunks with a score that are considered
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Open segment with arrays precomputed for scoring; `alive` marks files that are neither deleted nor replaced."""

    segment: Segment
    first: int  # number of the part's first file in the whole index
    alive: Array  # by file
    norms: Array  # by chunk
    file_norms: Array


@dataclass(frozen=True, slots=True)
class Matches:
    """Scores of all files in the index for a query."""

    chunks: Array  # scores of the best chunks, added up with DECAY
    whole: Array  # BM25 of the file
    coverage: Array  # share of the query's terms, by weight, that the file contains
    scores: tuple[Array, ...]  # by part: of each chunk
    words: Array  # BM25 of each chunk of all parts, without factors
    shares: Array  # of the question that each chunk contains


class CodeIndex:
    """Index of a project's code, reopened after updates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_stamps: tuple[tuple[int, int], ...] = ()
        self._open(None, None, {})

    def __len__(self) -> int:
        return int(self.alive.sum())

    def is_stale(self) -> bool:
        """Return True if a newer index exists than is open."""
        return self._read_stamps() != self._file_stamps

    def _read_stamps(self) -> tuple[tuple[int, int], ...]:
        return tuple(read_stamp(self._folder / name) for name in (BASE, CHANGED_FILE))

    def refresh(self) -> bool:
        """Open the newest index; return True if it has changed."""
        now = self._read_stamps()
        if now == self._file_stamps:
            return False
        self._file_stamps = now
        base, changed_segment = segments.read(self._folder / BASE), segments.read(self._folder / CHANGED_FILE)
        if base is not None and changed_segment is not None and changed_segment[1].get("base") != base[1].get("serial"):
            changed_segment = None  # belongs to an earlier base
        self._open(
            base[0] if base else None,
            changed_segment[0] if base and changed_segment else None,
            changed_segment[1] if changed_segment else {},
        )
        return True

    def _open(self, base: Segment | None, changed_segment: Segment | None, header: Mapping[str, Any]) -> None:
        replaced_paths = {*(changed_segment.paths if changed_segment else ()), *header.get("removed", ())}
        parts: list[Part] = []
        for segment in filter(None, (base, changed_segment)):
            hidden_paths = replaced_paths if segment is base else ()
            alive = np.array([path not in hidden_paths for path in segment.paths], "?")
            parts.append(_build_part(segment, sum(len(part.segment.paths) for part in parts), alive))
        self.parts = tuple(parts)
        self.paths = tuple(path for part in parts for path in part.segment.paths)
        self.alive = join_arrays("?", (part.alive for part in parts))
        self.roles = join_arrays("<u1", (part.segment.roles for part in parts))
        self.chunk_files = join_arrays("<i4", (part.segment.file_of + part.first for part in parts))
        self.chunk_lines = join_arrays("<u4", (part.segment.lines for part in parts)).reshape(-1, 3)
        self.chunk_classes = join_arrays("<u1", (part.segment.classes for part in parts))
        self.chunk_names = join_arrays("<u4", (part.segment.names for part in parts))
        self.numbers = {path: at for at, path in enumerate(self.paths) if self.alive[at]}
        self.by_name: dict[str, list[tuple[str, int]]] = {}  # file name → path and number of each existing file
        for path, at in self.numbers.items():
            self.by_name.setdefault(path.rpartition("/")[2], []).append((path, at))

    def match(self, terms: Mapping[int, float], factors: Mapping[ChunkClass, float] = MappingProxyType({})) -> Matches:
        """Score every chunk and file by `terms`.

        `terms` maps each term to its weight. The scores of chunks of a class are multiplied by its factor. The time is
        linear in the number of postings (occurrences of the terms in chunks).
        """
        files, total, chunk_total = len(self.paths), 0.0, 1e-6
        whole, coverage = np.zeros(files, "<f4"), np.zeros(files, "<f4")
        scores = [np.zeros(len(part.segment.file_of), "<f4") for part in self.parts]
        rarities = [np.zeros(len(score), "<f4") for score in scores]
        chunks = sum(map(len, scores))
        for term, weight in terms.items():
            postings_by_part = [part.segment.get_postings(term) for part in self.parts]
            rarity = compute_idf(chunks, sum(len(holders) for holders, _ in postings_by_part))
            scores_by_part = [
                _group_by_file(part.segment, *one) for part, one in zip(self.parts, postings_by_part, strict=True)
            ]
            file_rarity = compute_idf(files, sum(len(holders) for holders, _ in scores_by_part))
            total += weight * file_rarity
            main_rarity = weight * rarity if weight >= LEAST_MAIN else 0.0
            chunk_total += main_rarity
            for part, (holders, weights), (owners, sums), score, cover in zip(
                self.parts, postings_by_part, scores_by_part, scores, rarities, strict=True
            ):
                tf = weights.astype("<f4")
                score[holders] += weight * rarity * tf * (SATURATION + 1) / (tf + part.norms[holders])
                cover[holders] += main_rarity
                gain = weight * file_rarity * sums * LARGEST_GAIN / (sums + part.file_norms[owners])
                whole[owners + part.first] += gain
                coverage[owners + part.first] += weight * file_rarity
        words, shares = join_arrays("<f4", scores), join_arrays("<f4", rarities) / np.float32(chunk_total)
        decayed_scores = np.zeros(files, "<f4")
        weighed_classes = np.array([factors.get(one, 1.0) for one in ChunkClass], "<f4")
        for part, score in zip(self.parts, scores, strict=True):
            score *= weighed_classes[part.segment.classes]
            span = slice(part.first, part.first + len(part.segment.paths))
            decayed_scores[span] = _score_files(part.segment, score)
        for array in (decayed_scores, whole, coverage):
            array[~self.alive] = 0.0
        return Matches(decayed_scores, whole, coverage / max(total, 1e-6), tuple(scores), words, shares)

    def find_definers(self, term: int) -> tuple[Array, Array]:
        """Return the existing files that define the name with this `term` (see `hash_name`), with weights."""
        files, worth = list[Array](), list[Array]()
        for part in self.parts:
            chunks, weights = part.segment.get_postings(term)
            owners = part.segment.file_of[chunks]
            alive = part.alive[owners]
            files.append(owners[alive] + part.first)
            worth.append(weights[alive].astype("<f4"))
        every, value = join_arrays("<i4", files), join_arrays("<f4", worth)
        order = np.argsort(every, kind="stable")
        every, value = every[order], value[order]
        if not len(every):
            return every, value
        starts = np.flatnonzero(np.concatenate(([True], every[1:] != every[:-1])))
        return every[starts], np.maximum.reduceat(value, starts)

    def find_mentions(self, term: int) -> Array:
        """Return the numbers of the chunks of existing files that contain `term`."""
        begins = np.cumsum([0, *(len(part.segment.file_of) for part in self.parts)])
        chunks = join_arrays(
            "<i8", (one.segment.get_postings(term)[0] + at for one, at in zip(self.parts, begins, strict=False))
        )
        return chunks[self.alive[self.chunk_files[chunks]]]

    def find_best_chunk(self, file: int, matches: Matches) -> tuple[Segment, int, float]:
        """Return the best chunk of a file with its score."""
        part, number = self.find_part(file)
        begin, end = np.searchsorted(part.segment.file_of, (number, number + 1))
        scores = matches.scores[self.parts.index(part)][begin:end]
        at = int(scores.argmax())
        return part.segment, int(begin + at), float(scores[at])

    def find_part(self, file: int) -> tuple[Part, int]:
        """Return the part that contains a file, and the file's number within it."""
        part = next(part for part in reversed(self.parts) if file >= part.first)
        return part, file - part.first

    def locate_chunk(self, number: int) -> tuple[Segment, int]:
        """Return the segment of a chunk, and the chunk's number within it."""
        for part in self.parts:
            if number < len(part.segment.file_of):
                return part.segment, number
            number -= len(part.segment.file_of)
        raise IndexError(number)

    def get_card_keys(self) -> Array:
        """Return the hash of the card of each chunk."""
        return join_arrays("<u8", (part.segment.keys for part in self.parts))

    def iterate_languages(self) -> Iterator[str]:
        """Yield the language of each file, in order."""
        return (language for part in self.parts for language in part.segment.languages)


def _build_part(segment: Segment, first: int, alive: Array) -> Part:
    lengths = np.bincount(segment.file_of, weights=segment.lengths, minlength=len(segment.paths)).astype("<f4")
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return Part(
        segment=segment,
        first=first,
        alive=alive,
        norms=compute_length_norms(segment.lengths, segment.mean_length, saturation=SATURATION).astype("<f4"),
        file_norms=compute_length_norms(lengths, max(mean, 1.0)).astype("<f4"),
    )


def _group_by_file(segment: Segment, chunks: Array, weights: Array) -> tuple[Array, Array]:
    """Return the files that contain a term, with its weights."""
    owners = segment.file_of[chunks]
    if not len(owners):
        return owners, weights.astype("<f4")
    starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
    return owners[starts], np.add.reduceat(weights.astype("<f4"), starts)


def _score_files(segment: Segment, scores: Array) -> Array:
    """Return the sum of the scores of each file's best chunks, weighted with DECAY."""
    files = len(segment.paths)
    matching_chunks = np.flatnonzero(scores > 0)
    if len(matching_chunks) > MOST_CHUNKS:
        matching_chunks = matching_chunks[np.argpartition(-scores[matching_chunks], MOST_CHUNKS)[:MOST_CHUNKS]]
    order = matching_chunks[np.lexsort((-scores[matching_chunks], segment.file_of[matching_chunks]))]
    owners = segment.file_of[order]
    decayed_scores: Array = np.zeros(files, "<f4")
    if len(order):
        starts = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        in_decay_range = rank < len(DECAY)
        np.add.at(decayed_scores, owners[in_decay_range], scores[order[in_decay_range]] * DECAY[rank[in_decay_range]])
    return decayed_scores


def read_stamp(path: Path) -> tuple[int, int]:
    """Return the modification time and the number of a file, or zeros."""
    try:
        file_stat = path.stat()
    except OSError:
        return 0, 0
    return file_stat.st_mtime_ns, file_stat.st_ino
