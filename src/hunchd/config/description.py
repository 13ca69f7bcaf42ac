"""Descriptions of the settings: those in effect, and the example file.

Run `python -m hunchd.config.description > config.example.toml` to write the example.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import groupby

from hunchd.config import settings as settings_module
from hunchd.config.loading import describe_allowed_values
from hunchd.config.settings import Settings

_HEAD = """\
# Settings of hunchd. Copy what you want to change to the file that `hunch doctor` names under "settings".
# Every key is shown with its default; leaving it out means the same. An unknown key is an error.
"""


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
    """Yield a description of each setting, in the order of the settings file.

    The purpose of a setting is the comment after it in `settings.py`.
    """
    source = inspect.getsource(settings_module)
    lines, classes = (
        source.splitlines(),
        {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)},
    )
    defaults = Settings()
    for section in fields(Settings):
        current, default = getattr(settings, section.name), getattr(defaults, section.name)
        for node in classes[type(default).__name__].body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                _, _, about = lines[(node.end_lineno or node.lineno) - 1].partition("  # ")
                value, usual_value = _render(getattr(current, name)), _render(getattr(default, name))
                allowed = describe_allowed_values(section.name, name)
                yield SettingDescription(section.name, name, value, usual_value, about, allowed)


def render_example() -> str:
    """Render all settings as TOML, with the purpose of each as a comment."""
    defaults, parts = Settings(), [_HEAD]
    for section, settings in groupby(describe_settings(defaults), lambda one: one.section):
        keys = [f"# {one.about}\n{one.name} = {one.value}" for one in settings]
        parts.append("\n".join((f"# {inspect.getdoc(getattr(defaults, section))}", f"[{section}]", *keys, "")))
    return "\n".join(parts)


def _render(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.write(render_example())
