"""Parsing of tracebacks for project files and names.

The raise site comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hunchd.domain.printed import shortened
from hunchd.prediction import words
from hunchd.prediction.contents import imported_modules
from hunchd.prediction.files import TEST
from hunchd.prediction.state import State

LONGEST = 16 * 1024  # characters read of each text: the end of a trace is most informative
MOST_TEXTS = 3
MOST_NAMES = 64  # of each kind
MOST_FILES = 12
MOST_LINES = 3  # of a message
LONGEST_SAID = 400  # characters

# "path/to/file.py", line 12 · at fn (/path/file.ts:3:4) · src/main.rs:10:5 · (File.java:12) · file.go:12
_LOCATION = re.compile(r"""((?:[A-Za-z]:)?[\w.\-@+/\\]*[\w\-@+]\.[A-Za-z]{1,5})(?:"?, line |:|\()(\d+)""")
# Python, and pytest in any of its styles, print the raise site last.
_LAST_IS_WORST = re.compile(r'most recent call last|File "[^"\n]+", line \d|^E   |^\S+\.py:\d+: (?:in |[A-Z]\w+)', re.M)
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line \d+|^(\S+\.\w+):\d+: in |^\s+at .*?\(?([^\s()]+):\d+(?::\d+)?\)?$')
_FUNCTION = re.compile(r"(?:, in |: in |^\s+at (?:async )?)([\w.$<>]+)")
_MESSAGE = re.compile(
    r"^(?:E\s+)?(?:[\w.]+(?:Error|Exception|Warning|Exit|Failure|Failed|Interrupt|Iteration)\b|panic|error)"
)
# Message of a compiler, a linter or a Go test after the location: "main.go:12:5: undefined: x", "a.ts(3,4): error …".
_TOLD = re.compile(
    r"""^\s*(?:vet: )?[\w.\-@+/\\:]*\w\.[A-Za-z]{1,5}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):? +([A-Za-z'"`].*)$"""
)
_MODULE = re.compile(r"""(?:from|module|named|package) ['"`]([\w.]+(?:/[\w.\-]+)*)['"`]""")
INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages|node_modules)/")
_FOREIGN = re.compile(r"(?:^|/)lib/python[\d.]+/|^<|(?:^|/)(?:rustc|\.cargo/registry|go/pkg/mod|usr/local/go)/|^node:")
_TEST_NAME = re.compile(r"(?:, in |: in |^\s*(?:async )?def )(test\w+)", re.M)


@dataclass(frozen=True, slots=True)
class Trace:
    """Parsed traceback.

    `files` and `tests` are project files, the nearest to the raise site first. Names are keys as in definitions:
    `spoken` are names in the message, `shown` those in the project's own lines that the trace quotes. `blamed` are
    the files of modules that the message complains about. `said` is the message with the names of the failing
    tests.
    """

    files: tuple[int, ...] = ()
    tests: tuple[int, ...] = ()
    spoken: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    blamed: tuple[int, ...] = ()
    said: str = ""

    def __bool__(self) -> bool:
        return bool(self.files or self.tests or self.spoken)


NO_TRACE = Trace()


def read(texts: Iterable[str], state: State) -> Trace:
    """Parse error texts, newest first.

    Files named by older texts come after those of newer ones.
    """
    texts = [shortened(text[-LONGEST:]) for text in texts if text.strip()][:MOST_TEXTS]
    if not texts:
        return NO_TRACE
    places = dict.fromkeys(file for text in texts for file in files_of(text, state))
    traits = state.files.traits.view
    message, shown = _said(texts[0])
    return Trace(
        tuple(file for file in places if not traits[file] & TEST)[:MOST_FILES],
        tuple(file for file in places if traits[file] & TEST)[:MOST_FILES],
        _keys(words.identifiers(" ".join(message))),
        _keys(words.identifiers(" ".join(shown))),
        tuple(_blamed(message, state))[:MOST_FILES],
        " ".join((*message[:MOST_LINES], *dict.fromkeys(_TEST_NAME.findall(texts[0]))))[:LONGEST_SAID],
    )


def files_of(text: str, state: State) -> list[int]:
    """Return project files in a text, the raise site first."""
    names = [match[1].replace("\\", "/") for match in _LOCATION.finditer(text)]
    if _LAST_IS_WORST.search(text):
        names.reverse()
    found = (place_of(name, state) for name in dict.fromkeys(names))
    return list(dict.fromkeys(file for file in found if file is not None))


def place_of(name: str, state: State) -> int | None:
    """Return the project file that a trace names, or None.

    Third-party code is None. A project may be anywhere, so an absolute path is the project's if it ends in one of
    its whole paths, or in two parts of one that is then the only one.
    """
    installed = INSTALLED.split(name)
    if len(installed) == 1 and _FOREIGN.search(name):
        return None
    parts = [part for part in installed[-1].split("/") if part not in {"", ".", ".."}]
    if not parts or (len(installed) > 1 and len(parts) < 2):
        return None
    exact = state.files.numbers.get("/".join(parts))
    if exact is not None and state.files.alive.view[exact]:
        return exact
    fitting = list(_fitting(parts, state, whole=len(installed) > 1, outside=name.startswith("/")))
    best = max((common for common, _ in fitting), default=0)
    winners = [file for common, file in fitting if common == best]
    return winners[0] if len(winners) == 1 else None


def _fitting(parts: list[str], state: State, *, whole: bool, outside: bool) -> Iterator[tuple[int, int]]:
    """Yield files that `parts` may mean.

    They come as (common trailing path parts, file). `whole` requires all parts to match.
    """
    tail = words.keys_of_text(parts[-1].replace(".", " "))
    for file in state.contents.paths.holders(tail[0])[0].tolist() if tail else ():
        own = state.files.paths[file].split("/")
        common = common_tail(own, parts)
        if not state.files.alive.view[file]:
            continue
        if common == len(parts) or (not whole and common and (common == len(own) or common > 1 or not outside)):
            yield common, file


def common_tail(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of trailing path parts that two paths share."""
    length = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        length += 1
    return length


def _said(text: str) -> tuple[list[str], list[str]]:
    """Return the message lines, and other non-library lines.

    Both are ordered from the end of the text, except for what tools list: there the first line is the error, and
    the others may follow from it.
    """
    message, shown = [], []
    foreign = False
    listed = [] if _LAST_IS_WORST.search(text) else [told[1] for told in map(_TOLD.match, text.splitlines()) if told]
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            path = next(filter(None, frame.groups())).replace("\\", "/")
            foreign = bool(_FOREIGN.search(path) or INSTALLED.search(path))
            if not foreign:
                shown.extend(_FUNCTION.findall(line))
        elif line.startswith("E  ") or _MESSAGE.match(line):
            message.append(line.removeprefix("E"))
        elif not foreign and not _LOCATION.match(line):
            shown.append(line)
    lines = [line for line in text.splitlines() if line.strip()]
    return [*message[::-1], *listed][:12] or lines[-1:], shown[::-1]


def _keys(names: list[str]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(words.key(name) for name in names if len(name) > 2))[:MOST_NAMES]


def _blamed(message: list[str], state: State) -> Iterator[int]:
    for line in message:
        for module in _MODULE.findall(line):
            for key in list(imported_modules("", [module]))[:1]:
                yield from (
                    file for file in state.contents.modules.holders(key)[0].tolist() if state.files.alive.view[file]
                )
