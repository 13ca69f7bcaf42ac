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

from hunchd.daemon.models import Scope, first_model
from hunchd.daemon.stepping import Urgent, in_thread
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.protocol.helper import serve
from hunchd.repository.layout import is_readable

IDLE_AFTER: Final = 30.0  # seconds without a call until the process offers to end
NICENESS: Final = 10


_first_answers = Urgent()  # projects without a model, for which nothing can be answered yet


async def handle_index(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield history, files, models and episodes of one project, most useful first."""
    first = _first_answers.begin()
    try:
        async for step in in_thread(lambda: _stepping_back(_indexed(_scope(params)))):
            yield step
            if step["stage"] in ("model", "files"):
                _first_answers.end(first)
            await _first_answers.give_way(first)
    finally:
        _first_answers.end(first)


async def handle_parse(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the outlines of changed files.

    Covers `paths`, or the whole tree if omitted.
    """
    from hunchd.daemon.indexing import parse

    paths = params.get("paths")
    async for step in in_thread(lambda: parse(_scope(params), paths)):
        yield step
        if paths is None:
            await _first_answers.give_way()


async def handle_units(params: dict[str, Any]) -> dict[str, Any]:
    """Return the units since `since_sha`, with their episodes.

    The result also has the commits that only changed their id (`moved`; the parameter of that name passes rewrites
    already
    reported), the commits that are `gone`, `rewritten` if `since_sha` is gone itself, and `waits` while git is in
    the middle
    of an operation.
    """
    from hunchd.daemon.indexing import units_since

    told = [(str(old), str(new), bool(exact)) for old, new, exact in params.get("moved") or ()]
    return await asyncio.to_thread(units_since, _scope(params), str(params.get("since_sha") or ""), told)


async def handle_lost(params: dict[str, Any]) -> dict[str, Any]:
    """Return the commits among `shas` that no branch, tag or checkout contains any more."""
    from hunchd.daemon.indexing import lost

    return await asyncio.to_thread(lost, _scope(params), [str(sha) for sha in params["shas"]])


async def handle_conventions(params: dict[str, Any]) -> dict[str, Any]:
    """Return facts from manifests and decision files, and the available topics."""
    from hunchd.daemon.indexing import conventions_of

    return await asyncio.to_thread(conventions_of, _scope(params))


async def handle_habits(params: dict[str, Any]) -> dict[str, Any]:
    """Return workflows that recur in the command log in the folder `log`."""
    from hunchd.daemon.indexing import habits_of

    zone = timedelta(seconds=float(params.get("zone") or 0.0))
    return await asyncio.to_thread(habits_of, _scope(params), Path(str(params["log"])), zone)


async def handle_reached(params: dict[str, Any]) -> dict[str, Any]:
    """Return the commits among `shas` that the branch `into` contains.

    Facts learned from them apply there.
    """
    from hunchd.daemon.indexing import reached

    shas = [str(sha) for sha in params["shas"] if re.fullmatch(r"[0-9a-f]{40,64}", str(sha))]
    return await asyncio.to_thread(reached, _scope(params), str(params["into"]), shas)


def _indexed(scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield a first model to answer with at once, and then everything else."""
    yield from first_model(scope)
    from hunchd.daemon.indexing import index

    yield from index(scope)


def _scope(params: dict[str, Any]) -> Scope:
    root = Path(str(params.get("root") or ""))
    if not root.is_absolute():
        raise InvalidInput("the root of a project must be an absolute path", field="root")
    if not is_readable(root):
        raise RepositoryError(f"{root} is not a readable folder")
    return Scope(
        root=root,
        code_cache=Path(str(params["code_cache"])),
        project=str(params.get("project") or ""),
        model=Path(str(params["model_path"])) if params.get("model_path") else None,
        newest=int(params.get("newest", 2000)),
        most=int(params.get("most", 100_000)),
        full=bool(params.get("full", True)),
        extra_ignore=tuple(params.get("extra_ignore") or ()),
        largest=int(params.get("largest", 0)),  # omitted by calls that read no file
        episodes_after=str(params.get("episodes_after") or ""),
        now=datetime.now(UTC),
    )


def _stepping_back(steps: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the same steps; lower the priority after the first model."""
    ahead = True
    for step in steps:
        yield step
        if ahead and step["stage"] == "model":
            ahead = False
            _step_back()


def _step_back() -> None:
    """Lower the priority, so that the machine's user comes first.

    Called once the first answer is available. This cannot be undone, but the thread is short-lived: on Linux it
    applies to
    the calling thread and to what it starts; elsewhere to the process. I/O priority follows the niceness. The idle I/O
    class must not be used: on a busy disk each of our syncs waited ten seconds, and so did every other process that
    synced
    on the same file system.
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
        idle_after=IDLE_AFTER,
    )


if __name__ == "__main__":
    main()
