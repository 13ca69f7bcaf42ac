"""Redaction of whole source files, fast enough for a large source tree."""

from __future__ import annotations

import re

from hunchd.ingestion.redaction import redact

# Redaction finds nothing in a line that has neither one of these nor a long run of letters and digits.
_SUSPICIOUS_WORDS = (
    "passw", "passphrase", "pwd", "secret", "token", "credential", "api_key", "apikey", "api-key", "access_key",
    "accesskey", "auth", "bearer", "private", "signature", "cookie", "session", "@", "key",
)  # fmt: skip
_SUSPICIOUS_WORD = re.compile("|".join(map(re.escape, _SUSPICIOUS_WORDS)))
_LONG_RUN = re.compile(r"[A-Za-z0-9+/_=.~$-]{16,}")
_LETTERS_ONLY = "hf_"  # prefix of the only secret format without digits
_BLOCK = re.compile(r"-----BEGIN |PuTTY-User-Key|BEGIN [A-Z ]*PRIVATE")


def redact_source(text: str) -> str:
    """Replace the secrets in the text of a source file with placeholders.

    Only suspicious lines are checked closely; most files have none.
    """
    if _BLOCK.search(text):
        return redact(text).text
    suspects = "\n".join(_find_suspicious_lines(text))
    return redact(text).text if suspects and redact(suspects).kinds else text


def _find_suspicious_lines(text: str) -> list[str]:
    lower = text.lower()
    starts = [match.start() for match in _SUSPICIOUS_WORD.finditer(lower) if _has_value_after(lower, match.end())]
    starts += [match.start() for match in _LONG_RUN.finditer(text) if _has_letters_and_digits(match[0])]
    lines: dict[int, str] = {}
    for start in starts:
        begin = text.rfind("\n", 0, start) + 1
        if begin not in lines:
            end = text.find("\n", start)
            lines[begin] = text[begin : end if end >= 0 else len(text)]
    return list(lines.values())


def _has_value_after(text: str, at: int) -> bool:
    """Return True if a value may follow on the same line.

    A value is preceded by a quotation mark, `=`, `:` or a blank.
    """
    return any(mark in text[at : at + 40].partition("\n")[0] for mark in "=:\"' ")


def _has_letters_and_digits(run: str) -> bool:
    """Return True if a run of characters may be a secret.

    It must contain both letters and digits: most function names contain no digits, and version numbers no letters.
    The one secret format without digits is recognised by its prefix.
    """
    return (any(map(str.isdigit, run)) and any(map(str.isalpha, run))) or _LETTERS_ONLY in run
