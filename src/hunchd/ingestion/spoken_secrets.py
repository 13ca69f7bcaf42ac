"""Redaction of secrets that people mention in conversation.

`redaction` detects keys and assignments by their form. In conversation, people also say "das Kennwort lautet …" or
"密码是 …", or give the number of a card, an account or a passport, in any language. Numbers are recognised by their
check digits or by the word before them. This module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hunchd.ingestion.personal_data import find_identity_numbers

_SECRET_WORDS: Final = (
    r"pass(?:words?|phrases?|code|wd|wort|wörter)\b|\bpw\b|\bpin\b|\bcredentials?\b|kennw[oö]rt\w*|zugangs(?:code|daten)"
    r"|contraseñas?\b|\bclaves?\b|\bmots? de passe\b|\bmdp\b|\bsenhas?\b|\bpalavras?-passe\b|\bпарол\w*|\bпин-?код\w*"
    r"|密码|密碼|口令|暗号|パスワード|暗証番号|비밀번호"
)
_SECRET_WORD: Final = re.compile(_SECRET_WORDS, re.IGNORECASE)
# Words for keys, which are long.
_KEY_WORD: Final = re.compile(
    r"\b(?:tokens?|keys?|access|acc[eè]so?|acesso|llaves?|jetons?|clés?|chaves?)\b|schlüssel\w*|zugang\w*"
    r"|\bключ\w*|\bтокен\w*|\bдоступ\w*|密钥|密鑰|令牌|トークン|キー",
    re.IGNORECASE,
)
_LEAST_KEY: Final = 16  # characters
_KEY_CHANGES: Final = 3
_TOKEN: Final = re.compile(r"(?<![A-Za-z0-9_/@.-])[A-Za-z0-9!#$%&*+=~?_^.-]{4,}(?<![.,?!])(?![A-Za-z0-9_/@])")
_SENTENCE_END: Final = re.compile(r"[\n。!?;]|\.\s")
_REACH: Final = 90  # characters after the word
_BESIDE: Final = 12  # characters after the word within which a token needs fewer changes
_LEAST_MIXED: Final = 6  # characters in a token of letters and digits
_CHANGES: Final = re.compile(r"(?<=[A-Za-z])(?=[^A-Za-z])|(?<=[^A-Za-z])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")
_PLAIN: Final = re.compile(r"v?\d+(?:\.\d+)+|\d{4}-\d\d-\d\d|\w+\.[a-z]{1,4}|[a-z]+(?:[_-][a-z0-9]+)+|[a-z]+-\d{1,4}")


def redact_speech(text: str) -> str:
    """Redact passwords and card, account and identity numbers in a conversation."""
    places = [(start, end, "secret") for start, end in _find_secrets(text)] + find_identity_numbers(text)
    pieces: list[str] = []
    at = 0
    for start, end, kind in sorted(places):
        if start >= at:
            pieces += [text[at:start], f"[redacted:{kind}]"]
            at = end
    return "".join((*pieces, text[at:]))


def _find_secrets(text: str) -> Iterator[tuple[int, int]]:
    for word in _SECRET_WORD.finditer(text):
        end_match = _SENTENCE_END.search(text, word.end(), word.end() + _REACH)
        reach = end_match.start() if end_match else min(len(text), word.end() + _REACH)
        for token in _TOKEN.finditer(text, word.end(), reach):
            if _is_secret(token[0], fewest_changes=1 if token.start() - word.end() <= _BESIDE else 2):
                yield token.span()
    for word in _KEY_WORD.finditer(text):
        for token in _TOKEN.finditer(text, word.end(), min(len(text), word.end() + _REACH)):
            if len(token[0]) >= _LEAST_KEY and _is_secret(token[0], fewest_changes=_KEY_CHANGES):
                yield token.span()


def _is_secret(token: str, *, fewest_changes: int) -> bool:
    """Return True if a token mixes letters and digits as a password does.

    The token must change from one to the other at least `fewest_changes` times, and must not look like a version, a
    file or a name.
    """
    if _PLAIN.fullmatch(token) or not any(map(str.isdigit, token)) or len(token) < _LEAST_MIXED:
        return False
    return len(_CHANGES.findall(token)) >= fewest_changes
