"""What a project can be asked about: the names its own files and folders give to its parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

MAX_TOPICS = 24

_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|docs?|examples?|samples?|fixtures?|benches|benchmarks?|scripts?|vendor|"
    r"third_party|migrations|locales?|changelog|news|playground|\.[^/]+)(?:/|$)",
    re.IGNORECASE,
)
_NO_SOURCE = frozenset(
    {"", "markdown", "rst", "asciidoc", "text", "json", "yaml", "toml", "ini", "lock", "xml", "html"}
)
# Names that say where code lies, not what it is about.
_VAGUE = frozenset(
    """index main mod lib init app src core common base util utils helper helpers misc types type constants const
    errors error exceptions compat internal impl default defaults config settings version shared tools
    setup conftest test
    tests package packages module modules public private java com org net io python node server client
    """.split()  # noqa: SIM905 - a word list reads better as words
)


def topics(defined: Iterable[tuple[str, str, int]], limit: int = MAX_TOPICS) -> tuple[str, ...]:
    """The names that most definitions stand under, from path, language and number of symbols of each file."""
    weights: Counter[str] = Counter()
    for path, language, symbols in defined:
        if language in _NO_SOURCE or not symbols or _ASIDE.search(path):
            continue
        folders, _, file = path.rpartition("/")
        weight = min(symbols, 60) + 1
        weights[_name(file.partition(".")[0])] += weight
        weights[_name(folders.rpartition("/")[2])] += weight // 2
    told = [(name, weight) for name, weight in weights.items() if len(name) > 2 and not _is_vague(name)]
    return tuple(name for name, _ in sorted(told, key=lambda each: (-each[1], each[0]))[:limit])


def files_about(topic: str, defined: Iterable[tuple[str, str, int]], limit: int) -> list[str]:
    """The files that a topic is made of: called so, or in a folder called so; code before what stands aside."""
    wanted, found = _name(topic), []
    for path, language, symbols in defined:
        folders, _, file = path.rpartition("/")
        called = _name(file.partition(".")[0]) == wanted
        if called or _name(folders.rpartition("/")[2]) == wanted:
            aside = language in _NO_SOURCE or _ASIDE.search(path) is not None
            found.append((aside, not called, -symbols, path))
    return [path for *_, path in sorted(found)[:limit]]


def _is_vague(name: str) -> bool:
    """Whether it says nothing, or nothing but that something is tested."""
    return name in _VAGUE or name.split()[0] in ("test", "tests") or name.split()[-1] in ("test", "tests", "spec")


def _name(stem: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", stem).replace("_", " ").replace("-", " ")
    return " ".join(words.lower().split())
