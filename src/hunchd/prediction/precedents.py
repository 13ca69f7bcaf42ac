"""Selection of the past change that a reader of a file should know.

Readers called two of three other past changes of a file noise, although they touched what the next one touched.
"""

from __future__ import annotations

from dataclasses import replace

from hunchd.domain.commit_subjects import is_descriptive
from hunchd.domain.context import PredictedUnit
from hunchd.prediction.reasons import DAY, format_age
from hunchd.prediction.related_units import build_unit
from hunchd.prediction.state import PredictorState

MAX_CONTINUED_DAYS = 14  # age of a last change that the next one may continue
MAX_OTHERS = 6  # other files of such a change; a broader one is about none of them


def find_precedent(state: PredictorState, file: int, now: int) -> PredictedUnit | None:
    """Return the last change of a file if it is recent, narrow, and its subject says something."""
    messages = state.messages
    for unit in messages.list_units_of_file(file, 1).tolist():
        age = now - int(messages.at.view[unit])
        if (
            age <= MAX_CONTINUED_DAYS * DAY
            and 1 < len(messages.get_files(unit)) <= MAX_OTHERS + 1
            and is_descriptive(messages.subjects[unit])
        ):
            return replace(build_unit(state, unit), reasons=(f"the last change here, {format_age(age)}",))
    return None
