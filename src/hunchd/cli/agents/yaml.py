"""Editor for a list in YAML text, such as aider's `read:`.

Only the three notations in aider's documentation are supported; a list in any other notation raises UnsupportedYaml.
"""

from __future__ import annotations

import re


class UnsupportedYaml(ValueError):
    """Raised if a list is written in a YAML notation that is not supported."""


def add_entry(text: str, key: str, entry: str) -> str:
    """Return `text` with `entry` added to the list `key`.

    If the list is missing, it is created at the end of the text. Raises UnsupportedYaml if the value of `key` is not a
    list in a supported notation.
    """
    match = _key_pattern(key).search(text)
    if match is None:
        rest = text if not text or text.endswith("\n") else text + "\n"
        return f"{rest}{key}:\n  - {entry}\n"
    value = match.group("value").strip()
    if value.startswith("[") and value.endswith("]"):
        entries = [each.strip() for each in value[1:-1].split(",") if each.strip()]
        if entry in entries:
            return text
        return _replace_match(text, match, f"{key}: [{', '.join((*entries, entry))}]")
    items = _match_items(text, match.end())
    if value or (not items and _has_nested_lines(text, match.end())):
        raise UnsupportedYaml(f"'{key}' is not a list written as `- item` lines or in brackets")
    if any(item.group("entry") == entry for item in items):
        return text
    indent = items[-1].group("indent") if items else "  "
    position = items[-1].end() if items else match.end()
    return f"{text[:position]}\n{indent}- {entry}{text[position:]}"


def remove_entry(text: str, key: str, entry: str) -> str:
    """Return `text` with `entry` removed from the list `key`.

    If the list becomes empty, it is removed too.
    """
    match = _key_pattern(key).search(text)
    if match is None:
        return text
    value = match.group("value").strip()
    if value.startswith("[") and value.endswith("]"):
        entries = [each.strip() for each in value[1:-1].split(",") if each.strip() and each.strip() != entry]
        return _replace_match(text, match, f"{key}: [{', '.join(entries)}]") if entries else _cut(text, *match.span())
    items = _match_items(text, match.end())
    own_items = [item for item in items if item.group("entry") == entry]
    if not own_items:
        return text
    if len(items) == 1:
        return _cut(text, match.start(), own_items[0].end())
    return text[: own_items[0].start()] + text[own_items[0].end() :]


def _key_pattern(key: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(key)}:(?P<value>[^\n#]*)(?:#[^\n]*)?$", re.MULTILINE)


def _match_items(text: str, position: int) -> list[re.Match[str]]:
    """Return a match for each `- item` line that follows `position`.

    The lines must be consecutive. Each match includes the line break before the item.
    """
    pattern = re.compile(r"\n(?P<indent>[ \t]*)- +(?P<entry>[^\n#]*?)[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
    items = []
    while (item := pattern.match(text, position)) is not None:
        items.append(item)
        position = item.end()
    return items


def _has_nested_lines(text: str, position: int) -> bool:
    return re.compile(r"\n[ \t]+\S").match(text, position) is not None


def _replace_match(text: str, match: re.Match[str], line: str) -> str:
    return text[: match.start()] + line + text[match.end() :]


def _cut(text: str, start: int, end: int) -> str:
    return text[:start] + text[end:].removeprefix("\n")
