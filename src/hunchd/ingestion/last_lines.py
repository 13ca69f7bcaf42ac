"""Comparison of errors without a stack trace.

Only the last line of such an error is known, which contains its type and message. This module does no I/O.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hunchd.ingestion.errors import CONSEQUENCE_TYPES, ParsedError, mask_quotations, mask_variable_parts
from hunchd.ingestion.past_fixes import extract_error_names

MAX_LINES: Final = 4  # a message may continue below its first line
_MIN_WORDS: Final = 3  # few errors say "timed out waiting for the lock", many "list index out of range"
_QUALIFIED_PREFIX = re.compile(r"^(?:\w+\.)+(?=[A-Z]\w*(?:: |$))")
_TYPE = re.compile(r"^[A-Z]\w*(?:: |:?$)")


def is_last_line(error: ParsedError, text: str) -> bool:
    """Return True if `text` consists only of an error type and message.

    Such a text has at most MAX_LINES lines and names no location. `error` is the parsed `text`.
    """
    return not error.nearest_places and 0 < sum(1 for line in text.splitlines() if line.strip()) <= MAX_LINES


@lru_cache(maxsize=1024)  # the same errors are compared repeatedly
def normalize_headline(headline: str) -> str:
    """Return the part of a headline that stays the same between occurrences.

    Names are kept, because nothing else distinguishes errors without stack frames. Returns "" if the headline is
    only an error type.
    """
    headline = _QUALIFIED_PREFIX.sub("", headline)
    return (
        "" if not _TYPE.sub("", headline).strip() else mask_variable_parts(mask_quotations(headline, names_stay=True))
    )


def is_distinctive(error: ParsedError) -> bool:
    """Return True if the message alone identifies the error.

    The message must contain a name or enough words. Names in assertions do not count, since the same values may be
    compared in many places.
    """
    error_names = extract_error_names(error, ())
    names = () if error.type in CONSEQUENCE_TYPES else error_names.symbols
    return bool(names) or len(error_names.words) >= _MIN_WORDS
