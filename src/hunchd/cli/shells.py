"""`hunch shell-init`: shell code that reports the commands that ended."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from pathlib import Path

from hunchd.config.loading import load
from hunchd.config.places import Places, expanded, make_private, places


def shell_init(arguments: Namespace) -> int:
    where = places()
    make_private(where.spool)
    print(script(arguments.shell, where, load(where.config_file).shell.private_folders), end="")
    return 0


def script(shell: str, where: Places, private: tuple[str, ...]) -> str:
    """Return the code for `shell` to evaluate at its start."""
    quoted = _quoted_for_fish if shell == "fish" else shlex.quote
    folders = [os.path.realpath(expanded(folder)) for folder in private]
    text = (Path(__file__).parent / "shell" / f"init.{shell}").read_text(encoding="utf-8")
    for name, value in (
        ("PRIVATE", " ".join(quoted(folder) for folder in folders)),
        ("LINES", quoted(str(where.spool / "lines"))),
        ("DAEMON", quoted(str(where.rendezvous_file))),
    ):
        text = text.replace(f"@{name}@", value)
    return text


def _quoted_for_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
