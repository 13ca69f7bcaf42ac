"""The planner process: plans the consolidation of one owner's memories.

The owner is the user or a project. The process ends with the consolidation run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.code_presence import CodePresence, UnknownCode
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep, split_into_batches
from hunchd.consolidation.planner import Planner
from hunchd.consolidation.usage_feedback import UsageTally
from hunchd.daemon.thread_iterator import iterate_in_thread
from hunchd.domain.errors import InvalidInput
from hunchd.domain.json_values import JsonObject
from hunchd.features.contradictions.verdict_cache import VerdictCache
from hunchd.protocol.helper import Handler, serve
from hunchd.protocol.malloc_tuning import limit_malloc, release_free_memory
from hunchd.store.code_cache import CodeCache
from hunchd.store.files import FileOperations, create_private_folder, replace_file
from hunchd.store.memory_codec import memory_from_plain

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 5.0  # seconds without a call; a run keeps the process alive with `hold`
NICENESS: Final = 10
PLAN_BATCH_SIZE: Final = 256  # memories per batch of changes
COMPARED_FILE: Final = "compared"  # file beside the code cache that lists the memories already compared
DRAFT_SUFFIX: Final = ".next"  # suffix of a file that is not in effect yet
JUDGEMENTS_FILE: Final = "read"  # file beside the code cache with the model's judgements of pairs
# The set of rare words changes as memories change, so everything is compared again from time to time.
COMPARED_MAX_AGE_SECONDS: Final = 30 * 86_400.0  # seconds


class PlannerService:
    """Handlers for the calls to the planner process.

    Only one plan is open at a time; opening another one discards it.
    """

    def __init__(self) -> None:
        self._planner: Planner | None = None
        self._compared_file: Path | None = None

    @property
    def handlers(self) -> dict[str, Handler]:
        return {
            "hold": self._hold,
            "open": self._open,
            "take": self._take,
            "probes": self._probes,
            "plan": self._plan,
            "erasable": self._list_erasable,
            "compared": self._save_compared,
            "unread": self._list_unread,
            "read": self._apply_judgements,
            "keep_read": self._save_judgements,
        }

    async def _hold(self) -> AsyncIterator[None]:
        """Keep the memories loaded as long as the caller reads this stream.

        The caller need not send any other request in the meantime.
        """
        try:
            yield
            await asyncio.Event().wait()
        finally:
            self._planner = None

    async def _open(
        self,
        project: str | None,
        settings: ConsolidationSettings,
        now: datetime,
        root: str = "",
        code_cache: str = "",
        known: bool = False,
        reads: bool = False,
        verdicts: str = "",
    ) -> None:
        ground: CodePresence = UnknownCode()
        if root and code_cache:
            ground = ProjectCode(Path(root), CodeCache(Path(code_cache)), is_known=known)
        self._planner = Planner(project, settings, now, ground)
        self._compared_file = Path(code_cache).with_name(COMPARED_FILE) if code_cache else None
        if self._compared_file is not None:
            _, self._planner.compared_keys = _load_compared(self._compared_file)
            if reads:
                self._planner.entailment_cache = EntailmentCache(
                    _load_lines(self._compared_file.with_name(JUDGEMENTS_FILE))
                )
        if verdicts:
            self._planner.is_denied = VerdictCache(Path(verdicts)).is_denied

    async def _take(self, memories: list[JsonObject], vectors: dict[str, bytes]) -> None:
        await asyncio.to_thread(self._open_planner.load, [memory_from_plain(memory) for memory in memories], vectors)

    async def _probes(self, most: int, seed: str) -> list[tuple[str, str]]:
        return await asyncio.to_thread(self._open_planner.draw_probes, most, seed)

    async def _plan(self, step: ConsolidationStep, tallies: dict[str, UsageTally]) -> AsyncIterator[list[ChangeEntry]]:
        """Yield, in batches, the changes that one step would make."""
        planner = self._open_planner
        async for batch in iterate_in_thread(lambda: split_into_batches(planner.plan(step, tallies), PLAN_BATCH_SIZE)):
            yield batch
        release_free_memory()  # a step may have read all texts; the next one needs less

    async def _list_unread(self, most: int) -> list[tuple[str, str, str]]:
        """Return the pairs of statements that a model has yet to judge.

        At most `most` pairs are returned. The pairs are known only after the step `contradictions`.
        """
        return await asyncio.to_thread(self._open_planner.list_unread_pairs, most)

    async def _apply_judgements(self, said: dict[str, float | None]) -> list[ChangeEntry]:
        """Return the changes that follow from the model's judgements.

        `said` maps each pair of statements to the probability of a contradiction, or to None if the model gave none.
        """
        return list(self._open_planner.plan_read_pairs(said))

    async def _save_judgements(self) -> None:
        """Store the model's judgements, so that no pair is judged twice."""
        readings = self._open_planner.entailment_cache
        if readings is not None and self._compared_file is not None:
            await asyncio.to_thread(_write_lines, self._compared_file.with_name(JUDGEMENTS_FILE), readings.dump_lines())

    async def _list_erasable(self) -> list[str]:
        return self._open_planner.list_erasable_ids()

    async def _save_compared(self) -> str:
        """Write the keys of the compared memories to a draft file.

        Returns the path of the draft, or "" if the project has no code cache, next to which the draft would be stored.
        The draft takes effect only after the planned changes have been applied.
        """
        if self._compared_file is None:
            return ""
        draft = self._compared_file.with_suffix(DRAFT_SUFFIX)
        await asyncio.to_thread(_write_compared, self._compared_file, draft, self._open_planner.iter_comparison_keys())
        return str(draft)

    @property
    def _open_planner(self) -> Planner:
        if self._planner is None:
            raise InvalidInput("no plan is open; call 'open' first")
        return self._planner


