"""Detection of commits that were rewritten: amended, rebased or squashed.

Git reports some rewrites; others are inferred.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from hunchd.repository.git import Git

# Longer rewrites are treated as a new history, which is indexed again.
MAX_COMMITS: Final = 5_000  # commits
_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOG_COMMAND: Final = (
    "log",
    "--first-parent",
    "--no-color",
    "--no-decorate",
    f"--max-count={MAX_COMMITS}",
    "--format=%H%x1f%aE%x1f%at%x1f%s",
)


class RewrittenCommit(NamedTuple):
    """Replacement of commit `old` by commit `new`.

    `exact` is True if git reported exactly this replacement. Otherwise a branch moved from `old` to `new`, and the
    two commits must also look alike.
    """

    old: str
    new: str
    exact: bool


class _Commit(NamedTuple):
    """Properties that identify a commit after a rewrite.

    A rewrite keeps the author and the date, and usually also the subject.
    """

    sha: str
    email: str
    at: str
    subject: str


def map_rewritten_commits(
    git: Git, reported_rewrites: Sequence[RewrittenCommit], since: str | None, head: str = "HEAD"
) -> list[tuple[str, str]]:
    """Return (old id, new id) for each rewritten commit.

    The candidates are the reported commits, and those between `since` and `head` that are no longer reachable. A
    commit that is still on another branch was left behind rather than rewritten, and does not count.
    """
    reported_rewrites = _filter_valid(reported_rewrites)
    starts = [*dict.fromkeys(one.old for one in reported_rewrites)]
    earlier = _list_commits(git, starts, excluded_shas=[head])
    if since is not None and _list_commits(git, [since], excluded_shas=[head]):
        earlier |= _list_unreachable(git, [since], head)
        starts.append(since)
    if not earlier:
        return []
    later = _list_commits(git, [head], excluded_shas=starts)
    new_by_old = {one.old: one.new for one in reported_rewrites if one.exact and one.old in earlier}
    for sameness in (lambda one: one[1:], lambda one: one[1:3]):
        earlier_by_key, later_by_key = _index_unique(earlier, sameness), _index_unique(later, sameness)
        new_by_old = {
            **{old: later_by_key[key] for key, old in earlier_by_key.items() if key in later_by_key},
            **new_by_old,
        }
    for one in reported_rewrites:
        if one.old in earlier and one.new in later and earlier[one.old].subject == later[one.new].subject:
            new_by_old.setdefault(one.old, one.new)
    return [(old, new) for old, new in new_by_old.items() if old != new]


def list_unreachable_commits(
    git: Git, reported_rewrites: Sequence[RewrittenCommit], since: str | None, head: str = "HEAD"
) -> list[str]:
    """Return the ids of the earlier commits that have become unreachable.

    No branch, tag or checkout leads to them any more.
    """
    starts = [*dict.fromkeys(one.old for one in _filter_valid(reported_rewrites)), *((since,) if since else ())]
    return list(_list_unreachable(git, starts, head)) if starts else []


def _filter_valid(reported_rewrites: Sequence[RewrittenCommit]) -> list[RewrittenCommit]:
    return [one for one in reported_rewrites[-MAX_COMMITS:] if _SHA.fullmatch(one.old) and _SHA.fullmatch(one.new)]


def _index_unique(
    commits: Mapping[str, _Commit], sameness: Callable[[_Commit], tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Map each key that belongs to only one commit to that commit's id.

    `sameness` computes the key of a commit; equal keys mean that two commits look alike.
    """
    times = Counter(sameness(one) for one in commits.values())
    return {sameness(one): one.sha for one in commits.values() if times[sameness(one)] == 1}


def _list_commits(git: Git, starts: Iterable[str], *, excluded_shas: Iterable[str]) -> dict[str, _Commit]:
    """Return the commits reachable from `starts` but not from `excluded_shas`.

    Ids that no longer exist are ignored.
    """
    lines = [*starts, *(f"^{one}" for one in excluded_shas)]
    if not lines or lines[0].startswith("^"):
        return {}
    return _parse_log(git.run(*_LOG_COMMAND, "--ignore-missing", "--stdin", stdin="\n".join(lines).encode() + b"\n"))


def _list_unreachable(git: Git, starts: Sequence[str], head: str) -> dict[str, _Commit]:
    """Return the commits that are reachable only from `starts`.

    These commits are not reachable from `head` or from any branch, tag or checkout. Ids that no longer exist are
    ignored.
    """
    exclusions = ("--not", head, "HEAD", "--branches", "--remotes", "--tags", "--")
    return _parse_log(git.run(*_LOG_COMMAND, "--ignore-missing", *starts, *exclusions))


def _parse_log(log: bytes) -> dict[str, _Commit]:
    rows = (line.split("\x1f", 3) for line in log.decode("utf-8", "replace").split("\n") if line)
    return {row[0]: _Commit(*row) for row in rows if len(row) == 4}
