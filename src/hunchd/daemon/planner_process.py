"""The planner process: plans the consolidation of one owner's memories.

Lives for the length of a run.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.contradictions.readings import Readings
from hunchd.consolidation.ground import Ground, NoGround
from hunchd.consolidation.plan import Step, in_batches
from hunchd.consolidation.planner import Planner
from hunchd.consolidation.usefulness import Tally
from hunchd.daemon.stepping import in_thread
from hunchd.domain.errors import InvalidInput
from hunchd.engine.learning.verdicts import Verdicts
from hunchd.protocol.allocating import bound, give_memory_back
from hunchd.protocol.helper import Handler, serve
from hunchd.store.code import CodeCache
from hunchd.store.database.tables import memory_from_plain
from hunchd.store.files import Files, private_folder, replace_file

logger = logging.getLogger(__name__)

IDLE_AFTER: Final = 5.0  # seconds without a call; a run keeps the process alive with `hold`
NICENESS: Final = 10
PLANNED_AT_ONCE: Final = 256  # memories per batch of changes
COMPARED: Final = "compared"  # file beside the code cache: memories already compared
DRAFT: Final = ".next"  # suffix of a file that is not in effect yet
READ: Final = "read"  # file beside it: the model's judgements of pairs
# Which words are rare changes with the memories, so everything is compared again now and then.
COMPARED_FOR: Final = 30 * 86_400.0  # seconds


class Planning:
    """Handlers of one plan at a time.

    Opening another discards the one before.
    """

    def __init__(self) -> None:
        self._planner: Planner | None = None
        self._compared: Path | None = None

    @property
    def handlers(self) -> dict[str, Handler]:
        return {
            "hold": lambda _: self._hold(),
            "open": self._open,
            "take": self._take,
            "probes": self._probes,
            "plan": self._plan,
            "erasable": self._erasable,
            "compared": self._remember_compared,
            "unread": self._unread,
            "read": self._read,
            "keep_read": self._keep_read,
        }

    async def _hold(self) -> AsyncIterator[dict[str, Any]]:
        """Keep the loaded memories while the caller listens, however long it sends no request."""
        try:
            yield {}
            await asyncio.Event().wait()
        finally:
            self._planner = None

    async def _open(self, asked: dict[str, Any]) -> dict[str, Any]:
        settings = ConsolidationSettings(**asked["settings"])
        now = datetime.fromisoformat(asked["now"])
        ground: Ground = NoGround()
        if asked.get("root") and asked.get("code_cache"):
            ground = ProjectGround(
                Path(asked["root"]), CodeCache(Path(asked["code_cache"])), known=bool(asked["known"])
            )
        self._planner = Planner(asked["project"], settings, now, ground)
        self._compared = Path(asked["code_cache"]).with_name(COMPARED) if asked.get("code_cache") else None
        if self._compared is not None:
            _, self._planner.compared = _compared_in(self._compared)
            if asked.get("reads"):
                self._planner.readings = Readings(_lines_of(self._compared.with_name(READ)))
        if asked.get("verdicts"):
            self._planner.denied = Verdicts(Path(asked["verdicts"])).denied
        return {}

    async def _take(self, asked: dict[str, Any]) -> dict[str, Any]:
        planner = self._opened
        memories = [memory_from_plain(row) for row in asked["memories"]]
        vectors = {name: base64.b85decode(vector) for name, vector in asked.get("vectors", {}).items()}
        await asyncio.to_thread(planner.take, memories, vectors)
        return {"taken": len(planner)}

    async def _probes(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"probes": await asyncio.to_thread(self._opened.probes, int(asked["most"]), str(asked["seed"]))}

    async def _plan(self, asked: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the changes of one step in batches."""
        planner, step = self._opened, Step(asked["step"])
        tallies = {name: tally_of(told) for name, told in asked.get("tallies", {}).items()}

        def batches() -> Iterator[dict[str, Any]]:
            for batch in in_batches(planner.plan(step, tallies), PLANNED_AT_ONCE):
                yield {"entries": [entry.json() for entry in batch]}

        async for one in in_thread(batches):
            yield one
        give_memory_back()  # a step may have read all texts; the next one needs less

    async def _unread(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return pairs of statements for a model to judge, after the step `contradictions`."""
        return {"pairs": await asyncio.to_thread(self._opened.unread, int(asked["most"]))}

    async def _read(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the changes that follow from the model's judgements."""
        said = {str(name): None if told is None else float(told) for name, told in asked["said"].items()}
        return {"entries": [entry.json() for entry in self._opened.read(said)]}

    async def _keep_read(self, _: dict[str, Any]) -> dict[str, Any]:
        """Store the model's judgements so that no pair is judged twice."""
        readings = self._opened.readings
        if readings is not None and self._compared is not None:
            await asyncio.to_thread(_keep_lines, self._compared.with_name(READ), readings.lines())
        return {}

    async def _erasable(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ids": self._opened.erasable()}

    async def _remember_compared(self, _: dict[str, Any]) -> dict[str, Any]:
        """Write the file of compared memories as a `draft`.

        It takes effect once the changes are carried out.
        """
        if self._compared is None:
            return {}
        draft = self._compared.with_suffix(DRAFT)
        await asyncio.to_thread(_keep_compared, self._compared, draft, self._opened.comparable())
        return {"draft": str(draft)}

    @property
    def _opened(self) -> Planner:
        if self._planner is None:
            raise InvalidInput("no plan is open; call 'open' first")
        return self._planner


class ProjectGround:
    """Ground of a project: its working tree and its parsed symbols."""

    def __init__(self, root: Path, cache: CodeCache, *, known: bool) -> None:
        self._root = root
        self._cache = cache
        self.known = known and root.is_dir() and bool(cache.blobs())
        self._defined = lru_cache(maxsize=20_000)(self._look_up)

    def has_file(self, path: str) -> bool:
        return self._is_there(path)  # the code cache may lag behind

    def has_folder(self, path: str) -> bool:
        return self._is_there(path)

    def defined_in(self, name: str) -> tuple[str, ...]:
        return self._defined(name)

    def _is_there(self, path: str) -> bool:
        if path.startswith(("/", "~")) or ".." in path.split("/") or "\0" in path:
            return False
        try:
            return os.path.lexists(self._root / path)
        except OSError:
            return False

    def _look_up(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for path, _ in self._cache.find_symbol(name)))


def _compared_in(path: Path) -> tuple[float, frozenset[str]]:
    """Return the time of the last full comparison, and what was compared.

    Returns now and nothing if the file is missing or older than COMPARED_FOR.
    """
    now = time.time()
    try:
        began, *lines = path.read_text(encoding="utf-8").splitlines()
        if lines and 0 <= now - float(began) < COMPARED_FOR:
            return float(began), frozenset(lines)
    except (OSError, ValueError):
        pass
    return now, frozenset()


def _keep_compared(path: Path, draft: Path, lines: Iterable[str]) -> None:
    """Write what was compared.

    Adds the time of the last full comparison, which `path` states.
    """
    began, _ = _compared_in(path)
    _keep_lines(draft, (str(began), *lines))


def _lines_of(path: Path) -> list[str]:
    """Return the stored lines; none if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _keep_lines(path: Path, lines: Iterable[str]) -> None:
    try:
        private_folder(path.parent)
        replace_file(Files(), path, "\n".join(lines).encode("utf-8"))
    except OSError as error:  # everything is compared again next time
        logger.warning("the list of compared memories could not be saved: %s", error)


def tally_of(told: dict[str, Any]) -> Tally:
    last = told.get("last")
    return Tally(**told | {"last": datetime.fromisoformat(last) if last else None})


def main() -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    os.nice(NICENESS)
    bound()
    serve(Planning().handlers, idle_after=IDLE_AFTER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
