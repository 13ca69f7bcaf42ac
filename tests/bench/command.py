"""`hunch bench` as its user calls it."""

from __future__ import annotations

from collections.abc import Sequence

from hunchd.cli import main as hunch


def main(arguments: Sequence[str]) -> int:
    return hunch.main(["bench", *arguments])
