"""Past fixes: a commit must mention the error's names and describe a fix."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.fixes import build_fix, fix_to_memory, memory_to_fix, record_failures, record_success, select_best
from hunchd.ingestion.past_fixes import build_past_fix, describes_fix, extract_error_names, find_likely_fix
from hunchd.repository.commit_search import FoundCommit
from hunchd.repository.tree_snapshots import FileChange

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)
TRACE = """Traceback (most recent call last):
  File "shop/basket.py", line 9, in add_item
  File "shop/price.py", line 4, in taxed_total
KeyError: 'tax_rate'
"""


def commit(message: str, *lines: str, sha: str = "a" * 40, at: int = 1_600_000_000) -> FoundCommit:
    return FoundCommit(sha, "b" * 40, at, message, ("shop/price.py",), lines)


def find_subject(*commits: FoundCommit, trace: str = TRACE) -> str | None:
    """Return the subject of the selected commit."""
    read = parse_error(trace)
    found = find_likely_fix(extract_error_names(read, read.nearest_places), commits)
    return found[0].subject if found else None


def test_commit_must_mention_error_names() -> None:
    others = [commit("Fix rounding of prices"), commit("Fix a crash at the end of a sale"), commit("Add currencies")]

    assert find_subject(*others) is None
    assert (
        find_subject(*others, commit("Fix KeyError when tax_rate is missing"))
        == "Fix KeyError when tax_rate is missing"
    )
    assert (
        find_subject(*others, commit("taxed_total: fix a missing rate", "+def taxed_total(items, tax_rate=0):"))
        is not None
    )


def test_error_type_alone_is_insufficient() -> None:
    assert find_subject(commit("Fix KeyError in the importer", "+except KeyError:")) is None


def test_commit_without_fix_is_ignored() -> None:
    assert find_subject(commit("Rename rate to tax_rate in taxed_total")) is None
    assert find_subject(commit("Fix typo in the docs of taxed_total and tax_rate")) is None


def test_frequent_name_does_not_count() -> None:
    many = [commit(f"taxed_total: fix case {number}", sha=f"{number:040x}") for number in range(40)]

    assert find_subject(*many) is None


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("Fix the tax", True),
        ('Revert "Round prices"', True),
        ("Round prices\n\nCloses #12", True),
        ("Prices no longer go below zero", True),
        ("docs: fix the readme", False),
        ("Fix typos", False),
        ("Add currencies", False),
    ],
)
def test_commit_message_describes_fix(message: str, says: bool) -> None:
    assert describes_fix(message) is says


def test_past_fix_ranks_behind_proven_fixes() -> None:
    change = FileChange("shop/price.py", "a = 1\n", "a = 2\n")
    past = build_past_fix(
        [change],
        commit("Fix KeyError when tax_rate is missing"),
        error="e1",
        headline="KeyError: 'tax_rate'",
        subject="Fix KeyError when tax_rate is missing",
        shared_symbols=("KeyError", "tax_rate"),
    )
    assert past is not None
    assert past.summary == "commit aaaaaaa fixed a similar error in shop/price.py, 2020-09"
    memory = fix_to_memory(past, "p", NOW)
    assert memory_to_fix(memory) == past
    assert {"type": "about_symbol", "ref": "shop/price.py#tax_rate"} in memory.links
    assert select_best([past]) == past

    other = replace(change, path="shop/other.py")
    proven = build_fix([other], error="e1", headline="", named_paths=(), at=NOW, command=None)
    assert proven is not None
    assert select_best([past, replace(proven, success_count=1, trial_count=3)]).id == proven.id  # type: ignore[union-attr]

    assert record_failures([past], ["shop/price.py"]) == []
    new, rest = record_success([past], proven)
    assert select_best([rest]) is None
    assert new == proven


def test_past_fix_that_helps_becomes_proven() -> None:
    change = FileChange("shop/price.py", "a = 1\n", "a = 2\n")
    past = build_past_fix([change], commit("Fix"), error="e1", headline="", subject="Fix", shared_symbols=())
    made = build_fix([change], error="e1", headline="", named_paths=(), at=NOW, command="pytest")
    assert past is not None
    assert made is not None

    [known] = record_success([past], made)

    assert (known.id, known.success_count, known.trial_count, known.is_past) == (past.id, 1, 1, False)
