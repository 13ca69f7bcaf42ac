"""Fixes of errors with their success rates.

No I/O. A fix with no trials comes from history: a commit that fixed a similar error.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.repository.working import FileChange

TAG: Final = "fix"
FIXES: Final = "fixes"  # type of the link from a fix to its error
FIXED_BY: Final = "fixed_by"  # type of the reverse link
PAST: Final = "history"  # tag of a fix from history that nobody has tried yet
ABOUT_SYMBOL: Final = "about_symbol"  # type of the link to a fixed symbol, as `path#name`

MOST_PATHS: Final = 12  # in a larger change nobody could tell which part helped
DIFF_LINES: Final = 80
DIFF_CHARACTERS: Final = 6_000
LINE_CHARACTERS: Final = 200
CONTEXT: Final = 1  # lines around a change
SHOWN_LINES: Final = 14  # of the diff shown beside an error
SHOWN_PATHS: Final = 3
# A fix that helped once in five trials is not worth showing.
LEAST_CONFIDENCE: Final = 0.3
# Fixes of similar errors rank below any fix that has helped.
UNTRIED: Final = 0.2
IMPORTANCE, PAST_IMPORTANCE = 0.7, 0.3
# Two changes are the same fix if they share at least half of their files and of their added lines.
SAME: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fix:
    """Change that fixed an error, or past commit that may.

    `tried` counts how often it could have helped, `helped` how often it did.
    """

    id: str
    error: str  # id of the error's memory
    headline: str  # of the error
    paths: tuple[str, ...]  # paths that the error names come first
    diff: str
    at: datetime
    command: str | None = None  # command that failed before and passed after
    commit: str | None = None
    subject: str = ""  # of the commit
    helped: int = 1
    tried: int = 1
    symbols: tuple[str, ...] = ()  # named by both the error and the commit

    @property
    def is_past(self) -> bool:
        """Return True if a similar past commit is the only evidence."""
        return self.tried == 0

    @property
    def confidence(self) -> float:
        """Estimate the success rate by Laplace's rule.

        A fix seen once is likely, not certain.
        """
        return UNTRIED if self.is_past else (self.helped + 1) / (self.tried + 2)

    @property
    def line(self) -> str:
        """Describe the fix and its record in one line."""
        names = ", ".join(self.paths[:SHOWN_PATHS])
        more = f" and {len(self.paths) - SHOWN_PATHS} more" if len(self.paths) > SHOWN_PATHS else ""
        if self.is_past:
            return f"commit {(self.commit or '')[:7]} fixed something like it in {names}{more}, {self.at:%Y-%m}"
        by = f"by {self.commit[:7]} " if self.commit else ""
        return f"fixed before {by}in {names}{more}: helped {self.helped} of {self.tried}"


def fix_of(
    changes: Sequence[FileChange],
    *,
    error: str,
    headline: str,
    named: Collection[str],
    at: datetime,
    command: str | None,
) -> Fix | None:
    """Build the fix that `changes` represent.

    Returns None if there are none or too many. `named`: paths that the error names.
    """
    changed = [change for change in changes if (change.before or "").strip() != (change.after or "").strip()]
    if not 0 < len(changed) <= MOST_PATHS:
        return None
    changed.sort(key=lambda change: (change.path not in named, change.path))
    paths = tuple(change.path for change in changed)
    diff = diff_of(changed)
    known_by = hashlib.blake2b("\x1f".join((error, TAG, *sorted(paths), diff)).encode(), digest_size=10).hexdigest()
    return Fix(f"m{known_by}", error, headline, paths, diff, at, command)


def diff_of(changes: Sequence[FileChange]) -> str:
    """Render the removed and added lines, file by file.

    The length is limited to what a reader looks at.
    """
    lines: list[str] = []
    for change in changes:
        before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
        told = difflib.unified_diff(before, after, lineterm="", n=CONTEXT)
        body = [line[:LINE_CHARACTERS] for line in told if not line.startswith(("---", "+++"))]
        state = " (new)" if change.before is None else " (deleted)" if change.after is None else ""
        lines += [f"{change.path}{state}", *body]
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"… {len(lines) - DIFF_LINES} more lines"]
    return "\n".join(lines)[:DIFF_CHARACTERS]


def same(one: Fix, other: Fix) -> bool:
    """Return True if two changes are the same fix.

    They have the same files and mostly the same added lines. Removed lines are ignored, since the code may be
    broken in a different way each time.
    """
    mine, others = set(one.paths), set(other.paths)
    if len(mine & others) < SAME * len(mine | others):
        return False
    put, put_now = _lines(one.diff, "+"), _lines(other.diff, "+")
    if not (put and put_now):
        put, put_now = _lines(one.diff, "-"), _lines(other.diff, "-")
    return len(put & put_now) >= SAME * min(len(put), len(put_now))


def _lines(diff: str, mark: str) -> set[str]:
    lines = (" ".join(line[1:].split()) for line in diff.splitlines() if line.startswith(mark))
    return {line for line in lines if line}


def helped(known: Sequence[Fix], found: Fix) -> list[Fix]:
    """Update the known fixes after `found` fixed the error.

    The fix that matches has helped once more; the others have one more failed trial.
    """
    again = next((fix for fix in sorted(known, key=lambda fix: -fix.tried) if same(fix, found)), None)
    others = [replace(fix, tried=fix.tried + 1) for fix in known if fix is not again]
    if again is None:
        return [found, *others]
    renewed = replace(found, id=again.id, helped=again.helped + 1, tried=again.tried + 1)
    return [renewed, *others]


def in_vain(known: Sequence[Fix], paths: Collection[str]) -> list[Fix]:
    """Count a failed trial for fixes that were applied again without success.

    The error came back after `paths` were changed. Past commits are not counted: editing their files does not
    repeat the commit.
    """
    return [replace(fix, tried=fix.tried + 1) for fix in known if not fix.is_past and set(fix.paths) <= set(paths)]


def best(fixes: Sequence[Fix]) -> Fix | None:
    """Return the fix to show: the most confident, then the newest.

    Past commits rank only where nothing has helped.
    """
    likely = [fix for fix in fixes if fix.is_past or (fix.helped and fix.confidence >= LEAST_CONFIDENCE)]
    return max(likely, key=lambda fix: (fix.confidence, fix.at), default=None)


def excerpt(fix: Fix) -> str:
    """Render the beginning of the diff for display beside the error."""
    lines = fix.diff.splitlines()
    subject = [f"{fix.commit[:7]} {fix.subject}"] if fix.commit and fix.subject else []
    return "\n".join((*subject, *lines[:SHOWN_LINES], *(["…"] if len(lines) > SHOWN_LINES else [])))


def is_fix(memory: Memory) -> bool:
    return memory.kind is Kind.ERROR and TAG in memory.tags and any(link.get("type") == FIXES for link in memory.links)


def memory_of(fix: Fix, project: str, now: datetime, known: Memory | None = None) -> Memory:
    """Convert a fix to a memory.

    `known` is the memory stored for it before.
    """
    commit = (Artifact("commit", fix.commit),) if fix.commit else ()
    names = ", ".join(fix.paths)
    memory = Memory(
        id=fix.id,
        kind=Kind.ERROR,
        title=_title(fix),
        content=f"{fix.headline}\n{_told(fix)} {names}\n\n{fix.diff}",
        at=fix.at,
        created=known.created if known is not None else now,
        updated=now,
        project=project,
        ref=f"fix:{fix.id}",
        levels=Levels(summary=f"{fix.headline}: {fix.line}", compressed=fix.line, index=f"fix in {fix.paths[0]}"),
        value=f"{fix.helped}/{fix.tried}",
        scope=Scope.PROJECT,
        confidence=round(fix.confidence, 4),
        importance=PAST_IMPORTANCE if fix.is_past else IMPORTANCE,
        tags=(TAG, PAST) if fix.is_past else (TAG,),
        links=(
            {"type": FIXES, "ref": fix.error},
            *({"type": ABOUT_SYMBOL, "ref": f"{fix.paths[0]}#{name}"} for name in fix.symbols),
        ),
        artifacts=(*(Artifact("file", path) for path in fix.paths), *commit),
        trust=Trust.UNTRUSTED,
        source={
            "type": "fix",
            "headline": fix.headline,
            "command": fix.command,
            "subject": fix.subject,
            "helped": fix.helped,
            "tried": fix.tried,
        },
    )
    return memory if known is None else replace(memory, usage=known.usage)


def _title(fix: Fix) -> str:
    told = f"{fix.subject} (for: {fix.headline})" if fix.is_past else f"fixed: {fix.headline}"
    return told[:120]


def _told(fix: Fix) -> str:
    if fix.is_past:
        return f"commit {fix.commit} of {fix.at:%Y-%m-%d} fixed something like it: {fix.subject}\nin"
    return "fixed in"


def fix_from(memory: Memory) -> Fix | None:
    """Convert a stored memory to a fix.

    Returns None if it is no fix or no longer active.
    """
    if not is_fix(memory) or memory.status is not Status.ACTIVE:
        return None
    told: Mapping[str, Any] = memory.source
    commit = next((artifact.ref for artifact in memory.artifacts if artifact.type == "commit"), None)
    paths = tuple(artifact.ref for artifact in memory.artifacts if artifact.type == "file")
    error = next(link["ref"] for link in memory.links if link.get("type") == FIXES)
    if not paths:
        return None
    return Fix(
        memory.id,
        error,
        str(told.get("headline", memory.title)),
        paths,
        memory.content.partition("\n\n")[2],
        memory.at,
        told.get("command"),
        commit,
        str(told.get("subject", "")),
        int(told.get("helped", 1)),
        int(told.get("tried", 1)),
        tuple(link["ref"].partition("#")[2] for link in memory.links if link.get("type") == ABOUT_SYMBOL),
    )
