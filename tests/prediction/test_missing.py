"""What a change lacks: candidates, their evidence and their probabilities."""

from __future__ import annotations

import pytest

from hunchd.domain.context import NAME_ROLES, ChangedName, Focus
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction.missing import FEATURES, find_missing_files, gather_missing_candidates
from hunchd.prediction.predictor import Predictor

NOW = 1_700_000_000
FOCUS = Focus(project="p", author="ada@example.org")


def unit(number: int, *paths: str, status: str = "M") -> Unit:
    changes = tuple(PathChange(status, path) for path in paths)  # type: ignore[arg-type]
    at = NOW - (100 - number) * 86_400
    sha, email = f"{number:040x}", "ada@example.org"
    return Unit(sha=sha, parents=(), author="Ada", email=email, at=at, subject=f"Work {number}", changes=changes)


@pytest.fixture
def predictor() -> Predictor:
    learned = Predictor()
    learned.learn_unit(unit(0, "basket.py", "prices.py", "docs/prices.md", "CHANGES.md", status="A"))
    for number in range(1, 9):
        learned.learn_unit(unit(number, *(("basket.py", "CHANGES.md") if number % 2 else ("prices.py", "basket.py"))))
    return learned


def name(text: str, role: str, *files: str) -> ChangedName:
    return ChangedName(text, NAME_ROLES.index(role), files)


def test_removed_name_makes_its_user_likelier(predictor: Predictor) -> None:
    removed = [name("total", "removes", "basket.py", "prices.py")]

    def rate(names: list[ChangedName]) -> float:
        found = {one.path: one.probability for one in find_missing_files(predictor, ["basket.py"], FOCUS, NOW, names)}
        return found.get("prices.py", 0.0)

    assert rate(removed) > rate([])


def test_file_with_changed_names_is_a_candidate(predictor: Predictor) -> None:
    names = [
        name("total", "changes", "basket.py", "docs/prices.md"),
        name("price_of", "removes", "docs/prices.md"),
        name("word", "removes", "docs/prices.md"),
        name("green", "is beside", "docs/prices.md"),
    ]
    candidates, matrix = gather_missing_candidates(predictor, ["basket.py"], FOCUS, NOW, names)
    row = [one.path for one in candidates].index("docs/prices.md")
    found = dict(zip(FEATURES, matrix[row], strict=True))
    assert found["best_removed"] == found["best_changed"] == found["best_nearby"] > 0 == found["best_added"]
    assert "has `price_of`, which the change removes" in candidates[row].reasons


def test_changed_file_and_touched_folder_are_no_candidates(predictor: Predictor) -> None:
    names = [name("total", "removes", "basket.py", "prices.py")]
    candidates, matrix = gather_missing_candidates(predictor, ["basket.py", "prices.py"], FOCUS, NOW, names)
    assert len(candidates) == len(matrix)
    assert not {"basket.py", "prices.py"} & {one.path for one in candidates}


def test_change_log_is_reported_with_its_count(predictor: Predictor) -> None:
    candidates, matrix = gather_missing_candidates(predictor, ["basket.py"], FOCUS, NOW, [])
    row = [one.path for one in candidates].index("CHANGES.md")
    assert matrix[row][FEATURES.index("is_hub")] == 1
    assert "changes of basket.py" in candidates[row].reasons[0]


def test_unknown_files_lack_nothing(predictor: Predictor) -> None:
    assert find_missing_files(predictor, ["unknown.py"], FOCUS, NOW) == ()
