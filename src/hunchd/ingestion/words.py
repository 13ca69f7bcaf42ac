"""Vocabulary of a file: its identifiers and words, without data and likely secrets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

MAX_WORDS = 4000  # distinct words per file: a file with more is data, and nobody searches for its rare words
MAX_WORD = 48  # characters; longer names are generated or encode bytes

_WORD = re.compile(r"[^\W\d]\w*")
_ASCII_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)  # twice as fast, and most code is ASCII
_LABEL = re.compile(r"[({,]\s*([^\W\d]\w*)\s*(?:=(?![=>~])|:(?!:))")
_HEX = re.compile(r"[0-9a-fA-F]{12,}")
# A long word with three runs of digits inside it is an encoded key rather than a name: utf8_to_utf16 has two.
_ENCODED_TEXT = re.compile(r"(?=\w{16})\w*?[a-zA-Z]\d+[a-zA-Z]+\d+[a-zA-Z]+\d")
_KEYWORDS = frozenset(
    """and as assert async await break case catch class const continue default def defer del do elif else elsif end enum
    esac except export extends extern false False final finally fn for foreach from func function global go goto if impl
    implements import in include instanceof interface is lambda let loop match mod module mut namespace new nil None
    nonlocal not null or package pass private protected pub public raise ref require rescue return self static struct
    super switch then this throw throws trait true True try type typedef typeof undefined union unless unsafe until use
    using var virtual void where while with yield int str bool float char long short double string object
    """.split()  # noqa: SIM905 - a word list reads better as words
)


def count_words(text: str) -> Counter[str]:
    """Count the words in a text, in order of first use."""
    return Counter((_ASCII_WORD if text.isascii() else _WORD).findall(text))


def select_informative_words(counts: Counter[str]) -> Mapping[str, int]:
    """Drop single letters, long names and encoded data.

    At most MAX_WORDS are kept, those that occur most often.
    """
    informative = {word: count for word, count in counts.items() if _is_informative(word)}
    if len(informative) > MAX_WORDS:
        informative = dict(Counter(informative).most_common(MAX_WORDS))
    return informative


def count_labels(code: str) -> Counter[str]:
    """Count the words that only label a value or a parameter, as in `f(name=1)`, `{name: 1}` or `(name: Type)`."""
    return Counter(_LABEL.findall(code))


def list_used_names(code: Counter[str], *, defined_names: frozenset[str], limit: int = 1500) -> tuple[str, ...]:
    """Return the names that a file's code uses but does not define.

    At most `limit` names are returned, in order of first use. Keywords and very short names are skipped.
    """
    names = [name for name in code if name not in defined_names and name not in _KEYWORDS and 2 < len(name) <= MAX_WORD]
    return tuple(names[:limit])


def _is_informative(word: str) -> bool:
    if len(word) < 12:
        return len(word) > 1
    return len(word) <= MAX_WORD and not _HEX.fullmatch(word) and not _ENCODED_TEXT.match(word)
