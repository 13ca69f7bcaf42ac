"""The store process, which runs LanceDB and the embedding model.

It is the only process that writes memories to the tables. The front process starts it.
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

from hunchd.daemon.store_maintenance import StoreMaintenance
from hunchd.daemon.store_service import StoreService
from hunchd.domain.errors import Conflict
from hunchd.embedding.embedder import ContradictionModel, Embedder, LazyEmbedder, LazyModel, StatementModel
from hunchd.protocol.helper import serve
from hunchd.store.database.lance import create_session
from hunchd.store.files import create_private_folder
from hunchd.store.journal.folder_lock import FolderLock

# The store process of a front that was just killed ends as soon as it notices; it may be in the middle of a write.
LOCK_TIMEOUT_SECONDS: Final = 5.0  # seconds
# Statements arrive in bursts; between them the contradiction model would occupy 40 MB for nothing.
READER_IDLE_SECONDS: Final = 60.0  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer calls until the pipe is closed.

    Returns exit status 1 if another process has already opened the store.
    """
    parser = argparse.ArgumentParser(prog="hunchd.daemon.store_process")
    parser.add_argument("data", type=Path)
    parser.add_argument("--idle-after", type=float, default=60.0)
    parser.add_argument("--model", default="minilm-int8")
    parser.add_argument("--model-idle-after", type=float, default=600.0)
    parser.add_argument("--no-embedding", action="store_true")
    options = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    lock = FolderLock(create_private_folder(options.data) / "store.lock")
    try:
        _acquire_lock(lock)
    except Conflict as error:
        logging.getLogger(__name__).error("%s", error.message)
        return 1
    _use_temporary_folder(options.data / "tmp")
    model = reader = statements = None
    if not options.no_embedding:
        model = LazyEmbedder(options.model, _make_loader(options.model), idle_after=options.model_idle_after)
        reader = LazyModel(
            "for contradictions",
            _make_reader_loader(model),
            idle_after=min(options.model_idle_after, READER_IDLE_SECONDS),
        )
        statements = LazyModel(
            "for statements", _load_statement_model, idle_after=min(options.model_idle_after, READER_IDLE_SECONDS)
        )
    service = StoreService(options.data, create_session(), model, reader, statements)
    upkeep = StoreMaintenance(service, model)
    gc.freeze()  # the libraries' objects are permanent: scanning them again would delay a query by 0.1 s
    serve(upkeep.wrap_handlers(service.handlers), idle_seconds=options.idle_after, is_busy=lambda: upkeep.is_busy)
    return 0


def _make_loader(name: str) -> Callable[[], Embedder]:
    def load_model() -> Embedder:
        from hunchd.embedding import fastembed_backend  # one second and 200 MB, not needed without queries

        model = fastembed_backend.load_embedder(name)
        gc.freeze()
        return model

    return load_model


def _make_reader_loader(embedder: LazyEmbedder) -> Callable[[], ContradictionModel]:
    def load_reader() -> ContradictionModel:
        from hunchd.embedding import fastembed_backend

        return fastembed_backend.load_contradiction_model(lambda texts: embedder.get_model().embed(texts))

    return load_reader


def _load_statement_model() -> StatementModel:
    from hunchd.embedding import fastembed_backend

    return fastembed_backend.load_statement_model()


def _use_temporary_folder(folder: Path) -> None:
    """Empty `folder`, and make the database store its temporary files there.

    While the database builds an index, it writes vectors to such files.
    """
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["TMPDIR"] = str(create_private_folder(folder))


def _acquire_lock(lock: FolderLock) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            return lock.acquire()
        except Conflict:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
