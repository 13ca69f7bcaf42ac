"""Each editor with the real daemon, which is absent, hangs, is killed and comes back meanwhile."""

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
from hunchd.config.places import make_private, places
from hunchd.protocol import rendezvous
from hunchd.protocol.rendezvous import Rendezvous
from tests.daemon.running import RunningDaemon, running_daemon
from tests.editors.editor import Editor, wait_until
from tests.editors.recording import BASKET, CHECKOUT
from tests.repositories import SHOP

TEST = "tests/test_basket.py"


def kept(daemon: RunningDaemon) -> list[dict[str, Any]]:
    """The signals that editors have told this daemon, as it exports them."""
    status, text = daemon.request("GET", "/export")
    assert status == 200, text
    lines = [text] if isinstance(text, dict) else [json.loads(line) for line in text.splitlines()]
    signals = [line["data"]["data"] for line in lines if line["type"] == "signal"]
    return [signal for signal in signals if signal.get("source") == "editor"]


def told(daemon: RunningDaemon, kind: str, path: str) -> int:
    return sum((each["kind"], each["path"]) == (kind, path) for each in kept(daemon) if "path" in each)


def test_a_file_is_opened_and_context_comes_whatever_becomes_of_the_daemon(
    start: Callable[..., Editor], shop: Path, hunchd_home: Path
) -> None:
    editor = start(start=False)
    with running_daemon(hunchd_home) as daemon:
        editor.open(shop / BASKET)
        wait_until(lambda: told(daemon, "file_opened", BASKET) == 1, "the daemon learns of the opened file")
        assert [one["path"] for one in daemon.get("/projects")["items"]] == [str(shop)]
        editor.show_context()
        editor.see("changed together 8 of 8 times")

        daemon.kill()
        editor.open(shop / CHECKOUT)  # nobody is there to be told
        assert editor.current() == str(shop / CHECKOUT)
        daemon.start()
        wait_until(lambda: told(daemon, "file_opened", CHECKOUT) == 1, "what was opened meanwhile is told late")
        wait_until(lambda: told(daemon, "file_opened", BASKET) == 2, "the new daemon is told what is open")
        editor.see("rule 8 for discounts")

        daemon.restart()
        editor.open(shop / TEST)
        wait_until(lambda: told(daemon, "file_opened", TEST) == 1, "the next daemon is found by itself")
        editor.show_context()
        editor.see(TEST)
        editor.see("rule 8 for discounts")


@pytest.mark.slow
def test_a_daemon_is_started_when_there_is_none(start: Callable[..., Editor], shop: Path, hunchd_home: Path) -> None:
    command = hunchd_home.with_name(f"{hunchd_home.name}-hunch")
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hunchd.cli "$@"\n')
    command.chmod(0o700)
    editor = start(start=True, command=str(command))
    editor.open(shop / BASKET)
    daemon = RunningDaemon(hunchd_home)
    wait_until(lambda: (told_ := rendezvous.read(daemon.places.rendezvous_file)) and _take(daemon, told_), "one runs")
    try:
        wait_until(lambda: told(daemon, "file_opened", BASKET) == 1, "it learns of the opened file")
        editor.show_context()
        editor.see("changed together 8 of 8 times")
    finally:
        assert daemon.told is not None
        os.kill(daemon.told.pid, 15)
        wait_until(lambda: not daemon.places.rendezvous_file.exists(), "it ends")


def test_a_daemon_that_comes_after_its_start_was_given_up_is_found(
    start: Callable[..., Editor], shop: Path, hunchd_home: Path
) -> None:
    command = hunchd_home.with_name(f"{hunchd_home.name}-hunch")
    command.write_text("#!/bin/sh\necho hunch: it takes too long >&2\nexit 3\n")
    command.chmod(0o700)
    editor = start(start=True, command=str(command))
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see("hunch doctor")
    with running_daemon(hunchd_home) as daemon:
        wait_until(lambda: told(daemon, "file_opened", BASKET) == 1, "it learns of the opened file")
        editor.see("changed together 8 of 8 times")


def _take(daemon: RunningDaemon, found: Rendezvous) -> bool:
    daemon.told = found
    return True


@contextmanager
def hanging_daemon() -> Iterator[socket.socket]:
    """One that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        where = places()
        make_private(where.runtime)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        rendezvous.write(where.rendezvous_file, Rendezvous(PROTOCOL, url, None, "t" * 43, os.getpid(), "0.1.0"))
        yield listener


@pytest.mark.slow
def test_a_daemon_that_hangs_hinders_nobody(editor: Editor, shop: Path) -> None:
    with hanging_daemon() as listener:
        editor.open(shop / BASKET)
        listener.settimeout(30)
        connection, _ = listener.accept()  # it was asked, and does not answer
        with connection:
            editor.show_context()
            editor.see("asking")
            for _ in range(20):
                editor.open(shop / CHECKOUT)
                assert editor.current() == str(shop / CHECKOUT)
                editor.open(shop / BASKET)
                assert editor.current() == str(shop / BASKET)


def test_without_a_daemon_nothing_is_in_the_way_and_asking_says_why(editor: Editor, shop: Path) -> None:
    for file in SHOP[0][1]:
        editor.open(shop / file)
        assert editor.current() == str(shop / file)
    editor.show_context()
    editor.see("no daemon is running")


def test_a_daemon_of_another_time_is_told_apart(editor: Editor, shop: Path) -> None:
    where = places()
    make_private(where.runtime)
    stranger = Rendezvous(PROTOCOL + 1, "http://127.0.0.1:9", None, "t" * 43, os.getpid(), "9.0.0")
    rendezvous.write(where.rendezvous_file, stranger)
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see(f"the daemon speaks protocol {PROTOCOL + 1}")
