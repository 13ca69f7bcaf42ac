"""Tests of memories that are erased or resolved between lookup and write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hunchd.consolidation.aging import ARCHIVED, GOES_AFTER
from hunchd.consolidation.conflicts import conflict_of
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.domain.sharing import SHARED
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.knowledge.contradictions import Contradictions
from hunchd.engine.knowledge.knowledge import Knowledge
from hunchd.engine.learning.contradicting import Contradicting
from hunchd.engine.learning.fixing import Fixing
from hunchd.engine.learning.projects import Projects
from hunchd.engine.learning.shared import Shared
from hunchd.engine.state.project import Project, Tree
from hunchd.engine.state.runs import Passed, Runs
from hunchd.protocol.requests import Resolution
from hunchd.repository.layout import plain
from tests.consolidation.made import NOW, memory
from tests.engine.test_carrying_out import RunFixture, open_run_fixture

PAGE = memory("page", kind=Kind.DOCUMENT, category="document", key="/projects/shop/plan", content="ship on Monday")
ERROR = memory("error", kind=Kind.ERROR, content="ValueError: no price")
UNUSED = memory(
    "unused", status=Status.ARCHIVED, source={ARCHIVED: "not used", GOES_AFTER: NOW.isoformat()}, trust=Trust.DERIVED
)
THEIRS = memory("theirs", kind=Kind.FACT, content="ship on Friday", source={"type": SHARED, "path": ".hunch/a.md"})
ONE, OTHER = (memory(name, kind=Kind.FACT, content=f"we use {name}") for name in ("tabs", "spaces"))
OPEN = conflict_of(ONE, OTHER, NOW)
KEPT = (PAGE, ERROR, UNUSED, THEIRS, ONE, OTHER, OPEN)


class OneProject(list[str]):
    """Fake registry with the single project p."""

    @property
    def ids(self) -> list[str]:
        return list(self)


def contradictions(it: RunFixture) -> Contradictions:
    projects = cast(Projects, cast(Any, OneProject(["p"])))
    return Contradictions(it.memories, projects, cast(Writer, None), cast(Contradicting, None), now=lambda: NOW)


def knowledge(it: RunFixture) -> Knowledge:
    projects = cast(Projects, cast(Any, OneProject(["p"])))
    return Knowledge(it.memories, projects, contradictions(it).unresolve, now=lambda: NOW)


def fixing(it: RunFixture, folder: Path) -> Fixing:
    settings = SimpleNamespace(index=SimpleNamespace(ignore=()))
    parts = SimpleNamespace(settings=settings, places=SimpleNamespace(data=folder), now=lambda: NOW)
    made = Fixing(it.memories, lambda _: None, cast(Any, parts))
    made._runs["p"] = Runs()
    return made


def project(folder: Path) -> Project:
    return Project("p", "shop", Tree(folder, plain(folder)), folder, shared={THEIRS.id: None})


def edit(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).edit(PAGE.id, {"content": "ship on Tuesday"})


def undo(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).undo(PAGE.id)


def bring_back(it: RunFixture, folder: Path) -> Awaitable[object]:
    return knowledge(it).undo(UNUSED.id)


def settle(it: RunFixture, folder: Path) -> Awaitable[object]:
    return contradictions(it).resolve(OPEN.id, Resolution(resolution="both_valid"))


def clear(it: RunFixture, folder: Path) -> Awaitable[object]:
    return fixing(it, folder)._look_into(project(folder), Passed("/shop", (ERROR.id,), None, NOW, named=True))


def withdraw(it: RunFixture, folder: Path) -> Awaitable[object]:
    return Shared(it.memories).read(project(folder), [])


async def run_with_interruption(
    it: RunFixture, does: Awaitable[object], happens: Callable[[], Awaitable[object]]
) -> object:
    """Run `does`, letting `happens` change the same memories first."""
    async with it.memories.changing:
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
        result = await run_with_interruption(it, does(it, tmp_path), lambda: it.memories.bury([about.id], "p"))
        assert await it.memories.known([about.id], "p") == {}
    assert result is None or isinstance(result, NotFound), result


async def test_contradiction_resolved_twice_raises_conflict(tmp_path: Path) -> None:
    """Otherwise the second resolution would silently revert the first."""
    async with open_run_fixture(tmp_path, *KEPT) as it:
        asked = [contradictions(it).resolve(OPEN.id, Resolution(resolution=how)) for how in ("a_wins", "b_wins")]
        settled, refused = await asyncio.gather(*asked, return_exceptions=True)
        held = await it.memories.known([ONE.id, OTHER.id], "p")
    assert isinstance(settled, dict)
    assert isinstance(refused, Conflict)
    assert (held[ONE.id].status, held[OTHER.id].status) == (Status.ACTIVE, Status.SUPERSEDED)
