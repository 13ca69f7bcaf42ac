"""Session reranking: revisits, pauses, closed files and probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hunchd.domain.context import Focus, Prediction
from hunchd.domain.history import PathChange, Unit
from hunchd.prediction import session_reranker
from hunchd.prediction.predictor import Predictor
from hunchd.prediction.session import PAUSE_SECONDS, DeveloperSession, FileVisit, SessionEvent

NOW = 1_700_000_000
FILES = [f"src/part{number}.py" for number in range(12)]


def unit(number: int, *paths: str, status: str = "M") -> Unit:
    changes = tuple(PathChange(status, path) for path in paths)  # type: ignore[arg-type]
    at = NOW - (200 - number) * 86_400
    return Unit(
        sha=f"{number:040x}", parents=(), at=at, author="Ada", email="a@b.c", subject=f"work {number}", changes=changes
    )


@pytest.fixture
def predictor() -> Predictor:
    learned = Predictor()
    learned.learn_unit(unit(0, *FILES, "notes.md", status="A"))
    for number in range(1, 60):
        learned.learn_unit(unit(number, FILES[number % 11], FILES[number % 11 + 1], "notes.md"))
    return learned


def visit(predictor: Predictor, *paths: str, since: int = NOW - 60) -> None:
    for number, path in enumerate(paths):
        predictor.record_event(SessionEvent("opened", since + number, path))


def asked(predictor: Predictor, *visited: str, now: int = NOW, k: int = 8) -> Prediction:
    return predictor.predict(Focus(project="p", file=visited[-1], visited=visited[:-1]), now=now, k=k)


def names(prediction: Prediction) -> list[str]:
    return [file.path for file in prediction.files]


def test_back_and_forth_session_predicts_visited_file(predictor: Predictor) -> None:
    away, here = FILES[9], FILES[0]
    assert away not in names(asked(predictor, here))[:3]

    path = (here, away, here, away, here)
    visit(predictor, *path)

    assert names(asked(predictor, *path))[0] == away


def test_open_files_are_not_suggested_after_visits(predictor: Predictor) -> None:
    path = (FILES[0], FILES[9], FILES[0], FILES[9], FILES[0])
    visit(predictor, *path)

    shown = predictor.predict(Focus(project="p", file=FILES[0], open_files=(FILES[9],)), now=NOW)

    assert not {FILES[0], FILES[9]} & set(names(shown))


def test_hub_is_suggested_only_after_visit(predictor: Predictor) -> None:
    assert "notes.md" in predictor.list_hubs()
    assert "notes.md" not in names(asked(predictor, FILES[0], k=20))

    path = (FILES[0], "notes.md", FILES[0])
    visit(predictor, *path)

    assert "notes.md" in names(asked(predictor, *path))


def test_pause_or_checkout_starts_new_session(predictor: Predictor) -> None:
    before = names(asked(predictor, FILES[0]))
    path = (FILES[0], FILES[9], FILES[0], FILES[9], FILES[0])
    visit(predictor, *path)
    assert names(asked(predictor, *path)) != before

    steps = predictor.state.session.list_steps
    assert len(steps(NOW)) == 5
    assert not steps(NOW + PAUSE_SECONDS + 60)

    predictor.record_event(SessionEvent("checkout", NOW, branch="other"))
    assert not steps(NOW)
    visit(predictor, FILES[3], since=NOW)
    assert [step.file for step in steps(NOW)] == predictor.state.files.find_numbers([FILES[3]])


def test_closed_file_is_dropped_until_reopened() -> None:
    session = DeveloperSession()
    for number, (kind, file) in enumerate([("opened", 1), ("opened", 2), ("closed", 1), ("opened", 3), ("closed", 9)]):
        session.record_event(SessionEvent(kind, NOW + number, f"{file}"), file)  # type: ignore[arg-type]
    assert [step.file for step in session.list_steps(NOW + 9)] == [2, 3]

    session.record_event(SessionEvent("opened", NOW + 9, "1"), 1)
    assert [step.file for step in session.list_steps(NOW + 9)] == [1, 2, 3, 1]


def test_chances_are_probabilities_and_fall(predictor: Predictor) -> None:
    path = (FILES[2], FILES[5], FILES[2], FILES[7], FILES[2])
    visit(predictor, *path)

    told = [file.confidence for file in asked(predictor, *path, k=20).files]

    assert told == sorted(told, reverse=True)
    assert 0.0 <= told[-1] <= told[0] <= 1.0


def test_new_file_uses_previous_file_as_seed(predictor: Predictor) -> None:
    visit(predictor, FILES[0], FILES[5])

    answer = asked(predictor, FILES[0], FILES[5], "src/not_written_yet.py")

    assert FILES[0] in names(answer)


def test_session_survives_saving(predictor: Predictor, tmp_path: Path) -> None:
    path = (FILES[0], FILES[9], FILES[0], FILES[9], FILES[0])
    visit(predictor, *path)
    predictor.save(tmp_path / "model")

    assert asked(Predictor.load(tmp_path / "model"), *path) == asked(predictor, *path)


def test_session_loads_arrays_without_since_checkout() -> None:
    session = DeveloperSession()
    session.record_event(SessionEvent("opened", NOW, "a"), 1)
    session.record_event(SessionEvent("saved", NOW, "a"), 1)
    arrays = session.to_arrays()
    del arrays["since_checkout"]

    assert DeveloperSession.from_arrays(arrays).list_steps(NOW) == [FileVisit(1, was_edited=True)]


def test_weights_of_other_signs_raise_value_error(tmp_path: Path) -> None:
    table = json.loads(session_reranker.WEIGHTS_FILE.read_text("utf-8"))
    copy = tmp_path / "sequel.json"
    copy.write_text(json.dumps(table), "utf-8")
    again = session_reranker.load_weights(copy)
    assert np.array_equal(again.seed_weights, session_reranker.load_shipped().seed_weights)

    copy.write_text(json.dumps(table | {"signs": table["signs"][1:]}), "utf-8")
    with pytest.raises(ValueError, match="different features or a different format version"):
        session_reranker.load_weights(copy)


def test_shipped_weights_have_provenance() -> None:
    assert session_reranker.load_shipped().provenance["from"]
    assert (np.diff(session_reranker.load_shipped().calibration.probabilities) >= 0).all()
