"""Removal of characters that hide, reverse or steer text."""

from __future__ import annotations

import re

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"  # OSC, DCS, …: titles, links
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Invisible or directional: C0 and C1 but tab and newline, soft hyphen, zero-width, bidi, variation selectors,
# Hangul fillers, interlinear marks, the tag block, lone surrogates, private-use planes.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


def remove_invisible(text: str) -> str:
    """Remove escape sequences and control, zero-width and bidi characters. Line ends are normalised to newlines."""
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", _ANSI.sub("", text)))
