"""What changes together with new instances: told by the commits that added them, and where these are few by what
changes with their files."""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.domain.history import Change, Unit
from hunchd.patterns.companions import companions_of


def unit(number: int, *paths: str) -> Unit:
    changes = tuple(Change("M", path) for path in paths)
    return Unit(
        sha=f"{number:040x}", parents=(), author="Ada", email="ada@example.org", at=number, subject="Add a command",
        changes=changes,
    )  # fmt: skip


def told(units: Sequence[Unit], around: Sequence[Sequence[str]] = ()) -> list[tuple[str, int, int]]:
    found = companions_of(
        [(one, ["cli/new.py"]) for one in units], around=around, instances=["cli/new.py", "cli/old.py"]
    )
    return [(one.target, one.times, one.of) for one in found if one.kind == "file"]


def test_what_most_units_that_added_one_touched_is_a_companion() -> None:
    units = [unit(1, "cli/new.py", "cli/registry.py"), unit(2, "cli/new.py", "cli/registry.py", "README.md")]

    assert told(units) == [("cli/registry.py", 2, 2)]


def test_one_unit_alone_tells_nothing_until_what_changes_with_the_files_agrees() -> None:
    once = [unit(1, "cli/new.py", "cli/registry.py", "setup.cfg")]
    around = [["cli/old.py", "cli/registry.py"]] * 6 + [["cli/old.py"]] * 3

    assert told(once) == []
    assert told(once, around) == [("cli/registry.py", 6, 9)]


def test_few_changes_together_are_chance() -> None:
    assert told([], [["cli/old.py", "cli/registry.py"]] * 3) == []
