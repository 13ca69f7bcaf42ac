"""Words around secrets in many languages, from redaction_words.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

_Tree: TypeAlias = dict[str, "_Tree"]


def compile_any(literals: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern that finds any of the literals, which share their common beginnings.

    It searches a line twice as fast as one `in` for each of forty literals.
    """
    tree: _Tree = {}
    for literal in literals:
        node = tree
        for character in literal:
            node = node.setdefault(character, {})
        node[""] = {}
    return re.compile(_render_tree(tree))


def _render_tree(tree: _Tree) -> str:
    if "" in tree:
        return ""
    return "(?:" + "|".join(re.escape(character) + _render_tree(node) for character, node in tree.items()) + ")"


_WORDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PATTERNS: Final = {name: "|".join(alternatives) for name, alternatives in _WORDS.items()}

NOUNS: Final = _PATTERNS["nouns"]
_STEM: Final = re.compile(r"[^\\\[(?]+(?!\?)")  # letters before the first other part of a pattern


def _list_stems(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(match[0] for match in map(_STEM.search, (one.replace(r"\b", "") for one in patterns)) if match)


ASCII_STEMS: Final = _list_stems(noun for noun in _WORDS["nouns"] if noun.isascii() and "pass" not in noun)
LOGIN_STEMS: Final = _list_stems(_WORDS["login_words"])
LOGIN_WORDS: Final = _PATTERNS["login_words"]
KEY_WORDS: Final = _PATTERNS["key_words"]
COPULAS: Final = _PATTERNS["copulas"]
TARGETS: Final = _PATTERNS["targets"]
MARKS: Final = _PATTERNS["marks"]
JOINED_COPULAS: Final = _PATTERNS["joined_copulas"]
CODE_NOUNS: Final = _PATTERNS["code_nouns"]
CODE_PURPOSES: Final = _PATTERNS["code_purposes"]
SPARE: Final = _PATTERNS["spare"]
OTHER_CODES: Final = _PATTERNS["other_codes"]
PHRASE_NAMES: Final = _PATTERNS["phrase_names"]
OTHER_MEANINGS: Final = _PATTERNS["other_meanings"]
PRIVATE_MAIL: Final = _PATTERNS["private_mail"]
PRIVATE_MAIL_DOMAINS: Final = _PATTERNS["private_mail_domains"]
TOKENS: Final = _PATTERNS["tokens"]
QUESTIONS: Final = _PATTERNS["questions"]
ANSWERS: Final = _PATTERNS["answers"]
ADDRESSES: Final[list[str]] = _WORDS["addresses"]
PATTERNS: Final = tomllib.loads(Path(__file__).with_name("redaction_patterns.toml").read_text("utf-8"))
