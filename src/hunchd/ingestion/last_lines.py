"""An error of which somebody has the last line only: what of it is compared, and whether that is enough. No I/O."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hunchd.ingestion.errors import CONSEQUENCES, ErrorText, masked, without_values
from hunchd.ingestion.past_fixes import named_by

MOST_LINES: Final = 4  # a message may go on below its first line
_ENOUGH_WORDS: Final = 3  # "timed out waiting for the lock" is told by few errors, "list index out of range" by many
_QUALIFIED = re.compile(r"^(?:\w+\.)+(?=[A-Z]\w*(?:: |$))")
_TYPE = re.compile(r"^[A-Z]\w*(?:: |:?$)")


def is_last_line(read: ErrorText, text: str) -> bool:
    """Whether `text` is no more than what an error ends with: its type and message, no place."""
    return not read.nearest and 0 < sum(1 for line in text.splitlines() if line.strip()) <= MOST_LINES


@lru_cache(maxsize=1024)  # the same errors are compared again and again
def said_by(headline: str) -> str:
    """What stays of a headline when the error comes again with other values. Names stay: without frames they are all
    that tells one error from another. "" where there is a type and nothing more."""
    headline = _QUALIFIED.sub("", headline)
    return "" if not _TYPE.sub("", headline).strip() else masked(without_values(headline, names_stay=True))


def is_telling(read: ErrorText) -> bool:
    """Whether two errors that say this are one: it names something, or says it in words of its own. What an assertion
    compares may be compared in many places."""
    named = named_by(read, ())
    names = () if read.type in CONSEQUENCES else named.symbols
    return bool(names) or len(named.words) >= _ENOUGH_WORDS
