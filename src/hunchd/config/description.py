"""Descriptions of the settings in effect, for display."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields

from hunchd.config import settings as settings_module
from hunchd.config.example import iter_comments
from hunchd.config.loading import describe_allowed_values
from hunchd.config.settings import Settings


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """Setting with its current value, default, purpose and allowed values.

    `value` and `default` are in the form in which TOML writes them.
    """

    section: str
    name: str
    value: str
    default: str
    about: str
    allowed: str


def describe_settings(settings: Settings) -> Iterator[SettingDescription]:
    """Yield a description of each setting, in the order of the settings file."""
    source = inspect.getsource(settings_module)
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    defaults = Settings()
    for section in fields(Settings):
        current, default = getattr(settings, section.name), getattr(defaults, section.name)
        for name, about in iter_comments(classes[type(default).__name__], source.splitlines()):
            yield SettingDescription(
                section.name,
                name,
                _render(getattr(current, name)),
                _render(getattr(default, name)),
                about,
                describe_allowed_values(section.name, name),
            )


def _render(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
