"""Tests of facts from files and branches, with concurrent changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.project_claims import FILE_SOURCE, ProjectClaims, get_side_branch, restrict_to_branch
from hunchd.core.projects.shared_memories import SharedMemories
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import SHARED_SOURCE
from hunchd.repository.layout import find_repository, make_plain_layout
from tests.features.test_plan_executor import RunFixture, open_run_fixture
from tests.repositories import commit, git

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(days=9)
BY_FILE = Memory(
    id="", kind=Kind.FACT, title="package manager: npm", content="package manager: npm", key="package manager",
    value="npm", category="convention", project="p", at=EARLIER, created=EARLIER, updated=EARLIER,
    trust=Trust.PROJECT, source={"type": FILE_SOURCE, "path": "package.json"},
)  # fmt: skip
OURS = replace(BY_FILE, id=slot_of(BY_FILE) or "")
THEIRS = replace(
    OURS, title="package manager: pnpm", content="package manager: pnpm", value="pnpm", trust=Trust.USER,
    source={"type": "user"}, at=NOW, created=NOW, updated=NOW,
)  # fmt: skip


COLLEAGUES = replace(OURS, source={"type": SHARED_SOURCE, "path": ".hunch/conventions/package-manager.md"})


def update_from_files(it: RunFixture, project: Project) -> Awaitable[None]:
    return ProjectClaims(it.memories, cast(Any, None)).update_from_files(project, [])


def update_from_shared(it: RunFixture, project: Project) -> Awaitable[None]:
    return SharedMemories(it.memories).update(project, [])


@pytest.mark.parametrize(("read", "before"), [(update_from_files, OURS), (update_from_shared, COLLEAGUES)])
async def test_update_from_files_keeps_concurrent_claim(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[RunFixture, Project], Awaitable[None]],
    before: Memory,
) -> None:
    async with open_run_fixture(tmp_path, before) as it:
        reading, go_on, known = asyncio.Event(), asyncio.Event(), it.memories.find

        async def slowly(ids: Sequence[str], project: str | None) -> dict[str, Memory]:
            found = await known(ids, project)
            if OURS.id in ids and not reading.is_set():
                reading.set()
                await go_on.wait()
            return found

        monkeypatch.setattr(it.memories, "find", slowly)
        main = WorkingTree(tmp_path, make_plain_layout(tmp_path))
        project = Project("p", "p", main, tmp_path, facts={OURS.id: before}, shared_ids={OURS.id: None})
        files = asyncio.ensure_future(read(it, project))
        async with asyncio.timeout(10):
            await reading.wait()
            person = asyncio.create_task(it.memories.claim([THEIRS]))
            for _ in range(200):  # as far as it comes meanwhile
                await asyncio.sleep(0.001)
            go_on.set()
            await asyncio.gather(files, person)
        held = (await it.memories.find([OURS.id], "p"))[OURS.id]
    assert (held.value, held.status) == ("pnpm", Status.ACTIVE)


async def test_fact_moved_to_other_file_updates_source(tmp_path: Path) -> None:
    moved = replace(OURS, source={"type": FILE_SOURCE, "path": "package.yaml"}, at=NOW, created=NOW, updated=NOW)
    async with open_run_fixture(tmp_path, OURS) as it:
        project = Project("p", "p", WorkingTree(tmp_path, make_plain_layout(tmp_path)), tmp_path, facts={OURS.id: OURS})
        await ProjectClaims(it.memories, cast(Any, None)).update_from_files(project, [moved])
        held = (await it.memories.find([OURS.id], "p"))[OURS.id]
    assert (held.value, held.source["path"], held.at) == ("npm", "package.yaml", EARLIER)


RULE = replace(
    BY_FILE, title="Use tabs.", content="Use tabs.", key="instruction/1", value="Use tabs.", category="instruction",
    trust=Trust.UNTRUSTED, confidence=0.8, tags=("Tabs",),
    source={"type": FILE_SOURCE, "path": ".cursor/rules/a.mdc", "globs": ["src/**"]},
)  # fmt: skip
RULE = replace(RULE, id=slot_of(RULE) or "")


@pytest.mark.parametrize(
    "now",
    [
        replace(RULE, source={**RULE.source, "globs": ["src/**", "lib/**"]}),
        replace(RULE, source={"type": FILE_SOURCE, "path": ".cursor/rules/a.mdc"}),
        replace(
            RULE, source={"type": FILE_SOURCE, "path": ".cursor/rules/a.mdc", "on_demand": True}, tags=("Indents",)
        ),
        replace(RULE, source={"type": FILE_SOURCE, "path": "CONTRIBUTING.md"}, confidence=0.6),
    ],
)
async def test_rule_with_new_globs_updates_source(tmp_path: Path, now: Memory) -> None:
    async with open_run_fixture(tmp_path, RULE) as it:
        project = Project("p", "p", WorkingTree(tmp_path, make_plain_layout(tmp_path)), tmp_path, facts={RULE.id: RULE})
        await ProjectClaims(it.memories, cast(Any, None)).update_from_files(project, [now])
        held = (await it.memories.find([RULE.id], "p"))[RULE.id]
    assert (held.source, held.tags, held.confidence) == (now.source, now.tags, now.confidence)
    assert held.status is Status.ACTIVE


async def test_rule_with_branch_globs_applies_on_branch(tmp_path: Path) -> None:
    other = replace(RULE, source={**RULE.source, "globs": ["lib/**"]})
    async with open_run_fixture(tmp_path, RULE) as it:
        tree = WorkingTree(tmp_path, make_plain_layout(tmp_path), branch="work", trunk="main")
        project = Project("p", "p", tree, tmp_path, facts={RULE.id: RULE})
        there = restrict_to_branch(RULE, "work").id
        await ProjectClaims(it.memories, cast(Any, None)).update_from_files(project, [RULE])
        assert there not in await it.memories.find([there], "p"), "the main line says the same"
        await ProjectClaims(it.memories, cast(Any, None)).update_from_files(project, [other])
        held = await it.memories.find([there, RULE.id], "p")
    assert [held[one].source["globs"] for one in (there, RULE.id)] == [["lib/**"], ["src/**"]]


class Git:
    """Fake git process that answers on demand, while others go on."""

    def __init__(self) -> None:
        self.asked, self.answers = asyncio.Event(), asyncio.Event()

    async def call(self, method: str, asked: dict[str, Any], answer: Any, *, timeout: float) -> Any:
        self.asked.set()
        await self.answers.wait()
        return [LEARNT_AT]


LEARNT_AT = "a" * 40
ON_BRANCH = replace(OURS, branch="work", source={"type": "commit", "sha": LEARNT_AT})
ON_BRANCH = replace(ON_BRANCH, id=slot_of(ON_BRANCH) or "")
WRITTEN_THERE = replace(
    OURS, branch="work", key="tests run with", id="f" * 24, source={"type": FILE_SOURCE, "path": "tox.ini"}
)


@asynccontextmanager
async def delayed_git(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *facts: Memory
) -> AsyncIterator[tuple[MemoryService, Callable[[], Awaitable[None]]]]:
    """Yield the memories, and an event that lets git confirm the merge of the branch."""
    monkeypatch.setattr("hunchd.core.projects.project_claims.find_default_branch", lambda layout: "main")
    monkeypatch.setattr("hunchd.core.projects.project_claims.resolve_ref", lambda layout, name: "b" * 40)
    async with open_run_fixture(folder, *facts) as it:
        git = Git()
        project = Project(
            "p", "p", WorkingTree(folder, make_plain_layout(folder)), folder, facts={one.id: one for one in facts}
        )
        merging = asyncio.create_task(ProjectClaims(it.memories, cast(Any, git)).merge_branch_facts(project))

        async def answered() -> None:
            git.answers.set()
            await merging

        async with asyncio.timeout(10):
            await git.asked.wait()
            yield it.memories, answered


async def test_merge_makes_branch_fact_valid_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with delayed_git(tmp_path, monkeypatch, ON_BRANCH, WRITTEN_THERE) as (memories, answered):
        await answered()
        held = await memories.find([OURS.id, ON_BRANCH.id, WRITTEN_THERE.id], "p")
    assert (held[OURS.id].value, held[OURS.id].branch) == ("npm", None)
    assert held[ON_BRANCH.id].superseded_by == OURS.id
    assert held[WRITTEN_THERE.id].source["tip"] == "b" * 40


async def test_merge_skips_fact_forgotten_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with delayed_git(tmp_path, monkeypatch, ON_BRANCH, WRITTEN_THERE) as (memories, answered):
        for one in (ON_BRANCH, WRITTEN_THERE):
            await memories.forget([one.id], ["p"])
        await answered()
        assert await memories.find([OURS.id, ON_BRANCH.id, WRITTEN_THERE.id], "p") == {}


async def test_merge_keeps_fact_changed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with delayed_git(tmp_path, monkeypatch, ON_BRANCH, WRITTEN_THERE) as (memories, answered):
        await memories.claim([replace(THEIRS, id=ON_BRANCH.id, branch="work")])
        await memories.edit(WRITTEN_THERE.id, {"value": "tox"}, ["p"])
        await answered()
        held = await memories.find([OURS.id, ON_BRANCH.id, WRITTEN_THERE.id], "p")
    assert OURS.id not in held
    assert (held[ON_BRANCH.id].value, held[ON_BRANCH.id].status) == ("pnpm", Status.ACTIVE)
    assert held[WRITTEN_THERE.id].value == "tox"


def test_side_line_masked_main_branch_is_none(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    repository = tmp_path / "shop"
    repository.mkdir()
    git(repository, "init", "-q", "-b", secret)
    commit(repository, "first", {"a.txt": "1\n"})
    git(repository, "update-ref", f"refs/remotes/origin/{secret}", "HEAD")
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{secret}")
    found = find_repository(repository)
    assert found is not None
    tree = WorkingTree(repository, found)
    tree.refresh_head()
    assert get_side_branch(Project("p", "shop", tree, tmp_path)) is None
    git(repository, "checkout", "-q", "-b", "work")
    tree.refresh_head()
    assert get_side_branch(Project("p", "shop", tree, tmp_path)) == "work"
