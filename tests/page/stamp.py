"""Stamp of the built page: hashes of its sources and of its files. `python -m tests.page.stamp` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "page"
BUILT = ROOT / "src" / "hunchd" / "page" / "static"
STAMP = BUILT / "build.json"
LEFT_OUT = {"node_modules", "generated", "README.md", ".gitignore"}


def list_sources() -> list[Path]:
    return [
        file for file in SOURCES.rglob("*") if file.is_file() and not LEFT_OUT & set(file.relative_to(SOURCES).parts)
    ]


def list_built() -> list[Path]:
    return [file for file in BUILT.rglob("*") if file.is_file() and file != STAMP]


def hash_files(files: Iterable[Path]) -> str:
    digest = sha256()
    for file in sorted(files, key=lambda each: each.relative_to(ROOT).as_posix()):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def build_stamp() -> dict[str, str]:
    return {"sources": hash_files(list_sources()), "built": hash_files(list_built())}


if __name__ == "__main__":
    STAMP.write_text(json.dumps(build_stamp(), indent=2) + "\n")
