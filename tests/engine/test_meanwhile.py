"""Tests of memories that are erased or resolved between lookup and write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hunchd.consolidation.aging import ARCHIVE_REASON, ERASE_AFTER
from hunchd.consolidation.contradiction_records import create_contradiction
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.projects.shared_memories import SharedMemories
from hunchd.core.state.open_failures import OpenFailures, PassEvent
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import SHARED_SOURCE
from hunchd.features.contradictions.contradiction_search import ContradictionSearch
from hunchd.features.contradictions.contradiction_service import ContradictionService
from hunchd.features.errors.fix_learning import FixLearner
from hunchd.features.knowledge.knowledge_service import KnowledgeService
from hunchd.protocol.knowledge_answers import ContradictionAnswer
from hunchd.protocol.requests import ResolutionRequest
from hunchd.repository.layout import make_plain_layout
from tests.consolidation.made import NOW, memory
from tests.features.test_plan_executor import RunFixture, open_run_fixture

PAGE = memory("page", kind=Kind.DOCUMENT, category="document", key="/projects/shop/plan", content="ship on Monday")
ERROR = memory("error", kind=Kind.ERROR, content="ValueError: no price")
UNUSED = memory(
    "unused",
    status=Status.ARCHIVED,
    source={ARCHIVE_REASON: "not used", ERASE_AFTER: NOW.isoformat()},
    trust=Trust.DERIVED,
)
THEIRS = memory(
    "theirs", kind=Kind.FACT, content="ship on Friday", source={"type": SHARED_SOURCE, "path": ".hunch/a.md"}
)
ONE, OTHER = (memory(name, kind=Kind.FACT, content=f"we use {name}") for name in ("tabs", "spaces"))
OPEN = create_contradiction(ONE, OTHER, NOW)
KEPT = (PAGE, ERROR, UNUSED, THEIRS, ONE, OTHER, OPEN)


class OneProject(list[str]):
    """Fake registry with the single project p."""

    @property
    def ids(self) -> list[str]:
        return list(self)


def contradictions(it: RunFixture) -> ContradictionService:
    projects = cast(OpenProjects, cast(Any, OneProject(["p"])))
    return ContradictionService(
        it.memories, projects, cast(StoreWriter, None), cast(ContradictionSearch, None), now=lambda: NOW
    )


def knowledge(it: RunFixture) -> KnowledgeService:
    projects = cast(OpenProjects, cast(Any, OneProject(["p"])))
    return KnowledgeService(it.memories, projects, contradictions(it).unresolve, now=lambda: NOW)


def fixing(it: RunFixture, folder: Path) -> FixLearner:
    settings = SimpleNamespace(index=SimpleNamespace(ignore=()))
    parts = SimpleNamespace(settings=settings, paths=SimpleNamespace(data=folder), now=lambda: NOW)
    made = FixLearner(it.memories, lambda _: None, cast(Any, parts))
    made._failures_by_project["p"] = OpenFailures()
    return made


def project(folder: Path) -> Project:
    return Project("p", "shop", WorkingTree(folder, make_plain_layout(folder)), folder, shared_ids={THEIRS.id: None})


def edit(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).edit(PAGE.id, {"content": "ship on Tuesday"})


def undo(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).undo(PAGE.id)


def bring_back(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).undo(UNUSED.id)


def settle(it: RunFixture, folder: Path) -> Awaitable[object]:
    return contradictions(it).resolve(OPEN.id, ResolutionRequest(resolution="both_valid"))


def clear(it: RunFixture, folder: Path) -> Awaitable[object]:
    return fixing(it, folder)._process(
        project(folder), PassEvent("/shop", (ERROR.id,), None, NOW, only_these_errors=True)
    )


def withdraw(it: RunFixture, folder: Path) -> Awaitable[object]:
    return SharedMemories(it.memories).update(project(folder), [])


async def run_with_interruption(
    it: RunFixture, does: Awaitable[object], happens: Callable[[], Awaitable[object]]
) -> object:
    """Run `does`, letting `happens` change the same memories first."""
    async with it.memories.change_lock:
        doing = asyncio.ensure_future(does)
        for _ in range(50):  # as far as it comes
            await asyncio.sleep(0.001)
        await happens()
    [result] = await asyncio.gather(doing, return_exceptions=True)
    return result


@pytest.mark.parametrize(
    ("does", "about"),
    [(edit, PAGE), (undo, PAGE), (bring_back, UNUSED), (settle, OPEN), (clear, ERROR), (withdraw, THEIRS)],
    ids=lambda one: getattr(one, "__name__", ""),
)
async def test_memory_forgotten_meanwhile_stays_forgotten(
    tmp_path: Path, does: Callable[[RunFixture, Path], Awaitable[object]], about: Memory
) -> None:
    async with open_run_fixture(tmp_path, *KEPT) as it:
        result = await run_with_interruption(it, does(it, tmp_path), lambda: it.memories.delete([about.id], "p"))
        assert await it.memories.find([about.id], "p") == {}
    assert result is None or isinstance(result, NotFound), result


async def test_contradiction_resolved_twice_raises_conflict(tmp_path: Path) -> None:
    """Otherwise the second resolution would silently revert the first."""
    async with open_run_fixture(tmp_path, *KEPT) as it:
        asked = [contradictions(it).resolve(OPEN.id, ResolutionRequest(resolution=how)) for how in ("a_wins", "b_wins")]
        settled, refused = await asyncio.gather(*asked, return_exceptions=True)
        held = await it.memories.find([ONE.id, OTHER.id], "p")
    assert isinstance(settled, ContradictionAnswer)
    assert isinstance(refused, Conflict)
    assert (held[ONE.id].status, held[OTHER.id].status) == (Status.ACTIVE, Status.SUPERSEDED)
