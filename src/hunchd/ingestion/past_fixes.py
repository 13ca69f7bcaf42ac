"""Search for commits of the past that fixed a similar error.

No I/O. The commit message must mention what the error names: its type, a symbol, a value or words of its message.
Touching the same file is no evidence: most fixes touch the files that every commit touches.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hunchd.domain.history import likely
from hunchd.ingestion.error_places import Place
from hunchd.ingestion.errors import ErrorText
from hunchd.ingestion.fixes import MOST_PATHS, Fix, diff_of
from hunchd.repository.touching import Touching
from hunchd.repository.working import FileChange

# Pattern for git's search; `mends` checks more closely.
WORDS: Final = (
    "fix|bug|revert|regress|crash|prevent|avoid|handle|correct|repair|broken|leak|deadlock|race|work ?around|no longer"
    "|rais|hang|panic|close[sd]? |resolve[sd]? |don'?t|do not|support|allow"
)
MOST_FILES: Final = 4  # files searched per error, those nearest to the raise site
_FUNCTIONS: Final = 4  # likewise

_MENDS = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bug ?fix|bugs?|reverts?|regress(?:ions?|ed)?|crash(?:e[sd]|ing)?|prevent(?:s|ed)?"
    r"|avoid(?:s|ed)?|handle[sd]?|correct(?:s|ed|ly)?|repair(?:s|ed)?|broken|leak(?:s|ed|ing)?|deadlock\w*|races?"
    r"|work ?arounds?|no longer|raise[sd]?|hang(?:s|ing)?|panic(?:s|ked|king)?|don'?t|do not|never)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?\s+(?:[\w./-]*#|gh-|https?://\S+/issues/)\d+", re.IGNORECASE
)
# Changes of style and documentation.
_ASIDE = re.compile(
    r"\b(?:typos?|spelling|whitespace|flake8|black|isort|prettier|eslint|lint(?:ing|er|s)?|format(?:ting)?|mypy|typing"
    r"|type hints?|pre-commit|changelogs?|docstrings?|documentation|docs|comments?|coverage)\b"
    r"|\b(?:refactor|renam|simplif|clean(?:s|ed|ing)? ?up|bump|upgrad)\w*|^(?:docs?|style|ci|chore)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_QUOTED = re.compile(r"""["'`‘“]([^"'`’”\n]{2,60})["'`’”]""")
_FILE_NAME = re.compile(r"\.(?:py|pyi|go|rs|tsx?|jsx?|java|c|h|cpp|toml|json|ya?ml|md|rst|txt)$")
_EXCEPTION = re.compile(r"^(?:[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Panic)|[A-Z]{1,6}\d{2,5})$")
# Generic functions of tests, programs and Python itself, which identify nothing.
_ANY_FUNCTION = re.compile(
    r"^(?:<.*>|main|run|call|__call__|__init__|__enter__|__exit__|wrapper|inner|get|set|new|test|tests|setup|teardown"
    r"|describe|it|wrapped|decorator|func|function|f|fn|invoke|execute|apply|process|handle)$"
)
# Types that every failing test and every bug has.
_ANY_TYPE: Final = frozenset({"AssertionError", "Error", "Exception", "RuntimeError", "FAILED", "error", "panic"})
_ANY_WORD: Final = frozenset(
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

# Score of each name shared by error and commit, and the minimum total.
_BY_TYPE: Final = 1.0
_BY_OWN_TYPE: Final = 1.75  # a type that is not built in, or that few commits mention
_BY_SYMBOL: Final = 2.0
_BY_FUNCTION: Final = 2.0
_BY_WORD: Final = 0.75
_IN_CHANGE: Final = 0.75  # a symbol or function in or near the changed lines
ENOUGH: Final = 3.0
_RARE: Final = 0.08  # of the searched commits: a name that more of them mention is the file's general subject
_FEW: Final = 2


@dataclass(frozen=True, slots=True)
class Named:
    """Names in an error: type, symbols, functions and words.

    `symbols` are those of its message; `functions` were running, raise site first.
    """

    type: str
    symbols: tuple[str, ...]
    functions: tuple[str, ...]
    words: tuple[str, ...]


def named_by(read: ErrorText, places: Sequence[Place]) -> Named:
    """Collect the names in an error.

    `places` are the project's own, raise site first.
    """
    kind = read.type if _EXCEPTION.match(read.type) and read.type not in _ANY_TYPE else ""
    said = read.headline.removeprefix(read.type)
    quoted = [part for text in _QUOTED.findall(said) for part in _TOKEN.findall(text)]
    code = [token for token in _TOKEN.findall(said) if re.search(r"[a-z][A-Z]|\w_\w|\w\.\w|^_", token)]
    symbols = [
        one
        for one in dict.fromkeys((*quoted, *code))
        if len(one) > 2
        and one.lower() not in _ANY_WORD
        and one.rpartition(".")[2] != read.type
        and not _FILE_NAME.search(one)
    ]
    words = [word.lower() for word in re.findall(r"(?<![\w.])[A-Za-z][a-z]{3,}(?![\w.(])", said)]
    functions = [place.function.rpartition(".")[2] for place in places]
    return Named(
        kind,
        tuple(symbols)[:6],
        tuple(one for one in dict.fromkeys(functions) if one and not _ANY_FUNCTION.match(one))[:_FUNCTIONS],
        tuple(word for word in dict.fromkeys(words) if word not in _ANY_WORD and word not in map(str.lower, symbols)),
    )


def mends(message: str) -> bool:
    """Return True if a commit message describes a fix or revert."""
    subject, _, body = message.strip().partition("\n")
    return not _ASIDE.search(subject) and bool(
        _MENDS.search(subject) or _CLOSES.search(subject) or _CLOSES.search(body)
    )


def likeliest(named: Named, commits: Sequence[Touching]) -> tuple[Touching, tuple[str, ...]] | None:
    """Return the likeliest past fix of an error, with shared names.

    None if no commit shares enough.
    """
    fixing = [commit for commit in commits if mends(commit.message)]
    spoken = [_spoken(commit.message) for commit in commits]
    often = max(_FEW, int(_RARE * len(commits)))
    names = {named.type, *named.symbols, *named.functions, *named.words} - {""}
    rare = {name for name in names if sum(_says(one, name) for one in spoken) <= often}
    scored = [(*_score(named, commit, rare), commit) for commit in fixing]
    best = max(scored, key=lambda one: (one[0], one[2].at), default=None)
    return (best[2], best[1]) if best is not None and best[0] >= ENOUGH else None


def _score(named: Named, commit: Touching, rare: Collection[str]) -> tuple[float, tuple[str, ...]]:
    said = _spoken(commit.message)
    changed = _spoken("\n".join(commit.lines))
    symbols = [one for one in named.symbols if one in rare and _says(said, one)]
    functions = [one for one in named.functions if one in rare and _says(said, one)]
    words = [one for one in named.words if one in rare and _says(said, one)]
    by_type = bool(named.type) and _says(said, named.type)
    by_type_alone = _BY_OWN_TYPE if named.type in rare else _BY_TYPE
    spoken = _BY_SYMBOL * min(len(symbols), 2) + _BY_FUNCTION * min(len(functions), 1) + _BY_WORD * min(len(words), 3)
    spoken += by_type_alone * by_type
    if not (symbols or functions or (by_type and (words or named.type in rare)) or len(words) > 2):
        return 0.0, ()
    there = [one for one in (*named.symbols, *named.functions) if _says(changed, one)]
    there += [named.type] if named.type and _says(changed, named.type) else []
    names = (*([named.type] if by_type else []), *symbols, *functions, *words)
    return spoken + _IN_CHANGE * min(len(there), 2), tuple(dict.fromkeys(names))


def past_fix(
    changes: Sequence[FileChange], commit: Touching, *, error: str, headline: str, subject: str, shared: Sequence[str]
) -> Fix | None:
    """Build an untried fix from a commit.

    Returns None if it changes too many files. `subject` is the commit's subject without secrets.
    """
    changed = [change for change in changes if (change.before or "").strip() != (change.after or "").strip()]
    if not 0 < len(changed) <= MOST_PATHS:
        return None
    changed.sort(key=lambda change: (change.path not in commit.paths, change.path))
    known_by = hashlib.blake2b("\x1f".join((error, "past", commit.sha)).encode(), digest_size=10).hexdigest()
    at = datetime.fromtimestamp(likely(commit.at), UTC)
    return Fix(
        f"m{known_by}",
        error,
        headline,
        tuple(change.path for change in changed),
        diff_of(changed),
        at,
        commit=commit.sha,
        subject=subject,
        helped=0,
        tried=0,
        symbols=tuple(_symbols(shared)),
    )


def _symbols(shared: Sequence[str]) -> Iterator[str]:
    yield from (name for name in shared if _TOKEN.fullmatch(name) and re.search(r"[A-Z_.]", name))


def _spoken(text: str) -> frozenset[str]:
    """Return the names in a text.

    Whole, split at dots, and in lower case.
    """
    whole = _TOKEN.findall(text)
    parts = [part for name in whole for part in name.split(".")]
    return frozenset((*whole, *parts, *(name.lower() for name in parts)))


def _says(spoken: frozenset[str], name: str) -> bool:
    return name in spoken or name.rpartition(".")[2] in spoken or (name.islower() and name in spoken)