class ProjectCode:
    """Code of a project: its working tree and its parsed symbols.

    The planner checks whether the files and symbols that memories mention still exist.
    """

    def __init__(self, root: Path, cache: CodeCache, *, is_known: bool) -> None:
        self._root = root
        self._cache = cache
        self.is_complete = is_known and root.is_dir() and bool(cache.load_blob_ids())
        self._cached_lookup = lru_cache(maxsize=20_000)(self._find_definitions)

    def find_definitions(self, name: str) -> tuple[str, ...]:
        return self._cached_lookup(name)

    def has_path(self, path: str) -> bool:
        # Asked of the tree, because the code cache may lag behind.
        if path.startswith(("/", "~")) or ".." in path.split("/") or "\0" in path:
            return False
        try:
            return os.path.lexists(self._root / path)
        except OSError:
            return False

    def _find_definitions(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for path, _ in self._cache.find_symbol(name)))


def _load_compared(path: Path) -> tuple[float, frozenset[str]]:
    """Return the time of the last full comparison, and the keys of the compared memories.

    Returns the current time and an empty set if the file is missing or older than COMPARED_MAX_AGE_SECONDS.
    """
    now = time.time()
    try:
        compared_at, *lines = path.read_text(encoding="utf-8").splitlines()
        if lines and 0 <= now - float(compared_at) < COMPARED_MAX_AGE_SECONDS:
            return float(compared_at), frozenset(lines)
    except (OSError, ValueError):
        pass
    return now, frozenset()


def _write_compared(path: Path, draft: Path, lines: Iterable[str]) -> None:
    """Write the keys of the compared memories to `draft`.

    The first line is the time of the last full comparison, taken from the file at `path`.
    """
    compared_at, _ = _load_compared(path)
    _write_lines(draft, (str(compared_at), *lines))


def _load_lines(path: Path) -> list[str]:
    """Return the lines of the file, or an empty list if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    try:
        create_private_folder(path.parent)
        replace_file(FileOperations(), path, "\n".join(lines).encode("utf-8"))
    except OSError as error:  # everything is compared again next time
        logger.warning("the list of compared memories could not be saved: %s", error)


def main() -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    os.nice(NICENESS)
    limit_malloc()
    serve(PlannerService().handlers, idle_seconds=IDLE_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
