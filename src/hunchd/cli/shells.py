"""`hunch shell-init`: prints shell code that reports each command when it has ended."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from pathlib import Path

from hunchd.config.app_paths import AppPaths, ensure_private_folder, expand_path, resolve_app_paths
from hunchd.config.loading import load_settings


def shell_init(arguments: Namespace) -> int:
    paths = resolve_app_paths()
    ensure_private_folder(paths.spool)
    print(render_script(arguments.shell, paths, load_settings(paths.config_file).shell.private_folders), end="")
    return 0


def render_script(shell: str, paths: AppPaths, private_folders: tuple[str, ...]) -> str:
    """Return the code that the given shell evaluates on start.

    Commands that are run below one of the `private_folders` are never reported.
    """
    quote = _quote_fish if shell == "fish" else shlex.quote
    folders = [os.path.realpath(expand_path(folder)) for folder in private_folders]
    text = (Path(__file__).parent / "shell" / f"init.{shell}").read_text(encoding="utf-8")
    for name, value in (
        ("PRIVATE", " ".join(quote(folder) for folder in folders)),
        ("LINES", quote(str(paths.spool / "lines"))),
        ("DAEMON", quote(str(paths.rendezvous_file))),
    ):
        text = text.replace(f"@{name}@", value)
    return text


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
