"""Lenient parser for front matter.

It accepts settings that are common although they are invalid YAML, such as `globs: **/*.ts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_KEY: Final = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(.*))?$")
_LIST_END: Final = frozenset("]}")  # ends a list that spans several lines


def parse_settings(text: str) -> dict[str, list[str]] | None:
    """Parse front matter into a list of values for each key.

    Returns None if the text is not in this format.
    """
    settings: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in text.splitlines():
        stripped_text = line.strip()
        if not stripped_text or stripped_text.startswith("#"):
            continue
        item, key = _ITEM.match(line), _KEY.match(line)
        if item and values is not None:
            values.append(_clean_value(item[1]))
        elif key:
            values = settings.setdefault(key[1], [])
            values.append(_clean_value(key[2]))
        elif values is not None and (line[0] in " \t" or stripped_text in _LIST_END):
            values.append(_clean_value(stripped_text))
        else:
            return None
    return {key: [value for value in items if value] for key, items in settings.items()}


def get_value(settings: Mapping[str, list[str]], key: str) -> str:
    """Return the values of a setting, joined on one line.

    Returns "" if the setting is missing.
    """
    return " ".join(value for value in settings.get(key, ()) if value not in (">", "|", ">-", "|-"))


def _clean_value(text: str | None) -> str:
    """Strip the trailing comment and the enclosing quotes from a value."""
    value = (text or "").strip()
    if value[:1] in ("'", '"'):
        quote = value[0]
        end = value.find(quote, 1)
        return value[1:end] if end > 0 and not value[end + 1 :].strip().startswith(",") else value
    return re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()
