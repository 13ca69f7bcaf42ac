"""Tokenisation of code and prose into terms, which are 32-bit hashes of stems."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hunchd.store.indexes.terms import term_of
from hunchd.text.identifiers import split_code_words

MASK: Final = 0xFFFF_FFFF
LONGEST_RUN: Final = 64  # characters; longer runs are encoded data
LEAST_ABBREVIATION: Final = 3  # characters
_MAX_CACHED_IDENTIFIERS: Final = 1 << 16  # identifiers whose terms are cached

_QUALIFIER = re.compile(r".*(?:\.|::|#|->|/)(?=\w)")
_RUN = re.compile(r"[^\W\d]\w*|\d[a-zA-Z]\w*")


def count_terms(text: str) -> Counter[int]:
    """Count the terms of `text`."""
    counts: Counter[int] = Counter()
    for run, times in Counter(_RUN.findall(text)).items():
        for term in extract_identifier_terms(run):
            counts[term] += times
    return counts


def extract_terms(text: str) -> list[int]:
    """Return the distinct terms in `text`, in order."""
    return list(dict.fromkeys(term for run in _RUN.findall(text) for term in extract_identifier_terms(run)))


def find_identifiers(text: str) -> list[str]:
    """Return the distinct identifiers and words in `text`, as written."""
    return list(dict.fromkeys(_RUN.findall(text)))


def hash_name(name: str) -> int:
    """Return the term under which definitions of `name` are stored.

    The name is hashed as written, but without its qualifiers, such as a class or package.
    """
    return zlib.crc32(b"=" + _QUALIFIER.sub("", name).encode("utf-8", "replace"))


def split_path_words(path: str) -> str:
    """Return the last four parts of a path, without the file's suffix.

    The parts are joined by spaces, and the file's name is repeated at the end. For names such as `index` or `mod`,
    the name of the folder is repeated instead.
    """
    parts = _remove_suffix(path).split("/")
    name = parts[-1] if parts[-1].lower() not in _FOLDER_NAMES or len(parts) == 1 else parts[-2]
    return " ".join([*parts[-4:], name])


def stem_terms(path: str) -> list[int]:
    """Return the terms in the name of a file."""
    name = split_path_words(path).rsplit(" ", 1)[-1].partition(".")[0]
    return list(dict.fromkeys(term for run in find_identifiers(name) for term in extract_identifier_terms(run)))


def hash_short_parts(path: str) -> list[int]:
    """Return hashes of words in a path that may be abbreviations.

    Only the last three words of the folder's and the file's name are used, without a plural -s; examples are
    `impls` and `auth`.
    """
    names = _remove_suffix(path).split("/")[-2:]
    parts = [part.rstrip("s") for name in names for run in find_identifiers(name) for part in split_code_words(run)]
    return [compute_hash(part) for part in dict.fromkeys(parts[-3:]) if len(part) >= LEAST_ABBREVIATION]


def hash_beginnings(words: Iterable[str]) -> list[int]:
    """Return hashes of the beginnings of words.

    A beginning may be used as an abbreviation.
    """
    return list({compute_hash(word[:size]) for word in words for size in range(LEAST_ABBREVIATION, len(word) - 2)})


def compute_hash(word: str) -> int:
    """Return a 32-bit hash of a word as it is written."""
    return zlib.crc32(word.encode("utf-8", "replace"))


def _remove_suffix(path: str) -> str:
    return path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path


_FOLDER_NAMES = frozenset({"index", "mod", "__init__", "lib", "main", "readme"})


@lru_cache(maxsize=_MAX_CACHED_IDENTIFIERS)
def extract_identifier_terms(identifier: str) -> tuple[int, ...]:
    """Return the terms of the parts of an identifier.

    If there are several parts, the term of the whole identifier is included as well.
    """
    if len(identifier) > LONGEST_RUN:
        return ()
    parts = split_code_words(identifier)
    part_terms = [term_of(part) & MASK for part in parts if len(part) > 1]
    if len(parts) > 1:
        part_terms.append(term_of("".join(parts)) & MASK)
    return tuple(term for term in part_terms if term)
