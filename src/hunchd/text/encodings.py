"""Decoding of text that other programs wrote.

The encoding is UTF-8, or UTF-16 as Windows tools write it; either may begin with a byte order mark.
"""

from __future__ import annotations

import codecs

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MIN_SHARE = 0.5  # minimum share of zeros among every other byte of a UTF-16 text with Latin letters


def decode_text(content: bytes) -> str:
    """Decode a text and remove its byte order mark.

    Bytes that cannot be decoded become U+FFFD.
    """
    if content.startswith(_UTF16_MARKS):
        return content.decode("utf-16", "replace")
    if (encoding := _guess_utf16(content)) is not None:
        return content.decode(encoding, "replace")
    return content.decode("utf-8-sig", "replace")


def _guess_utf16(content: bytes) -> str | None:
    """Return the UTF-16 encoding that the zero bytes suggest, or None.

    In UTF-16, every other byte is usually zero, which is never the case in UTF-8.
    """
    half = len(content) // 2
    if half < 2 or b"\0" not in content:
        return None
    high, low = content[::2].count(0), content[1::2].count(0)
    if low > _MIN_SHARE * half > 0 and high < low:
        return "utf-16-le"
    return "utf-16-be" if high > _MIN_SHARE * half and low < high else None
