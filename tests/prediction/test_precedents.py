"""The past change that the next one may continue."""

from __future__ import annotations

from hunchd.domain.context import PredictedUnit
from hunchd.prediction.predictor import Predictor
from tests.prediction.test_predictor import NOW, focus, unit


def find_precedent(
    *subjects: str, last: int = 0, files: tuple[str, ...] = ("ci.yml", "go.mod")
) -> PredictedUnit | None:
    """Return the precedent for `ci.yml` after changes with these subjects, the last one `last` days ago."""
    predictor = Predictor()
    predictor.learn_unit(unit(0, "start the project", *files, status="A"))
    for number, subject in enumerate(subjects):
        predictor.learn_unit(unit(100 - last - len(subjects) + number + 1, subject, *files))
    return predictor.predict(focus("ci.yml"), now=NOW).precedent


def test_recent_last_change_is_precedent() -> None:
    found = find_precedent("Cache the modules", "Split the workflow", last=3)
    assert found is not None
    assert (found.subject, found.reasons) == ("Split the workflow", ("the last change here, 3 days ago",))
    assert found.paths == ("ci.yml", "go.mod")
    assert find_precedent("Cache the modules", "Split the workflow", last=40) is None


def test_uninformative_or_broad_change_is_no_precedent() -> None:
    assert find_precedent("Merge branch 'main'") is None
    assert find_precedent("Fix typos in comments") is None
    assert find_precedent("Split the workflow", files=("ci.yml",)) is None, "it names no other file"
    assert find_precedent("Split the workflow", files=("ci.yml", *(f"{n}.go" for n in range(9)))) is None
