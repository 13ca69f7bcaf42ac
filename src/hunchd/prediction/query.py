"""Queries: a focus as file numbers, word keys and traces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from hunchd.domain.context import Focus
from hunchd.prediction import traces, words
from hunchd.prediction.state import State, author_key
from hunchd.prediction.traces import NO_TRACE, Trace, common_tail
from hunchd.prediction.unknown_words import understood

MOST_SEEDS = 8  # the newest open files; older ones are forgotten tabs
MOST_KEYS = 32
DULL_BRANCHES = frozenset({"main", "master", "develop", "dev", "trunk", "stable", "next", "head", "release"})

# Kinds of work in branch names say nothing about files: dropped if the name has other words.
KINDS_OF_WORK = frozenset(
    """
    backport bug bugfix chore dev feat feature features fix fixes gh hotfix issue issues maintenance patch pr refactor
    task topic wip
    """.split()  # noqa: SIM905
)

_MENTION = re.compile(r"[\w.\-@+]+(?:/[\w.\-@+]+)*\.[A-Za-z][A-Za-z0-9]{0,4}\b")


@dataclass(frozen=True, slots=True)
class Query:
    """Query for a prediction.

    `trace` is the parsed error, `mentioned` are files that the text names. `shown` are files that the developer is
    looking at, which are never suggested; `again` allows files visited before.
    """

    seeds: tuple[int, ...] = ()
    shown: frozenset[int] = frozenset()
    again: bool = False
    keys: tuple[int, ...] = ()
    author: int = 0
    trace: Trace = NO_TRACE
    mentioned: tuple[int, ...] = ()
    words_of: str = ""  # what a reader would call the text that `keys` come from: "question", "branch name", "error"

    @property
    def head(self) -> str:
        """Ranker for the query: by file ("seed"), by text, or both."""
        if self.keys or self.mentioned:
            return "both" if self.seeds or self.trace.files else "text"
        return "seed"


def query_of(focus: Focus, state: State) -> Query:
    """Translate a focus; unknown files and words without keys are dropped."""
    paths = [*focus.open_files[-MOST_SEEDS:], *([focus.file] if focus.file else [])]
    seeds = shown = state.files.known(reversed(paths))[:MOST_SEEDS][::-1]
    if not seeds:  # a new file: the file visited before is better than none
        seeds = state.files.known(reversed(focus.visited))[:1]
    text = f"{focus.query} {branch_words(focus.branch)}"
    trace = traces.read(focus.errors, state)
    if not seeds:
        seeds = shown = list(trace.tests[:1])
    keys = dict.fromkeys(words.keys_of_text(text))
    keys.update(dict.fromkeys(state.once(("understood", text), partial(understood, text, state))))
    if trace.said:
        keys.update(dict.fromkeys(words.keys_of_text(trace.said)))
    mentioned = [file for name in _MENTION.findall(focus.query) for file in files_named(name, state)]
    return Query(
        seeds=tuple(seeds),
        shown=frozenset(shown),
        again=bool(focus.visited),
        keys=tuple(keys)[:MOST_KEYS],
        author=author_key(focus.author, "") if focus.author else 0,
        trace=trace,
        mentioned=tuple(dict.fromkeys(mentioned)),
        words_of=_source_of_words(focus, said=bool(trace.said)),
    )


def _source_of_words(focus: Focus, *, said: bool) -> str:
    if focus.query.strip():
        return "question"
    return "branch name" if branch_words(focus.branch) else "error" if said else ""


def files_named(name: str, state: State) -> list[int]:
    """Return the existing file that best matches a path ending.

    Returns none if the best match is not unique.
    """
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
        common = common_tail(state.files.paths[file].split("/"), parts)
        if common:
            found.append((common, file))
    if not found:
        return []
    best = max(common for common, _ in found)
    winners = [file for common, file in found if common == best]
    return winners if len(winners) == 1 else []


def branch_words(branch: str) -> str:
    """Return the words of a branch name.

    Long-lived branches and bare numbers have none.
    """
    name = branch.rsplit("/", 1)[-1] if branch.lower().split("/")[0] in DULL_BRANCHES else branch
    if not name or name.lower() in DULL_BRANCHES:
        return ""
    said = re.sub(r"[-/_.]+|\b\d+\b", " ", name).split()
    return " ".join([word for word in said if word.lower() not in KINDS_OF_WORK] or said)
