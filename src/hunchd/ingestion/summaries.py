"""Detection of lines that count, announce or sum up the findings of a tool.

Examples are "Found 1 error", "make: *** … Error 1" and "BUILD FAILED in 4s". Such a line consists only of words
from the vocabulary in which tools report progress. This module does no I/O.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

_STOCK: Final = frozenset(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["stock"].split())
# Names are ignored: they say what is affected, but not what is wrong with it.
_NAMED_THING = re.compile(
    r"`[^`\n]*`|(?<!\w)'[^'\n]*'|\"[^\"\n]*\"|“[^”\n]*”|\([^()\n]*\)|\[[^\]\n]*\]"
    r"|(?:[A-Za-z]:)?[\w.@+~-]*[/\\][\w.@/\\+-]+|\b[\w-]+\.\w{1,5}\b"
    r"|--?[\w-]+=?|\b\w+(?:_\w+)+\b|\bE?LIFECYCLE\b|https?://\S+|:\w+(?::\w+)*"
)
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[a-z][A-Z]")
_ADVICE = re.compile(
    r"^\W*(?:for (?:more|full|further)|run with|re-?run|try (?:running|using|adding)|see (?:https?:|the|also)"
    r"|get more help|learn more|more (?:info|details)|read more|this error originated|use `?--|documentation:"
    r"|to (?:see|ignore|learn|fix|suppress|disable|get|run|debug|rerun|skip|install|update)\b"
    r"|if you (?:believe|think|want|would)|please (?:report|open|file|see|run)|note: (?:this|the lint|`?#|run with|use)"
    r"|(?:= )?(?:note|help): `?(?:#|-D|for more|to override|for further)|(?:npm (?:err!|error) )?a complete log"
    r"|did you mean to run|full report at|randomized with seed|or to contribute)",
    re.IGNORECASE,
)
_MEASUREMENT = re.compile(
    r"^\W*(?:time|memory|duration|elapsed(?: time)?|finished in|ran|took|done in|started|completed)\b.*\d",
    re.IGNORECASE,
)


def is_summary(line: str) -> bool:
    """Return True if `line` names no specific problem.

    Such a line says only that something failed, how many things failed, or what to do about it.
    """
    if _ADVICE.match(line) or (_MEASUREMENT.match(line) and len(line) < 120):
        return True
    words = _WORD.findall(_NAMED_THING.sub(" ", line))
    return all(word.lower() in _STOCK and not _CAMEL.search(word) for word in words)
