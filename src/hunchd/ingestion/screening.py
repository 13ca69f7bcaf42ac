"""Secrets out of source files before anything is kept of them, at a price that a whole tree can pay."""

from __future__ import annotations

import re

from hunchd.ingestion.redaction import redact

# A line without any of these, and without a long run of letters and digits, holds nothing that redaction finds.
_WORDS = (
    "passw", "passphrase", "pwd", "secret", "token", "credential", "api_key", "apikey", "api-key", "access_key",
    "accesskey", "auth", "bearer", "private", "signature", "cookie", "session", "@", "key",
)  # fmt: skip
_SAID = re.compile("|".join(map(re.escape, _WORDS)))
_RUN = re.compile(r"[A-Za-z0-9+/_=.~$-]{16,}")
_LETTERS_ONLY = "hf_"  # begins the one format of secrets without a digit
_BLOCK = re.compile(r"-----BEGIN |PuTTY-User-Key|BEGIN [A-Z ]*PRIVATE")


def screened(text: str) -> str:
    """`text` without its secrets. Only suspicious lines are looked at closely; most files have none."""
    if _BLOCK.search(text):
        return redact(text).text
    suspects = "\n".join(_suspects(text))
    return redact(text).text if suspects and redact(suspects).found else text


def _suspects(text: str) -> list[str]:
    lower = text.lower()
    starts = [match.start() for match in _SAID.finditer(lower) if _assigns(lower, match.end())]
    starts += [match.start() for match in _RUN.finditer(text) if _mixed(match[0])]
    lines: dict[int, str] = {}
    for start in starts:
        begin = text.rfind("\n", 0, start) + 1
        if begin not in lines:
            end = text.find("\n", start)
            lines[begin] = text[begin : end if end >= 0 else len(text)]
    return list(lines.values())


def _assigns(text: str, at: int) -> bool:
    """Whether something that looks like a value follows on the line: a quote, `=`, `:` or a word after the name."""
    return any(mark in text[at : at + 40].partition("\n")[0] for mark in "=:\"' ")


def _mixed(run: str) -> bool:
    """Letters and digits in one run: names of functions have no digits, versions no letters."""
    return (any(map(str.isdigit, run)) and any(map(str.isalpha, run))) or _LETTERS_ONLY in run
