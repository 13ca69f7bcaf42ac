"""The indexer process: reads history and code for the front process.

It runs on demand and at low priority. When a project is added, the user waits for its first prediction model, which
needs only part of the code. The module `indexing` imports everything that reads files and commit messages. Importing
it takes as long as building that model, so it is imported only where it is used.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Iterator
from typing import Final

from hunchd.daemon.models import build_first_model, check_folder
from hunchd.daemon.thread_iterator import UrgentTasks, iterate_in_thread
from hunchd.protocol.helper import serve
from hunchd.protocol.indexing_messages import (
    IndexRequest,
    IndexStep,
    NewUnits,
    ParsedFiles,
    StatedKnowledge,
)

IDLE_SECONDS: Final = 30.0  # seconds without a call until the process offers to end
NICENESS: Final = 10


_first_models = UrgentTasks()  # projects without a model, for which nothing can be answered yet


async def handle_index(scope: IndexRequest) -> AsyncIterator[IndexStep]:
    """Index one project, yielding its history, files, models and episodes.

    The most useful results come first.
    """
    check_folder(scope)
    task = _first_models.begin()
    try:
        async for step in iterate_in_thread(lambda: _lower_priority_after_model(_index_with_first_model(scope))):
            yield step
            if step.stage in ("model", "files"):
                _first_models.end(task)
            await _first_models.wait_for_turn(task)
    finally:
        _first_models.end(task)


async def handle_parse(scope: IndexRequest, paths: list[str] | None) -> AsyncIterator[ParsedFiles]:
    """Yield the outlines of changed files.

    If `paths` is None, all files of the project are checked for changes.
    """
    from hunchd.daemon.indexing import parse_changes

    check_folder(scope)
    async for step in iterate_in_thread(lambda: parse_changes(scope, paths)):
        yield step
        if paths is None:
            await _first_models.wait_for_turn()


async def handle_units(scope: IndexRequest, since: str, moved: list[tuple[str, str, bool]]) -> NewUnits:
    """Return the units of work (commits or merges) after the commit `since`.

    `moved` lists rewritten commits that have already been reported.
    """
    from hunchd.daemon.indexing import get_units_since

    check_folder(scope)
    return await asyncio.to_thread(get_units_since, scope, since, moved)


async def handle_lost(scope: IndexRequest, shas: list[str]) -> list[str]:
    """Return the commits in `shas` that no branch, tag or checkout contains."""
    from hunchd.daemon.indexing import find_unreachable

    check_folder(scope)
    return await asyncio.to_thread(find_unreachable, scope, shas)


async def handle_conventions(scope: IndexRequest) -> StatedKnowledge:
    """Return the facts stated in manifests and decision files, and the project's topics."""
    from hunchd.daemon.indexing import read_conventions

    check_folder(scope)
    return await asyncio.to_thread(read_conventions, scope)


async def handle_reached(scope: IndexRequest, into: str, shas: list[str]) -> list[str]:
    """Return the commits in `shas` that the branch `into` contains.

    Facts learned from these commits are valid on that branch.
    """
    from hunchd.daemon.indexing import find_contained

    check_folder(scope)
    known_shas = [sha for sha in shas if re.fullmatch(r"[0-9a-f]{40,64}", sha)]
    return await asyncio.to_thread(find_contained, scope, into, known_shas)


def _index_with_first_model(scope: IndexRequest) -> Iterator[IndexStep]:
    """Yield a first model, which can already answer requests, then everything else."""
    yield from build_first_model(scope)
    from hunchd.daemon.indexing import index_project

    yield from index_project(scope)


def _lower_priority_after_model(steps: Iterator[IndexStep]) -> Iterator[IndexStep]:
    """Yield the steps unchanged, and lower the priority after the first model."""
    is_urgent = True
    for step in steps:
        yield step
        if is_urgent and step.stage == "model":
            is_urgent = False
            _lower_priority()


def _lower_priority() -> None:
    """Lower the priority, so that the user's own programs come first.

    This function is called once the first model is available. The priority cannot be raised again, but the thread is
    short-lived: on Linux the priority applies to the calling thread and the threads it starts; elsewhere it applies to
    the whole process. The I/O priority follows the niceness. The idle I/O class must not be used: on a busy disk, each
    sync of this process took ten seconds, and delayed every other process that synced on the same file system.
    """
    if hasattr(os, "nice"):
        os.nice(max(0, NICENESS - os.nice(0)))


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="indexer: %(levelname)s %(name)s: %(message)s")
    serve(
        {
            "index": handle_index,
            "parse": handle_parse,
            "units": handle_units,
            "lost": handle_lost,
            "conventions": handle_conventions,
            "reached": handle_reached,
        },
        idle_seconds=IDLE_SECONDS,
    )


if __name__ == "__main__":
    main()
