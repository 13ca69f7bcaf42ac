"""Composition root of the daemon: creates and connects all components.

This is a good place to start reading the code.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket as socket_module
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from hunchd import PROTOCOL, __version__
from hunchd.config.app_paths import AppPaths, ensure_private_folder
from hunchd.config.settings import Settings
from hunchd.core.state.dependencies import Dependencies
from hunchd.daemon.nightly_schedule import run_every_night
from hunchd.daemon.service_manager import take_inherited_sockets
from hunchd.daemon.supervisor import Supervisor
from hunchd.domain.errors import ConfigError
from hunchd.engine import Engine
from hunchd.language import client as language
from hunchd.protocol import rendezvous
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.rendezvous import Rendezvous
from hunchd.serving.http import make_app
from hunchd.serving.listeners import serve_app
from hunchd.store import client as store
from hunchd.store.client import StoreClient
from hunchd.store.files import DISK_FULL_ERRORS
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.registry import ProjectRegistry

STORE_IDLE_SECONDS: Final = 60.0  # seconds without work after which the store process ends, which frees its memory
MODEL_IDLE_SECONDS: Final = 600.0  # seconds without use after which a model is unloaded; loading takes half a second
PORT_FILE: Final = "port"  # file in the state folder that contains the port of the last daemon

logger = logging.getLogger(__name__)


@asynccontextmanager
async def run_components(places: AppPaths, settings: Settings) -> AsyncIterator[Engine]:
    """Run the daemon with all its components.

    The components are opened in the order in which data flows through them, and closed in reverse order.
    """
    for folder in (places.config, places.data, places.state, places.cache, places.runtime, places.spool):
        ensure_private_folder(folder)
    async with (
        Journal.open(places.data / "journal", reserve_bytes=settings.store.reserve_mib * 1024 * 1024) as journal,
        manage_helpers(places, settings) as helpers,
        run_engine(places, settings, journal, helpers) as engine,
        serve_http(engine, places, settings, journal),
    ):
        yield engine


class HelperProcesses(NamedTuple):
    """Helper processes of the front process.

    Each process is started by the first call to it.
    """

    store: HelperProcess
    indexer: HelperProcess
    miner: HelperProcess
    planner: HelperProcess
    team: HelperProcess
    language_helper: HelperProcess


@asynccontextmanager
async def manage_helpers(places: AppPaths, settings: Settings) -> AsyncIterator[HelperProcesses]:
    helpers = HelperProcesses(
        store=HelperProcess(
            store.build_command(
                places.data,
                idle_after=STORE_IDLE_SECONDS,
                model=settings.embedding.model,
                embedding=settings.embedding.enabled,
                model_idle_after=MODEL_IDLE_SECONDS,
            ),
            name="the store process",
            env=store.build_environment(),
        ),
        indexer=HelperProcess([sys.executable, "-m", "hunchd.daemon.indexer_process"], name="the indexer process"),
        miner=HelperProcess([sys.executable, "-m", "hunchd.daemon.mining_process"], name="the mining process"),
        planner=HelperProcess([sys.executable, "-m", "hunchd.daemon.planner_process"], name="the planner process"),
        team=HelperProcess([sys.executable, "-m", "hunchd.daemon.team_process"], name="the team process"),
        language_helper=HelperProcess(language.build_process_arguments(), name="the language process"),
    )
    try:
        yield helpers
    finally:
        await asyncio.gather(*(helper.stop() for helper in helpers))


@asynccontextmanager
async def run_engine(
    places: AppPaths, settings: Settings, journal: Journal, helpers: HelperProcesses
) -> AsyncIterator[Engine]:
    """Run the engine with its background tasks and the nightly task."""
    supervisor, store_client = Supervisor(), StoreClient(helpers.store)
    engine = Engine(
        Dependencies(
            paths=places,
            settings=settings,
            journal=journal,
            memory_cache=MemoryCache(),
            registry=ProjectRegistry(places.data / "projects.json"),
            store=store_client,
            models=store_client,
            store_process=helpers.store,
            indexer=helpers.indexer,
            miner=helpers.miner,
            planner=helpers.planner,
            team_process=helpers.team,
            language=language.create_language_client(helpers.language_helper, settings.language),
            tasks=supervisor,
            secret=load_secret(places.data / "secret"),
            now=lambda: datetime.now(UTC),
        )
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        stack.push_async_callback(supervisor.close)
        stack.push_async_callback(engine.drain_writer)
        engine.open()
        supervisor.start("nightly", lambda: run_every_night(engine.run_nightly, settings.consolidation.hour))
        yield engine


@asynccontextmanager
async def serve_http(engine: Engine, places: AppPaths, settings: Settings, journal: Journal) -> AsyncIterator[None]:
    """Serve HTTP, and write the server's address into the rendezvous file."""
    token = secrets.token_urlsafe(32)
    listeners = serve_app(
        make_app(engine, token),
        host=settings.serving.host,
        port=settings.serving.port or find_last_port(places),
        socket_path=choose_socket_path(places) if settings.serving.socket else None,
        inherited_sockets=take_inherited_sockets(),
    )
    async with listeners as (url, socket):
        address = Rendezvous(PROTOCOL, url, str(socket) if socket else None, token, os.getpid(), __version__)
        publish_address(address, places.rendezvous_file, journal)
        remember_port(places, url)
        try:
            logger.info("hunchd %s is listening at %s (pid %d)", __version__, url, os.getpid())
            yield
        finally:
            rendezvous.remove_rendezvous(places.rendezvous_file, pid=os.getpid())


