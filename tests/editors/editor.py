"""Driver of an editor in a test: a real process without a screen."""

from __future__ import annotations

import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

PLUGINS = Path(__file__).parents[2] / "editor-plugins"
# Far above the expected time: on a busy machine a test waits instead of failing.
TIMEOUT = 30.0  # seconds


def wait_until(condition: Callable[[], object], what: str, *, within: float = TIMEOUT) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"timeout after {within:.0f} s: {what}"
        time.sleep(0.02)


class Editor(ABC):
    """Running editor.

    Actions return once the editor has received them; their effects follow later.
    """

    name: ClassVar[str]
    # Features beyond signals, context and related files.
    abilities: ClassVar[frozenset[str]] = frozenset({"view", "diagnostics"})

    def __init__(self, executable: str, folder: Path, settings: dict[str, object]) -> None:
        self.executable = executable
        self.folder = folder  # for this editor's own files
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    @abstractmethod
    def missing(cls) -> str | None:
        """Return why the editor cannot be used here, or None."""

    @classmethod
    @abstractmethod
    def find(cls) -> str:
        """Return the path of the executable."""

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def open(self, path: Path) -> None: ...

    @abstractmethod
    def save(self) -> None:
        """Save the current file, changed or not."""

    @abstractmethod
    def close(self, path: Path) -> None: ...

    @abstractmethod
    def current_file(self) -> str:
        """Return the path of the file in the current window."""

    @abstractmethod
    def show_context(self) -> None: ...

    @abstractmethod
    def read_context(self) -> str:
        """Return the text of the context window, or "" if there is none."""

    @abstractmethod
    def choose_related(self, path: str) -> None:
        """Ask for related files and choose `path` once they are offered."""

    @abstractmethod
    def search_code(self, question: str) -> None: ...

    @abstractmethod
    def open_first_result(self) -> int | None:
        """Open the first result of a search; return the line of the cursor, or None while there is no result."""

    @abstractmethod
    def report_errors(self, errors: list[tuple[int, str, str]]) -> None:
        """Publish diagnostics of the current file: (line, message, checker)."""

    @abstractmethod
    def run_action(self, action: str, title: str) -> None:
        """Run an action on the entry with this title.

        The actions are "open", "helpful", "not_helpful", "forget" and "why".
        """

    @abstractmethod
    def read_messages(self) -> str:
        """Return the messages to the user and the text of an opened answer window."""

    def wait_for_context(self, text: str) -> None:
        """Wait until the context window contains `text`."""
        try:
            wait_until(lambda: text in self.read_context(), f"{self.name} shows {text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.read_context()}\n{self.read_messages()}") from None

    def wait_for_message(self, text: str) -> None:
        """Wait until a message to the user contains `text`."""
        wait_until(lambda: text in self.read_messages(), f"{self.name} says {text!r}")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)

    def environment(self) -> dict[str, str]:
        return {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
