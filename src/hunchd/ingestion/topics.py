"""Topics of a project, derived from the names of its files and folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hunchd.text.identifiers import split_title_words

MAX_TOPICS = 24
MAX_NAMESAKES = 8  # files with the same name: names found in every folder, such as `views.py`, are not topics
MIN_SHARE = 0.5  # of the definitions outside tests; below it, the auxiliary folders are the project itself

_TESTS = r"tests?|testing|__\w*tests?\w*__|specs?|fixtures?|benches|benchmarks?"
_AUXILIARY = (
    r"docs?|examples?|samples?|scripts?|vendor|third_party|migrations|locales?|changelog|news|playground|\.[^/]+"
)
_TEST_PATH = re.compile(rf"(?:^|/)(?:{_TESTS})(?:/|$)", re.IGNORECASE)
_AUXILIARY_PATH = re.compile(rf"(?:^|/)(?:{_TESTS}|{_AUXILIARY})(?:/|$)", re.IGNORECASE)
_NO_SOURCE = frozenset(
    {"", "markdown", "rst", "asciidoc", "text", "json", "yaml", "toml", "ini", "lock", "xml", "html"}
)
# Names that say where code belongs, not what it is about.
_VAGUE_NAMES = frozenset(
    """index main mod lib init app src core common base util utils helper helpers misc types type constants const
    errors error exceptions compat internal impl default defaults config settings version shared tools
    setup conftest test
    tests package packages module modules public private java com org net io python node server client
    makefile dockerfile rakefile gemfile gradlew mvnw bin variables outputs versions providers locals
    """.split()  # noqa: SIM905 - a word list reads better as words
)


def find_topics(definitions: Iterable[tuple[str, str, int]], limit: int = MAX_TOPICS) -> tuple[str, ...]:
    """Return the topics whose files and folders contain the most definitions.

    A topic is the name of a file or folder, in lowercase words. `definitions` yields (path, language, number of
    symbols) for each file.
    """
    weights: Counter[str] = Counter()
    files = _select_main_files(definitions)
    namesakes = Counter(_file_topic(path) for path, _ in files)
    for path, symbols in files:
        folders, name = path.rpartition("/")[0], _file_topic(path)
        weight = min(symbols, 60) + 1
        if namesakes[name] <= MAX_NAMESAKES:
            weights[name] += weight
        weights[_split_name(folders.rpartition("/")[2])] += weight // 2
    candidates = [(name, weight) for name, weight in weights.items() if len(name) > 2 and not _is_vague(name)]
    return tuple(name for name, _ in sorted(candidates, key=lambda each: (-each[1], each[0]))[:limit])


def _file_topic(path: str) -> str:
    return _split_name(path.rpartition("/")[2].partition(".")[0])


def _select_main_files(definitions: Iterable[tuple[str, str, int]]) -> list[tuple[str, int]]:
    """Return the project's main files, without tests, examples and scripts.

    Examples and scripts are kept if most of the project consists of them, as in `org/samples/shop`. Each file is
    returned with its number of symbols.
    """
    files = [(path, count) for path, language, count in definitions if count and language not in _NO_SOURCE]
    files = [file for file in files if not _TEST_PATH.search(file[0])]
    ordinary = [file for file in files if not _AUXILIARY_PATH.search(file[0])]
    share = sum(count for _, count in ordinary) / max(sum(count for _, count in files), 1)
    return ordinary if share >= MIN_SHARE else files


def find_topic_files(topic: str, definitions: Iterable[tuple[str, str, int]], limit: int) -> list[str]:
    """Return the files that belong to a topic, source code first.

    A file belongs to a topic if the file itself, or the folder that contains it, has the topic's name. At most
    `limit` files are returned.
    """
    topic_name, ranked_files = _split_name(topic), []
    for path, language, symbols in definitions:
        folders, is_namesake = path.rpartition("/")[0], _file_topic(path) == topic_name
        if is_namesake or _split_name(folders.rpartition("/")[2]) == topic_name:
            is_auxiliary = language in _NO_SOURCE or _AUXILIARY_PATH.search(path) is not None
            ranked_files.append((is_auxiliary, not is_namesake, -symbols, path))
    return [path for *_, path in sorted(ranked_files)[:limit]]


def _is_vague(name: str) -> bool:
    """Return True if a name says nothing specific.

    Names which only say that something is a test are vague as well.
    """
    return name in _VAGUE_NAMES or name.split()[0] in ("test", "tests") or name.split()[-1] in ("test", "tests", "spec")


def _split_name(stem: str) -> str:
    """Split a name into lowercase words, without leading numbers.

    `ChromePHPHandler` becomes chrome php handler, `04_linear_models` becomes linear models.
    """
    words = split_title_words(stem)
    while len(words) > 1 and words[0].isdigit():
        words = words[1:]
    return " ".join(words)
