"""A line on the terminal that tells how far something has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from hunchd.cli.output import wants_colour


@contextmanager
def watched(stream: TextIO) -> Iterator[Callable[[str], None]]:
    """A function that shows its text as the current state, on a terminal; elsewhere it shows nothing."""
    if not stream.isatty():
        yield lambda _: None
        return
    # Loading rich takes longer than most commands: only those that wait anyway pay for it.
    from rich.console import Console

    with Console(file=stream, no_color=not wants_colour(stream)).status("asking …") as line:
        yield lambda text: line.update(text.replace("[", r"\["))
