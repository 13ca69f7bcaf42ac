"""Table of the names of syntax nodes in each language.

Because of this table, the code that walks a syntax tree does not depend on the language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Description of one language's syntax.

    The node types are those used by the tree-sitter grammar in the Python package `module`.
    """

    module: str
    function: str = "language"
    kinds: Mapping[str, str]  # node type of a definition → kind of symbol
    containers: frozenset[str] = frozenset()  # definitions whose members are definitions too
    transparent_nodes: frozenset[str] = frozenset()  # nodes that only group definitions
    body_nodes: frozenset[str] = frozenset()  # where a signature ends, for definitions without a `body` field
    annotation_nodes: frozenset[str] = frozenset()  # annotations before a definition, not part of its signature
    signature_fields: tuple[str, ...] = ()  # fields at which the signature ends, if no node marks the body's start
    query: str = ""  # captures @import, @module (a child module) and @quiet (text that is not code)
    embedded_node: str = ""  # node type whose braces hold source of the same language (Rust's item macros)


def _load_grammars() -> dict[str, Grammar]:
    """Load the table of languages, `grammars.toml`.

    If a language extends another, which must come before it in the table, it also gets all entries of that language.
    """
    grammars: dict[str, Grammar] = {}
    tables = tomllib.loads(Path(__file__).with_name("grammars.toml").read_text("utf-8"))
    for name, table in tables.items():
        base = grammars.get(table.pop("extends", ""))
        kinds = {node: kind for kind, nodes in table.pop("kinds", {}).items() for node in nodes}
        values: dict[str, Any] = {field: _to_collection(field, value) for field, value in table.items()}
        if base is None:
            grammars[name] = Grammar(kinds=kinds, **values)
            continue
        values |= {
            field: value | getattr(base, field) for field, value in values.items() if isinstance(value, frozenset)
        }
        grammars[name] = replace(base, kinds={**base.kinds, **kinds}, **values)
    return grammars


def _to_collection(field: str, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return tuple(value) if field == "signature_fields" else frozenset(value)


GRAMMARS: Final[Mapping[str, Grammar]] = _load_grammars()
