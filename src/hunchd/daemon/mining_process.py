"""The mining process: finds code patterns in a project while nobody works in it.

It runs at the lowest priority and ends soon after it becomes idle.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from typing import Final

from hunchd.daemon.mining import mine_project
from hunchd.daemon.models import check_folder
from hunchd.daemon.thread_iterator import iterate_in_thread
from hunchd.patterns.pattern import MiningStep
from hunchd.protocol.helper import serve
from hunchd.protocol.indexing_messages import ProjectRequest

IDLE_SECONDS: Final = 5.0  # seconds without a call until the process offers to end
NICENESS: Final = 19


async def handle_patterns(request: ProjectRequest) -> AsyncIterator[MiningStep]:
    """Yield the progress of mining one project, then its code patterns."""
    check_folder(request)
    async for step in iterate_in_thread(lambda: mine_project(request)):
        yield step


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="miner: %(levelname)s %(name)s: %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    serve({"patterns": handle_patterns}, idle_seconds=IDLE_SECONDS)


if __name__ == "__main__":
    main()
