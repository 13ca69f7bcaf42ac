"""The mining process: finds patterns in a quiet project.

Runs at the lowest priority, and ends soon.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from hunchd.daemon.mining import MiningRequest, mine_project
from hunchd.daemon.thread_iterator import iterate_in_thread
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.protocol.helper import serve
from hunchd.repository.layout import is_readable

IDLE_SECONDS: Final = 5.0  # seconds without a call until the process offers to end
NICENESS: Final = 19


async def handle_patterns(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the patterns of one project.

    Covers the whole tree, or updates the patterns after changes of `paths`.
    """
    async for step in iterate_in_thread(lambda: mine_project(_parse_request(params), params.get("paths"))):
        yield step


def _parse_request(params: dict[str, Any]) -> MiningRequest:
    root = Path(str(params.get("root") or ""))
    if not root.is_absolute():
        raise InvalidInput("the root of a project must be an absolute path", field="root")
    if not is_readable(root):
        raise RepositoryError(f"{root} is not a readable folder")
    return MiningRequest(
        root=root, cache=Path(str(params["cache"])), extra_ignore=tuple(params.get("extra_ignore") or ())
    )


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="miner: %(levelname)s %(name)s: %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    serve({"patterns": handle_patterns}, idle_seconds=IDLE_SECONDS)


if __name__ == "__main__":
    main()
