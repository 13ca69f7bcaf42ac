"""Selection of the past change that a reader of a file should know.

Readers called two of three other past changes of a file noise, although they touched what the next one touched.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hunchd.domain.commit_subjects import is_descriptive
from hunchd.domain.context import PredictedUnit
from hunchd.prediction.reasons import DAY, LATELY, format_age
from hunchd.prediction.related_units import build_unit
from hunchd.prediction.state import PredictorState

MAX_CONTINUED_DAYS = 14  # age of a last change that the next one may continue
MAX_OTHERS = 6  # other files of such a change; a broader one is about none of them
MIN_LIKENESS = 0.5  # share of the words that two subjects of one kind have in common
MIN_REPEATS = 2  # other changes of the kind, among the last LATELY changes of the file
_NUMBER = re.compile(r"\(?#\d+\)?")
_WORD = re.compile(r"[^\W\d_]{3,}")
_FILLERS = frozenset({"the", "and", "for", "with", "from", "into", "merge", "pull", "request", "branch"})


def find_precedent(state: PredictorState, file: int, now: int) -> PredictedUnit | None:
    """Return the last change of a file if it is recent, else the last one of a kind that the file has often seen."""
    messages = state.messages
    units = messages.list_units_of_file(file, LATELY).tolist()
    descriptive = [unit for unit in units if is_descriptive(messages.subjects[unit])]
    narrow = [unit for unit in descriptive if 1 < len(messages.get_files(unit)) <= MAX_OTHERS + 1]
    if narrow and narrow[0] == units[0] and now - messages.at.view[units[0]] <= MAX_CONTINUED_DAYS * DAY:
        return _build(state, narrow[0], now, "the last change here")
    words = {unit: _extract_kind(messages.subjects[unit]) for unit in descriptive}
    for unit in narrow:
        repeats = sum(_compare(words[unit], words[other]) >= MIN_LIKENESS for other in descriptive) - 1
        if repeats >= MIN_REPEATS:
            return _build(state, unit, now, f"the last of {repeats + 1} such changes here")
    return None


def _extract_kind(subject: str) -> frozenset[str]:
    """Return the words of a subject, without numbers: `Require Go 1.24` and `Require Go 1.25` are of one kind."""
    return frozenset(_WORD.findall(_NUMBER.sub("", subject.lower()))) - _FILLERS


def _compare(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / max(len(words | others), 1)


def _build(state: PredictorState, unit: int, now: int, reason: str) -> PredictedUnit:
    age = format_age(now - int(state.messages.at.view[unit]))
    return replace(build_unit(state, unit), reasons=(f"{reason}, {age}",))
