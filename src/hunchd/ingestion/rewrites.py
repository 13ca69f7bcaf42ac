"""Which commits are the same work as earlier ones: amended, rebased, squashed, whether anybody told us or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from hunchd.repository.git import Git

# Longer rewrites are another history: it is learnt anew where git has dropped the old one.
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
    """`new` stands where `old` stood: git itself says so (`exact`), or a branch moved and it looks like it."""

    old: str
    new: str
    exact: bool


class _Commit(NamedTuple):
    """What a rewrite leaves as it is: who wrote it and when, mostly its title too."""

    sha: str
    email: str
    at: str
    subject: str


def moved(git: Git, told: Sequence[Rewritten], since: str | None, head: str = "HEAD") -> list[tuple[str, str]]:
    """Old id and new id of each commit that was rewritten: of those told of, and of those between `since` and `head`
    that nothing reaches any more. What another branch still has was left, not rewritten."""
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
    """The commits of before, moved or not, that no branch, no tag and no checkout has any more."""
    starts = [*dict.fromkeys(one.old for one in _readable(told)), *((since,) if since else ())]
    return list(_unreachable(git, starts, head)) if starts else []


def _readable(told: Sequence[Rewritten]) -> list[Rewritten]:
    return [one for one in told[-MOST:] if _SHA.fullmatch(one.old) and _SHA.fullmatch(one.new)]


def _unambiguous(
    commits: Mapping[str, _Commit], sameness: Callable[[_Commit], tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """What only one of the commits has → that commit."""
    times = Counter(sameness(one) for one in commits.values())
    return {sameness(one): one.sha for one in commits.values() if times[sameness(one)] == 1}


def _commits(git: Git, starts: Iterable[str], *, without: Iterable[str]) -> dict[str, _Commit]:
    """What `starts` reach and `without` do not; ids that are no longer there reach nothing."""
    lines = [*starts, *(f"^{one}" for one in without)]
    if not lines or lines[0].startswith("^"):
        return {}
    return _read(git.run(*_LOG, "--ignore-missing", "--stdin", stdin="\n".join(lines).encode() + b"\n"))


def _unreachable(git: Git, starts: Sequence[str], head: str) -> dict[str, _Commit]:
    """What `starts` reach and `head`, no branch, no tag and no checkout does; ids that are no longer there reach
    nothing."""
    reached = ("--not", head, "HEAD", "--branches", "--remotes", "--tags", "--")
    return _read(git.run(*_LOG, "--ignore-missing", *starts, *reached))


def _read(log: bytes) -> dict[str, _Commit]:
    rows = (line.split("\x1f", 3) for line in log.decode("utf-8", "replace").split("\n") if line)
    return {row[0]: _Commit(*row) for row in rows if len(row) == 4}
