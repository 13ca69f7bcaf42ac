"""Tests of recurring updates: parsing commits, merging series, and the line format."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce

import pytest

from hunchd.consolidation.recurring_updates import (
    MAX_COMMITS,
    MAX_DEPENDENCIES,
    UpdateSeries,
    iter_series,
    parse_series,
    parse_updates,
)
from hunchd.domain.memory import Artifact, Memory
from tests.consolidation.made import NOW, memory


def bot_commit(title: str, body: str = "", *, sha: str = "", days_ago: int = 50) -> Memory:
    artifacts = (Artifact("commit", sha),) if sha else ()
    return memory(
        f"m{sha[:8]}", title=title, content=f"{title}\n\n{body}\n\nM a.txt", tags=("bot",), artifacts=artifacts,
        at=NOW - timedelta(days=days_ago),
    )  # fmt: skip


def update_fields(one: Memory) -> list[tuple[str, str, str]]:
    return [(bump.subject, bump.old_version, bump.new_version) for bump in parse_updates(one)]


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("Bump tox from 3.21.4 to 3.22.0", "", [("tox", "3.21.4", "3.22.0")]),
        ("build(deps): Bump anyio[trio] from 4.0 to 4.1 in /testing/some", "", [("anyio", "4.0", "4.1")]),
        ("⬆️ Bump starlette from 0.40 to 0.41", "", [("starlette", "0.40", "0.41")]),
        ("[Snyk] Security upgrade axios from 1.7.1 to 1.7.4", "", [("axios", "1.7.1", "1.7.4")]),
        ("Update cryptography to 43.0.1", "", [("cryptography", "", "43.0.1")]),
        ("Pin pre-commit to latest version 4.0.0 (Python 3.9+)", "", [("pre-commit", "", "4.0.0")]),
        ("chore(deps): update dependency @scope/a.b to ^8.1.0", "", [("@scope/a.b", "", "^8.1.0")]),
        ("fix(deps)!: update dependency axios to v1.12.0 [security]", "", [("axios", "", "v1.12.0")]),
        ("fix(deps): update react monorepo to v19 (major)", "", [("react", "", "v19")]),
        ("chore(deps): update actions/cache action to v5", "", [("actions/cache", "", "v5")]),
        ("chore(deps): update some/helper digest to d1d51fc", "", [("some/helper", "", "d1d51fc")]),
        ("Bump github.com/a/b/v2 from 2.0.2 to 2.0.6", "", [("github.com/a/b/v2", "2.0.2", "2.0.6")]),
        ("Merge pull request from org/dependabot/pip/sphinx-4.1.2", "", [("sphinx", "", "4.1.2")]),
        ("Merge pull request from o/dependabot/github_actions/a/some-go-4.6", "", [("a/some-go", "", "4.6")]),
        (
            "build(deps): Bump django in /testing/some",
            "Bumps [django](https://example.org/django) from 6.0.4\r\nto 6.0.5.\n- [Commits](https://example.org)",
            [("django", "6.0.4", "6.0.5")],
        ),
        (
            "Bump the actions group with 2 updates",
            "Bumps the actions group with 2 updates: [a/one](u) and [a/two](u).\n\n"
            "Updates `a/one` from 3 to 4\n- [Notes](u)\n\nUpdates `a/two` from 1.2 to 1.3\n- [Notes](u)",
            [("a/one", "3", "4"), ("a/two", "1.2", "1.3")],
        ),
        (
            "[pre-commit.ci] pre-commit autoupdate",
            "updates:\n- [github.com/a/ruff-pre-commit: v0.15.10 → v0.15.11](u)\n- [github.com/b/mypy: 1.1 → 2.0](u)",
            [("a/ruff-pre-commit", "v0.15.10", "v0.15.11"), ("b/mypy", "1.1", "2.0")],
        ),
        (
            "fix(deps): update all non-major dependencies",
            "| datasource | package | from | to |\n| --- | --- | --- | --- |\n| npm | esbuild | 0.21.1 | 0.21.2 |",
            [("esbuild", "0.21.1", "0.21.2")],
        ),
        ("chore(deps): update all non-major dependencies", "", [("update all non-major dependencies", "", "")]),
        ("fix(deps): update all non-major dependencies", "", [("update all non-major dependencies", "", "")]),
        ("Lock file maintenance", "", [("Lock file maintenance", "", "")]),
        ("[automated] Update plugin list", "", [("[automated] Update plugin list", "", "")]),
        ("chore(main): release 1.4.0", "", [("release", "", "1.4.0")]),
        ("Translated using Weblate (German)", "", [("Translated using Weblate", "", "")]),
        ("docs: add somebody as a contributor for code", "", [("add contributors", "", "")]),
        ("#12", "", [("updates by machines", "", "")]),
    ],
)
def test_bot_commit_parsed_to_versions(title: str, body: str, expected: list[tuple[str, str, str]]) -> None:
    assert update_fields(bot_commit(title, body)) == expected


@pytest.mark.parametrize(
    ("title", "tags", "expected"),
    [
        ("chore(deps): bump TypeScript to 5.6", ("deps", "maintenance"), [("TypeScript", "", "5.6")]),
        ("Bump version to 3.2.0", ("maintenance",), []),
        ("release: v6.0.3", ("maintenance",), []),
        ("bump ruff to 0.8.1 and rework the reader for it", ("maintenance",), []),
        ("chore(deps)!: migrate `fast-glob` to `tinyglobby`", ("deps", "maintenance"), []),
        ("Merge branch 'stable'", ("maintenance",), [("Merge branch 'stable'", "", "")]),
        ("Merge branch '3.0.x'", ("maintenance",), [("Merge branch '3.0.x'", "", "")]),
        ("Merge branch 'stable'", (), []),
        ("Update the cache to 2 levels", (), []),
        ("Bump tox from 3.21.4 to 3.22.0", ("bot", "release"), []),
    ],
)
def test_maintenance_title_is_update_only_if_complete(
    title: str, tags: tuple[str, ...], expected: list[tuple[str, str, str]]
) -> None:
    assert update_fields(memory("m", title=title, content=title, tags=tags)) == expected


def test_truncated_title_read_from_content() -> None:
    title = f"build(deps): Bump some/alls-green from {'1a' * 20} to {'2b' * 20} (#14171)"
    cut_off = memory("m", title=title[:90] + "…", content=f"{title}\n\nM a.txt", tags=("bot",))
    assert update_fields(cut_off) == [("some/alls-green", "1a1a1a1a1a1a", "2b2b2b2b2b2b")]


def test_body_with_too_many_updates_uses_title() -> None:
    body = "\n".join(f"Updates `dep{number}` from 1 to 2" for number in range(MAX_DEPENDENCIES + 1))
    assert update_fields(bot_commit("Bump the all group with 13 updates", body)) == [
        ("Bump the all group with updates", "", "")
    ]


def merge_series(*episodes: Memory) -> UpdateSeries:
    return reduce(UpdateSeries.merge, (one for episode in episodes for one in iter_series(episode)))


def test_series_line_contains_versions_count_and_commits() -> None:
    bumps = [
        bot_commit(f"Bump tox from 3.{number} to 3.{number + 1}", sha=f"{number:08x}{'a' * 32}", days_ago=90 - number)
        for number in range(5)
    ]
    line = merge_series(*bumps).line
    assert line == ("2026-03-07 tox 3.0 → 3.5, 5 times since 2026-03-03 [00000004 00000003 00000002 00000001 00000000]")
    assert merge_series(bumps[0]).line == "2026-03-03 tox 3.0 → 3.1 [00000000]"


@pytest.mark.parametrize(
    "series",
    [
        UpdateSeries("tox", "3.0", "3.5", "2026-03-03", "2026-03-07", 5, ("00000004", "00000000")),
        UpdateSeries("tox", "3.0", "3.1", "2026-03-03", "2026-03-03", 1, ("00000000",)),
        UpdateSeries("@scope/a.b", "^8.1.0", "^8.1.0", "2026-03-03", "2026-03-03", 1, ("00000000",)),
        UpdateSeries(
            "[automated] Update plugin list", "", "", "2025-03-03", "2026-03-03", 52, ("0000000a", "0000000b")
        ),
        UpdateSeries("Lock file maintenance", "", "", "2025-03-03", "2026-03-03", 2),
    ],
)
def test_series_line_round_trip(series: UpdateSeries) -> None:
    assert parse_series(series.line) == series


def test_branch_merges_share_one_series() -> None:
    merges = [
        memory(
            f"m{number}", title="Merge branch '3.0.x'", content="Merge branch '3.0.x'", tags=("maintenance",),
            artifacts=(Artifact("commit", f"{number}" * 40),), at=NOW - timedelta(days=90 - number),
        )
        for number in range(3)
    ]  # fmt: skip
    line = merge_series(*merges).line
    assert line == "2026-03-05 Merge branch '3.0.x', 3 times since 2026-03-03 [22222222 11111111 00000000]"
    assert parse_series(line) == merge_series(*merges)


def test_series_merge_with_known_commit_unchanged() -> None:
    first, second = (
        bot_commit(f"Update tox to {number}", sha=f"{number:08x}", days_ago=60 - number) for number in (1, 2)
    )
    both = merge_series(first, second)
    assert merge_series(first, second, first, second) == both
    assert (both.first_version, both.newest_version, both.count) == ("1", "2", 2)


def test_series_merge_order_independent_newest_by_day() -> None:
    bumps = [
        bot_commit(f"Bump tox from {number} to {number + 1}", sha=f"{number:08x}", days_ago=60 - number)
        for number in range(4)
    ]
    shuffled = merge_series(bumps[2], bumps[0], bumps[3], bumps[1])
    assert (shuffled.first_version, shuffled.newest_version, shuffled.first_day, shuffled.last_day) == (
        "0",
        "4",
        "2026-04-02",
        "2026-04-05",
    )
    assert set(shuffled.commits) == {f"{number:08x}" for number in range(4)}


def test_long_series_limits_commits_counts_all() -> None:
    many = merge_series(
        *(bot_commit("Update list", sha=f"{number:08x}", days_ago=900 - number) for number in range(MAX_COMMITS + 50))
    )
    assert (many.count, len(many.commits)) == (MAX_COMMITS + 50, MAX_COMMITS)
    assert many.commits[0] == f"{MAX_COMMITS + 49:08x}"


def test_title_resembling_count_not_parsed() -> None:
    forged = bot_commit("thing 1 → 9, 900 times since 2001-01-01 [deadbeef]", sha="0" * 40)
    [one] = iter_series(forged)
    series = parse_series(one.line)
    assert series is not None
    assert (series.count, series.commits) == (1, ("00000000",))
