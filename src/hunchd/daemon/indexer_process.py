"""The indexer process: reads history and code for the front.

Runs on demand and at low priority. Adding a project waits for its first model, which needs only a part of the code.
Importing `indexing`, which pulls in everything that reads files and messages, takes as long as building that model, so
it is imported where it is used.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from hunchd.daemon.models import IndexRequest, build_first_model
from hunchd.daemon.thread_iterator import UrgentTasks, iterate_in_thread
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.protocol.helper import serve
from hunchd.repository.layout import is_readable

IDLE_SECONDS: Final = 30.0  # seconds without a call until the process offers to end
NICENESS: Final = 10


_first_models = UrgentTasks()  # projects without a model, for which nothing can be answered yet


async def handle_index(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield history, files, models and episodes of one project, most useful first."""
    task = _first_models.begin()
    try:
        async for step in iterate_in_thread(
            lambda: _lower_priority_after_model(_index_with_first_model(_parse_scope(params)))
        ):
            yield step
            if step["stage"] in ("model", "files"):
                _first_models.end(task)
            await _first_models.wait_for_turn(task)
    finally:
        _first_models.end(task)


async def handle_parse(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the outlines of changed files.

    Covers `paths`, or the whole tree if omitted.
    """
    from hunchd.daemon.indexing import parse_changes

    paths = params.get("paths")
    async for step in iterate_in_thread(lambda: parse_changes(_parse_scope(params), paths)):
        yield step
        if paths is None:
            await _first_models.wait_for_turn()


async def handle_units(params: dict[str, Any]) -> dict[str, Any]:
    """Return the units since `since_sha`, with their episodes.

    The result also has the commits that only changed their id (`moved`; the parameter of that name passes rewrites
    already reported), the commits that are `gone`, `rewritten` if `since_sha` is gone itself, and `waits` while git is
    in the middle of an operation.
    """
    from hunchd.daemon.indexing import get_units_since

    known_moves = [(str(old), str(new), bool(exact)) for old, new, exact in params.get("moved") or ()]
    return await asyncio.to_thread(
        get_units_since, _parse_scope(params), str(params.get("since_sha") or ""), known_moves
    )


async def handle_lost(params: dict[str, Any]) -> dict[str, Any]:
    """Return the commits among `shas` that no branch, tag or checkout contains any more."""
    from hunchd.daemon.indexing import find_unreachable

    return await asyncio.to_thread(find_unreachable, _parse_scope(params), [str(sha) for sha in params["shas"]])


async def handle_conventions(params: dict[str, Any]) -> dict[str, Any]:
    """Return facts from manifests and decision files, and the available topics."""
    from hunchd.daemon.indexing import read_conventions

    return await asyncio.to_thread(read_conventions, _parse_scope(params))


async def handle_habits(params: dict[str, Any]) -> dict[str, Any]:
    """Return workflows that recur in the command log in the folder `log`."""
    from hunchd.daemon.indexing import collect_habits

    zone = timedelta(seconds=float(params.get("zone") or 0.0))
    return await asyncio.to_thread(collect_habits, _parse_scope(params), Path(str(params["log"])), zone)


async def handle_reached(params: dict[str, Any]) -> dict[str, Any]:
    """Return the commits among `shas` that the branch `into` contains.

    Facts learned from them apply there.
    """
    from hunchd.daemon.indexing import find_contained

    shas = [str(sha) for sha in params["shas"] if re.fullmatch(r"[0-9a-f]{40,64}", str(sha))]
    return await asyncio.to_thread(find_contained, _parse_scope(params), str(params["into"]), shas)


def _index_with_first_model(scope: IndexRequest) -> Iterator[dict[str, Any]]:
    """Yield a first model to answer with at once, and then everything else."""
    yield from build_first_model(scope)
    from hunchd.daemon.indexing import index_project

    yield from index_project(scope)


def _parse_scope(params: dict[str, Any]) -> IndexRequest:
    root = Path(str(params.get("root") or ""))
    if not root.is_absolute():
        raise InvalidInput("the root of a project must be an absolute path", field="root")
    if not is_readable(root):
        raise RepositoryError(f"{root} is not a readable folder")
    return IndexRequest(
        root=root,
        code_cache=Path(str(params["code_cache"])),
        project=str(params.get("project") or ""),
        model=Path(str(params["model_path"])) if params.get("model_path") else None,
        newest_units=int(params.get("newest", 2000)),
        max_units=int(params.get("most", 100_000)),
        is_full=bool(params.get("full", True)),
        extra_ignore=tuple(params.get("extra_ignore") or ()),
        max_file_bytes=int(params.get("largest", 0)),  # omitted by calls that read no file
        episodes_after=str(params.get("episodes_after") or ""),
        now=datetime.now(UTC),
    )


def _lower_priority_after_model(steps: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the same steps; lower the priority after the first model."""
    is_urgent = True
    for step in steps:
        yield step
        if is_urgent and step["stage"] == "model":
            is_urgent = False
            _lower_priority()


def _lower_priority() -> None:
    """Lower the priority, so that the machine's user comes first.

    Called once the first answer is available. This cannot be undone, but the thread is short-lived: on Linux it applies
    to the calling thread and to what it starts; elsewhere to the process. I/O priority follows the niceness. The idle
    I/O class must not be used: on a busy disk each of our syncs waited ten seconds, and so did every other process that
    synced on the same file system.
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
            "habits": handle_habits,
        },
        idle_seconds=IDLE_SECONDS,
    )


if __name__ == "__main__":
    main()
