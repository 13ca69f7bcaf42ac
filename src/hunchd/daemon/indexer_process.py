"""The indexer: reads history and code for the front, in a process that comes and goes and gives way to others.

Whoever adds a project waits for the first model of it, which needs a part of the code alone. `indexing`, with all that
reads files and messages, takes as long to load as that model to make: it is loaded by who needs it.
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


_first_answers = Urgent()  # projects without a model, about which nothing can be said yet


async def handle_index(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """History, files, models and episodes of one project, in the order in which they become useful."""
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
    """The outlines of what changed: of `paths`, or of the whole tree where they are not given."""
    from hunchd.daemon.indexing import parse

    paths = params.get("paths")
    async for step in in_thread(lambda: parse(_scope(params), paths)):
        yield step
        if paths is None:
            await _first_answers.give_way()


async def handle_units(params: dict[str, Any]) -> dict[str, Any]:
    """The units since `since_sha`, with their episodes, which of them only have a new id (`moved`; by the same name one
    says what one was told of that), and which commits are `gone`; `rewritten` when that one is; `waits` while git is in
    the middle of something."""
    from hunchd.daemon.indexing import units_since

    told = [(str(old), str(new), bool(exact)) for old, new, exact in params.get("moved") or ()]
    return await asyncio.to_thread(units_since, _scope(params), str(params.get("since_sha") or ""), told)


async def handle_lost(params: dict[str, Any]) -> dict[str, Any]:
    """Which of the commits `shas` no branch, no tag and no checkout has any more."""
    from hunchd.daemon.indexing import lost

    return await asyncio.to_thread(lost, _scope(params), [str(sha) for sha in params["shas"]])


async def handle_conventions(params: dict[str, Any]) -> dict[str, Any]:
    """Facts from manifests and decision files, and the topics that can be asked for."""
    from hunchd.daemon.indexing import conventions_of

    return await asyncio.to_thread(conventions_of, _scope(params))


async def handle_habits(params: dict[str, Any]) -> dict[str, Any]:
    """The workflows that are done again and again in the commands kept in the folder `log`."""
    from hunchd.daemon.indexing import habits_of

    zone = timedelta(seconds=float(params.get("zone") or 0.0))
    return await asyncio.to_thread(habits_of, _scope(params), Path(str(params["log"])), zone)


async def handle_reached(params: dict[str, Any]) -> dict[str, Any]:
    """Which of the commits `shas` the branch `into` contains: what was learnt with them is true there."""
    from hunchd.daemon.indexing import reached

    shas = [str(sha) for sha in params["shas"] if re.fullmatch(r"[0-9a-f]{40,64}", str(sha))]
    return await asyncio.to_thread(reached, _scope(params), str(params["into"]), shas)


def _indexed(scope: Scope) -> Iterator[dict[str, Any]]:
    """Something to answer with, at once, and then everything."""
    yield from first_model(scope)
    from hunchd.daemon.indexing import index

    yield from index(scope)


def _scope(params: dict[str, Any]) -> Scope:
    root = Path(str(params.get("root") or ""))
    if not root.is_absolute():
        raise InvalidInput("the root of a project is an absolute path", field="root")
    if not is_readable(root):
        raise RepositoryError(f"{root} is no folder that can be read")
    return Scope(
        root=root,
        code_cache=Path(str(params["code_cache"])),
        project=str(params.get("project") or ""),
        model=Path(str(params["model_path"])) if params.get("model_path") else None,
        newest=int(params.get("newest", 2000)),
        most=int(params.get("most", 100_000)),
        full=bool(params.get("full", True)),
        extra_ignore=tuple(params.get("extra_ignore") or ()),
        largest=int(params.get("largest", 0)),  # left out by calls that read no file
        episodes_after=str(params.get("episodes_after") or ""),
        now=datetime.now(UTC),
    )


def _stepping_back(steps: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same steps; those behind the first model at low priority."""
    ahead = True
    for step in steps:
        yield step
        if ahead and step["stage"] == "model":
            ahead = False
            _step_back()


def _step_back() -> None:
    """Once somebody waiting for a first answer has it, whoever works at this machine comes first.

    There is no way back, but the thread is short-lived: on Linux this holds for the thread that asks, and for what it
    starts; elsewhere for the process. The disk follows the processor, a little behind. It must not be left to the idle
    class: on a busy disk each sync of ours waited ten seconds, and so did whoever synced in the same file system.
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
