"""Editor for TOML text that adds or removes one table and leaves the rest unchanged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence


class InvalidToml(ValueError):
    """Raised if a text is not valid TOML, or if the table cannot be added to it."""


def set_table(text: str, path: tuple[str, ...], values: Mapping[str, str | Sequence[str] | Mapping[str, str]]) -> str:
    """Return `text` with the table appended at the end.

    An existing table with the same name is removed first.
    """
    existing: object = _parse(text)
    for name in path:
        if not isinstance(existing, dict):
            raise InvalidToml(f"{'.'.join(path)} is not a table")
        existing = existing.get(name, {})
    if existing == dict(values):
        return text
    remaining = remove_table(text, path).rstrip("\n")
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {_format_value(value)}" for name, value in values.items())]
    new_text = (remaining + "\n\n" if remaining else "") + "\n".join(lines) + "\n"
    _parse(new_text)
    return new_text


def remove_table(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the table and its subtables."""
    name = ".".join(path)
    remaining: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        header = line.strip()
        if header.startswith("["):
            table = header.lstrip("[").partition("]")[0].replace('"', "").replace(" ", "")
            is_inside = table == name or table.startswith(name + ".")
            if is_inside and remaining and not remaining[-1].strip() and len(remaining) > 1:
                remaining.pop()  # the blank line before the table
        if not is_inside:
            remaining.append(line)
    return "".join(remaining)


def _format_value(value: str | Sequence[str] | Mapping[str, str]) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {json.dumps(each)}" for name, each in value.items()) + " }"
    # JSON strings and lists of strings are valid TOML.
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)


def _parse(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidToml(str(error)) from error
