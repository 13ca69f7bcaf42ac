"""Faults in background tasks of the real daemon are logged, counted and survived."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hunchd.config.app_paths import resolve_app_paths
from hunchd.config.settings import EmbeddingSettings, Settings, StoreSettings
from hunchd.core.projects.project_indexer import ProjectIndexer
from hunchd.core.state.project import Project
from hunchd.daemon import supervisor as supervision
from hunchd.daemon import wiring
from hunchd.daemon.supervisor import Supervisor, Work
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind
from hunchd.engine import Engine
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.indexing_messages import IndexStep
from hunchd.protocol.memories import MemoryDraft
from tests.repositories import git, make_shop

pytestmark = [pytest.mark.timeout(120), pytest.mark.process]  # of the daemon that runs in this process

# Those that run as long as the daemon. One that is added later is broken here too, without being named.
LASTING = {"watch thread", "signal feed", "spool", "prefetch", "upkeep", "writer", "nightly"}
SETTINGS = Settings(embedding=EmbeddingSettings(enabled=False), store=StoreSettings(commit_ms=20))


class Saboteur(Supervisor):
    """Supervisor that breaks each task once: short tasks when they start, lasting ones on `sabotage`."""

    def __init__(self) -> None:
        super().__init__()
        self._signs: dict[str, asyncio.Event] = {}
        self.broken: set[str] = set()

    def start(self, name: str, work: Work) -> None:
        sign = self._signs.setdefault(name, asyncio.Event())
        if name not in LASTING:
            sign.set()

        async def sabotaged() -> None:
            if name in self.broken:
                return await work()
            real = asyncio.ensure_future(work()) if name in LASTING else asyncio.ensure_future(asyncio.Event().wait())
            try:
                await sign.wait()
            finally:  # also if the task is replaced: nobody would retrieve what `real` raises later
                real.cancel()
                await asyncio.wait([real])
            self.broken.add(name)
            raise RuntimeError(f"injected into {name}")

        super().start(name, sabotaged)

    def sabotage(self, name: str) -> None:
        self._signs[name].set()


@asynccontextmanager
async def running(monkeypatch: pytest.MonkeyPatch, folder: Path) -> AsyncIterator[tuple[Engine, Saboteur]]:
    """Run the whole daemon in this process, with a project that is being indexed."""
    saboteur = Saboteur()
    monkeypatch.setattr(wiring, "Supervisor", lambda: saboteur)
    monkeypatch.setattr(supervision, "FIRST_RESTART_DELAY", 0.01)
    async with wiring.run_components(resolve_app_paths(), SETTINGS) as engine:
        await engine.add_project(str(folder))
        yield engine, saboteur


async def until(holds: Callable[[], Any], what: str, *, within: float = 40.0) -> None:
    deadline = time.monotonic() + within
    while not await holds():
        assert time.monotonic() < deadline, f"it never came to pass that {what}"
        await asyncio.sleep(0.02)


async def project_is_ready(engine: Engine) -> bool:
    [project] = await engine.list_projects()
    return project.state == "ready" and project.index_error is None


async def failures(engine: Engine) -> dict[str, int]:
    return {task.name: task.failures for task in (await engine.status()).tasks}


async def test_failed_tasks_are_restarted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    shop = make_shop(tmp_path / "shop")
    with caplog.at_level(logging.INFO):
        async with running(monkeypatch, shop) as (engine, saboteur):
            await until(lambda: project_is_ready(engine), "the index was made by the second attempt")
            await until(lambda: _runs(engine, LASTING), "all tasks run")
            for name in await failures(engine):
                saboteur.sabotage(name)
            await until(lambda: _failed_once(engine, LASTING), "each failure is counted")
            await everything_works(engine, shop)
            assert {"warm-up", *LASTING} < saboteur.broken
            assert any(name.startswith("index:") for name in saboteur.broken)
            for name in saboteur.broken:
                assert f"{name} failed; retrying" in caplog.text
                assert f"RuntimeError: injected into {name}" in caplog.text


async def _runs(engine: Engine, names: set[str]) -> bool:
    return names <= (await failures(engine)).keys()


async def _failed_once(engine: Engine, names: set[str]) -> bool:
    counted = await failures(engine)
    states = {task.name: task.state for task in (await engine.status()).tasks}
    return all(counted.get(name) == 1 and states[name] == "running" for name in names)


async def everything_works(engine: Engine, shop: Path) -> None:
    """Check the function of each background task."""
    [project] = await engine.list_projects()
    status = await engine.status()
    ahead = status.prefetch.built_ahead

    opened = {"kind": "file_opened", "project": str(shop), "path": "shop/basket.py"}
    assert (await engine.intake.accept([opened])).accepted == 1

    async def built_ahead() -> bool:
        return bool((await engine.status()).prefetch.built_ahead > ahead)

    await until(built_ahead, "a bundle is built ahead")

    draft = MemoryDraft(kind=Kind.FACT, title="t", content="kept after all", project=str(shop), ref="r")
    await engine.store_drafts([draft])
    async with asyncio.timeout(30):  # the writer
        page = await engine.list_memories(Filters(project=project.id, tags=()), 100, None)
    assert "kept after all" in str(page)

    await until(lambda: _is_on(engine, _new_branch(shop, "one")), "the checkout is seen")

    letter = {"kind": "error", "project": str(shop), "text": "KeyError: 'by letter'", "command": "pytest"}
    (resolve_app_paths().spool / "new" / "letter").write_text(json.dumps(letter))
    (resolve_app_paths().spool / "new" / "letter").chmod(0o600)

    async def letter_was_read() -> bool:
        return not list((resolve_app_paths().spool / "new").iterdir())

    await until(letter_was_read, "the letter is read")


def _new_branch(shop: Path, name: str) -> str:
    git(shop, "checkout", "-q", "-B", name)
    return name


async def _is_on(engine: Engine, branch: str) -> bool:
    return (await engine.list_projects())[0].branch == branch


async def test_failed_watcher_thread_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    async with running(monkeypatch, shop) as (engine, saboteur):
        await until(lambda: project_is_ready(engine), "the project is read")
        saboteur.broken.add("watch thread")
        saboteur.start("watch thread", engine._project_watcher.run_supervision)
        thread = engine._project_watcher._thread
        monkeypatch.setattr(thread._backend, "dispatch_events", _broken)
        thread.call_soon(lambda: None)  # wakes it, for the last time

        async def replaced() -> bool:
            return engine._project_watcher._thread is not thread and (await failures(engine))["watch thread"] == 1

        await until(replaced, "there is a new thread")
        git(shop, "checkout", "-q", "-b", "later")
        await until(lambda: _is_on(engine, "later"), "the new thread watches")


def _broken() -> None:
    raise RuntimeError("injected into the thread")


async def test_killed_indexer_is_restarted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    killed: list[int] = []
    ask = HelperProcess._send_call

    async def killed_once(self: HelperProcess, method: str, params: Any) -> Any:
        asked = await ask(self, method, params)
        if "indexer" in self.name and not killed and self.pid is not None:
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        return asked

    monkeypatch.setattr(HelperProcess, "_send_call", killed_once)
    async with running(monkeypatch, make_shop(tmp_path / "shop")) as (engine, _):
        await until(lambda: project_is_ready(engine), "the project is read after all")
        [project] = await engine.list_projects()
        assert killed
        assert project.progress.commits.done == 9


async def test_restarted_indexer_completes_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    killed: list[int] = []
    take = ProjectIndexer._apply_step

    async def killed_after_the_first_model(self: ProjectIndexer, project: Project, step: IndexStep) -> None:
        await take(self, project, step)
        if step.stage == "model" and not killed and self._indexer.pid is not None:
            killed.append(self._indexer.pid)
            os.kill(self._indexer.pid, signal.SIGKILL)

    monkeypatch.setattr(ProjectIndexer, "_apply_step", killed_after_the_first_model)
    async with running(monkeypatch, make_shop(tmp_path / "shop")) as (engine, _):
        await until(lambda: project_is_ready(engine), "the project is read after all")
        [project] = await engine.list_projects()
        page = await engine.list_memories(Filters(project=project.id, tags=(), kinds=(Kind.EPISODE,)), 100, None)
        assert killed
        assert page.total == 9


async def test_failed_nightly_run_is_counted_and_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    from hunchd.daemon import nightly_schedule

    class SoonAndAgain:
        """A night every 50 ms."""

        def __new__(cls, **_: Any) -> Any:
            from apscheduler.triggers.interval import IntervalTrigger

            return IntervalTrigger(seconds=0.05, timezone=UTC, start_date=datetime.now(UTC))

    monkeypatch.setattr(nightly_schedule, "CronTrigger", SoonAndAgain)
    monkeypatch.setattr(supervision, "FIRST_RESTART_DELAY", 0.01)
    nights, enough = 0, asyncio.Event()

    async def work() -> None:
        nonlocal nights
        nights += 1
        if nights == 1:
            raise RuntimeError("a bad night")
        enough.set()

    supervisor = Supervisor()
    supervisor.start("nightly", lambda: nightly_schedule.run_every_night(work, 3))
    async with asyncio.timeout(10):
        await enough.wait()
    [line] = supervisor.status()
    assert (line.failures, line.last_error) == (1, "RuntimeError: a bad night")
    await supervisor.close()
