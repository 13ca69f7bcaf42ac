"""Words around secrets in many languages, from redaction_words.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

_WORDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PATTERNS: Final = {name: "|".join(alternatives) for name, alternatives in _WORDS.items()}

NOUNS: Final = _PATTERNS["nouns"]
ASCII_STEMS: Final = tuple(noun.replace(r"\b", "") for noun in _WORDS["nouns"] if noun.isascii() and "pass" not in noun)
ANY_NOUN: Final = re.compile("|".join(noun for noun in (*_WORDS["nouns"], *_WORDS["tokens"]) if not noun.isascii()))
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
