"""Detection of rewritten commits: amended, rebased, squashed, reported by git or inferred."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from hunchd.repository.git import Git

# Longer rewrites are treated as a new history, which is indexed again.
MOST: Final = 5_000  # commits
_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOG: Final = (
    "log",
    "--first-parent",
    "--no-color",
    "--no-decorate",
    f"--max-count={MOST}",
    "--format=%H%x1f%aE%x1f%at%x1f%s",
)


class Rewritten(NamedTuple):
    """Replacement of commit `old` by `new`.

    It is `exact` if git reported it; otherwise a branch moved and the commits look alike.
    """

    old: str
    new: str
    exact: bool


class _Commit(NamedTuple):
    """Properties that a rewrite preserves.

    Author and date, mostly also the subject.
    """

    sha: str
    email: str
    at: str
    subject: str


def moved(git: Git, told: Sequence[Rewritten], since: str | None, head: str = "HEAD") -> list[tuple[str, str]]:
    """Return (old id, new id) of each rewritten commit.

    Considered are the reported commits and those between `since` and `head` that nothing reaches any more. Commits
    that another branch still has were left, not rewritten.
    """
    told = _readable(told)
    starts = [*dict.fromkeys(one.old for one in told)]
    earlier = _commits(git, starts, without=[head])
    if since is not None and _commits(git, [since], without=[head]):
        earlier |= _unreachable(git, [since], head)
        starts.append(since)
    if not earlier:
        return []
    later = _commits(git, [head], without=starts)
    found = {one.old: one.new for one in told if one.exact and one.old in earlier}
    for sameness in (lambda one: one[1:], lambda one: one[1:3]):
        mine, theirs = _unambiguous(earlier, sameness), _unambiguous(later, sameness)
        found = {**{old: theirs[key] for key, old in mine.items() if key in theirs}, **found}
    for one in told:
        if one.old in earlier and one.new in later and earlier[one.old].subject == later[one.new].subject:
            found.setdefault(one.old, one.new)
    return [(old, new) for old, new in found.items() if old != new]


def gone(git: Git, told: Sequence[Rewritten], since: str | None, head: str = "HEAD") -> list[str]:
    """Return the earlier commits that nothing reaches any more.

    That is, no branch, tag or checkout.
    """
    starts = [*dict.fromkeys(one.old for one in _readable(told)), *((since,) if since else ())]
    return list(_unreachable(git, starts, head)) if starts else []


def _readable(told: Sequence[Rewritten]) -> list[Rewritten]:
    return [one for one in told[-MOST:] if _SHA.fullmatch(one.old) and _SHA.fullmatch(one.new)]


def _unambiguous(
    commits: Mapping[str, _Commit], sameness: Callable[[_Commit], tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Map each property that only one commit has to that commit."""
    times = Counter(sameness(one) for one in commits.values())
    return {sameness(one): one.sha for one in commits.values() if times[sameness(one)] == 1}


def _commits(git: Git, starts: Iterable[str], *, without: Iterable[str]) -> dict[str, _Commit]:
    """Return the commits reachable from `starts` but not from `without`.

    Ids that no longer exist reach nothing.
    """
    lines = [*starts, *(f"^{one}" for one in without)]
    if not lines or lines[0].startswith("^"):
        return {}
    return _read(git.run(*_LOG, "--ignore-missing", "--stdin", stdin="\n".join(lines).encode() + b"\n"))


def _unreachable(git: Git, starts: Sequence[str], head: str) -> dict[str, _Commit]:
    """Return the commits that only `starts` reach.

    Neither `head` nor any branch, tag or checkout does. Ids that no longer exist reach nothing.
    """
    reached = ("--not", head, "HEAD", "--branches", "--remotes", "--tags", "--")
    return _read(git.run(*_LOG, "--ignore-missing", *starts, *reached))


def _read(log: bytes) -> dict[str, _Commit]:
    rows = (line.split("\x1f", 3) for line in log.decode("utf-8", "replace").split("\n") if line)
    return {row[0]: _Commit(*row) for row in rows if len(row) == 4}
