"""What made an error go away: a change, how often it was made for that error, and how often that helped. No I/O."""

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
FIXED_BY: Final = "fixed_by"  # and back

MOST_PATHS: Final = 12  # a change of more is more than a fix: nobody could tell which part of it helped
DIFF_LINES: Final = 80
DIFF_CHARACTERS: Final = 6_000
LINE_CHARACTERS: Final = 200
CONTEXT: Final = 1  # lines around a change
SHOWN_LINES: Final = 14  # of a diff beside an error
SHOWN_PATHS: Final = 3
# One that helped once in five times is no advice.
LEAST_CONFIDENCE: Final = 0.3
# Two changes are one fix when at least half of their files are the same.
SAME: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fix:
    """A change after which an error was gone. `tried` counts the times it could have helped, `helped` those it did."""

    id: str
    error: str  # id of the error's memory
    headline: str  # of the error
    paths: tuple[str, ...]  # what the error names first
    diff: str
    at: datetime
    command: str | None = None  # that failed before and passed after
    commit: str | None = None
    subject: str = ""  # of the commit
    helped: int = 1
    tried: int = 1

    @property
    def confidence(self) -> float:
        """Laplace's rule: a fix seen once is likely, not certain."""
        return (self.helped + 1) / (self.tried + 2)

    @property
    def line(self) -> str:
        """The fix in our own words, with its record."""
        names = ", ".join(self.paths[:SHOWN_PATHS])
        more = f" and {len(self.paths) - SHOWN_PATHS} more" if len(self.paths) > SHOWN_PATHS else ""
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
    """The fix that `changes` are for an error that names the files `named`; None for nothing or for too much."""
    changed = [change for change in changes if (change.before or "").strip() != (change.after or "").strip()]
    if not 0 < len(changed) <= MOST_PATHS:
        return None
    changed.sort(key=lambda change: (change.path not in named, change.path))
    paths = tuple(change.path for change in changed)
    known_by = hashlib.blake2b("\x1f".join((error, TAG, *sorted(paths))).encode(), digest_size=10).hexdigest()
    return Fix(f"m{known_by}", error, headline, paths, diff_of(changed), at, command)


def diff_of(changes: Sequence[FileChange]) -> str:
    """What was taken out and put in, file by file, as much as a reader looks at."""
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


def same(one: Fix, other: Collection[str]) -> bool:
    """Whether a change of the paths `other` is that fix again."""
    mine, others = set(one.paths), set(other)
    return len(mine & others) >= SAME * len(mine | others)


def helped(known: Sequence[Fix], found: Fix) -> list[Fix]:
    """What is known after `found` made the error go away: the same as before has helped again, the others have not."""
    again = next((fix for fix in known if same(fix, found.paths)), None)
    others = [replace(fix, tried=fix.tried + 1) for fix in known if fix is not again]
    if again is None:
        return [found, *others]
    renewed = replace(found, id=again.id, helped=again.helped + 1, tried=again.tried + 1)
    return [renewed, *others]


def in_vain(known: Sequence[Fix], paths: Collection[str]) -> list[Fix]:
    """The fixes that were made again and did not help: the error came back after `paths` were changed."""
    return [replace(fix, tried=fix.tried + 1) for fix in known if set(fix.paths) <= set(paths)]


def best(fixes: Sequence[Fix]) -> Fix | None:
    """The one to show: the surest, then the newest."""
    likely = [fix for fix in fixes if fix.confidence >= LEAST_CONFIDENCE]
    return max(likely, key=lambda fix: (fix.confidence, fix.at), default=None)


def excerpt(fix: Fix) -> str:
    """The change as it stands beside the error."""
    lines = fix.diff.splitlines()
    subject = [f"{fix.commit[:7]} {fix.subject}"] if fix.commit and fix.subject else []
    return "\n".join((*subject, *lines[:SHOWN_LINES], *(["…"] if len(lines) > SHOWN_LINES else [])))


def is_fix(memory: Memory) -> bool:
    return memory.kind is Kind.ERROR and TAG in memory.tags and any(link.get("type") == FIXES for link in memory.links)


def memory_of(fix: Fix, project: str, now: datetime, known: Memory | None = None) -> Memory:
    """A fix as it is kept; `known` is what was kept of it before."""
    commit = (Artifact("commit", fix.commit),) if fix.commit else ()
    names = ", ".join(fix.paths)
    memory = Memory(
        id=fix.id,
        kind=Kind.ERROR,
        title=f"fixed: {fix.headline}"[:120],
        content=f"{fix.headline}\nfixed in {names}\n\n{fix.diff}",
        at=fix.at,
        created=known.created if known is not None else now,
        updated=now,
        project=project,
        ref=f"fix:{fix.id}",
        levels=Levels(summary=f"{fix.headline}: {fix.line}", compressed=fix.line, index=f"fix in {fix.paths[0]}"),
        value=f"{fix.helped}/{fix.tried}",
        scope=Scope.PROJECT,
        confidence=round(fix.confidence, 4),
        importance=0.7,
        tags=(TAG,),
        links=({"type": FIXES, "ref": fix.error},),
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


def fix_from(memory: Memory) -> Fix | None:
    """The fix that a kept memory tells of; None where it tells of none, or is no longer valid."""
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
    )
