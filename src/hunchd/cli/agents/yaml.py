"""Editor for a list in YAML (aider's `read:`) as text.

Supports only the three notations in aider's documentation; leaves any other unchanged.
"""

from __future__ import annotations

import re


class NotUnderstood(ValueError):
    """The list uses a notation that is not supported."""


def add(text: str, key: str, entry: str) -> str:
    """Add `entry` to the list `key`.

    Create the list at the end if it is missing.
    """
    found = _key(key).search(text)
    if found is None:
        rest = text if not text or text.endswith("\n") else text + "\n"
        return f"{rest}{key}:\n  - {entry}\n"
    value = found.group("value").strip()
    if value.startswith("[") and value.endswith("]"):
        entries = [each.strip() for each in value[1:-1].split(",") if each.strip()]
        if entry in entries:
            return text
        return _replaced(text, found, f"{key}: [{', '.join((*entries, entry))}]")
    items = _items(text, found.end())
    if value or (not items and _nested(text, found.end())):
        raise NotUnderstood(f"'{key}' is not a list written as `- item` lines or in brackets")
    if any(item.group("entry") == entry for item in items):
        return text
    indent = items[-1].group("indent") if items else "  "
    place = items[-1].end() if items else found.end()
    return f"{text[:place]}\n{indent}- {entry}{text[place:]}"


def remove(text: str, key: str, entry: str) -> str:
    """Remove `entry` from the list `key`, and the list if it becomes empty."""
    found = _key(key).search(text)
    if found is None:
        return text
    value = found.group("value").strip()
    if value.startswith("[") and value.endswith("]"):
        entries = [each.strip() for each in value[1:-1].split(",") if each.strip() and each.strip() != entry]
        return _replaced(text, found, f"{key}: [{', '.join(entries)}]") if entries else _without(text, *found.span())
    items = _items(text, found.end())
    mine = [item for item in items if item.group("entry") == entry]
    if not mine:
        return text
    if len(items) == 1:
        return _without(text, found.start(), mine[0].end())
    return text[: mine[0].start()] + text[mine[0].end() :]


def _key(key: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(key)}:(?P<value>[^\n#]*)(?:#[^\n]*)?$", re.MULTILINE)


def _items(text: str, place: int) -> list[re.Match[str]]:
    """Return the `- item` lines that follow, each with the line break before it."""
    pattern = re.compile(r"\n(?P<indent>[ \t]*)- +(?P<entry>[^\n#]*?)[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
    items = []
    while (item := pattern.match(text, place)) is not None:
        items.append(item)
        place = item.end()
    return items


def _nested(text: str, place: int) -> bool:
    return re.compile(r"\n[ \t]+\S").match(text, place) is not None


def _replaced(text: str, found: re.Match[str], line: str) -> str:
    return text[: found.start()] + line + text[found.end() :]


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + text[end:].removeprefix("\n")
