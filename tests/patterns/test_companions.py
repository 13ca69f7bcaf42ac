"""Companions of patterns: from the commits that added instances, and from co-changes of their files."""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.domain.history import PathChange, Unit
from hunchd.patterns.companions import find_companions


def unit(number: int, *paths: str) -> Unit:
    changes = tuple(PathChange("M", path) for path in paths)
    return Unit(
        sha=f"{number:040x}", parents=(), author="Ada", email="ada@example.org", at=number, subject="Add a command",
        changes=changes,
    )  # fmt: skip


def list_companions(units: Sequence[Unit], around: Sequence[Sequence[str]] = ()) -> list[tuple[str, int, int]]:
    found = find_companions(
        [(one, ["cli/new.py"]) for one in units], cochanged_paths=around, instances=["cli/new.py", "cli/old.py"]
    )
    return [(one.target, one.times, one.of) for one in found if one.kind == "file"]


def test_target_of_most_units_is_companion() -> None:
    units = [unit(1, "cli/new.py", "cli/registry.py"), unit(2, "cli/new.py", "cli/registry.py", "README.md")]

    assert list_companions(units) == [("cli/registry.py", 2, 2)]


def test_single_unit_needs_cochanges_as_evidence() -> None:
    once = [unit(1, "cli/new.py", "cli/registry.py", "setup.cfg")]
    around = [["cli/old.py", "cli/registry.py"]] * 6 + [["cli/old.py"]] * 3

    assert list_companions(once) == []
    assert list_companions(once, around) == [("cli/registry.py", 6, 9)]


def test_few_cochanges_are_no_companion() -> None:
    assert list_companions([], [["cli/old.py", "cli/registry.py"]] * 3) == []
