"""Repositories with many dated commits, made at once by `git fast-import`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

Change = tuple[str, Mapping[str, str]]  # message, files

MONTH = 30 * 86_400  # seconds
BEGUN = 1_577_836_800  # 2020-01-01


def make_history(folder: Path, changes: Iterable[Change], *, seconds: int = MONTH, author: str = "Ada") -> Path:
    """Create a repository with one commit a change, `seconds` apart."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    stream = b"".join(
        _write_commit(number, message, files, seconds, author) for number, (message, files) in enumerate(changes)
    )
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=stream, check=True)
    subprocess.run(["git", "-C", str(folder), "reset", "-q", "--hard"], check=True)
    return folder


def _write_commit(number: int, message: str, files: Mapping[str, str], seconds: int, author: str) -> bytes:
    who = f"{author} <ada@example.org> {BEGUN + number * seconds} +0000".encode()
    parts = [b"commit refs/heads/main\ncommitter " + who + b"\n", _write_data(message)]
    for path, content in files.items():
        quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        parts += [f'M 100644 inline "{quoted}"\n'.encode(), _write_data(content)]
    return b"".join((*parts, b"\n"))


def _write_data(text: str) -> bytes:
    return f"data {len(text.encode())}\n".encode() + text.encode() + b"\n"
