"""Tests of matching a bare last line to a known error with a trace."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hunchd.core.state.apply_signal import apply_signal, build_signal_row, get_reported_error_id, load_errors
from hunchd.core.state.known_errors import describe_possible_errors
from hunchd.core.state.project import KnownError, Project, WorkingTree
from hunchd.domain.context import Focus
from hunchd.domain.facts import MemoryChange
from hunchd.domain.history import PathChange as GitChange
from hunchd.domain.history import Unit
from hunchd.domain.signal import ErrorCleared, ErrorReported
from hunchd.features.context.predicted_errors import asked_errors, predict_errors
from hunchd.ingestion.fixes import Fix, fix_to_memory
from hunchd.prediction.predictor import Predictor
from hunchd.protocol.signals import signal_to_json
from hunchd.repository.layout import make_plain_layout

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def trace(last: str, file: str = "shop/load.py", function: str = "load") -> str:
    return f'Traceback (most recent call last):\n  File "{file}", line 7, in {function}\n    it()\n{last}\n'


class ErrorProject:
    """Project in which errors are reported, one a minute."""

    def __init__(self, root: Path) -> None:
        self.tree = WorkingTree(root, make_plain_layout(root))
        self.project = Project("p", "shop", self.tree, root)
        self._now = NOW

    def sees(self, text: str, file: str | None = None) -> KnownError:
        self._now += timedelta(minutes=1)
        self.signal = ErrorReported(
            project=str(self.tree.root), at=self._now, text=text, file=file, command="run", id="s"
        )
        self.effect = apply_signal(self.signal, self.project, self.tree)
        return next(reversed(self.project.errors.values()))

    def mends(self, error: KnownError) -> Fix:
        fix = Fix(f"fix-{error.memory}", error.memory, error.headline, (error.path or "a.py",), "+x", self._now)
        self.project.apply_change(MemoryChange((fix_to_memory(fix, "p", self._now),), project="p"))
        apply_signal(ErrorCleared(project=str(self.tree.root), at=self._now), self.project, self.tree)
        assert error.memory not in self.project.errors
        return fix

    def starts_again(self) -> None:
        """Simulate a restart: only what was stored is known."""
        fixes = tuple(fix_to_memory(fix, "p", self._now) for fix in self.project.fixes.iter_all())
        [stored] = self.effect.memories
        gone = stored.source | {"cleared": (self._now + timedelta(minutes=1)).isoformat()}
        self.project = Project("p", "shop", self.tree, self.tree.root)
        self.project.apply_change(MemoryChange(fixes, project="p"))
        load_errors(self.project, [replace(stored, source=gone)])


@pytest.fixture
def work(tmp_path: Path) -> ErrorProject:
    return ErrorProject(tmp_path)


@pytest.mark.parametrize(
    ("whole", "line"),
    [
        ("KeyError: 'retries'", "KeyError: 'retries'"),
        ("KeyError: 'retries'", "E   KeyError: 'retries'"),
        (
            "shop.errors.StockError: no stock of article 17 is left in 9",
            "StockError: no stock of article 4 is left in 12",
        ),
        ("TimeoutError: the stock lock took 3.1 s", "TimeoutError: the stock lock took 9.0 s\n\n"),
        ("AttributeError: 'Cart' has no attribute 'total'", "AttributeError: 'Cart' has no attribute 'total'"),
        ("AssertionError: the basket holds sold articles", "AssertionError: the basket holds sold articles"),
    ],
)
def test_unique_last_line_matches_error(work: ErrorProject, whole: str, line: str) -> None:
    error = work.sees(trace(whole))
    fix = work.mends(error)
    work.sees(trace("IndexError: list index out of range"))

    again = work.sees(line)

    assert again.memory == error.memory
    assert (again.text, again.path, again.line, again.times) == (trace(whole), "shop/load.py", 7, 2)
    [stored] = work.effect.memories
    assert stored.content == trace(whole)
    assert {"type": "fixed_by", "ref": fix.id} in stored.links
    told = predict_errors(work.project, Focus(project="p"), line, NOW)
    assert [one.id for one in told] == [fix.id]


def test_unique_last_line_matches_after_restart(work: ErrorProject) -> None:
    error = work.sees(trace("KeyError: 'retries'"))
    fixed = work.mends(error)
    work.starts_again()

    again = work.sees("KeyError: 'retries'")

    assert (again.memory, again.times) == (error.memory, 2)
    assert work.project.fixes.best_for((again.memory,))[again.memory].id == fixed.id


@pytest.mark.parametrize(
    ("whole", "line"),
    [
        ("KeyError: 'retries'", "KeyError: 'retry'"),
        ("KeyError: 'retries'", "AttributeError: 'retries'"),
        ("AssertionError", "AssertionError"),
        ("AssertionError: assert 'red' == 'green'", "AssertionError: assert 'red' == 'green'"),
        ("IndexError: list index out of range", "IndexError: list index out of range"),
        ("TypeError: 'NoneType' object is not subscriptable", "TypeError: 'NoneType' object is not subscriptable"),
        ("KeyError: 17", "KeyError: 17"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError: division by zero"),
    ],
)
def test_ambiguous_last_line_matches_none(work: ErrorProject, whole: str, line: str) -> None:
    error = work.sees(trace(whole))
    work.mends(error)

    assert work.sees(line).memory != error.memory


def test_same_line_in_other_file_differs(work: ErrorProject) -> None:
    error = work.sees(trace("NameError: name 'sku' is not defined"))
    work.mends(error)

    assert work.sees("NameError: name 'sku' is not defined", file="shop/cart.py").memory != error.memory
    assert work.sees("NameError: name 'sku' is not defined", file="shop/load.py").memory == error.memory


def test_ambiguous_line_lists_described_candidates(work: ErrorProject) -> None:
    first = work.sees(trace("KeyError: 'retries'"))
    work.mends(first)
    second = work.sees(trace("KeyError: 'retries'", "shop/app.py", "main"))
    work.mends(second)

    short = work.sees("KeyError: 'retries'")

    assert short.memory not in (first.memory, second.memory)
    assert describe_possible_errors([short], work.project)[short.memory] == [
        "shop/app.py:7 in main, fixed before in shop/app.py: helped 1 of 1",
        "shop/load.py:7 in load, fixed before in shop/load.py: helped 1 of 1",
    ]
    told = predict_errors(work.project, Focus(project="p"), "KeyError: 'retries'", NOW)
    assert [one.id for one in told] == [second.memory, first.memory]
    assert all(one.confidence < 0.5 for one in told)
    assert describe_possible_errors([first, second], work.project) == {}


def test_vague_last_line_lists_possible_error(work: ErrorProject) -> None:
    work.mends(work.sees(trace("IndexError: list index out of range")))

    short = work.sees("IndexError: list index out of range")

    [only] = describe_possible_errors([short], work.project)[short.memory]
    assert only.startswith("shop/load.py:7 in load, fixed before")


def test_stored_signal_names_error_of_line(work: ErrorProject) -> None:
    """So that it is deleted together with the error."""
    error = work.sees(trace("KeyError: 'retries'"))
    row = build_signal_row(work.signal, signal_to_json(work.signal), work.project, work.effect)
    assert (get_reported_error_id(row["data"], "p"), row["data"]) == (error.memory, signal_to_json(work.signal))

    work.sees("KeyError: 'retries'")
    row = build_signal_row(work.signal, signal_to_json(work.signal), work.project, work.effect)
    assert get_reported_error_id(row["data"], "p") == error.memory


def unit(number: int, path: str) -> Unit:
    change = GitChange("A", path)
    return Unit(
        sha=f"{number:040x}",
        parents=(),
        author="Ada",
        email="ada@example.org",
        at=int(NOW.timestamp()),
        subject=f"work {number}",
        changes=(change,),
    )


@pytest.mark.parametrize(
    ("raised_in", "path"),
    [
        ("/app/src/shop/load.py", "src/shop/load.py"),
        ("/srv/copy/shop/load.py", "src/shop/load.py"),
        ("C:\\Users\\ann\\shop-main\\src\\shop\\load.py", "src/shop/load.py"),
        ("/app/.venv/lib/python3.11/site-packages/shop/load.py", None),
        ("/other/load.py", None),
        ("/app/web/api.py", None),
    ],
)
def test_error_in_project_copy_gets_local_path(work: ErrorProject, raised_in: str, path: str | None) -> None:
    work.project.predictor = Predictor()
    for number, known in enumerate(("src/shop/load.py", "src/till/load.py", "a/web/api.py", "b/web/api.py")):
        work.project.predictor.learn_unit(unit(number, known))

    error = work.sees(trace("KeyError: 'retries'", raised_in))

    assert (error.path, error.line) == (path, 7 if path else None)


def test_asked_error_without_signal_brings_fix(work: ErrorProject) -> None:
    work.mends(work.sees(trace("KeyError: 'retries'"), "shop/load.py"))
    elsewhere = trace("KeyError: 'retries'", "/builds/depot/shop/load.py").replace("line 7", "line 90")

    [known] = asked_errors(work.project, [elsewhere], NOW)

    assert work.project.fixes.best_for([known.memory])
    assert asked_errors(work.project, [trace("ValueError: no retries", "shop/load.py", "read")], NOW) == ()
