"""Translation of a focus into a query.

A query consists of file numbers, word keys and a trace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from hunchd.domain.context import Focus
from hunchd.prediction import traces, words
from hunchd.prediction.state import PredictorState, hash_author
from hunchd.prediction.traces import NO_TRACE, ErrorTrace, count_common_tail
from hunchd.prediction.unknown_words import resolve_unknown_words

MAX_SEEDS = 8  # the newest open files; older ones are probably forgotten tabs
MAX_KEYS = 32
UNINFORMATIVE_BRANCHES = frozenset({"main", "master", "develop", "dev", "trunk", "stable", "next", "head", "release"})

# Kinds of work in branch names say nothing about files; they are dropped if the name has other words.
WORK_KINDS = frozenset(
    """
    backport bug bugfix chore dev feat feature features fix fixes gh hotfix issue issues maintenance patch pr refactor
    task topic wip
    """.split()  # noqa: SIM905
)

_MENTION = re.compile(r"[\w.\-@+]+(?:/[\w.\-@+]+)*\.[A-Za-z][A-Za-z0-9]{0,4}\b")


@dataclass(frozen=True, slots=True)
class PredictionQuery:
    """Query for a prediction.

    `seeds` are the files that the query starts from: the open files, newest last. `keys` are the hashes of the
    words in the text, `trace` is the parsed error, and `mentioned_files` are files named in the text.
    `visible_files` are files that the developer is looking at, which are never suggested. `allows_revisits` permits
    files that were visited before.
    """

    seeds: tuple[int, ...] = ()
    visible_files: frozenset[int] = frozenset()
    allows_revisits: bool = False
    keys: tuple[int, ...] = ()
    author: int = 0
    trace: ErrorTrace = NO_TRACE
    mentioned_files: tuple[int, ...] = ()
    words_of: str = ""  # source of the words in `keys`, as shown to readers: "question", "branch name" or "error"

    @property
    def head(self) -> str:
        """Name of the ranker for the query: "seed", "text" or "both".

        It is "seed" if the query has no words and names no files, "text" if it has no files to start from, and
        otherwise "both".
        """
        if self.keys or self.mentioned_files:
            return "both" if self.seeds or self.trace.files else "text"
        return "seed"


def build_query(focus: Focus, state: PredictorState) -> PredictionQuery:
    """Translate a focus into a query.

    Files that the model does not know are ignored.
    """
    paths = [*focus.open_files[-MAX_SEEDS:], *([focus.file] if focus.file else [])]
    seeds = visible_files = state.files.find_numbers(reversed(paths))[:MAX_SEEDS][::-1]
    if not seeds:  # the current file is new: the file visited before it is better than none
        seeds = state.files.find_numbers(reversed(focus.visited))[:1]
    text = f"{focus.query} {extract_branch_words(focus.branch)}"
    trace = traces.parse_errors(focus.errors, state)
    if not seeds:
        seeds = visible_files = list(trace.tests[:1])
    keys = dict.fromkeys(words.hash_text_words(text))
    keys.update(dict.fromkeys(state.get_or_compute(("understood", text), partial(resolve_unknown_words, text, state))))
    if trace.message:
        keys.update(dict.fromkeys(words.hash_text_words(trace.message)))
    mentioned_files = [file for name in _MENTION.findall(focus.query) for file in find_files_by_name(name, state)]
    return PredictionQuery(
        seeds=tuple(seeds),
        visible_files=frozenset(visible_files),
        allows_revisits=bool(focus.visited),
        keys=tuple(keys)[:MAX_KEYS],
        author=hash_author(focus.author, "") if focus.author else 0,
        trace=trace,
        mentioned_files=tuple(dict.fromkeys(mentioned_files)),
        words_of=_source_of_words(focus, is_spoken=bool(trace.message)),
    )


def _source_of_words(focus: Focus, *, is_spoken: bool) -> str:
    if focus.query.strip():
        return "question"
    return "branch name" if extract_branch_words(focus.branch) else "error" if is_spoken else ""


def find_files_by_name(name: str, state: PredictorState) -> list[int]:
    """Return the existing file that matches a path best.

    `name` may be the end of a path. The result is a list of one file. Returns an empty list if there is no match or
    the best match is not unique.
    """
    exact = state.files.numbers.get(name)
    if exact is not None and state.files.alive.view[exact]:
        return [exact]
    parts = [part for part in name.split("/") if part not in {"", ".", ".."}]
    if not parts:
        return []
    tail = words.hash_text_words(parts[-1].replace(".", " "))
    matches: list[tuple[int, int]] = []
    for file in state.contents.paths.find_holders(tail[0])[0].tolist() if tail else []:
        if not state.files.alive.view[file]:
            continue
        common = count_common_tail(state.files.paths[file].split("/"), parts)
        if common:
            matches.append((common, file))
    if not matches:
        return []
    best = max(common for common, _ in matches)
    winners = [file for common, file in matches if common == best]
    return winners if len(winners) == 1 else []


def extract_branch_words(branch: str) -> str:
    """Return the words in a branch name, separated by spaces.

    Returns "" for long-lived branches and for bare numbers.
    """
    name = branch.rsplit("/", 1)[-1] if branch.lower().split("/")[0] in UNINFORMATIVE_BRANCHES else branch
    if not name or name.lower() in UNINFORMATIVE_BRANCHES:
        return ""
    parts = re.sub(r"[-/_.]+|\b\d+\b", " ", name).split()
    return " ".join([word for word in parts if word.lower() not in WORK_KINDS] or parts)
