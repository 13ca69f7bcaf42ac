"""Search of tracebacks for the project's files and names.

The raise site, where the error was raised, comes first in all results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hunchd.domain.text_shortening import shorten_runs
from hunchd.prediction import words
from hunchd.prediction.file_contents import resolve_imports
from hunchd.prediction.file_table import TEST
from hunchd.prediction.state import PredictorState

MAX_CHARACTERS = 16 * 1024  # characters read from the end of each text, which is the most informative part of a trace
MAX_TEXTS = 3
MAX_NAMES = 64  # of each kind
MAX_FILES = 12
MAX_LINES = 3  # of a message
MAX_DEFINERS = 8  # files: names that more of them define are not informative
MAX_MESSAGE_CHARACTERS = 400  # characters

# "path/to/file.py", line 12 · at fn (/path/file.ts:3:4) · src/main.rs:10:5 · (File.java:12) · file.go:12
_LOCATION = re.compile(r"""((?:[A-Za-z]:)?[\w.\-@+/\\]*[\w\-@+]\.[A-Za-z]{1,5})(?:"?, line |:|\()(\d+)""")
# Python, and pytest in any of its styles, print the raise site last.
_RAISE_SITE_LAST = re.compile(
    r'most recent call last|File "[^"\n]+", line \d|^E   |^\S+\.py:\d+: (?:in |[A-Z]\w+)', re.M
)
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line \d+|^(\S+\.\w+):\d+: in |^\s+at .*?\(?([^\s()]+):\d+(?::\d+)?\)?$')
_FUNCTION = re.compile(r"(?:, in |: in |^\s+at (?:async )?)([\w.$<>]+)")
_MESSAGE = re.compile(
    r"^(?:E\s+)?(?:[\w.]+(?:Error|Exception|Warning|Exit|Failure|Failed|Interrupt|Iteration)\b|panic|error)"
)
# Message of a compiler, a linter or a Go test after the location: "main.go:12:5: undefined: x", "a.ts(3,4): error …".
_TOOL_MESSAGE = re.compile(
    r"""^\s*(?:vet: )?[\w.\-@+/\\:]*\w\.[A-Za-z]{1,5}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):? +([A-Za-z'"`].*)$"""
)
_MODULE = re.compile(r"""(?:from|module|named|package) ['"`]([\w.]+(?:/[\w.\-]+)*)['"`]""")
# What is a name and not a word of a sentence: it is quoted, or has an underscore or a capital inside.
_CODE_NAME = re.compile(r"""['"`]([\w.]+)(?:\(\))?['"`]|\b(\w*?(?:[A-Za-z\d]_[A-Za-z]|[a-z][A-Z])\w*)""")
INSTALLED_FOLDER = re.compile(r"(?:^|/)(?:site-packages|dist-packages|node_modules)/")
_THIRD_PARTY = re.compile(
    r"(?:^|/)lib/python[\d.]+/|^<|(?:^|/)(?:rustc|\.cargo/registry|go/pkg/mod|usr/local/go)/|^node:"
)
_TEST_NAME = re.compile(r"(?:, in |: in |^\s*(?:async )?def )(test\w+)", re.M)


@dataclass(frozen=True, slots=True)
class ErrorTrace:
    """Parsed traceback.

    `files` and `tests` are project files, those nearest to the raise site first. Names are stored as keys, like
    definitions: `message_names` occur in the message, and `quoted_names` in lines of the project that the trace
    quotes. `blamed_files` are the files of modules that the message complains about. `message` is the message,
    followed by the names of the failing tests.
    """

    files: tuple[int, ...] = ()
    tests: tuple[int, ...] = ()
    message_names: tuple[int, ...] = ()
    quoted_names: tuple[int, ...] = ()
    blamed_files: tuple[int, ...] = ()
    message: str = ""

    def __bool__(self) -> bool:
        return bool(self.files or self.tests or self.message_names)


NO_TRACE = ErrorTrace()


def parse_errors(texts: Iterable[str], state: PredictorState) -> ErrorTrace:
    """Parse error texts, which must be sorted from newest to oldest.

    A text without a file, module or name of the project is ignored: its words alone would only lead to guesses.
    Files named in older texts come after those named in newer ones. Names and the message are taken from the newest
    text only.
    """
    shortened = [shorten_runs(text[-MAX_CHARACTERS:]) for text in texts if text.strip()][:MAX_TEXTS]
    texts = [text for text in shortened if _concerns_project(text, state)]
    if not texts:
        return NO_TRACE
    places = dict.fromkeys(file for text in texts for file in list_files(text, state))
    traits = state.files.traits.view
    message, quoted_lines = _extract_message(texts[0])
    return ErrorTrace(
        tuple(file for file in places if not traits[file] & TEST)[:MAX_FILES],
        tuple(file for file in places if traits[file] & TEST)[:MAX_FILES],
        _hash_names(words.extract_identifiers(" ".join(message))),
        _hash_names(words.extract_identifiers(" ".join(quoted_lines))),
        tuple(_find_blamed_files(message, state))[:MAX_FILES],
        " ".join((*message[:MAX_LINES], *dict.fromkeys(_TEST_NAME.findall(texts[0]))))[:MAX_MESSAGE_CHARACTERS],
    )


