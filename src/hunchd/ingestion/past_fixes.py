"""Search for past commits that fixed a similar error.

The commit message must mention something that the error names: its type, a symbol, a value or words from its
message. A commit that merely touches the same file proves nothing, since most fixes touch files that every other
commit touches as well. This module does no I/O.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hunchd.domain.history import clamp_author_time
from hunchd.ingestion.error_places import ErrorLocation
from hunchd.ingestion.errors import ParsedError
from hunchd.ingestion.fixes import MAX_PATHS, Fix, render_diff
from hunchd.repository.commit_search import FoundCommit
from hunchd.repository.tree_snapshots import FileChange

# Pattern for git's search of messages; `describes_fix` checks the results more closely.
GIT_GREP_PATTERN: Final = (
    "fix|bug|revert|regress|crash|prevent|avoid|handle|correct|repair|broken|leak|deadlock|race|work ?around|no longer"
    "|rais|hang|panic|close[sd]? |resolve[sd]? |don'?t|do not|support|allow"
)
MAX_FILES: Final = 4  # files searched per error, those nearest to the raise site
_MAX_FUNCTIONS: Final = 4  # functions searched for, likewise

_FIX_WORD = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bug ?fix|bugs?|reverts?|regress(?:ions?|ed)?|crash(?:e[sd]|ing)?|prevent(?:s|ed)?"
    r"|avoid(?:s|ed)?|handle[sd]?|correct(?:s|ed|ly)?|repair(?:s|ed)?|broken|leak(?:s|ed|ing)?|deadlock\w*|races?"
    r"|work ?arounds?|no longer|raise[sd]?|hang(?:s|ing)?|panic(?:s|ked|king)?|don'?t|do not|never)\b",
    re.IGNORECASE,
)
_CLOSED_ISSUE = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?\s+(?:[\w./-]*#|gh-|https?://\S+/issues/)\d+", re.IGNORECASE
)
# Changes of style and documentation.
_COSMETIC_CHANGE = re.compile(
    r"\b(?:typos?|spelling|whitespace|flake8|black|isort|prettier|eslint|lint(?:ing|er|s)?|format(?:ting)?|mypy|typing"
    r"|type hints?|pre-commit|changelogs?|docstrings?|documentation|docs|comments?|coverage)\b"
    r"|\b(?:refactor|renam|simplif|clean(?:s|ed|ing)? ?up|bump|upgrad)\w*|^(?:docs?|style|ci|chore)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_QUOTED_TEXT = re.compile(r"""["'`‘“]([^"'`’”\n]{2,60})["'`’”]""")
_FILE_NAME = re.compile(r"\.(?:py|pyi|go|rs|tsx?|jsx?|java|c|h|cpp|toml|json|ya?ml|md|rst|txt)$")
_EXCEPTION = re.compile(r"^(?:[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Panic)|[A-Z]{1,6}\d{2,5})$")
# Generic functions of tests, programs and Python itself, which identify nothing.
_GENERIC_FUNCTION = re.compile(
    r"^(?:<.*>|main|run|call|__call__|__init__|__enter__|__exit__|wrapper|inner|get|set|new|test|tests|setup|teardown"
    r"|describe|it|wrapped|decorator|func|function|f|fn|invoke|execute|apply|process|handle)$"
)
# Error types that any failing test or bug may have.
_GENERIC_TYPES: Final = frozenset({"AssertionError", "Error", "Exception", "RuntimeError", "FAILED", "error", "panic"})
_GENERIC_WORDS: Final = frozenset(
    """
    error errors exception none true false object objects attribute attributes argument arguments expected actual
    assert assertion value values type types with from that this have been unexpected keyword positional required
    missing given takes takes_ cannot could must should module import named name names function method class instance
    self test tests file line lines list dict tuple undefined defined return returned call called invalid index range
    string number bytes failed failure while when into only most traceback last recent during following raise raised
    raises raising being been using used uses doesn does didn isn wasn aren which what does there their some same other
    after before because found find unable type_ make made work works working want wants need needs python problem issue
    nonetype bool float bytearray boolean integer null nil unit option result vec
    """.split()  # noqa: SIM905 - one word after the other reads best
)

# Score of each name that the error and the commit share, and the minimum total.
_TYPE_SCORE: Final = 1.0
_SPECIFIC_TYPE_SCORE: Final = 1.75  # a type that is not built in, or that few commits mention
_SYMBOL_SCORE: Final = 2.0
_FUNCTION_SCORE: Final = 2.0
_WORD_SCORE: Final = 0.75
_CHANGED_LINE_SCORE: Final = 0.75  # a symbol or function in or near the changed lines
MIN_SCORE: Final = 3.0
_MAX_RARE_SHARE: Final = 0.08  # of the commits searched: a name in more of them is the file's general subject
_MIN_RARE_COMMITS: Final = 2


@dataclass(frozen=True, slots=True)
class ErrorNames:
    """Names and words found in an error.

    `symbols` are the names that the error message mentions; `functions` are those on the call stack, innermost first.
    """

    type: str
    symbols: tuple[str, ...]
    functions: tuple[str, ...]
    words: tuple[str, ...]


def extract_error_names(error: ParsedError, places: Sequence[ErrorLocation]) -> ErrorNames:
    """Collect the names and words in an error.

    `places` are the locations on the call stack in the project's own code, innermost first.
    """
    kind = error.type if _EXCEPTION.match(error.type) and error.type not in _GENERIC_TYPES else ""
    message = error.headline.removeprefix(error.type)
    quoted_names = [part for text in _QUOTED_TEXT.findall(message) for part in _TOKEN.findall(text)]
    code = [token for token in _TOKEN.findall(message) if re.search(r"[a-z][A-Z]|\w_\w|\w\.\w|^_", token)]
    symbols = [
        one
        for one in dict.fromkeys((*quoted_names, *code))
        if len(one) > 2
        and one.lower() not in _GENERIC_WORDS
        and one.rpartition(".")[2] != error.type
        and not _FILE_NAME.search(one)
    ]
    words = [word.lower() for word in re.findall(r"(?<![\w.])[A-Za-z][a-z]{3,}(?![\w.(])", message)]
    functions = [place.function.rpartition(".")[2] for place in places]
    return ErrorNames(
        kind,
        tuple(symbols)[:6],
        tuple(one for one in dict.fromkeys(functions) if one and not _GENERIC_FUNCTION.match(one))[:_MAX_FUNCTIONS],
        tuple(
            word for word in dict.fromkeys(words) if word not in _GENERIC_WORDS and word not in map(str.lower, symbols)
        ),
    )


def describes_fix(message: str) -> bool:
    """Return True if a commit message describes a fix or a revert."""
    subject, _, body = message.strip().partition("\n")
    return not _COSMETIC_CHANGE.search(subject) and bool(
        _FIX_WORD.search(subject) or _CLOSED_ISSUE.search(subject) or _CLOSED_ISSUE.search(body)
    )


def find_likely_fix(
    error_names: ErrorNames, commits: Sequence[FoundCommit]
) -> tuple[FoundCommit, tuple[str, ...]] | None:
    """Return the most likely past fix for an error.

    The names that the commit and the error share are returned with it. If several fixes are equally likely, the
    newest is chosen. Returns None if no commit shares enough names with the error.
    """
    candidates = [commit for commit in commits if describes_fix(commit.message)]
    names_by_commit = [_collect_names(commit.message) for commit in commits]
    max_mentions = max(_MIN_RARE_COMMITS, int(_MAX_RARE_SHARE * len(commits)))
    names = {error_names.type, *error_names.symbols, *error_names.functions, *error_names.words} - {""}
    rare = {name for name in names if sum(_mentions(one, name) for one in names_by_commit) <= max_mentions}
    scored_commits = [(*_score_commit(error_names, commit, rare), commit) for commit in candidates]
    best = max(scored_commits, key=lambda one: (one[0], one[2].at), default=None)
    return (best[2], best[1]) if best is not None and best[0] >= MIN_SCORE else None


def _score_commit(error_names: ErrorNames, commit: FoundCommit, rare: Collection[str]) -> tuple[float, tuple[str, ...]]:
    message_names = _collect_names(commit.message)
    changed_names = _collect_names("\n".join(commit.lines))
    symbols = [one for one in error_names.symbols if one in rare and _mentions(message_names, one)]
    functions = [one for one in error_names.functions if one in rare and _mentions(message_names, one)]
    words = [one for one in error_names.words if one in rare and _mentions(message_names, one)]
    by_type = bool(error_names.type) and _mentions(message_names, error_names.type)
    by_type_alone = _SPECIFIC_TYPE_SCORE if error_names.type in rare else _TYPE_SCORE
    score = (
        _SYMBOL_SCORE * min(len(symbols), 2)
        + _FUNCTION_SCORE * min(len(functions), 1)
        + _WORD_SCORE * min(len(words), 3)
    )
    score += by_type_alone * by_type
    if not (symbols or functions or (by_type and (words or error_names.type in rare)) or len(words) > 2):
        return 0.0, ()
    names_in_change = [one for one in (*error_names.symbols, *error_names.functions) if _mentions(changed_names, one)]
    names_in_change += [error_names.type] if error_names.type and _mentions(changed_names, error_names.type) else []
    names = (*([error_names.type] if by_type else []), *symbols, *functions, *words)
    return score + _CHANGED_LINE_SCORE * min(len(names_in_change), 2), tuple(dict.fromkeys(names))


def build_past_fix(
    changes: Sequence[FileChange],
    commit: FoundCommit,
    *,
    error: str,
    headline: str,
    subject: str,
    shared_symbols: Sequence[str],
) -> Fix | None:
    """Build an untried fix from a past commit.

    `subject` is the commit's subject without secrets, and `shared_symbols` are the names that the commit shares
    with the error. Returns None if the commit changes no file or more than MAX_PATHS.
    """
    real_changes = [change for change in changes if (change.before or "").strip() != (change.after or "").strip()]
    if not 0 < len(real_changes) <= MAX_PATHS:
        return None
    real_changes.sort(key=lambda change: (change.path not in commit.paths, change.path))
    digest = hashlib.blake2b("\x1f".join((error, "past", commit.sha)).encode(), digest_size=10).hexdigest()
    at = datetime.fromtimestamp(clamp_author_time(commit.at), UTC)
    return Fix(
        f"m{digest}",
        error,
        headline,
        tuple(change.path for change in real_changes),
        render_diff(real_changes),
        at,
        commit=commit.sha,
        subject=subject,
        success_count=0,
        trial_count=0,
        symbols=tuple(_filter_symbols(shared_symbols)),
    )


def _filter_symbols(shared_symbols: Sequence[str]) -> Iterator[str]:
    yield from (name for name in shared_symbols if _TOKEN.fullmatch(name) and re.search(r"[A-Z_.]", name))


def _collect_names(text: str) -> frozenset[str]:
    """Return the names in a text, in several spellings.

    Each name is returned whole, split at dots, and in lower case.
    """
    names = _TOKEN.findall(text)
    parts = [part for name in names for part in name.split(".")]
    return frozenset((*names, *parts, *(name.lower() for name in parts)))


def _mentions(names: frozenset[str], name: str) -> bool:
    return name in names or name.rpartition(".")[2] in names or (name.islower() and name in names)
