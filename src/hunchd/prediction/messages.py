"""Past units of work with their subjects, authors and files, searchable by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from hunchd.prediction.packed_arrays import (
    Array,
    Arrays,
    GrowingColumn,
    PackedRows,
    PackedStrings,
    Scores,
    create_empty_scores,
    expand_ranges,
    select_highest,
    sum_by_number,
)
from hunchd.prediction.postings import KeyPostings

MAX_UNITS_PER_WORD = 1_500  # postings read per word: older ones are of little use
COMMON_WORD_SHARE = 0.05  # share of units above which a word is not informative …
MIN_COMMON_UNITS = 25  # … if at least this many units contain it
MAX_UNITS_PER_FILE = 64  # units remembered per file
MAX_VOTERS = 40  # past units that vote
MAX_SOFT_VOTERS = 250  # past units that vote in the second score
# Of an id's digest: among 100,000 units, one in ten has the same low bits as another.
LOW_BITS = np.uint64((1 << 20) - 1)
HALF_LIFE = 3_000.0  # units: the vocabulary of a project outlives its structure


@dataclass(frozen=True, slots=True)
class SimilarUnits:
    """Past units that are similar to a text, most similar first.

    Each unit has a similarity from 0 to 1 and files; `which` contains, for each file, the index of its unit.
    """

    units: Array
    similarity: Array
    files: Array
    which: Array
    roots: Array  # by unit: square root of the number of its files

    @classmethod
    def create_empty(cls) -> SimilarUnits:
        """Create a result without units."""
        return cls(*(np.empty(0, kind) for kind in ("<i4", "<f4", "<i4", "<i8", "<f8")))

    def take_first(self, limit: int) -> SimilarUnits:
        """Return the first `limit` units, with their files."""
        end = int(self.which.searchsorted(limit))
        return SimilarUnits(
            self.units[:limit], self.similarity[:limit], self.files[:end], self.which[:end], self.roots[:limit]
        )


@dataclass(frozen=True, slots=True)
class WordUnits:
    """Units that contain words from a query, listed word by word.

    `sizes` contains the number of units for each word, and `rarity` the word's inverse document frequency (0 if it
    is too common). `unit_scores` lists each unit once, with the sum of the squared rarities of its words.
    """

    units: Array
    sizes: Array
    rarity: Array
    unit_scores: Scores


class Messages:
    """Units of work, with an index of their words.

    They are stored in the order in which they were learned.
    """

    def __init__(self) -> None:
        self.shas = PackedStrings()
        self.subjects = PackedStrings()
        self.at = GrowingColumn.create("<i8")
        self.author = GrowingColumn.create("<u4")
        self.words = GrowingColumn.create("<u2")  # number of distinct words in the unit's text
        self._digest = GrowingColumn.create("<u8")  # of the id, for finding a unit again
        self._digest_filter = np.zeros(
            int(LOW_BITS) + 1, "?"
        )  # by the low bits of a digest: True if a unit may have it (Bloom filter)
        self._files = GrowingColumn.create("<i4")
        self._units_by_file = PackedRows.create("<i4")  # by file: the units that touched it, the oldest first
        self._offsets = GrowingColumn(np.zeros(1, "<i8"))
        self._postings = KeyPostings.create()
        self._rewritten_ids: dict[int, str] = {}  # units whose id was rewritten

    def __len__(self) -> int:
        return len(self.at)

    def add_unit(self, sha: str, subject: str, *, at: int, author: int, keys: Sequence[int], files: Array) -> int:
        unit = len(self)
        self.shas.append(sha)
        self.subjects.append(subject)
        self.at.append(at)
        self.author.append(author)
        self.words.append(min(len(keys), 65_535))
        self._digest.append(digest := _hash_id(sha))
        self._digest_filter[digest & LOW_BITS] = True
        newest = np.array([unit], "<i4")
        for file in files.tolist():
            self._units_by_file[file] = np.concatenate((self._units_by_file[file][-MAX_UNITS_PER_FILE + 1 :], newest))
        self._files.extend(files)
        self._offsets.append(len(self._files))
        self._postings.add_document(unit, keys, [1] * len(keys))
        return unit

    def get_unit_id(self, unit: int) -> str:
        """Return the current commit id of a unit."""
        return self._rewritten_ids.get(unit) or self.shas[unit]

    def find_unit(self, sha: str) -> int | None:
        """Return the unit with this commit id, or None if it is unknown."""
        digest = _hash_id(sha)
        if not self._digest_filter[digest & LOW_BITS]:
            return None
        hits = np.flatnonzero(self._digest.view == digest)
        return int(hits[-1]) if len(hits) else None

    def rename_unit(self, unit: int, sha: str) -> None:
        """Assign a new commit id to a unit."""
        self._rewritten_ids[unit] = sha
        self._digest.view[unit] = digest = _hash_id(sha)
        self._digest_filter[digest & LOW_BITS] = True

    def get_files(self, unit: int) -> Array:
        """Return the files that a unit touched."""
        offsets = self._offsets.view
        files: Array = self._files.view[offsets[unit] : offsets[unit + 1]]
        return files

    def list_files_since(self, unit: int) -> Array:
        """Return the files that `unit` and all later units touched.

        A file is listed once for each unit that touched it.
        """
        return self._files.view[self._offsets.view[max(unit, 0)] :]

    def flatten_files(self, units: Array) -> tuple[Array, Array]:
        """Return the files of several units in one array.

        The second array contains the number of files in each unit.
        """
        offsets, units = self._offsets.view, units.astype(np.intp)  # for use as indexes
        starts = offsets.take(units)
        units += 1
        sizes = offsets.take(units) - starts
        return self._files.view.take(expand_ranges(starts, sizes)).astype(np.intp), sizes

    def find_units_by_words(self, keys: Sequence[int]) -> WordUnits:
        """Return the newest units that contain these words.

        The rarity of each word is returned with them. Words that too many units contain are skipped.
        """
        if not len(self) or not keys:
            return WordUnits(np.empty(0, "<i4"), np.zeros(len(keys), "<i8"), np.zeros(len(keys)), create_empty_scores())
        units, _, sizes = self._postings.get_postings_of_keys(np.array(keys, "<u4"), MAX_UNITS_PER_WORD)
        is_informative = sizes <= max(MIN_COMMON_UNITS, COMMON_WORD_SHARE * len(self))
        rarity = np.where(is_informative & (sizes > 0), np.log1p(len(self) / np.maximum(sizes, 1)), 0.0)
        if not is_informative.all():
            units, sizes = units[is_informative.repeat(sizes)], np.where(is_informative, sizes, 0)
        return WordUnits(units, sizes, rarity, sum_by_number(units, (rarity * rarity).repeat(sizes)))

    def count_units(self, keys: Array) -> Array:
        """Return for each key the number of units that contain it."""
        return self._postings.count_documents(keys)

    def find_similar_units(self, word_units: WordUnits, limit: int = MAX_VOTERS) -> SimilarUnits:
        """Return the `limit` units most similar to the query.

        The similarity approximates the cosine of the idf weights, and decreases with the age of the unit.
        """
        candidate_units, scores = word_units.unit_scores
        if not len(candidate_units):
            return SimilarUnits.create_empty()
        # The norm of a unit is not stored (document frequencies change): its number of words approximates it.
        norm = float((word_units.rarity * word_units.rarity).sum())
        typical = norm / max(len(word_units.rarity), 1)
        similarity = scores / np.sqrt(norm * typical * np.maximum(self.words.view.take(candidate_units), 2))
        similarity *= np.exp2(-(len(self) - candidate_units) / HALF_LIFE)
        if len(candidate_units) > limit:
            best = select_highest(similarity, limit)
            candidate_units, similarity = candidate_units[best], similarity[best]
        order = np.argsort(-similarity, kind="stable")
        units = candidate_units[order]
        files, sizes = self.flatten_files(units)
        which, roots = np.arange(len(units)).repeat(sizes), np.sqrt(np.maximum(sizes, 1))
        return SimilarUnits(units, np.minimum(similarity[order], 1.0), files, which, roots)

    def list_units_of_author(self, author: int, limit: int) -> Array:
        """Return the newest units of an author, newest first.

        Only the last 4,000 units are searched.
        """
        start = max(len(self) - 4_000, 0)
        hits = np.flatnonzero(self.author.view[start:] == author)[::-1][:limit]
        return hits + start

    def list_units_of_file(self, file: int, limit: int) -> Array:
        """Return the newest units that touched a file, newest first.

        At most the last MAX_UNITS_PER_FILE are returned.
        """
        row = (
            self._units_by_file[file]
            if file < len(self._units_by_file)
            else self._units_by_file[len(self._units_by_file)]
        )
        return row[: -limit - 1 : -1]

    def to_arrays(self) -> Arrays:
        shas = PackedStrings()
        for unit in range(len(self)):
            shas.append(self.get_unit_id(unit))
        sha_bytes, sha_offsets = shas.to_arrays()
        subject_bytes, subject_offsets = self.subjects.to_arrays()
        postings = {f"postings.{name}": array for name, array in self._postings.build_packed().to_arrays().items()}
        return {
            "shas": sha_bytes,
            "sha_offsets": sha_offsets,
            "subjects": subject_bytes,
            "subject_offsets": subject_offsets,
            "at": self.at.view,
            "author": self.author.view,
            "words": self.words.view,
            "digest": self._digest.view,
            "files": self._files.view,
            "offsets": self._offsets.view,
            **postings,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Messages:
        messages = cls()
        messages.shas = PackedStrings(arrays["shas"].tobytes(), arrays["sha_offsets"])
        messages.subjects = PackedStrings(arrays["subjects"].tobytes(), arrays["subject_offsets"])
        messages.at = GrowingColumn(arrays["at"])
        messages.author = GrowingColumn(arrays["author"])
        messages.words = GrowingColumn(arrays["words"])
        messages._digest = GrowingColumn(arrays["digest"])
        messages._digest_filter[arrays["digest"] & LOW_BITS] = True
        messages._files = GrowingColumn(arrays["files"])
        messages._offsets = GrowingColumn(arrays["offsets"])
        messages._units_by_file = _group_units_by_file(arrays["files"], arrays["offsets"])
        messages._postings = KeyPostings.from_arrays(
            {name.removeprefix("postings."): array for name, array in arrays.items() if name.startswith("postings.")}
        )
        return messages


def _group_units_by_file(files: Array, offsets: Array) -> PackedRows:
    """Return, for each file, the units that touched it, oldest first."""
    units = np.arange(len(offsets) - 1, dtype="<i4").repeat(np.diff(offsets))
    counts = np.bincount(files, minlength=1)
    starts = np.zeros(len(counts) + 1, "<i8")
    counts.cumsum(out=starts[1:])
    return PackedRows(units[files.argsort(kind="stable")], starts)


def _hash_id(sha: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(sha.encode("utf-8", "replace"), digest_size=8).digest(), "little"))
