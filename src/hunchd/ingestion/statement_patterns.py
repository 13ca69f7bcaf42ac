"""Regular expressions for sentences that state how things are done.

The module `statements` extracts facts from their matches; `statement_patterns.toml` has their texts.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

_TABLES: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PART: Final = re.compile(r"@([A-Z_]+)@")
_PARTS: Final = {name: "".join(parts) for name, parts in _TABLES["parts"].items()}


def _expand(text: str) -> str:
    """Replace the names of parts in a pattern, which may contain others."""
    return _PART.sub(lambda found: _expand(_PARTS[found[1].lower()]), text)


def _compile(parts: list[str]) -> re.Pattern[str]:
    return re.compile(_expand("".join(parts)), re.IGNORECASE)


WORD: Final = _expand("@WORD@")
_PATTERNS: Final = {name: _compile(parts) for name, parts in _TABLES["patterns"].items()}
INSTEAD: Final = _PATTERNS["instead"]
INSTEAD_FIRST: Final = _PATTERNS["instead_first"]
SWITCHED_FROM_TO: Final = _PATTERNS["switched_from_to"]
SWITCHED_TO: Final = _PATTERNS["switched_to"]
REPLACED_BY: Final = _PATTERNS["replaced_by"]
IN_FAVOUR_OF: Final = _PATTERNS["in_favour_of"]
RENAMED_TO: Final = _PATTERNS["renamed_to"]
USE: Final = _PATTERNS["use"]
WITH: Final = _PATTERNS["with"]
RULE: Final = _PATTERNS["rule"]
DECIDED_ON: Final = _PATTERNS["decided_on"]
CHOSEN_OPTION: Final = _PATTERNS["chosen_option"]
PREFERENCE: Final = _PATTERNS["preference"]
MINIMUM_VERSION: Final = _PATTERNS["minimum_version"]
MINIMUM_VERSION_REVERSED: Final = _PATTERNS["minimum_version_reversed"]
DROPPED_OPTION: Final = _PATTERNS["dropped_option"]
KEY_VALUE: Final = _PATTERNS["key_value"]
LABEL: Final = _PATTERNS["label"]
DEFINITION: Final = _PATTERNS["definition"]
REASON: Final = _PATTERNS["reason"]
GENERATED_MESSAGE: Final = _PATTERNS["generated_message"]
UNCERTAINTY: Final = _PATTERNS["uncertainty"]
ABOUT_TEXT: Final = _PATTERNS["about_text"]
PRESCRIPTION: Final = _PATTERNS["prescription"]
SENTENCE_START: Final = _PATTERNS["sentence_start"]
LOCAL_SCOPE: Final = _PATTERNS["local_scope"]
NEGATION: Final = _PATTERNS["negation"]
SELF_DESCRIPTIONS: Final = [(_compile(one["pattern"]), one["key"]) for one in _TABLES["self_descriptions"]]
HOLLOW_WORDS: Final = frozenset(_TABLES["hollow_words"].split())
