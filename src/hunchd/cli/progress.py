"""Progress line on the terminal, for commands that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from hunchd.cli.output import wants_colour


@contextmanager
def show_progress(stream: TextIO) -> Iterator[Callable[[str], None]]:
    """Show a progress line, and yield a function that replaces the text of the line.

    The function does nothing if `stream` is not a terminal.
    """
    if not stream.isatty():
        yield lambda _: None
        return
    # Importing rich takes longer than most commands, so only those that have to wait anyway do it.
    from rich.console import Console

    with Console(file=stream, no_color=not wants_colour(stream)).status("asking …") as line:
        yield lambda text: line.update(text.replace("[", r"\["))
