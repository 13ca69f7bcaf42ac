"""Composition root of the daemon: builds and connects all components.

Read this first.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hunchd import PROTOCOL, __version__
from hunchd.config.places import Places, make_private
from hunchd.config.settings import Settings
from hunchd.daemon.nightly import every_night
from hunchd.daemon.notify import inherited_sockets
from hunchd.daemon.supervision import Supervisor
from hunchd.domain.errors import ConfigError
from hunchd.engine.engine import Engine
from hunchd.engine.state.parts import Parts
from hunchd.language import client as language
from hunchd.protocol import rendezvous
from hunchd.protocol.child import Child
from hunchd.protocol.rendezvous import Rendezvous
from hunchd.serving.http import make_app
from hunchd.serving.limits import Limits
from hunchd.serving.opening import open_doors
from hunchd.store import client as store
from hunchd.store.client import StoreClient
from hunchd.store.files import FULL
from hunchd.store.hot import HotTier
from hunchd.store.journal.journal import Journal
from hunchd.store.registry import Registry

logger = logging.getLogger(__name__)


@asynccontextmanager
async def assembled(places: Places, settings: Settings) -> AsyncIterator[Engine]:
    """Run the daemon with all its components.

    They are opened in the order of the data flow, and closed in reverse.
    """
    for folder in (places.config, places.data, places.state, places.cache, places.runtime, places.spool):
        make_private(folder)
    async with (
        Journal.open(places.data / "journal", reserve_bytes=settings.store.reserve_mib * 1024 * 1024) as journal,
        helpers_of(places, settings) as helpers,
        working(places, settings, journal, helpers) as engine,
        answering(engine, places, settings, journal),
    ):
        yield engine


class Helpers(NamedTuple):
    """Helper processes of the front; each is started by its first call."""

    store: Child
    indexer: Child
    miner: Child
    planner: Child
    speaker: Child


@asynccontextmanager
async def helpers_of(places: Places, settings: Settings) -> AsyncIterator[Helpers]:
    helpers = Helpers(
        store=Child(
            store.arguments(
                places.data,
                idle_after=settings.store.idle_seconds,
                model=settings.embedding.model,
                embedding=settings.embedding.enabled,
                model_idle_after=settings.embedding.idle_seconds,
            ),
            name="the store process",
            env=store.environment(),
        ),
        indexer=Child([sys.executable, "-m", "hunchd.daemon.indexer_process"], name="the indexer process"),
        miner=Child([sys.executable, "-m", "hunchd.daemon.mining_process"], name="the mining process"),
        planner=Child([sys.executable, "-m", "hunchd.daemon.planner_process"], name="the planner process"),
        speaker=Child(language.arguments(), name="the language process"),
    )
    try:
        yield helpers
    finally:
        await asyncio.gather(*(helper.stop() for helper in helpers))


@asynccontextmanager
async def working(places: Places, settings: Settings, journal: Journal, helpers: Helpers) -> AsyncIterator[Engine]:
    """Run the engine with its background tasks and the nightly one."""
    supervisor = Supervisor()
    engine = Engine(
        Parts(
            places=places,
            settings=settings,
            journal=journal,
            hot=HotTier(),
            registry=Registry(places.data / "projects.json"),
            store=StoreClient(helpers.store),
            store_process=helpers.store,
            indexer=helpers.indexer,
            miner=helpers.miner,
            planner=helpers.planner,
            language=language.client_of(helpers.speaker, settings.language),
            tasks=supervisor,
            secret=own_secret(places.data / "secret"),
            now=lambda: datetime.now(UTC),
        )
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        stack.push_async_callback(supervisor.close)
        stack.push_async_callback(engine.settle)
        engine.open()
        supervisor.start("nightly", lambda: every_night(engine.nightly, settings.consolidation.hour))
        yield engine


@asynccontextmanager
async def answering(engine: Engine, places: Places, settings: Settings, journal: Journal) -> AsyncIterator[None]:
    """Serve HTTP, and publish the address in the rendezvous file."""
    token = secrets.token_urlsafe(32)
    doors = open_doors(
        make_app(engine, token, limits=Limits(body=settings.serving.max_body_bytes)),
        host=settings.serving.host,
        port=settings.serving.port,
        socket_path=own_socket(places) if settings.serving.socket else None,
        inherited=inherited_sockets(),
    )
    async with doors as (url, socket):
        told = Rendezvous(PROTOCOL, url, str(socket) if socket else None, token, os.getpid(), __version__)
        announce(told, places.rendezvous_file, journal)
        try:
            logger.info("hunchd %s is listening at %s (pid %d)", __version__, url, os.getpid())
            yield
        finally:
            rendezvous.remove(places.rendezvous_file, pid=os.getpid())


def own_socket(places: Places) -> Path | None:
    """Return the path to listen on, or None.

    None if its short folder belongs to somebody else, which must not keep this daemon from starting; it serves
    loopback only.
    """
    if places.socket_file.parent != places.runtime:
        try:
            make_private(places.socket_file.parent)
        except (ConfigError, OSError) as error:
            logger.warning("listening on loopback only, because the socket needs a private folder: %s", error)
            return None
    return places.socket_file


def announce(told: Rendezvous, file: Path, journal: Journal) -> None:
    """Write the rendezvous file, even on a full disk.

    A daemon that cannot be found cannot report the problem.
    """
    try:
        rendezvous.write(file, told)
    except OSError as error:
        if error.errno not in FULL or not journal.make_room():
            raise
        logger.warning("the disk is full; releasing the reserve to continue")
        rendezvous.write(file, told)


def own_secret(file: Path) -> bytes:
    """Load or create the installation's secret of 32 random bytes.

    It marks quotations so that authors cannot forge them.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        if len(known := file.read_bytes()) == 32:
            return known
        file.unlink()
        return own_secret(file)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(made := secrets.token_bytes(32))
    return made


async def until_idle(engine: Engine, minutes: float) -> None:
    """Return after `minutes` without a request or signal.

    Never return if it is 0.
    """
    if not minutes:
        await asyncio.Event().wait()
    while engine.idle_seconds < minutes * 60:
        await asyncio.sleep(max(1.0, minutes * 60 - engine.idle_seconds))
