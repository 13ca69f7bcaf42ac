"""What programs print, as patterns get through it in time."""

from __future__ import annotations

import re
from typing import Final

# Characters without a blank, of which the middle is left out: no path is as long, encoded data and minified code are.
LONGEST_RUN: Final = 400
_RUN = re.compile(rf"(?<!\S)\S{{{LONGEST_RUN},}}")
_GAP = re.compile(r"[^\S\n]{100,}")
_BLANK = re.compile(r"\n(?:[^\S\n]*\n)+")


def shortened(text: str) -> str:
    """`text` without what a pattern would go over again and again, from each of its characters anew: one blank line of
    many, the two ends of what is longer than any path."""
    half = LONGEST_RUN // 2
    ends = _RUN.sub(lambda run: f"{run[0][:half]} … {run[0][-half:]}", _BLANK.sub("\n\n", text))
    return _GAP.sub("  ", ends)
