"""Reasons for suggesting a file, in a developer's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hunchd.domain.subjects import tells
from hunchd.prediction.candidates import Evidence
from hunchd.prediction.evidence import PRIOR
from hunchd.prediction.features import INDEX
from hunchd.prediction.files import CODE, DOCUMENT, TEST, told_apart
from hunchd.prediction.packed import Array
from hunchd.prediction.state import State

MOST_REASONS = 3
MOST_NAMESAKES = 8  # files with one stem, above which the stem is not informative
OFTEN = 0.3  # share of the changes of a lead above which co-change is mentioned
DAY = 86_400  # seconds
LATELY = "changed lately"  # the only reason for a file unrelated to the query


_POINTED_AT = "matching the words"
_OWN_WORK = "among your latest changes"
_NEVER_IMPORTED = (".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".mm")


class Reason(NamedTuple):
    """`relation` is what files with such a reason have in common with the file at hand, as words of a list."""

    weight: float
    text: str
    relation: str


class Reasons:
    """Reasons for the candidates of one prediction, which share some lookups.

    `here` is the file that the reader knows as "this file", or None. Other files are called by the shortest name
    that is unambiguous among the `told` files, the seeds and the leads.
    """

    def __init__(self, state: State, found: Evidence, now: int, *, here: int | None, told: Sequence[int]) -> None:
        self._state, self._found, self._now, self._here = state, found, now, here
        self._rows = [
            {file: place for place, file in enumerate(first.row["file"].tolist())} for first in found.together
        ]
        leads: list[int] = found.topic.leads.tolist() if found.topic is not None else []
        self._called = told_apart([state.files.paths[file] for file in (*found.query.seeds, *leads, *told)])
        self._of_leads: tuple[Array, Array] | None = None

    def of(self, file: int, row: list[float]) -> list[Reason]:
        """Return the strongest reasons for a file with these features, strongest first."""
        said: list[Reason] = []
        if row[_TRACED]:
            said.append(Reason(9.0, "raised the error" if row[_TRACED] == 1.0 else "in the traceback", "in the error"))
        if row[_MENTIONED]:
            said.append(Reason(8.0, "named in the question", "named in the question"))
        said.extend(self._together(file))
        if row[_SAME_STEM] and (kinship := self._kinship(file)):
            said.append(Reason(2.5, kinship, "named alike"))
        said.extend(self._said_by_words(file, row))
        said.extend(self._linked(file, row))
        if row[_OPENED_NEXT] > 0.15:
            said.append(Reason(1.5, "often opened next", "often opened next"))
        if row[_INTEREST] > 0.5:
            said.append(Reason(1.0, "used in this session", "used in this session"))
        whose = self._found.query.words_of
        if whose and len(said) < MOST_REASONS and row[_WITH_LEAD] >= OFTEN and (lead := self._lead(file)):
            told = f"changes together with {lead}, which the {whose} points to"
            said.append(Reason(1.0 + row[_WITH_LEAD], told, _POINTED_AT))
        if not said:
            said.append(_faint(row))
        said.sort(key=_weight)
        return said[:MOST_REASONS]

    def _said_by_words(self, file: int, row: list[float]) -> Iterator[Reason]:
        """What the words of the question say for it; nothing where there is no question: a branch or an error has
        words as well, which the reader does not think of."""
        if row[_VOTED] >= 0.3 and (unit := self._supporting_unit(file)) is not None:
            subject = _short(self._state.messages.subjects[unit])
            yield Reason(2.0 + row[_VOTED], f"past work on «{subject}» touched it", "touched by like work")
        whose = self._found.query.words_of
        if not whose:
            return
        if max(row[_NAME_WORDS], row[_CONTENT_WORDS]) >= 0.8:
            yield Reason(1.2, f"its contents match the words of the {whose}", _POINTED_AT)
        elif row[_PATH_WORDS] >= 0.8:
            yield Reason(1.2, f"its path matches the words of the {whose}", _POINTED_AT)

    def _whom(self, seed: int) -> str:
        return "this file" if seed == self._here else self._name(seed)

    def _name(self, file: int) -> str:
        return self._called[self._state.files.paths[file]]

    def _kinship(self, file: int) -> str:
        """Return the relation to the newest seed of that stem.

        Empty if many files have the stem, such as `views.py`, and the file lies elsewhere.
        """
        stem, seeds = self._state.files.stem.view, self._found.query.seeds
        seed = next((seed for seed in reversed(seeds) if stem[seed] == stem[file]), None)
        if seed is None:
            return ""
        namesakes = np.count_nonzero((stem == stem[file]) & self._state.files.alive.view)
        if namesakes > MOST_NAMESAKES and not self._is_near(file, seed):
            return ""
        traits = self._state.files.traits.view
        if not traits[file] & traits[seed] & CODE:
            return "named alike"
        if traits[file] & TEST and not traits[seed] & TEST:
            return f"tests {self._whom(seed)}"
        if traits[seed] & TEST and not traits[file] & TEST:
            return f"tested by {self._whom(seed)}"
        return "named alike"

    def _is_near(self, file: int, seed: int) -> bool:
        """Return True if the folders are nested or have one name.

        The latter holds for sources and their tests. The latter holds for sources and their tests.
        """
        short, long = sorted((self._state.files.paths[one].rpartition("/")[0] for one in (file, seed)), key=len)
        return bool(short) and (f"{long}/".startswith(f"{short}/") or short.split("/")[-1] == long.split("/")[-1])

    def _linked(self, file: int, row: list[float]) -> Iterator[Reason]:
        """Yield each kind of link to the newest linked seed."""
        for source, weight, to_here, to_another, relation in self._links(file):
            if row[INDEX[source]] > 0:
                said = reversed(self._found.said)
                seed = next((one.seed for one in said if (one.sparse[source][0] == file).any()), self._here)
                told = to_here if seed is None or seed == self._here else to_another.format(self._name(seed))
                yield Reason(weight, told, relation)

    def _links(self, file: int) -> Iterator[tuple[str, float, str, str, str]]:
        """Yield the link types that apply.

        Only code imports, and only code defines names that others use: the keys of a configuration file are called
        like variables everywhere.
        """
        traits = self._state.files.traits.view
        file_traits, seed_traits = int(traits[file]), 0
        for seed in self._found.query.seeds:
            seed_traits |= int(traits[seed])
        if file_traits & seed_traits & CODE:
            if any(self._is_importable(seed) for seed in self._found.query.seeds):
                yield _IMPORTS_IT
            if self._is_importable(file):
                yield _IMPORTED
        if seed_traits & CODE and file_traits & (CODE | DOCUMENT):
            yield _USES
        if file_traits & CODE and seed_traits & (CODE | DOCUMENT):
            yield _DEFINES

    def _is_importable(self, file: int) -> bool:
        """Return False in languages that import whole folders, and for sources whose header is imported instead."""
        return not self._state.files.paths[file].endswith(_NEVER_IMPORTED)

    def _together(self, file: int) -> list[Reason]:
        """Return the co-change with the seed that it most likely changes with."""
        strongest: list[Reason] = []
        for first, rows in zip(self._found.together, self._rows, strict=True):
            place = rows.get(file)
            if place is None:
                continue
            times, last = int(first.row["count"][place]), int(first.row["last"][place])
            changes = max(int(self._state.files.count.view[first.seed]), times)
            with_whom = "" if first.seed == self._here else f" with {self._name(first.seed)}"
            when = ago(self._now - int(self._state.messages.at.view[last]))
            weight = 3.0 * float(first.long[place]) / (first.own_long + PRIOR) + 1.0
            told = f"changed together{with_whom} {times} of {changes} times, last {when}"
            strongest.append(Reason(weight, told, "changed together before"))
        return [max(strongest)] if strongest else []

    def _lead(self, file: int) -> str:
        """Return the name of the lead it changed with most often."""
        if self._found.topic is None:
            return ""
        leads = self._found.topic.leads
        if self._of_leads is None:
            self._of_leads = self._state.together.rows.joined(leads)
        row, which = self._of_leads
        here = (row["file"] == file).nonzero()[0]
        _, place = max(zip(row["count"][here].tolist(), (-which[here]).tolist(), strict=True), default=(0, 1))
        return "" if place > 0 else self._name(int(leads[-place]))

    def _supporting_unit(self, file: int) -> int | None:
        """Return the nearest unit of the file with an informative subject."""
        nearest, subjects = self._found.nearest, self._state.messages.subjects
        units = nearest.units[nearest.which[nearest.files == file]].tolist()
        return next((unit for unit in units if tells(subjects[unit])), None)


def _weight(reason: Reason) -> float:
    return -reason.weight


_TRACED, _MENTIONED, _SAME_STEM = INDEX["traced"], INDEX["mentioned"], INDEX["same_stem"]
_VOTED, _NAME_WORDS, _CONTENT_WORDS = INDEX["voted"], INDEX["name_words"], INDEX["content_words"]
_WITH_LEAD = INDEX["with_lead"]
_PATH_WORDS, _OPENED_NEXT, _INTEREST = INDEX["path_words"], INDEX["opened_next"], INDEX["interest"]
_AUTHOR, _LIKENESS, _SAME_FOLDER = INDEX["author"], INDEX["likeness"], INDEX["same_folder"]
# Feature, weight, and the phrase for the reader's own file and for another one.
_IMPORTS_IT = ("importers", 1.4, "imports this file", "imports {}", "importing it")
_IMPORTED = ("imports", 1.3, "imported by this file", "imported by {}", "imported by it")
_USES = ("uses", 1.1, "uses its names", "uses names of {}", "using its names")
_DEFINES = ("defines", 1.1, "defines names it uses", "defines names that {} uses", "defining names it uses")


def _faint(row: list[float]) -> Reason:
    if row[_AUTHOR] > 0:
        return Reason(0.5, _OWN_WORK, _OWN_WORK)
    if row[_LIKENESS] > 0.3:
        return Reason(0.5, "similar contents", "similar contents")
    if row[_SAME_FOLDER]:
        return Reason(0.4, "same folder", "in the same folder")
    return Reason(0.3, LATELY, LATELY)


def _short(subject: str, most: int = 60) -> str:
    """Return a subject to be quoted: what would end the quotation is left out."""
    subject = subject.translate({ord("«"): None, ord("»"): None})
    return subject if len(subject) <= most else subject[: most - 1].rstrip() + "…"


def ago(seconds: int) -> str:
    """Format an age in seconds as days, months or years."""
    days = max(seconds, 0) // DAY
    if days < 1:
        return "today"
    if days < 60:
        return f"{days} day{'s' if days > 1 else ''} ago"
    if days < 730:
        return f"{days // 30} months ago"
    return f"{days // 365} years ago"
