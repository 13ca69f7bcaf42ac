"""Tests of each editor with the real daemon: absent, hanging, killed and restarted."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hunchd import PROTOCOL
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol import rendezvous
from hunchd.protocol.rendezvous import Rendezvous
from tests.daemon.running import RunningDaemon, running_daemon
from tests.editors.editor import Editor, wait_until
from tests.editors.recording import BASKET, CHECKOUT
from tests.repositories import SHOP

TEST = "tests/test_basket.py"


def exported_signals(daemon: RunningDaemon) -> list[dict[str, Any]]:
    """Return the editors' signals that the daemon exports."""
    status, text = daemon.request("GET", "/export")
    assert status == 200, text
    lines = [text] if isinstance(text, dict) else [json.loads(line) for line in text.splitlines()]
    signals = [line["data"]["data"] for line in lines if line["type"] == "signal"]
    return [signal for signal in signals if signal.get("source") == "editor"]


def count_signals(daemon: RunningDaemon, kind: str, path: str) -> int:
    return sum((each["kind"], each["path"]) == (kind, path) for each in exported_signals(daemon) if "path" in each)


def test_context_shown_across_daemon_restarts(start: Callable[..., Editor], shop: Path, hunchd_home: Path) -> None:
    editor = start(start=False)
    with running_daemon(hunchd_home) as daemon:
        editor.open(shop / BASKET)
        wait_until(lambda: count_signals(daemon, "file_opened", BASKET) == 1, "the daemon receives the opened file")
        assert [one["path"] for one in daemon.get("/projects")["items"]] == [str(shop)]
        editor.show_context()
        editor.wait_for_context("changed together 8 of 8 times")

        daemon.kill()
        editor.open(shop / CHECKOUT)  # no daemon receives it
        assert editor.current_file() == str(shop / CHECKOUT)
        daemon.start()
        wait_until(lambda: count_signals(daemon, "file_opened", CHECKOUT) == 1, "the missed opening is reported later")
        wait_until(
            lambda: count_signals(daemon, "file_opened", BASKET) == 2, "open files are reported to the new daemon"
        )
        editor.wait_for_context("rule 8 for discounts")

        daemon.restart()
        editor.open(shop / TEST)
        wait_until(lambda: count_signals(daemon, "file_opened", TEST) == 1, "the next daemon is found")
        editor.show_context()
        editor.wait_for_context(TEST)
        editor.wait_for_context("rule 8 for discounts")


def test_search_opens_file_at_line(editor: Editor, shop: Path, hunchd_home: Path) -> None:
    with running_daemon(hunchd_home) as daemon:
        editor.open(shop / BASKET)
        wait_until(lambda: _is_ready(daemon), "the project is indexed")
        editor.search_code("pay")
        wait_until(lambda: editor.open_first_result() is not None, "a result is listed")
        assert (editor.current_file(), editor.open_first_result()) == (str(shop / CHECKOUT), 4)


def _is_ready(daemon: RunningDaemon) -> bool:
    return [project["state"] for project in daemon.get("/projects")["items"]] == ["ready"]


@pytest.mark.slow
def test_missing_daemon_is_started(start: Callable[..., Editor], shop: Path, hunchd_home: Path) -> None:
    command = hunchd_home.with_name(f"{hunchd_home.name}-hunch")
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hunchd.cli "$@"\n')
    command.chmod(0o700)
    editor = start(start=True, command=str(command))
    editor.open(shop / BASKET)
    daemon = RunningDaemon(hunchd_home)
    wait_until(
        lambda: (
            (running := rendezvous.read_rendezvous(daemon.places.rendezvous_file)) and _set_rendezvous(daemon, running)
        ),
        "one runs",
    )
    try:
        wait_until(lambda: count_signals(daemon, "file_opened", BASKET) == 1, "it receives the opened file")
        editor.show_context()
        editor.wait_for_context("changed together 8 of 8 times")
    finally:
        assert daemon.told is not None
        os.kill(daemon.told.pid, 15)
        wait_until(lambda: not daemon.places.rendezvous_file.exists(), "it ends")


def test_daemon_found_after_failed_start(start: Callable[..., Editor], shop: Path, hunchd_home: Path) -> None:
    command = hunchd_home.with_name(f"{hunchd_home.name}-hunch")
    command.write_text("#!/bin/sh\necho hunch: it takes too long >&2\nexit 3\n")
    command.chmod(0o700)
    editor = start(start=True, command=str(command))
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context("hunch doctor")
    with running_daemon(hunchd_home) as daemon:
        wait_until(lambda: count_signals(daemon, "file_opened", BASKET) == 1, "it receives the opened file")
        editor.wait_for_context("changed together 8 of 8 times")


def _set_rendezvous(daemon: RunningDaemon, found: Rendezvous) -> bool:
    daemon.told = found
    return True


@contextmanager
def hanging_daemon() -> Iterator[socket.socket]:
    """Listen and publish a rendezvous file, but never answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        where = resolve_app_paths()
        ensure_private_folder(where.runtime)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        rendezvous.write_rendezvous(
            where.rendezvous_file, Rendezvous(PROTOCOL, url, None, "t" * 43, os.getpid(), "0.1.0")
        )
        yield listener


@pytest.mark.slow
def test_hanging_daemon_does_not_block_editor(editor: Editor, shop: Path) -> None:
    with hanging_daemon() as listener:
        editor.open(shop / BASKET)
        listener.settimeout(30)
        connection, _ = listener.accept()  # the request is never answered
        with connection:
            editor.show_context()
            editor.wait_for_context("asking")
            for _ in range(20):
                editor.open(shop / CHECKOUT)
                assert editor.current_file() == str(shop / CHECKOUT)
                editor.open(shop / BASKET)
                assert editor.current_file() == str(shop / BASKET)


def test_no_daemon_editing_works_context_explains(editor: Editor, shop: Path) -> None:
    for file in SHOP[0][1]:
        editor.open(shop / file)
        assert editor.current_file() == str(shop / file)
    editor.show_context()
    editor.wait_for_context("no daemon is running")


def test_other_protocol_version_reported(editor: Editor, shop: Path) -> None:
    where = resolve_app_paths()
    ensure_private_folder(where.runtime)
    stranger = Rendezvous(PROTOCOL + 1, "http://127.0.0.1:9", None, "t" * 43, os.getpid(), "9.0.0")
    rendezvous.write_rendezvous(where.rendezvous_file, stranger)
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context(f"the daemon speaks protocol {PROTOCOL + 1}")
