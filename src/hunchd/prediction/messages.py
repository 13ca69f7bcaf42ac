"""Past units of work, searchable by words.

Each has a subject, an author and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from hunchd.prediction.packed import (
    Array,
    Arrays,
    Column,
    Rows,
    Scores,
    Strings,
    highest,
    nothing,
    spans,
    summed,
)
from hunchd.prediction.postings import Postings

NEWEST_PER_WORD = 1_500  # postings read for one word: older ones are of little use
TOO_COMMON = 0.05  # share of units above which a word is not informative …
TOO_COMMON_AT_LEAST = 25  # … if at least this many units contain it
MOST_TOUCHING = 64  # units remembered of one file
NEAREST = 40  # past units that vote
FURTHER = 250  # past units that vote softly
LOW_BITS = np.uint64((1 << 20) - 1)  # of an id's digest: one in ten of 100,000 units shares them with another
HALF_LIFE = 3_000.0  # units: the vocabulary of a project outlives its structure


@dataclass(frozen=True, slots=True)
class Nearest:
    """Past units similar to a text, best first.

    They come with their similarity (0..1) and files. `which` is the index of the unit of each file.
    """

    units: Array
    similarity: Array
    files: Array
    which: Array
    roots: Array  # by unit: square root of the number of its files

    @classmethod
    def nothing(cls) -> Nearest:
        """Create a result without units."""
        return cls(*(np.empty(0, kind) for kind in ("<i4", "<f4", "<i4", "<i8", "<f8")))

    def first(self, most: int) -> Nearest:
        """Return the first `most` units with their files."""
        end = int(self.which.searchsorted(most))
        return Nearest(self.units[:most], self.similarity[:most], self.files[:end], self.which[:end], self.roots[:most])


@dataclass(frozen=True, slots=True)
class Saying:
    """Units that contain the words of a query, word by word.

    `sizes` is the number of units of each word, `rarity` its inverse document frequency (0: too common). `shared`
    holds the same units once each with the sum of the squared rarities of their words.
    """

    units: Array
    sizes: Array
    rarity: Array
    shared: Scores


class Messages:
    """Units in learned order, and the postings of their words."""

    def __init__(self) -> None:
        self.shas = Strings()
        self.subjects = Strings()
        self.at = Column.of("<i8")
        self.author = Column.of("<u4")
        self.words = Column.of("<u2")  # number of different words of the unit's text
        self._digest = Column.of("<u8")  # of the id, to find a unit again
        self._maybe = np.zeros(
            int(LOW_BITS) + 1, "?"
        )  # by the low bits of a digest: True if a unit may have it (Bloom filter)
        self._files = Column.of("<i4")
        self._touching = Rows.of("<i4")  # by file: the units that touched it, the oldest first
        self._offsets = Column(np.zeros(1, "<i8"))
        self._postings = Postings.of()
        self._moved: dict[int, str] = {}  # units whose id was rewritten

    def __len__(self) -> int:
        return len(self.at)

    def add(self, sha: str, subject: str, *, at: int, author: int, keys: Sequence[int], files: Array) -> int:
        unit = len(self)
        self.shas.append(sha)
        self.subjects.append(subject)
        self.at.append(at)
        self.author.append(author)
        self.words.append(min(len(keys), 65_535))
        self._digest.append(digest := _digest(sha))
        self._maybe[digest & LOW_BITS] = True
        newest = np.array([unit], "<i4")
        for file in files.tolist():
            self._touching[file] = np.concatenate((self._touching[file][-MOST_TOUCHING + 1 :], newest))
        self._files.extend(files)
        self._offsets.append(len(self._files))
        self._postings.add(unit, keys, [1] * len(keys))
        return unit

    def sha(self, unit: int) -> str:
        """Return the current commit id of a unit."""
        return self._moved.get(unit) or self.shas[unit]

    def find(self, sha: str) -> int | None:
        """Return the unit with this id, or None."""
        digest = _digest(sha)
        if not self._maybe[digest & LOW_BITS]:
            return None
        hits = np.flatnonzero(self._digest.view == digest)
        return int(hits[-1]) if len(hits) else None

    def rename(self, unit: int, sha: str) -> None:
        """Assign a new commit id to a unit."""
        self._moved[unit] = sha
        self._digest.view[unit] = digest = _digest(sha)
        self._maybe[digest & LOW_BITS] = True

    def files_of(self, unit: int) -> Array:
        """Return the files of a unit."""
        offsets = self._offsets.view
        files: Array = self._files.view[offsets[unit] : offsets[unit + 1]]
        return files

    def files_since(self, unit: int) -> Array:
        """Return the files of all units from `unit` on.

        A file is listed once for each unit.
        """
        return self._files.view[self._offsets.view[max(unit, 0)] :]

    def flattened(self, units: Array) -> tuple[Array, Array]:
        """Return the files of several units in one array.

        The second array holds the number of files of each unit.
        """
        offsets, units = self._offsets.view, units.astype(np.intp)  # for use as indexes
        starts = offsets.take(units)
        units += 1
        sizes = offsets.take(units) - starts
        return self._files.view.take(spans(starts, sizes)).astype(np.intp), sizes

    def saying(self, keys: Sequence[int]) -> Saying:
        """Return the newest units with these words, and their rarity.

        Words that nearly all units contain are skipped.
        """
        if not len(self) or not keys:
            return Saying(np.empty(0, "<i4"), np.zeros(len(keys), "<i8"), np.zeros(len(keys)), nothing())
        units, _, sizes = self._postings.of_keys(np.array(keys, "<u4"), NEWEST_PER_WORD)
        telling = sizes <= max(TOO_COMMON_AT_LEAST, TOO_COMMON * len(self))
        rarity = np.where(telling & (sizes > 0), np.log1p(len(self) / np.maximum(sizes, 1)), 0.0)
        if not telling.all():
            units, sizes = units[telling.repeat(sizes)], np.where(telling, sizes, 0)
        return Saying(units, sizes, rarity, summed(units, (rarity * rarity).repeat(sizes)))

    def met(self, keys: Array) -> Array:
        """Return for each key the number of units that contain it."""
        return self._postings.sizes_of(keys)

    def nearest(self, said: Saying, most: int = NEAREST) -> Nearest:
        """Return the units most similar to the query (cosine of idf weights)."""
        found, scores = said.shared
        if not len(found):
            return Nearest.nothing()
        # The norm of a unit is not stored (document frequencies change): its number of words approximates it.
        norm = float((said.rarity * said.rarity).sum())
        typical = norm / max(len(said.rarity), 1)
        similarity = scores / np.sqrt(norm * typical * np.maximum(self.words.view.take(found), 2))
        similarity *= np.exp2(-(len(self) - found) / HALF_LIFE)
        if len(found) > most:
            best = highest(similarity, most)
            found, similarity = found[best], similarity[best]
        order = np.argsort(-similarity, kind="stable")
        units = found[order]
        files, sizes = self.flattened(units)
        which, roots = np.arange(len(units)).repeat(sizes), np.sqrt(np.maximum(sizes, 1))
        return Nearest(units, np.minimum(similarity[order], 1.0), files, which, roots)

    def units_of_author(self, author: int, most: int) -> Array:
        """Return the newest units of an author, newest first.

        They are searched among the last 4,000.
        """
        start = max(len(self) - 4_000, 0)
        hits = np.flatnonzero(self.author.view[start:] == author)[::-1][:most]
        return hits + start

    def units_of_file(self, file: int, most: int) -> Array:
        """Return the newest units that touched a file, newest first.

        Never more than the last MOST_TOUCHING.
        """
        row = self._touching[file] if file < len(self._touching) else self._touching[len(self._touching)]
        return row[: -most - 1 : -1]

    def arrays(self) -> Arrays:
        shas = Strings()
        for unit in range(len(self)):
            shas.append(self.sha(unit))
        sha_bytes, sha_offsets = shas.packed()
        subject_bytes, subject_offsets = self.subjects.packed()
        postings = {f"postings.{name}": array for name, array in self._postings.packed().arrays().items()}
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
        messages.shas = Strings(arrays["shas"].tobytes(), arrays["sha_offsets"])
        messages.subjects = Strings(arrays["subjects"].tobytes(), arrays["subject_offsets"])
        messages.at = Column(arrays["at"])
        messages.author = Column(arrays["author"])
        messages.words = Column(arrays["words"])
        messages._digest = Column(arrays["digest"])
        messages._maybe[arrays["digest"] & LOW_BITS] = True
        messages._files = Column(arrays["files"])
        messages._offsets = Column(arrays["offsets"])
        messages._touching = _touching(arrays["files"], arrays["offsets"])
        messages._postings = Postings.from_arrays(
            {name.removeprefix("postings."): array for name, array in arrays.items() if name.startswith("postings.")}
        )
        return messages


def _touching(files: Array, offsets: Array) -> Rows:
    """Return for each file the units that touched it."""
    units = np.arange(len(offsets) - 1, dtype="<i4").repeat(np.diff(offsets))
    counts = np.bincount(files, minlength=1)
    starts = np.zeros(len(counts) + 1, "<i8")
    counts.cumsum(out=starts[1:])
    return Rows(units[files.argsort(kind="stable")], starts)


def _digest(sha: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(sha.encode("utf-8", "replace"), digest_size=8).digest(), "little"))
