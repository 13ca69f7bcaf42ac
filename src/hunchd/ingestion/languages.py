"""Detection of a file's language from its name or first line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

# Data formats, in which values may be secrets: their symbols show keys, never values.
DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "ini"})
NOTEBOOK = "notebook"  # prose and code in cells

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_BY_EXTENSION: dict[str, str] = {
    ending: name for name, endings in _TABLES["extensions"].items() for ending in endings.split()
}
_BY_NAME: dict[str, str] = {file: name for name, files in _TABLES["names"].items() for file in files.split()}
_SHEBANGS = (
    (re.compile(r"\bpython[\d.]*\b"), "python"),
    (re.compile(r"\b(ba|z|k|da|a)?sh\b"), "bash"),
    (re.compile(r"\b(node|bun)\b"), "javascript"),
    (re.compile(r"\b(deno|ts-node|tsx)\b"), "typescript"),
    (re.compile(r"\bruby\b"), "ruby"),
    (re.compile(r"\bphp\b"), "php"),
    (re.compile(r"\bperl\b"), "perl"),
)
_CPP_IN_HEADER = re.compile(
    rb"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)", re.M
)


def detect_language(path: str, source: bytes = b"") -> str:
    """Return a file's language, detected from its name or first line.

    Returns "" if the language is unknown.
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(".")
    if dot and ending in _BY_EXTENSION:
        language = _BY_EXTENSION[ending]
        return "cpp" if ending == "h" and _CPP_IN_HEADER.search(source) else language
    if stem.startswith("dockerfile") or name.startswith("dockerfile"):
        return "docker"
    if source.startswith(b"#!"):
        first = source[:200].split(b"\n", 1)[0].decode("ascii", "replace")
        return next((language for pattern, language in _SHEBANGS if pattern.search(first)), "")
    return ""
