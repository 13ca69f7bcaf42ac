"""Splitting of identifiers and names into words.

All functions split camel case by the same rule: an upper-case run ends before the capital that starts the next word
(`HTTPServer` → HTTP, Server). They differ in how they treat digits, other scripts and separators.
"""

from __future__ import annotations

import re

from hunchd.text.scripts import find_words, split_ngrams

_CAMEL = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
_ASCII_LETTERS = re.compile(_CAMEL)
_LETTERS = re.compile(rf"{_CAMEL}|[^\W\d_]+")
SUBWORD = re.compile(rf"{_CAMEL}|[0-9]+")  # a subword of ASCII letters or digits
_SUBWORD_START = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[0-9][a-z]")
# Digits belong to the letters before them: `make_py2_file` is make, py2, file.
_NAME_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+")
_CODE_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|[^\W\d_A-Za-z]+|\d+")
_TITLE_BREAK = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[A-Z][a-z])")

# Names that half of all files define or use.
COMMON_NAMES = frozenset(
    """__init__ __new__ __call__ __repr__ build clear clone close config context copy create data default delete drop
    error find handle index init insert iter items join keys kind length list load main name next open options path
    peek poll push read remove request reset response result self send setup start state stop test type update value
    values with write into_iter try_from from_str deref to_string toString equals hashCode compareTo""".split()  # noqa: SIM905 - a word list reads better as words
)


def split_ascii_letters(text: str) -> list[str]:
    """Return the runs of ASCII letters in a text, split at camel case."""
    return _ASCII_LETTERS.findall(text)


def split_letters(identifier: str) -> list[str]:
    """Return the words of an identifier in any script, without digits."""
    return _LETTERS.findall(identifier)


def split_subwords(word: str) -> list[str]:
    """Return the lowercase parts of a compound word.

    `getUserName` yields get, user and name; a word that is not compound yields an empty list. Single characters are
    dropped. A word in a script other than Latin is split into n-grams.
    """
    if not word.isascii():
        return list(split_ngrams(word))
    if word.isalpha() and (word[1:].islower() or len(word) == 1):  # most words are not compound
        return []
    pieces = SUBWORD.findall(word)
    return [piece.lower() for piece in pieces if len(piece) > 1] if len(pieces) > 1 else []


def find_subwords(text: str) -> list[str]:
    """Return the distinct subwords of all words in a text, in order.

    An index of whole words does not contain the subwords, so they must be added to it. `text` must be normalized.
    """
    distinct_subwords: dict[str, None] = {}
    for word in find_words(text):
        if not (word[1:].islower() and word.isalpha() and word.isascii()) and (parts := split_subwords(word)):
            distinct_subwords.update(dict.fromkeys(parts))
    return list(distinct_subwords)


def starts_subword(text: str, at: int) -> bool:
    """Return True if a subword begins at index `at` > 0, inside a word."""
    first = text[at]  # this character alone decides most cases
    return (first.isupper() or first.isdigit() or text[at - 1].isdigit()) and _SUBWORD_START.match(
        text, at - 1
    ) is not None


def split_name_words(name: str) -> list[str]:
    """Return the lowercase words of a name.

    `makePyFile2` and `make_py_file2` yield the same words.
    """
    return [word.lower() for word in _NAME_WORD.findall(name)]


def split_code_words(identifier: str) -> list[str]:
    """Return the lowercase words of an identifier in any script.

    Digits end a word: `py2file` yields py2 and file.
    """
    return [word.lower() for word in _CODE_WORD.findall(identifier)]


def split_title_words(name: str) -> list[str]:
    """Return the lowercase words of a name, for display.

    `ChromePHPHandler` yields chrome, php and handler. A single leading capital stays with its word: `GObject` yields
    gobject.
    """
    return _TITLE_BREAK.sub(" ", name).lower().split()


def is_distinctive(name: str) -> bool:
    """Return False for common names, which do not identify a symbol."""
    return len(name) > 3 and name not in COMMON_NAMES
