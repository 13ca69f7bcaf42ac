"""Tokenisation of code and prose into terms, which are 32-bit hashes of stems."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from functools import lru_cache
from typing import Final

from hunchd.store.indexes.terms import term_of
from hunchd.text.identifiers import split_code_words
from hunchd.text.stemming import normalize_spelling

MASK: Final = 0xFFFF_FFFF
LEAST_NAME: Final = 4  # characters; shorter names are used for too many things
LONGEST_RUN: Final = 64  # characters; longer runs are encoded data
_ABBREVIATIONS: Final = range(3, 6)  # letters
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


def extract_abbreviations(word: str) -> set[int]:
    """Return the terms that code may use as abbreviations of a word."""
    return {term_of(word[:size].lower()) & MASK for size in _ABBREVIATIONS if size <= len(word) - 3} - {0}


def find_identifiers(text: str) -> list[str]:
    """Return the distinct identifiers and words in `text`, as written."""
    return list(dict.fromkeys(_RUN.findall(text)))


def hash_name(name: str) -> int:
    """Return the term of definitions of `name`, without its qualifiers."""
    return zlib.crc32(b"=" + _QUALIFIER.sub("", name).encode("utf-8", "replace"))


def get_name_term(name: str, kind: str) -> int:
    """Return the term of mentions of a definition, or 0 if its name says too little."""
    terms = extract_identifier_terms(name) if kind not in ("", "heading") and len(name) >= LEAST_NAME else ()
    return terms[-1] if terms else 0


def split_path_words(path: str) -> str:
    """Return the last four parts of a path, without the file's suffix."""
    parts = _remove_suffix(path).split("/")
    name = parts[-1] if parts[-1].lower() not in _FOLDER_NAMES or len(parts) == 1 else parts[-2]
    return " ".join([*parts[-4:], name])


def _remove_suffix(path: str) -> str:
    return path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path


_FOLDER_NAMES = frozenset({"index", "mod", "__init__", "lib", "main", "readme"})


@lru_cache(maxsize=_MAX_CACHED_IDENTIFIERS)
def extract_identifier_terms(identifier: str) -> tuple[int, ...]:
    """Return the terms of an identifier and of its parts."""
    if len(identifier) > LONGEST_RUN:
        return ()
    parts = split_code_words(identifier)
    part_terms = [term_of(normalize_spelling(part)) & MASK for part in parts if len(part) > 1]
    if len(parts) > 1:
        part_terms.append(term_of(normalize_spelling("".join(parts))) & MASK)
    return tuple(term for term in part_terms if term)
