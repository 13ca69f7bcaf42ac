"""Past units of work: what was said, by whom, and which files it touched; found again by their words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from hunchd.prediction.packed import Array, Arrays, Column, Postings, Strings

NEWEST_PER_WORD = 1_500  # postings read for one word: older ones say little
TOO_COMMON = 0.05  # share of units above which a word says nothing …
TOO_COMMON_AT_LEAST = 25  # … in a history long enough to tell
NEAREST = 40  # past units that vote
FURTHER = 250  # past units that vote softly
HALF_LIFE = 3_000.0  # units: the words of a project outlive its structure


@dataclass(frozen=True, slots=True)
class Nearest:
    """Past units near a text, best first, with their similarity (0..1) and their rarest shared words' weight."""

    units: Array
    similarity: Array

    def first(self, most: int) -> Nearest:
        return Nearest(self.units[:most], self.similarity[:most])


class Messages:
    """Units in the order they were learned, and the postings of their words."""

    def __init__(self) -> None:
        self.shas = Strings()
        self.subjects = Strings()
        self.at = Column.of("<i8")
        self.author = Column.of("<u4")
        self.words = Column.of("<u2")  # number of different words of the unit's text
        self._digest = Column.of("<u8")  # of the id, to find a unit again
        self._files = Column.of("<i4")
        self._offsets = Column(np.zeros(1, "<i8"))
        self._postings = Postings.of()
        self._moved: dict[int, str] = {}  # units whose id was rewritten

    def __len__(self) -> int:
        return len(self.at)

    def add(self, sha: str, subject: str, *, at: int, author: int, keys: Sequence[int], files: Iterable[int]) -> int:
        unit = len(self)
        self.shas.append(sha)
        self.subjects.append(subject)
        self.at.append(at)
        self.author.append(author)
        self.words.append(min(len(keys), 65_535))
        self._digest.append(_digest(sha))
        self._files.extend(list(files))
        self._offsets.append(len(self._files))
        self._postings.add(unit, keys, [1] * len(keys))
        return unit

    def sha(self, unit: int) -> str:
        return self._moved.get(unit) or self.shas[unit]

    def find(self, sha: str) -> int | None:
        """The unit with this id, if it was learned."""
        hits = np.flatnonzero(self._digest.view == np.uint64(_digest(sha)))
        return int(hits[-1]) if len(hits) else None

    def rename(self, unit: int, sha: str) -> None:
        self._moved[unit] = sha
        self._digest.view[unit] = _digest(sha)

    def files_of(self, unit: int) -> Array:
        offsets = self._offsets.view
        files: Array = self._files.view[offsets[unit] : offsets[unit + 1]]
        return files

    def files_since(self, unit: int) -> Array:
        """All files of all units from this one on, once per unit that touched them."""
        return self._files.view[self._offsets.view[max(unit, 0)] :]

    def flattened(self, units: Array) -> tuple[Array, Array]:
        """The files of several units in one array, and for each the position of its unit in `units`."""
        offsets = self._offsets.view
        starts, ends = offsets[units], offsets[units + 1]
        sizes = ends - starts
        which = np.repeat(np.arange(len(units)), sizes)
        first = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
        files: Array = self._files.view[first + np.arange(int(sizes.sum()))]
        return files, which

    def size_of(self, units: Array) -> Array:
        offsets = self._offsets.view
        sizes: Array = np.maximum(offsets[units + 1] - offsets[units], 1)
        return sizes

    def units_with(self, key: int) -> Array:
        """The newest units that say this word; none when nearly all do."""
        units, _ = self._postings.of_key(key, NEWEST_PER_WORD)
        if len(units) > max(TOO_COMMON_AT_LEAST, TOO_COMMON * len(self)):
            return units[:0]
        return units

    def nearest(self, keys: Sequence[int], most: int = NEAREST) -> Nearest:
        """The units whose texts share the most and the rarest words with these keys (cosine of idf weights)."""
        total = len(self)
        scores = np.zeros(total, "<f4")
        norm = 0.0
        for key in keys:
            units = self.units_with(key)
            if not len(units):
                continue
            rarity = math.log1p(total / len(units))
            scores[units] += rarity * rarity
            norm += rarity * rarity
        found = np.flatnonzero(scores)
        if not len(found):
            return Nearest(found, scores[:0])
        # The norm of a unit is not stored (document frequencies move): its number of words stands in for it.
        typical = norm / max(len(keys), 1)
        similarity = scores[found] / np.sqrt(norm * typical * np.maximum(self.words.view[found], 2))
        similarity *= np.exp2(-(total - found) / HALF_LIFE)
        if len(found) > most:
            best = np.argpartition(-similarity, most)[:most]
            found, similarity = found[best], similarity[best]
        order = np.argsort(-similarity, kind="stable")
        return Nearest(found[order], np.minimum(similarity[order], 1.0))

    def units_of_author(self, author: int, most: int) -> Array:
        """The newest units of an author, newest first, among the last few thousand."""
        start = max(len(self) - 4_000, 0)
        hits = np.flatnonzero(self.author.view[start:] == author)[::-1][:most]
        return hits + start

    def units_of_file(self, file: int, most: int) -> Array:
        """The newest units that touched a file, newest first."""
        hits = np.flatnonzero(self._files.view == file)[::-1][:most]
        units: Array = np.searchsorted(self._offsets.view, hits, side="right") - 1
        return units

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
        messages._files = Column(arrays["files"])
        messages._offsets = Column(arrays["offsets"])
        messages._postings = Postings.from_arrays(
            {name.removeprefix("postings."): array for name, array in arrays.items() if name.startswith("postings.")}
        )
        return messages


def _digest(sha: str) -> int:
    return int.from_bytes(blake2b(sha.encode("utf-8", "replace"), digest_size=8).digest(), "little")
