"""The store process: LanceDB and the embedding model, the only writer of the memories.

Started by the front.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from hunchd.daemon.store_service import StoreService
from hunchd.daemon.store_upkeep import Upkeep
from hunchd.domain.errors import Conflict
from hunchd.embedding.embedder import Embedder, Late, LazyEmbedder, Reader
from hunchd.protocol.helper import serve
from hunchd.store.database.lance import new_session
from hunchd.store.files import private_folder
from hunchd.store.journal.folder_lock import FolderLock

# The store process of a front that was just killed ends as soon as it notices; it may be in the middle of a write.
LOCK_PATIENCE: Final = 5.0  # seconds
# Statements arrive in bursts; between them the contradiction model would occupy 40 MB for nothing.
READER_IDLE_AFTER: Final = 60.0  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the pipe closes.

    Exit status 1: another process has the store.
    """
    parser = argparse.ArgumentParser(prog="hunchd.daemon.store_process")
    parser.add_argument("data", type=Path)
    parser.add_argument("--idle-after", type=float, default=60.0)
    parser.add_argument("--model", default="minilm-int8")
    parser.add_argument("--model-idle-after", type=float, default=600.0)
    parser.add_argument("--no-embedding", action="store_true")
    asked = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    lock = FolderLock(private_folder(asked.data) / "store.lock")
    try:
        _take(lock)
    except Conflict as error:
        logging.getLogger(__name__).error("%s", error.message)
        return 1
    _keep_drafts_in(asked.data / "tmp")
    model = reader = None
    if not asked.no_embedding:
        model = LazyEmbedder(asked.model, _loader(asked.model), idle_after=asked.model_idle_after)
        reader = Late("reader of pairs", _reader, idle_after=min(asked.model_idle_after, READER_IDLE_AFTER))
    service = StoreService(asked.data, new_session(), model, reader)
    upkeep = Upkeep(service, model)
    gc.freeze()  # the libraries' objects are permanent: scanning them again would delay a query by 0.1 s
    serve(upkeep.beside(service.handlers), idle_after=asked.idle_after, busy=lambda: upkeep.busy)
    return 0


def _loader(name: str) -> Callable[[], Embedder]:
    def load() -> Embedder:
        from hunchd.embedding import fast  # one second and 200 MB, not needed without queries

        model = fast.load(name)
        gc.freeze()
        return model

    return load


def _reader() -> Reader:
    from hunchd.embedding import fast

    return fast.load_reader()


def _keep_drafts_in(folder: Path) -> None:
    """Set the folder for temporary files of the database.

    It spills vectors there while it builds an index. Emptied at each start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["TMPDIR"] = str(private_folder(folder))


def _take(lock: FolderLock) -> None:
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            return lock.take()
        except Conflict:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