def find_last_port(places: AppPaths) -> int:
    """Return the port that the last daemon used, or 0 if it is not available.

    If the port stays the same, addresses of the web page remain valid.
    """
    try:
        port = int((places.state / PORT_FILE).read_text("ascii"))
        with socket_module.socket() as probe:
            if os.name == "posix":
                probe.setsockopt(socket_module.SOL_SOCKET, socket_module.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except (OSError, ValueError, OverflowError):
        return 0
    return port


def remember_port(places: AppPaths, url: str) -> None:
    with suppress(OSError):  # the only effect is that the next daemon gets a different port
        file = places.state / PORT_FILE
        file.touch(mode=0o600)
        file.write_text(url.rpartition(":")[2], "ascii")


def choose_socket_path(places: AppPaths) -> Path | None:
    """Return the path of the Unix socket to listen on.

    Returns None if the folder of the socket belongs to another user. Because this must not prevent the daemon from
    starting, it then listens on loopback only.
    """
    if places.socket_file.parent != places.runtime:
        try:
            ensure_private_folder(places.socket_file.parent)
        except (ConfigError, OSError) as error:
            logger.warning("listening on loopback only, because the socket needs a private folder: %s", error)
            return None
    return places.socket_file


def publish_address(address: Rendezvous, file: Path, journal: Journal) -> None:
    """Write the rendezvous file, even if the disk is full.

    If clients could not find the daemon, it could not report to them that the disk is full.
    """
    try:
        rendezvous.write_rendezvous(file, address)
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS or not journal.release_reserve():
            raise
        logger.warning("the disk is full; releasing the reserve to continue")
        rendezvous.write_rendezvous(file, address)


def load_secret(file: Path) -> bytes:
    """Load or create the installation's secret of 32 random bytes.

    The marks around quotations in contexts are derived from the secret, so that the quoted authors cannot forge them.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        if len(existing := file.read_bytes()) == 32:
            return existing
        file.unlink()
        return load_secret(file)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(new_secret := secrets.token_bytes(32))
    return new_secret


async def wait_until_idle(engine: Engine, minutes: float) -> None:
    """Wait until `minutes` have passed without a request or signal.

    If `minutes` is 0, the function never returns.
    """
    if not minutes:
        await asyncio.Event().wait()
    while engine.idle_seconds < minutes * 60:
        await asyncio.sleep(max(1.0, minutes * 60 - engine.idle_seconds))