def _concerns_project(text: str, state: PredictorState) -> bool:
    """Return True if an error names a file or module of the project, or something that few of its files define."""
    if list_files(text, state) or next(_find_blamed_files(text.splitlines(), state), None) is not None:
        return True
    names = _hash_names([(quoted or name).rsplit(".", 1)[-1] for quoted, name in _CODE_NAME.findall(text)])
    return any(0 < len(state.contents.definitions.find_holders(name)[0]) <= MAX_DEFINERS for name in names)


def list_files(text: str, state: PredictorState) -> list[int]:
    """Return the project files that a text names.

    Those nearest to the raise site come first.
    """
    names = [match[1].replace("\\", "/") for match in _LOCATION.finditer(text)]
    if _RAISE_SITE_LAST.search(text):
        names.reverse()
    files = (resolve_file(name, state) for name in dict.fromkeys(names))
    return list(dict.fromkeys(file for file in files if file is not None))


def resolve_file(name: str, state: PredictorState) -> int | None:
    """Return the project file that a trace names, or None.

    None is returned for third-party code, and if several files match equally well. The project may be in a
    different folder on the machine where the error occurred. An absolute path therefore belongs to the project if
    it ends with the whole path of a project file, or with the last two parts of the path of exactly one project
    file.
    """
    path_parts = INSTALLED_FOLDER.split(name)
    if len(path_parts) == 1 and _THIRD_PARTY.search(name):
        return None
    parts = [part for part in path_parts[-1].split("/") if part not in {"", ".", ".."}]
    if not parts or (len(path_parts) > 1 and len(parts) < 2):
        return None
    exact = state.files.numbers.get("/".join(parts))
    if exact is not None and state.files.alive.view[exact]:
        return exact
    fitting = list(_iterate_matches(parts, state, requires_all=len(path_parts) > 1, outside=name.startswith("/")))
    best = max((common for common, _ in fitting), default=0)
    winners = [file for common, file in fitting if common == best]
    return winners[0] if len(winners) == 1 else None


def _iterate_matches(
    parts: list[str], state: PredictorState, *, requires_all: bool, outside: bool
) -> Iterator[tuple[int, int]]:
    """Yield the files that a path may refer to.

    Each file comes with the number of trailing path parts that it shares with `parts`. If `requires_all` is True,
    all parts must match; `outside` is True if the path is absolute.
    """
    tail = words.hash_text_words(parts[-1].replace(".", " "))
    for file in state.contents.paths.find_holders(tail[0])[0].tolist() if tail else ():
        own = state.files.paths[file].split("/")
        common = count_common_tail(own, parts)
        if not state.files.alive.view[file]:
            continue
        if common == len(parts) or (not requires_all and common and (common == len(own) or common > 1 or not outside)):
            yield common, file


def count_common_tail(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of trailing parts that two paths have in common."""
    length = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        length += 1
    return length


def _extract_message(text: str) -> tuple[list[str], list[str]]:
    """Return the message lines and the other lines of an error.

    Other lines that come from libraries are left out. Both lists are in reverse order, from the end of the text.
    The exception is errors listed by tools: their first line is the error, and the others may follow from it.
    """
    message, quoted_lines = [], []
    is_third_party = False
    tool_messages = (
        []
        if _RAISE_SITE_LAST.search(text)
        else [match[1] for match in map(_TOOL_MESSAGE.match, text.splitlines()) if match]
    )
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            path = next(filter(None, frame.groups())).replace("\\", "/")
            is_third_party = bool(_THIRD_PARTY.search(path) or INSTALLED_FOLDER.search(path))
            if not is_third_party:
                quoted_lines.extend(_FUNCTION.findall(line))
        elif line.startswith("E  ") or _MESSAGE.match(line):
            message.append(line.removeprefix("E"))
        elif not is_third_party and not _LOCATION.match(line):
            quoted_lines.append(line)
    lines = [line for line in text.splitlines() if line.strip()]
    return [*message[::-1], *tool_messages][:12] or lines[-1:], quoted_lines[::-1]


def _hash_names(names: list[str]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(words.hash_word(name) for name in names if len(name) > 2))[:MAX_NAMES]


def _find_blamed_files(message: list[str], state: PredictorState) -> Iterator[int]:
    for line in message:
        for module in _MODULE.findall(line):
            for key in list(resolve_imports("", [module]))[:1]:
                yield from (
                    file
                    for file in state.contents.modules.find_holders(key)[0].tolist()
                    if state.files.alive.view[file]
                )
