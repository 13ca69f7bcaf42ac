"""Reasons for suggesting a file, worded for developers.

A seed is a file that the query starts from, such as an open file; a unit is a unit of work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from hunchd.domain.commit_subjects import is_descriptive
from hunchd.prediction.candidates import QueryEvidence
from hunchd.prediction.evidence import PRIOR, find_linking_names, imports_file
from hunchd.prediction.features import FEATURE_INDEX
from hunchd.prediction.file_table import CODE, DOCUMENT, TEST, disambiguate_names
from hunchd.prediction.packed_arrays import Array
from hunchd.prediction.state import PredictorState
from hunchd.prediction.words import has_test_name

MAX_REASONS = 3
MAX_NAMESAKES = 8  # above this number of files with the same stem, the stem is not informative
FEWEST_TOGETHER = 3  # common changes from which co-change is a specific reason …
LEAST_TOGETHER = 0.2  # … if they are at least this share of the changes to the open file
LATELY = 20  # newest changes to the open file, among which common changes are counted
MIN_LEAD_SHARE = 0.3  # share of a lead's changes above which co-change is mentioned
DAY = 86_400  # seconds
TESTS_REASON = "tests this file"
USES_REASON, DEFINES_REASON = "uses its names", "defines names it uses"
FOLDER_REASON = "same folder"
COCHANGE_REASON = "changed together"  # begins every reason that counts common changes
ALIKE_REASON, CONTENTS_REASON = "named alike", "similar contents"
WEAK_REASONS = frozenset({ALIKE_REASON, CONTENTS_REASON})
FALLBACK_REASON = "changed lately"  # the only reason for a file unrelated to the query
POOR_REASONS = frozenset({FOLDER_REASON, FALLBACK_REASON})


_EXAMPLES = re.compile(r"(?:^|/)(?:bench(?:es|marks?)?|examples?|demos?|samples?)/")  # tests are not about these
_NEVER_IMPORTED = (".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".mm")


class Reason(NamedTuple):
    """Reason for suggesting a file.

    A reason is specific if it relates the file to the query. Reasons such as "same folder", or one common change
    among many, are not specific.
    """

    weight: float
    text: str
    is_specific: bool = True


class ReasonBuilder:
    """Builder of reasons for the candidates in one prediction.

    `here` is the file that the reader knows as "this file", or None. Other files get the shortest name that is
    unambiguous among `named_files`, the seeds and the leads (the files that the text points to).
    """

    def __init__(
        self,
        state: PredictorState,
        query_evidence: QueryEvidence,
        *,
        here: int | None,
        named_files: Sequence[int],
    ) -> None:
        self._state, self._evidence, self._current_file = state, query_evidence, here
        self._rows = [
            {file: place for place, file in enumerate(first.row["file"].tolist())} for first in query_evidence.together
        ]
        self._lately: dict[int, Counter[int]] = {}
        leads: list[int] = query_evidence.topic.leads.tolist() if query_evidence.topic is not None else []
        self._name_by_path = disambiguate_names(
            [state.files.paths[file] for file in (*query_evidence.query.seeds, *leads, *named_files)]
        )
        self._lead_rows: tuple[Array, Array] | None = None

    def build_reasons(self, file: int, row: list[float]) -> list[Reason]:
        """Return the best reasons for a file, strongest first.

        `row` contains the features of the file.
        """
        weighted_reasons: list[Reason] = []
        if row[_TRACED_COLUMN]:
            weighted_reasons.append(
                Reason(9.0, "raised the error" if row[_TRACED_COLUMN] == 1.0 else "in the traceback")
            )
        if row[_MENTIONED_COLUMN]:
            weighted_reasons.append(Reason(8.0, "named in the question"))
        weighted_reasons.extend(self._build_cochange_reasons(file))
        if row[_SAME_STEM] and (kinship := self._describe_kinship(file)):
            weighted_reasons.append(Reason(2.5, kinship))
        weighted_reasons.extend(self._said_by_words(file, row))
        weighted_reasons.extend(self._iterate_link_reasons(file, row))
        if row[_OPENED_NEXT] > 0.15:
            weighted_reasons.append(Reason(1.5, "often opened next"))
        if row[_INTEREST] > 0.5:
            weighted_reasons.append(Reason(1.0, "used in this session"))
        whose = self._evidence.query.words_of
        if (
            whose
            and len(weighted_reasons) < MAX_REASONS
            and row[_WITH_LEAD] >= MIN_LEAD_SHARE
            and (lead := self._find_lead(file))
        ):
            reason_text = f"changes together with {lead}, which the {whose} points to"
            weighted_reasons.append(Reason(1.0 + row[_WITH_LEAD], reason_text))
        if not weighted_reasons:
            weighted_reasons.append(_build_fallback_reason(row))
        specific_reasons = [reason for reason in weighted_reasons if reason.is_specific]
        return sorted(specific_reasons or weighted_reasons, key=_sort_key)[:MAX_REASONS]

    def _said_by_words(self, file: int, row: list[float]) -> Iterator[Reason]:
        """Yield the reasons that follow from the words in the query.

        If these words come neither from a question nor from another text that the reader knows, the only reason is
        past work on a similar subject.
        """
        if row[_VOTED_COLUMN] >= 0.3 and (unit := self._find_supporting_unit(file)) is not None:
            subject = _shorten_subject(self._state.messages.subjects[unit])
            yield Reason(2.0 + row[_VOTED_COLUMN], f"past work on «{subject}» touched it")
        whose = self._evidence.query.words_of
        if not whose:
            return
        if max(row[_NAME_WORDS], row[_CONTENT_WORDS]) >= 0.8:
            yield Reason(1.2, f"its contents match the words of the {whose}")
        elif row[_PATH_WORDS] >= 0.8:
            yield Reason(1.2, f"its path matches the words of the {whose}")

    def _describe_seed(self, seed: int) -> str:
        return "this file" if seed == self._current_file else self._get_name(seed)

    def _get_name(self, file: int) -> str:
        return self._name_by_path[self._state.files.paths[file]]

    def _describe_kinship(self, file: int) -> str:
        """Describe how a file is related to its namesake seed.

        This is the newest seed with the same stem. Returns "" if no seed has this stem, or if many files have it
        (such as `views.py`) and `file` is in a distant folder.
        """
        stem, seeds = self._state.files.stem.view, self._evidence.query.seeds
        seed = next((seed for seed in reversed(seeds) if stem[seed] == stem[file]), None)
        if seed is None:
            return ""
        namesakes = np.count_nonzero((stem == stem[file]) & self._state.files.alive.view)
        if namesakes > MAX_NAMESAKES and not self._is_near(file, seed):
            return ""
        traits = self._state.files.traits.view
        if not traits[file] & traits[seed] & CODE:
            return ALIKE_REASON
        file_is_test, seed_is_test = (bool(traits[one] & TEST) for one in (file, seed))
        if file_is_test and seed_is_test:  # below a folder `test`, which may be a library
            file_is_test, seed_is_test = (has_test_name(self._state.files.paths[one]) for one in (file, seed))
        is_example = any(_EXAMPLES.search(self._state.files.paths[one]) for one in (file, seed))
        if file_is_test == seed_is_test or is_example or not self._is_nearest(file, seed):
            return ALIKE_REASON
        if file_is_test:
            return TESTS_REASON if seed == self._current_file else f"tests {self._get_name(seed)}"
        return f"tested by {self._describe_seed(seed)}"

    def _is_nearest(self, file: int, seed: int) -> bool:
        """Return True if neither has another namesake in a folder more like its own."""
        paths = self._state.files.paths
        closeness = _rate_closeness(paths[file], paths[seed])
        return not any(
            _rate_closeness(paths[other], paths[one]) > closeness
            for one, replaced in ((seed, file), (file, seed))
            for other in self._list_namesakes(replaced)
            if other != one
        )

    def _list_namesakes(self, file: int) -> list[int]:
        """Return the existing files of the same stem and kind."""
        files = self._state.files
        stem, kinds = files.stem.view, files.traits.view & (CODE | TEST)
        namesakes: list[int] = ((stem == stem[file]) & files.alive.view & (kinds == kinds[file])).nonzero()[0].tolist()
        return namesakes

    def _is_near(self, file: int, seed: int) -> bool:
        """Return True if two files are in related folders.

        One folder contains the other, or both have the same name. A folder with sources and the folder with their
        tests often have the same name.
        """
        short, long = sorted((self._state.files.paths[one].rpartition("/")[0] for one in (file, seed)), key=len)
        return bool(short) and (f"{long}/".startswith(f"{short}/") or short.split("/")[-1] == long.split("/")[-1])

    def _iterate_link_reasons(self, file: int, row: list[float]) -> Iterator[Reason]:
        """Yield a reason, with its newest seed, for each link type."""
        for source, weight, to_here, to_another in self._list_link_types(file):
            if row[FEATURE_INDEX[source]] > 0:
                seed_links = reversed(self._evidence.seed_links)
                linked_seeds = [one.seed for one in seed_links if (one.sparse[source][0] == file).any()]
                seed = next((one for one in linked_seeds if self._is_proven(source, file, one)), None)
                if seed is not None:
                    is_here = seed == self._current_file
                    yield Reason(weight, to_here if is_here else to_another.format(self._get_name(seed)))

    def _is_proven(self, source: str, file: int, seed: int) -> bool:
        """Return True if a link between two files is unlikely to be a coincidence.

        It may be one if the names that they share are too common, or if the imported name matches several modules.
        """
        user, other = (seed, file) if source in ("imports", "defines") else (file, seed)
        if source in ("imports", "importers"):
            return imports_file(self._state, user, other)
        return len(find_linking_names(self._state, user, other)) > 0

    def _list_link_types(self, file: int) -> Iterator[tuple[str, float, str, str]]:
        """Yield the possible types of links between a file and the seeds.

        Only code imports other files, and only code defines names that others use: the keys in a configuration file
        often have the same names as variables elsewhere.
        """
        traits = self._state.files.traits.view
        file_traits, seed_traits = int(traits[file]), 0
        for seed in self._evidence.query.seeds:
            seed_traits |= int(traits[seed])
        if file_traits & seed_traits & CODE:
            if any(self._is_importable(seed) for seed in self._evidence.query.seeds):
                yield _IMPORTS_IT
            if self._is_importable(file):
                yield _IMPORT_REASON
        if seed_traits & CODE and file_traits & (CODE | DOCUMENT):
            yield _USES
        if file_traits & CODE and seed_traits & (CODE | DOCUMENT):
            yield _DEFINES

    def _is_importable(self, file: int) -> bool:
        """Return True if other files can import this file by its name.

        This is False in languages that import whole folders, and for sources whose header is imported instead.
        """
        return not self._state.files.paths[file].endswith(_NEVER_IMPORTED)

    def _build_cochange_reasons(self, file: int) -> list[Reason]:
        """Return the reason for the strongest co-change with a seed, if any."""
        strongest: list[Reason] = []
        for first, rows in zip(self._evidence.together, self._rows, strict=True):
            place = rows.get(file)
            if place is None:
                continue
            times = int(first.row["count"][place])
            changes = max(int(self._state.files.count.view[first.seed]), times)
            with_whom = "" if first.seed == self._current_file else f" with {self._get_name(first.seed)}"
            weight = 3.0 * float(first.long[place]) / (first.own_long + PRIOR) + 1.0
            ever = ""
            if changes > LATELY:
                times, changes, ever = self._count_lately(first.seed)[file], LATELY, "the last "
            if not times:
                continue
            is_specific = times >= FEWEST_TOGETHER and times >= LEAST_TOGETHER * changes
            text = f"{COCHANGE_REASON}{with_whom} {times} of {ever}{changes} times"
            strongest.append(Reason(weight, text, is_specific))
        return [max(strongest)] if strongest else []

    def _count_lately(self, seed: int) -> Counter[int]:
        """For each file, count how many of the most recent changes to the seed file also touched it."""
        if seed not in self._lately:
            units = self._state.messages.list_units_of_file(seed, LATELY)
            self._lately[seed] = Counter(self._state.messages.flatten_files(units)[0].tolist())
        return self._lately[seed]

    def _find_lead(self, file: int) -> str:
        """Return the lead that most often changed with a file."""
        if self._evidence.topic is None:
            return ""
        leads = self._evidence.topic.leads
        if self._lead_rows is None:
            self._lead_rows = self._state.together.rows.join_rows(leads)
        row, which = self._lead_rows
        here = (row["file"] == file).nonzero()[0]
        _, place = max(zip(row["count"][here].tolist(), (-which[here]).tolist(), strict=True), default=(0, 1))
        return "" if place > 0 else self._get_name(int(leads[-place]))

    def _find_supporting_unit(self, file: int) -> int | None:
        """Return the most similar descriptive unit that touched a file."""
        nearest, subjects = self._evidence.nearest, self._state.messages.subjects
        units = nearest.units[nearest.which[nearest.files == file]].tolist()
        return next((unit for unit in units if is_descriptive(subjects[unit])), None)


def _sort_key(reason: Reason) -> float:
    return -reason.weight


_TRACED_COLUMN, _MENTIONED_COLUMN, _SAME_STEM = (
    FEATURE_INDEX["traced"],
    FEATURE_INDEX["mentioned"],
    FEATURE_INDEX["same_stem"],
)
_VOTED_COLUMN, _NAME_WORDS, _CONTENT_WORDS = (
    FEATURE_INDEX["voted"],
    FEATURE_INDEX["name_words"],
    FEATURE_INDEX["content_words"],
)
_WITH_LEAD = FEATURE_INDEX["with_lead"]
_PATH_WORDS, _OPENED_NEXT, _INTEREST = (
    FEATURE_INDEX["path_words"],
    FEATURE_INDEX["opened_next"],
    FEATURE_INDEX["interest"],
)
_LIKENESS, _SAME_FOLDER = FEATURE_INDEX["likeness"], FEATURE_INDEX["same_folder"]
# Feature, weight, and the phrases for "this file" and for other files.
_IMPORTS_IT = ("importers", 1.4, "imports this file", "imports {}")
_IMPORT_REASON = ("imports", 1.3, "imported by this file", "imported by {}")
_USES = ("uses", 1.1, USES_REASON, "uses names of {}")
_DEFINES = ("defines", 1.1, DEFINES_REASON, "defines names that {} uses")


def _rate_closeness(path: str, other: str) -> tuple[int, int]:
    """Rate two paths by common innermost folders, then by depth."""
    folders, others = path.split("/")[-2::-1], other.split("/")[-2::-1]
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, others, strict=False)))
    return common, -abs(len(folders) - len(others))


def _build_fallback_reason(row: list[float]) -> Reason:
    if row[_LIKENESS] > 0.3:
        return Reason(0.5, CONTENTS_REASON, is_specific=False)
    if row[_SAME_FOLDER]:
        return Reason(0.4, FOLDER_REASON, is_specific=False)
    return Reason(0.3, FALLBACK_REASON, is_specific=False)


def _shorten_subject(subject: str, most: int = 60) -> str:
    """Shorten a subject, without characters that end a quotation."""
    subject = subject.translate({ord("«"): None, ord("»"): None})
    return subject if len(subject) <= most else subject[: most - 1].rstrip() + "…"


def format_age(seconds: int) -> str:
    """Format an age given in seconds as days, months or years."""
    days = max(seconds, 0) // DAY
    if days < 1:
        return "today"
    if days < 60:
        return f"{days} day{'s' if days > 1 else ''} ago"
    if days < 730:
        return f"{days // 30} months ago"
    return f"{days // 365} years ago"
