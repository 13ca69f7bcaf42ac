"""Quotation of untrusted text inside our own sentences: «…»."""

from __future__ import annotations

import re
from typing import Final

OPEN, CLOSE = "«", "»"
_QUOTATION: Final = re.compile("«[^«»\n]*»")
_OTHER_MARKS: Final = str.maketrans({OPEN: "‹", CLOSE: "›"})


def keep_quotations(text: str, limit: int) -> str:
    """Shorten `text` to `limit` characters, keeping its quotation marks balanced.

    A quotation that is cut off at the end is closed; unmatched quotation marks are replaced.
    """
    shown = text if len(text) <= limit else text[: limit - 2].rstrip() + "…"
    if shown.count(OPEN) > shown.count(CLOSE):
        shown += CLOSE
    between = _QUOTATION.split(shown)
    quotations = [*_QUOTATION.findall(shown), ""]
    return "".join(part.translate(_OTHER_MARKS) + quoted for part, quoted in zip(between, quotations, strict=True))
