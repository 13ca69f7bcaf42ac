"""Candidates for a bundle from predicted files.

Every line must be worth reading by itself. A file gets its own line if a reader can check in the files what ties it to
the current one, or if it is likely. Of the others, those with a reason are named in a list, each with that reason, if
the list is likely enough to name one that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hunchd.assembly.selection import MINIMUM_VALUE
from hunchd.domain.context import ContextCandidate, ExpectedFile, PredictedFile, Prediction
from hunchd.domain.memory import Trust
from hunchd.ingestion.manifests.registry import states_anything
from hunchd.prediction import reasons as why
from hunchd.prediction.calibration import BESIDE_FILE
from hunchd.prediction.file_table import ALWAYS_HUB, CODE, classify_path, is_asset, is_lock_file, is_log_entry

LIST = "files"  # kind of a piece that names several files
WORTH_A_LINE = 0.1  # probability of a file that the current one imports or uses, or the reverse
LIKELY = 0.25  # … if only counts of common changes or a likeness tie it to the current file
# Probability from which a file that many changes include is expected now: between .2 and .3, one in three came.
EXPECTED = 0.2
EXPECTED_OTHER = 0.3  # … unless it is a change log
EXPECTED_LOCK = 0.3  # … for a lock file, which only manifests need, or files with such a habit
EXPECTED_OWN_LOCK = 0.1  # … beside the manifest that it belongs to: half of them came
LEAST_OFTEN, LOCK_OFTEN = 0.15, 0.5  # share of the counted changes that touched the file, and the lock file
FEWEST_TIMES = 3  # changes that touched it; of files expected after one or two, one in ten came
# Probability from which a file is named in a list, and of the list naming a needed file at all.
LEAST_NAMED = 0.02
LEAST_WEAK = 0.1  # … if only a likeness or one change of five or more ties it: of those below, one in thirty is needed
MOST_NAMED = 12
LEAST_LIST = 0.1
LEAST_HUB = 0.1  # … for a file that many changes include, such as a change log
POSSIBLE = "possibly"
EXPECTED_HEADING = "also expected"
MAX_NAMED = 2  # definitions that a reason names
_COUNT = re.compile(r"(\d+) of (?:the last )?(\d+)")
_ONCE = re.compile(rf"{why.COCHANGE_REASON} (?:with \S+ )?1 of (?:the last )?(?:[5-9]|\d\d)")


@dataclass(frozen=True, slots=True)
class FileLinks:
    """Names of the definitions that link a file to the current one.

    `used_here` are defined in the file and used by the current one, `used_there` the reverse.
    """

    used_here: frozenset[str] = frozenset()
    used_there: frozenset[str] = frozenset()


def iterate_file_candidates(
    prediction: Prediction,
    *,
    file: str | None,
    links: Mapping[str, FileLinks],
    outline_count: int,
) -> Iterator[ContextCandidate]:
    """Yield the files that deserve their own line, then lists of other files.

    Both are ordered by probability, likeliest first. At most `outline_count` files have a line of their own.
    `links` maps the path of a file to the definitions that link it to `file`, the current one.
    """
    files = [one for one in prediction.files if not is_asset(one.path)]
    if file is not None:
        values = BESIDE_FILE(np.array([one.confidence for one in files])).round(4).tolist()
        files = [replace(one, confidence=value) for one, value in zip(files, values, strict=True)]
    files = [_name_links(one, links.get(one.path)) for one in files]
    first = [one for one in files if _is_worth_a_line(one)][:outline_count]
    for rank, one in enumerate(first):
        yield _build_file_candidate(one, rank)
    is_code = bool(classify_path(file or "") & CODE)  # of 48 settings of CI and tools expected beside it, none came
    frequent_files = [one for one in prediction.expected if not (is_code and one.path.startswith("."))]
    expected_files = [one for one in frequent_files if _is_expected(one, file)]
    if expected_files:
        yield _build_expected_candidate(expected_files)
    hubs = [
        PredictedFile(one.path, 0.0, one.probability, (_format_occurrences(one),))
        for one in frequent_files
        if one not in expected_files and _is_possible(one)
    ]
    others = [*(one for one in files if one not in first and _is_worth_naming(one)), *hubs][:MOST_NAMED]
    if sum(one.confidence for one in others) >= LEAST_LIST:
        yield _build_others_candidate(sorted(others, key=_get_share, reverse=True))


def _is_expected(one: ExpectedFile, file: str | None) -> bool:
    """Return True if a frequent file is expected beside `file`.

    Its own changes must say so, unless it is code and the other a change log. A lock file follows the manifests.
    """
    beside_manifest = states_anything(file or "")  # not a Makefile, which has tasks only
    if is_lock_file(one.path) and beside_manifest and one.path.rpartition("/")[0] == (file or "").rpartition("/")[0]:
        return one.probability >= EXPECTED_OWN_LOCK
    if one.times < FEWEST_TIMES:
        return False
    if not is_lock_file(one.path):
        is_change_log = one.path.endswith("/") or bool(classify_path(one.path) & ALWAYS_HUB)
        is_own = one.of_file or (is_change_log and bool(classify_path(file or "") & CODE))
        least = EXPECTED if is_change_log else EXPECTED_OTHER
        return is_own and one.probability >= least and one.times >= LEAST_OFTEN * one.of
    has_habit = one.of_file and one.times >= LOCK_OFTEN * one.of
    return one.probability >= EXPECTED_LOCK and (has_habit or beside_manifest)


def _is_possible(one: ExpectedFile) -> bool:
    """Return True if a frequent file is worth listing; nobody opens lock files or entries of change logs next."""
    is_file = not (is_lock_file(one.path) or is_log_entry(one.path) or one.path.endswith("/"))
    return is_file and one.of_file and one.times >= FEWEST_TIMES and one.probability >= LEAST_HUB


def _is_worth_naming(one: PredictedFile) -> bool:
    """Return True if a file without a line of its own is worth naming.

    A folder in common is no reason, nor is a change lately: one in fifty of these files is needed.
    """
    if {*one.reasons} <= why.POOR_REASONS or is_lock_file(one.path):
        return False
    is_weak = {*one.reasons} <= why.WEAK_REASONS or bool(_ONCE.match(one.reasons[0]))
    return one.confidence >= (LEAST_WEAK if is_weak else LEAST_NAMED)


def _name_links(one: PredictedFile, links: FileLinks | None) -> PredictedFile:
    """Name the definitions that a reason speaks of, and drop a reason without any.

    The predictor knows names by their hashes only, so it also counts words such as `all` that modules are named by.
    """
    if not {why.USES_REASON, why.DEFINES_REASON} & {*one.reasons}:
        return one
    there, here = (links.used_there, links.used_here) if links else ((), ())
    phrases = {
        why.USES_REASON: there and f"uses {_quote_names(there)} of this file",
        why.DEFINES_REASON: here and f"defines {_quote_names(here)}, used here",
    }
    reasons = tuple(reason for each in one.reasons if (reason := phrases.get(each, each)))
    return replace(one, reasons=reasons, is_specific=one.is_specific and bool(reasons))


def _quote_names(names: Collection[str]) -> str:
    """Return the longest names, which say most."""
    return ", ".join(f"`{name}`" for name in sorted(names, key=lambda name: (-len(name), name))[:MAX_NAMED])


def _is_worth_a_line(one: PredictedFile) -> bool:
    if why.TESTS_REASON in one.reasons:
        return one.confidence >= MINIMUM_VALUE  # the test of a file is useful even if it will not change
    return one.is_specific and one.confidence >= (WORTH_A_LINE if _is_linked(one) else LIKELY)


def _is_linked(one: PredictedFile) -> bool:
    """Return True if a reason can be checked in the files, as opposed to counts and a likeness."""
    return any(not reason.startswith(why.COCHANGE_REASON) and reason not in why.WEAK_REASONS for reason in one.reasons)


def _build_file_candidate(one: PredictedFile, rank: int) -> ContextCandidate:
    return ContextCandidate(
        id=f"file:{one.path}",
        kind="file",
        tier=2,
        value=one.confidence,
        forms=(("index", one.path),),
        reasons=one.reasons,
        source={"type": "file", "path": one.path},
        trust=Trust.PROJECT,
        paths=(one.path,),
        rank=rank,
    )


def _build_expected_candidate(files: Sequence[ExpectedFile]) -> ContextCandidate:
    """Build one line listing the files that most changes include, with counts."""
    names = (f"an entry in {one.path}" if one.path.endswith("/") else one.path for one in files)
    file_list = ", ".join(f"{name} ({_format_expectation(one)})" for name, one in zip(names, files, strict=True))
    return _build_list(EXPECTED_HEADING, file_list, {one.path: one.probability for one in files}, rank=0)


def _format_expectation(one: ExpectedFile) -> str:
    return (
        "the lock file of this one" if is_lock_file(one.path) and one.times < FEWEST_TIMES else _format_occurrences(one)
    )


def _format_occurrences(one: ExpectedFile) -> str:
    return f"{one.times} of the last {one.of} changes{' of this file' if one.of_file else ''}"


def _build_others_candidate(files: Sequence[PredictedFile]) -> ContextCandidate:
    """Build the list of the less likely files, each with its reason; the first count says what is counted."""
    first_count = next((one for one in files if _COUNT.search(one.reasons[0])), None)
    reasons = (one.reasons[0] if one is first_count else _shorten_reason(one.reasons[0]) for one in files)
    file_list = ", ".join(f"{one.path} ({reason})" for one, reason in zip(files, reasons, strict=True))
    return _build_list(POSSIBLE, file_list, {one.path: one.confidence for one in files}, rank=1)


def _get_share(one: PredictedFile) -> float:
    """Return the share that a reader sees, or the probability of a file with other reasons.

    In this order more of the first names are needed than in the order of the probabilities.
    """
    return int(count[1]) / int(count[2]) if (count := _COUNT.search(one.reasons[0])) else one.confidence


def _shorten_reason(reason: str) -> str:
    """Return `2 of 9` for a reason such as `changed together 2 of 9 times`."""
    return count[0].replace("the last ", "") if (count := _COUNT.search(reason)) else reason


def _build_list(name: str, file_list: str, paths: Mapping[str, float], rank: int) -> ContextCandidate:
    return ContextCandidate(
        id=f"{LIST}:{name}",
        kind=LIST,
        tier=2,
        value=min(1.0, sum(paths.values())),
        forms=(("full", f"{name}: {file_list}"),),
        reasons=(name,),  # equal to the heading in the text, so it is not rendered twice
        source={"type": LIST, "paths": list(paths), "probabilities": dict(paths)},
        trust=Trust.PROJECT,
        rank=rank,
    )
