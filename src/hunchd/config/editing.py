"""Changes to single settings in the user's settings file, keeping its comments and order."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hunchd.config.app_paths import replace_private_file
from hunchd.config.loading import build_settings
from hunchd.domain.errors import ConfigError

# They decide what is sent to other machines or downloaded, so only someone with access to the file may change them.
_ONLY_IN_FILE: Final = frozenset({"language", "embedding.model"})


def write_setting(path: Path, section: str, name: str, value: str | None) -> None:
    """Write one setting to the settings file.

    `value` is written as in TOML; if it is None, the setting is removed, so that the default applies. Raises
    ConfigError, and leaves the file unchanged, if the result would not be valid.
    """
    key = f"{section}.{name}"
    if _ONLY_IN_FILE & {section, key}:
        raise ConfigError(f"{key} controls what leaves this machine, so it can only be changed by editing {path}")
    text = path.read_text("utf-8") if path.exists() else ""
    try:
        wanted = _set_in_table(tomllib.loads(text), section, name, None if value is None else _parse_value(value, key))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    build_settings(wanted, file=path.name)
    for edited in _iter_edits(text, section, name, value):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(edited) == wanted:
                replace_private_file(path, edited)
                return
    raise ConfigError(
        f"{path}: [{section}] {name} is in a form that cannot be edited automatically; edit the file by hand"
    )


def _parse_value(text: str, key: str) -> object:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        table = {}
    if set(table) != {"value"}:
        raise ConfigError(f'{key}: {text!r} is not a valid value; write a number, true, false, "text" or ["text", …]')
    return table["value"]


def _set_in_table(table: Mapping[str, Any], section: str, name: str, value: object) -> Mapping[str, object]:
    """Return a copy of a parsed settings file with one setting changed.

    The setting is removed if `value` is None.
    """
    entries = {key: old for key, old in dict(table.get(section, {})).items() if key != name}
    return {**table, section: entries if value is None else {**entries, name: value}}


def _iter_edits(text: str, section: str, name: str, value: str | None) -> Iterator[str]:
    """Yield possible new versions of the file's text.

    The caller uses the first version that parses to the intended settings. A value may span several lines, so the
    versions differ in how many lines they replace.
    """
    lines = text.splitlines()
    new_lines = [] if value is None else [f"{name} = {value}"]
    header = next((at for at, line in enumerate(lines) if re.match(rf"\s*\[\s*{section}\s*\]", line)), None)
    if header is None:
        yield "\n".join([*lines, *([""] if lines else []), f"[{section}]", *new_lines, ""])
        return
    at = next((i for i in range(header + 1, len(lines)) if re.match(rf"\s*{name}\s*=", lines[i])), None)
    if at is None:
        yield "\n".join([*lines[: header + 1], *new_lines, *lines[header + 1 :], ""])
        return
    for end in range(at + 1, len(lines) + 1):
        yield "\n".join([*lines[:at], *new_lines, *lines[end:], ""])
