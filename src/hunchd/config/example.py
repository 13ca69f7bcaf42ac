"""Example settings file: all settings in TOML, documented by comments.

Run `python -m hunchd.config.example > config.example.toml` to write it.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from hunchd.config import settings
from hunchd.config.settings import Settings

_HEAD = """\
# Settings of hunchd. Copy what you want to change to the file that `hunch doctor` names under "settings".
# Every key is shown with its default; leaving it out means the same. An unknown key is an error.
"""


def render_example() -> str:
    """Render all settings as TOML, with comments.

    Each section is shown with its purpose, and each key with its default and its reason; the reasons are the
    comments in `settings.py`.
    """
    source = inspect.getsource(settings)
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    sections = [
        _render_section(section.name, section.type, classes, source.splitlines()) for section in fields(Settings)
    ]
    return "\n".join((_HEAD, *sections))


def _render_section(name: str, kind: Any, classes: dict[str, ast.ClassDef], lines: list[str]) -> str:
    """Render one section of the settings file.

    `kind` is the name of the section's class, because annotations in `settings.py` are not evaluated.
    """
    node = classes[kind]
    default = getattr(Settings(), name)
    keys = [_render_key(key, getattr(default, key), comment) for key, comment in iter_comments(node, lines)]
    return "\n".join((f"# {ast.get_docstring(node)}", f"[{name}]", *keys, ""))


def iter_comments(node: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting in a settings class, and the comment after it."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            _, _, comment = lines[(statement.end_lineno or statement.lineno) - 1].partition("  # ")
            yield statement.target.id, comment


def _render_key(name: str, value: object, comment: str) -> str:
    rendered_value = list(value) if isinstance(value, tuple) else value
    return f"# {comment}\n{name} = {json.dumps(rendered_value)}"


if __name__ == "__main__":
    sys.stdout.write(render_example())
