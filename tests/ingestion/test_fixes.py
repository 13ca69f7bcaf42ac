"""Fixes: small changes with a success rate."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hunchd.ingestion.fixes import (
    MAX_PATHS,
    Fix,
    build_fix,
    fix_to_memory,
    memory_to_fix,
    record_failures,
    record_success,
    select_best,
)
from hunchd.repository.tree_snapshots import FileChange

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def make_fix(*changes: FileChange, named: tuple[str, ...] = ()) -> Fix | None:
    return build_fix(changes, error="e1", headline="KeyError: 'x'", named_paths=named, at=NOW, command="pytest")


def change(path: str, before: str | None = "a = 1\n", after: str | None = "a = 2\n") -> FileChange:
    return FileChange(path, before, after)


def fix(*paths: str, **given: int) -> Fix:
    one = make_fix(*(change(path) for path in paths))
    assert one is not None
    return replace(one, **given)


def test_named_paths_come_first() -> None:
    one = make_fix(change("a.py"), change("z.py"), named=("z.py",))

    assert one is not None
    assert one.paths == ("z.py", "a.py")
    changed = ["@@ -1 +1 @@", "-a = 1", "+a = 2"]
    assert one.diff.splitlines() == ["z.py", *changed, "a.py", *changed]
    assert one.summary == "fixed before in z.py, a.py: helped 1 of 1"


def test_empty_or_large_change_is_no_fix() -> None:
    assert make_fix() is None
    assert make_fix(change("a.py", "a = 1\n", "a = 1\n\n")) is None
    assert make_fix(*(change(f"{number}.py") for number in range(MAX_PATHS + 1))) is None


def test_long_diff_is_truncated() -> None:
    one = make_fix(change("a.py", "", "\n".join(f"line {number}" for number in range(5_000))))

    assert one is not None
    assert one.diff.endswith("more lines")
    assert len(one.diff) < 6_001


def test_repeated_fix_counts_as_success() -> None:
    first, other = fix("a.py"), fix("b.py")

    [again] = record_success([first], fix("a.py"))
    assert (again.id, again.success_count, again.trial_count) == (first.id, 2, 2)

    new, before = record_success([first], other)
    assert (new.id, new.success_count, new.trial_count) == (other.id, 1, 1)
    assert (before.id, before.success_count, before.trial_count) == (first.id, 1, 2)
    assert before.confidence < first.confidence < again.confidence


def test_failed_fix_loses_confidence_until_hidden() -> None:
    one = fix("a.py")
    assert record_failures([one], ["b.py"]) == []
    for _ in range(6):
        [one] = record_failures([one], ["a.py", "b.py"])

    assert (one.success_count, one.trial_count) == (1, 7)
    assert select_best([one]) is None
    assert select_best([one, fix("b.py")]) == fix("b.py")


def test_fix_survives_memory_round_trip() -> None:
    one = replace(fix("a.py", "b.py"), commit="c" * 40, subject="Mend the basket", success_count=3, trial_count=4)

    memory = fix_to_memory(one, "p", NOW)

    assert memory_to_fix(memory) == one
    assert memory.links == ({"type": "fixes", "ref": "e1"},)
    assert one.summary == "fixed before by ccccccc in a.py, b.py: helped 3 of 4"


def test_different_change_of_file_is_different_fix() -> None:
    first = make_fix(change("a.py", "a\nb\n", "import os\na\nb\n"))
    other = make_fix(change("a.py", "a\nb\n", "a\nimport re\nb\n"))
    again = make_fix(change("a.py", "x\na\nb\n", "x\nimport os\na\nb\n# more\n"))
    assert first is not None
    assert other is not None
    assert again is not None

    assert [one.success_count for one in record_success([first], other)] == [1, 1]
    assert [(one.id, one.success_count) for one in record_success([first], again)] == [(first.id, 2)]
