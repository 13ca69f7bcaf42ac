"""Lenient parser of front matter.

People write settings such as `globs: **/*.ts` that are invalid YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_KEY: Final = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(.*))?$")
_REST: Final = frozenset("]}")  # ends a list of several lines


def settings_in(text: str) -> dict[str, list[str]] | None:
    """Parse settings into a list of values per key.

    Returns None if the text has another form.
    """
    told: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        item, key = _ITEM.match(line), _KEY.match(line)
        if item and values is not None:
            values.append(_value(item[1]))
        elif key:
            values = told.setdefault(key[1], [])
            values.append(_value(key[2]))
        elif values is not None and (line[0] in " \t" or bare in _REST):
            values.append(_value(bare))
        else:
            return None
    return {key: [value for value in found if value] for key, found in told.items()}


def value_of(settings: Mapping[str, list[str]], key: str) -> str:
    """Return the value of a setting on one line."""
    return " ".join(value for value in settings.get(key, ()) if value not in (">", "|", ">-", "|-"))


def _value(text: str | None) -> str:
    """Strip the trailing comment and the enclosing quotes from a value."""
    value = (text or "").strip()
    if value[:1] in ("'", '"'):
        quote = value[0]
        end = value.find(quote, 1)
        return value[1:end] if end > 0 and not value[end + 1 :].strip().startswith(",") else value
    return re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()
