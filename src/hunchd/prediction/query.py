"""A focus in the predictor's own terms: file numbers, word keys, traces."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hunchd.domain.context import Focus
from hunchd.prediction import words
from hunchd.prediction.state import State, author_key

MOST_SEEDS = 8  # the newest open files; older ones are somebody's forgotten tabs
MOST_KEYS = 32
DULL_BRANCHES = frozenset({"main", "master", "develop", "dev", "trunk", "stable", "next", "head", "release"})

# "path/to/file.py", line 12 · at fn (/path/file.ts:3:4) · src/main.rs:10:5 · (File.java:12) · file.go:12
_LOCATION = re.compile(r"""((?:[A-Za-z]:)?[\w.\-@+/\\]*[\w\-@+]\.[A-Za-z]{1,5})(?:"?, line |:|\()(\d+)""")
_MENTION = re.compile(r"[\w.\-@+]+(?:/[\w.\-@+]+)*\.[A-Za-z][A-Za-z0-9]{0,4}\b")


@dataclass(frozen=True, slots=True)
class Query:
    """`traced`: files named by errors, the raise site first. `mentioned`: files the text names outright."""

    seeds: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    author: int = 0
    traced: tuple[int, ...] = ()
    mentioned: tuple[int, ...] = ()

    @property
    def head(self) -> str:
        """Which ranker answers: by file, by text, or by both."""
        if self.keys or self.mentioned:
            return "both" if self.seeds or self.traced else "text"
        return "seed"


def query_of(focus: Focus, state: State) -> Query:
    """What is known and comparable of a focus; unknown files and empty words fall away."""
    paths = [*focus.open_files[-MOST_SEEDS:], *([focus.file] if focus.file else [])]
    seeds = state.files.known(reversed(paths))[:MOST_SEEDS][::-1]
    text = f"{focus.query} {_branch_words(focus.branch)}"
    traced = [file for error in focus.errors for file in files_in_trace(error, state)]
    keys = words.keys_of_text(text)
    if focus.errors:
        keys = list(dict.fromkeys([*keys, *words.keys_of_text(_last_line(focus.errors[0]))]))
    mentioned = [file for name in _MENTION.findall(focus.query) for file in files_named(name, state)]
    return Query(
        seeds=tuple(seeds),
        keys=tuple(keys[:MOST_KEYS]),
        author=author_key(focus.author, "") if focus.author else 0,
        traced=tuple(dict.fromkeys(traced)),
        mentioned=tuple(dict.fromkeys(mentioned)),
    )


def files_in_trace(text: str, state: State) -> list[int]:
    """Project files among the locations of a traceback, the raise site first (Python prints it last)."""
    names = [match.group(1).replace("\\", "/") for match in _LOCATION.finditer(text)]
    if "most recent call last" in text or 'File "' in text:
        names.reverse()
    return [file for name in dict.fromkeys(names) for file in files_named(name, state)]


def files_named(name: str, state: State) -> list[int]:
    """The living file whose path ends like this name, if exactly one does best."""
    exact = state.files.numbers.get(name)
    if exact is not None and state.files.alive.view[exact]:
        return [exact]
    parts = [part for part in name.split("/") if part not in {"", ".", ".."}]
    if not parts:
        return []
    tail = words.keys_of_text(parts[-1].replace(".", " "))
    found: list[tuple[int, int]] = []
    for file in state.contents.paths.holders(tail[0])[0].tolist() if tail else []:
        if not state.files.alive.view[file]:
            continue
        common = _common_tail(state.files.paths[file].split("/"), parts)
        if common:
            found.append((common, file))
    if not found:
        return []
    best = max(common for common, _ in found)
    winners = [file for common, file in found if common == best]
    return winners if len(winners) == 1 else []


def _common_tail(one: list[str], other: list[str]) -> int:
    length = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        length += 1
    return length


def _branch_words(branch: str) -> str:
    """The words of a branch name; long-lived branches and bare numbers say nothing."""
    name = branch.rsplit("/", 1)[-1] if branch.lower().split("/")[0] in DULL_BRANCHES else branch
    if name.lower() in DULL_BRANCHES:
        return ""
    return re.sub(r"[-/_.]+|\b\d+\b", " ", name)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
