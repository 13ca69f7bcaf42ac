"""The mining process: finds patterns in a quiet project.

Runs at the lowest priority, and ends soon.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from hunchd.daemon.mining import Quarry, mine
from hunchd.daemon.stepping import in_thread
from hunchd.domain.errors import InvalidInput, RepositoryError
from hunchd.protocol.helper import serve
from hunchd.repository.layout import is_readable

IDLE_AFTER: Final = 5.0  # seconds without a call until the process offers to end
NICENESS: Final = 19


async def handle_patterns(params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the patterns of one project.

    Covers the whole tree, or updates the patterns after changes of `paths`.
    """
    async for step in in_thread(lambda: mine(_quarry(params), params.get("paths"))):
        yield step


def _quarry(params: dict[str, Any]) -> Quarry:
    root = Path(str(params.get("root") or ""))
    if not root.is_absolute():
        raise InvalidInput("the root of a project must be an absolute path", field="root")
    if not is_readable(root):
        raise RepositoryError(f"{root} is not a readable folder")
    return Quarry(root=root, cache=Path(str(params["cache"])), extra_ignore=tuple(params.get("extra_ignore") or ()))


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="miner: %(levelname)s %(name)s: %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    serve({"patterns": handle_patterns}, idle_after=IDLE_AFTER)


if __name__ == "__main__":
    main()
