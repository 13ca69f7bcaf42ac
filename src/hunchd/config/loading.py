"""Loading of the user's settings from a TOML file.

Error messages state the file, the key and the allowed values.
"""

from __future__ import annotations

import difflib
import tomllib
import types
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from hunchd.config.app_paths import expand_path
from hunchd.config.settings import Settings
from hunchd.domain.errors import ConfigError
from hunchd.domain.json_values import JsonObject

# Allowed ranges: key → (lowest, highest).
_RANGES: Mapping[str, tuple[float, float]] = {
    "serving.port": (0, 65_535),
    "context.budget": (1, 200_000),  # as in a request (protocol/requests.py)
    "signals.queue": (100, 1_000_000),
    "index.patterns_idle_seconds": (0, 86_400),
    "store.commit_ms": (0, 60_000),
    "store.reserve_mib": (0, 1_024),
    "store.min_free_mib": (0, 1_048_576),
    "store.snapshots": (0, 365),
    "store.signals_days": (1, 3_650),
    "language.daily_limit_usd": (0, 1_000),
    "language.input_usd_per_million": (0, 10_000),
    "language.output_usd_per_million": (0, 10_000),
    "language.rest_seconds": (0, 86_400),
    "team.poll_seconds": (0.1, 3_600),
    "team.care_minutes": (0.01, 10_080),
    "consolidation.hour": (0, 23),
    "consolidation.idle_minutes": (0, 1_440),
    "consolidation.summarise_days": (0, 3_650),
    "consolidation.compress_days": (0, 3_650),
    "consolidation.forget_days": (0, 3_650),
    "consolidation.restore_days": (0, 3_650),
    "consolidation.forget_share": (0, 1),
    "daemon.idle_exit_minutes": (0, 525_600),
}
_TYPE_DESCRIPTIONS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
_LIST_DESCRIPTION = "a list of strings"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def load_settings(path: Path) -> Settings:
    """Load the settings from the file `path`.

    If the file is missing, the defaults are returned. Raises ConfigError if the file cannot be read or parsed, or
    if a key or value is not allowed.
    """
    return build_settings(_load_table(path), file=path.name)


def _load_table(path: Path) -> JsonObject:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def build_settings(table: Mapping[str, Any], *, file: str) -> Settings:
    """Build the settings from a parsed TOML file.

    Missing keys take their defaults. `file` is the file's name for error messages. Raises ConfigError if a key or
    value is not allowed.
    """
    sections = get_type_hints(Settings)
    _reject_unknown_keys(table, sections, where=f"{file}: there is no section")
    section_values = {}
    for name, content in table.items():
        if not isinstance(content, Mapping):
            raise ConfigError(f"{file}: '{name}' is a section; write [{name}]")
        section_values[name] = _build_section(sections[name], name, content, file)
    settings = Settings(**section_values)
    if settings.serving.host not in _LOOPBACK:
        raise ConfigError(f"{file}: [serving] host must be a loopback address: {', '.join(_LOOPBACK)}")
    if not _is_secure_url(settings.language.base_url):
        raise ConfigError(
            f"{file}: [language] base_url must begin with https:// (http:// is allowed on this machine only)"
        )
    for folder in settings.shell.private_folders:
        if not expand_path(folder).is_absolute():  # an unexpanded ~ matches no folder, so nothing would be private
            raise ConfigError(
                f"{file}: [shell] private_folders must be absolute, or begin with ~ or ~NAME of a user, not {folder!r}"
            )
    return settings


def _is_secure_url(url: str) -> bool:
    """Return True if nobody can intercept data sent to `url`.

    The data may include an API key. A URL is secure if it uses https, or if it uses http and leads to this machine.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) if parts.scheme == "https" else parts.scheme == "http" and parts.hostname in _LOOPBACK


def _build_section(section: type, name: str, content: Mapping[str, Any], file: str) -> Any:
    hints = get_type_hints(section)
    field_types = {field.name: hints[field.name] for field in fields(section)}
    _reject_unknown_keys(content, field_types, where=f"{file}: [{name}] has no setting")
    return section(
        **{key: _convert_value(field_types[key], f"{name}.{key}", value, file) for key, value in content.items()}
    )


def describe_allowed_values(section: str, name: str) -> str:
    """Describe in words which values a setting may have."""
    hint = get_type_hints(get_type_hints(Settings)[section])[name]
    if get_origin(hint) is Literal:
        return f"one of: {', '.join(get_args(hint))}"
    words = _LIST_DESCRIPTION if hint == tuple[str, ...] else _TYPE_DESCRIPTIONS[hint]
    low, high = _RANGES.get(f"{section}.{name}", (None, None))
    return words if low is None else f"{words} between {low:g} and {high:.15g}"


def _reject_unknown_keys(entries: Mapping[str, Any], allowed_keys: Mapping[str, Any], *, where: str) -> None:
    for key in entries:
        if key not in allowed_keys:
            near = difflib.get_close_matches(key, allowed_keys, 1)
            suggestion = f" Did you mean '{near[0]}'?" if near else ""
            raise ConfigError(f"{where} '{key}'.{suggestion} Allowed: {', '.join(allowed_keys)}.")


def _convert_value(hint: Any, key: str, value: Any, file: str) -> Any:
    """Convert `value` to the setting's type.

    Raises ConfigError if the value is not allowed; the message states the allowed values.
    """
    section, name = key.split(".")
    where = f"{file}: [{section}] {name}"
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ConfigError(f"{where} must be one of: {', '.join(get_args(hint))}")
        return value
    if hint == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{where} must be {_LIST_DESCRIPTION}")
        return tuple(value)
    if get_origin(hint) in (Union, types.UnionType):
        raise TypeError(f"{key}: a setting must have exactly one type")
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not hint:
        raise ConfigError(f"{where} must be {_TYPE_DESCRIPTIONS[hint]}, not {value!r}")
    if key in _RANGES:
        low, high = _RANGES[key]
        if not low <= value <= high:
            raise ConfigError(f"{where} must be between {low:g} and {high:.15g}, not {value!r}")
    return value
