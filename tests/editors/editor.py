"""An editor as a test drives it: a real process without a screen, told what its user does."""

from __future__ import annotations

import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

PLUGINS = Path(__file__).parents[2] / "editor-plugins"
# Far above what anything here takes: on a busy machine a test waits longer rather than failing.
PATIENCE = 30.0  # seconds


def wait_until(holds: Callable[[], object], what: str, *, within: float = PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"not within {within:.0f} s: {what}"
        time.sleep(0.02)


class Editor(ABC):
    """One running editor. Actions return when the editor has taken them in; what follows from them comes later."""

    name: ClassVar[str]
    # What a plugin has beyond signals, context and related files.
    abilities: ClassVar[frozenset[str]] = frozenset({"view", "diagnostics"})

    def __init__(self, executable: str, folder: Path, settings: dict[str, object]) -> None:
        self.executable = executable
        self.folder = folder  # for this editor's own files
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    @abstractmethod
    def missing(cls) -> str | None:
        """Why it cannot be used here, or None."""

    @classmethod
    @abstractmethod
    def find(cls) -> str:
        """The executable."""

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
    def current(self) -> str:
        """The path of the file that is shown."""

    @abstractmethod
    def show_context(self) -> None: ...

    @abstractmethod
    def shown(self) -> str:
        """The text of the context's window; "" when there is none."""

    @abstractmethod
    def choose_related(self, path: str) -> None:
        """Ask for related files and choose `path` once they are offered."""

    @abstractmethod
    def report_errors(self, errors: list[tuple[int, str, str]]) -> None:
        """What a checker finds in the current file: (line, message, checker)."""

    @abstractmethod
    def do(self, action: str, title: str) -> None:
        """ "open", "helpful", "not_helpful", "forget" or "why" for the entry with this title."""

    @abstractmethod
    def said(self) -> str:
        """What the editor has told its user, and what stands in a window that was opened for an answer."""

    def see(self, text: str) -> None:
        """Wait until the context's window holds `text`."""
        try:
            wait_until(lambda: text in self.shown(), f"{self.name} shows {text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.shown()}\n{self.said()}") from None

    def hear(self, text: str) -> None:
        wait_until(lambda: text in self.said(), f"{self.name} says {text!r}")

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
