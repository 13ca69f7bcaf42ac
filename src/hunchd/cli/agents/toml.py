"""Editor for a table in TOML as text; everything else stays unchanged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence


class NotToml(ValueError):
    """The text is not TOML, or no table can be added to it."""


def put(text: str, path: tuple[str, ...], values: Mapping[str, str | Sequence[str] | Mapping[str, str]]) -> str:
    """Add the table at the end; replace one of the same name."""
    known: object = _parsed(text)
    for name in path:
        if not isinstance(known, dict):
            raise NotToml(f"{'.'.join(path)} is not a table")
        known = known.get(name, {})
    if known == dict(values):
        return text
    rest = remove(text, path).rstrip("\n")
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_written(value)}" for name, value in values.items())]
    changed = (rest + "\n\n" if rest else "") + "\n".join(lines) + "\n"
    _parsed(changed)
    return changed


def remove(text: str, path: tuple[str, ...]) -> str:
    """Remove the table and its subtables."""
    name = ".".join(path)
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        header = line.strip()
        if header.startswith("["):
            table = header.lstrip("[").partition("]")[0].replace('"', "").replace(" ", "")
            inside = table == name or table.startswith(name + ".")
            if inside and kept and not kept[-1].strip() and len(kept) > 1:
                kept.pop()  # the blank line before the table
        if not inside:
            kept.append(line)
    return "".join(kept)


def _written(value: str | Sequence[str] | Mapping[str, str]) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {json.dumps(each)}" for name, each in value.items()) + " }"
    # JSON strings and lists of strings are valid TOML.
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)


def _parsed(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from error
