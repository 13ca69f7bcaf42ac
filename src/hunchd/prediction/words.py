"""Words in code and prose, represented as 32-bit keys.

Identifiers are split, stop words are dropped and words are reduced to their stems.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from hunchd.text.identifiers import split_letters
from hunchd.text.stemming import stem_light
from hunchd.text.words import CODE_STOP_WORDS

_RUN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[^\W\d_]{2,}")
_TEST = re.compile(
    r"(?i:^(?:tests?[_\-.]|spec[_\-.])|[_\-.](?:tests?|specs?|unit|e2e|bench)$)|(?<=[A-Za-z\d])(?:Tests?|Specs?)$"
)

MAX_WORD_LENGTH = 40


def hash_word(word: str) -> int:
    """Hash a word to 32 bits.

    Among some 90,000 distinct words, one collision is to be expected.
    """
    return zlib.crc32(word.encode("utf-8", "replace"))


@lru_cache(maxsize=1 << 14)
def hash_identifier_parts(identifier: str) -> tuple[int, ...]:
    """Return the keys of the parts of an identifier.

    `parseHTTPHeader` and `parse_http_headers` have all three keys in common.
    """
    return tuple(hash_word(stem_light(part)) for part in _split_identifier(identifier))


def _split_identifier(identifier: str) -> list[str]:
    """Return the parts of an identifier in lower case, without stop words."""
    parts = (part.lower() for part in split_letters(identifier))
    return [part for part in parts if 1 < len(part) <= MAX_WORD_LENGTH and part not in CODE_STOP_WORDS]


def hash_text_words(text: str) -> list[int]:
    """Return the distinct keys of the words in a text, in order.

    A compound identifier is also included as a whole.
    """
    keys: dict[int, None] = {}
    for run in _RUN.findall(text):
        parts = hash_identifier_parts(run)
        keys.update(dict.fromkeys(parts))
        if len(parts) > 1:
            keys[hash_word(run.lower())] = None
    return list(keys)


def split_words(text: str) -> list[str]:
    """Return the distinct words in a text, in lower case.

    Identifiers are split and stop words are dropped.
    """
    return list(dict.fromkeys(part for run in _RUN.findall(text) for part in _split_identifier(run)))


def count_keys(words: Mapping[str, int]) -> Counter[int]:
    """Count the keys of the parts of many identifiers.

    `words` maps each identifier to the number of its occurrences.
    """
    counts: Counter[int] = Counter()
    for word, count in words.items():
        for part in hash_identifier_parts(word):
            counts[part] += count
    return counts


def extract_identifiers(text: str) -> list[str]:
    """Return the distinct identifiers and words in a text, as written."""
    return list(dict.fromkeys(_RUN.findall(text)))


def extract_stem(path: str) -> str:
    """Return the part of a file's name that related files share.

    The result is in lower case. `tests/test_views.py`, `src/views.py` and `docs/views.rst` all have the same stem.
    A file such as `__init__.py` has the name of its folder as its stem.
    """
    name = path.rsplit("/", 1)[-1]
    stem = name.split(".", 1)[0] if not name.startswith(".") else name[1:]
    for middle in name.split(".")[1:-1]:
        if middle.lower() not in _PLAIN_MIDDLES:
            stem += "." + middle
    shorter = _TEST.sub("", stem)
    if shorter.lower().partition(".")[0] in _FOLDER_NAMES:  # `index.browser.test.ts` is named after its folder too
        parent = path.rsplit("/", 2)
        return parent[-2].lower() if len(parent) > 1 and parent[-2] not in _PLAIN_FOLDERS else shorter.lower()
    return (shorter.strip("_") or stem).lower().replace("-", "_")  # `_output.py` is tested by `test_output.py`


def has_test_name(path: str) -> bool:
    """Return True if a file's name says that it tests another file.

    The folder of the file is ignored.
    """
    return bool(_TEST.search(path.rsplit("/", 1)[-1].split(".", 1)[0])) or any(
        middle in {"test", "tests", "spec"} for middle in path.rsplit("/", 1)[-1].lower().split(".")[1:-1]
    )


_PLAIN_MIDDLES = frozenset({"test", "tests", "spec", "d", "e2e", "unit", "min", "bench", "stories"})
_PLAIN_FOLDERS = frozenset({"src", "lib", "test", "tests"})  # `src/index.rs` and `src/lib.rs` are not named alike
_FOLDER_NAMES = frozenset({"__init__", "index", "mod", "main", "lib", "conftest", "readme", "package", "__main__"})
