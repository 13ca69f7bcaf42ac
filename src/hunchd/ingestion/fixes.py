"""Fixes for errors, with their success rates.

A fix without trials comes from history: it is a commit that fixed a similar error. This module does no I/O.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.repository.tree_snapshots import FileChange

FIX_TAG: Final = "fix"
FIXES_LINK: Final = "fixes"  # type of the link from a fix to its error
FIXED_BY_LINK: Final = "fixed_by"  # type of the reverse link
PAST_TAG: Final = "history"  # tag of a fix from history that nobody has tried yet
ABOUT_SYMBOL_LINK: Final = "about_symbol"  # type of the link to a fixed symbol, as `path#name`

MAX_PATHS: Final = 12  # files per fix: in a larger change, nobody can tell which part helped
MAX_DIFF_LINES: Final = 80
MAX_DIFF_CHARACTERS: Final = 6_000
MAX_LINE_CHARACTERS: Final = 200
CONTEXT_LINES: Final = 1  # lines around a change
EXCERPT_LINES: Final = 14  # lines of the diff that are shown beside an error
EXCERPT_PATHS: Final = 3
# A fix that helped once in five trials is not worth showing.
MIN_CONFIDENCE: Final = 0.3
# Fixes of similar errors rank below any fix that has helped.
UNTRIED_CONFIDENCE: Final = 0.2
IMPORTANCE, PAST_IMPORTANCE = 0.7, 0.3
# Two changes are the same fix if they share at least half of their files and of their added lines.
MIN_OVERLAP: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fix:
    """Change that fixed an error, or a past commit that may fix it.

    `trial_count` is how often the change could have helped, and `success_count` how often it did.
    """

    id: str
    error: str  # id of the error's memory
    headline: str  # headline of the error
    paths: tuple[str, ...]  # paths that the error names come first
    diff: str
    at: datetime
    command: str | None = None  # command that failed before and passed after
    commit: str | None = None
    subject: str = ""  # subject of the commit
    success_count: int = 1
    trial_count: int = 1
    symbols: tuple[str, ...] = ()  # names that both the error and the commit mention

    @property
    def is_past(self) -> bool:
        """Return True if nobody has tried the fix on this error yet.

        The fix is then only a past commit that fixed a similar error.
        """
        return self.trial_count == 0

    @property
    def confidence(self) -> float:
        """Estimate the success rate by Laplace's rule of succession.

        A fix that has helped once is thus considered likely to help again, but not certain. A past commit that
        nobody has tried gets UNTRIED_CONFIDENCE.
        """
        return UNTRIED_CONFIDENCE if self.is_past else (self.success_count + 1) / (self.trial_count + 2)

    @property
    def summary(self) -> str:
        """Describe the fix and its success record in one line."""
        names = ", ".join(self.paths[:EXCERPT_PATHS])
        more = f" and {len(self.paths) - EXCERPT_PATHS} more" if len(self.paths) > EXCERPT_PATHS else ""
        if self.is_past:
            return f"commit {(self.commit or '')[:7]} fixed a similar error in {names}{more}, {self.at:%Y-%m}"
        by = f"by {self.commit[:7]} " if self.commit else ""
        return f"fixed before {by}in {names}{more}: helped {self.success_count} of {self.trial_count}"


def build_fix(
    changes: Sequence[FileChange],
    *,
    error: str,
    headline: str,
    named_paths: Collection[str],
    at: datetime,
    command: str | None,
) -> Fix | None:
    """Build the fix that consists of `changes`.

    `named_paths` are the paths that the error names. Changes to white space at the beginning or end of a file do
    not count. Returns None if no changes are left, or more than MAX_PATHS.
    """
    real_changes = [change for change in changes if (change.before or "").strip() != (change.after or "").strip()]
    if not 0 < len(real_changes) <= MAX_PATHS:
        return None
    real_changes.sort(key=lambda change: (change.path not in named_paths, change.path))
    paths = tuple(change.path for change in real_changes)
    diff = render_diff(real_changes)
    digest = hashlib.blake2b("\x1f".join((error, FIX_TAG, *sorted(paths), diff)).encode(), digest_size=10).hexdigest()
    return Fix(f"m{digest}", error, headline, paths, diff, at, command)


def render_diff(changes: Sequence[FileChange]) -> str:
    """Render the removed and added lines, file by file.

    The result is limited to the length that a reader is likely to look at.
    """
    lines: list[str] = []
    for change in changes:
        before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
        diff_lines = difflib.unified_diff(before, after, lineterm="", n=CONTEXT_LINES)
        body = [line[:MAX_LINE_CHARACTERS] for line in diff_lines if not line.startswith(("---", "+++"))]
        state = " (new)" if change.before is None else " (deleted)" if change.after is None else ""
        lines += [f"{change.path}{state}", *body]
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)[:MAX_DIFF_CHARACTERS]


def is_same_fix(one: Fix, other: Fix) -> bool:
    """Return True if two fixes are essentially the same change.

    The fixes must share at least half of their files, and at least half of the added lines in the smaller fix.
    Removed lines are ignored, since the code may be broken in a different way each time; they are compared only if
    one of the fixes adds no lines.
    """
    one_paths, other_paths = set(one.paths), set(other.paths)
    if len(one_paths & other_paths) < MIN_OVERLAP * len(one_paths | other_paths):
        return False
    one_lines, other_lines = _marked_lines(one.diff, "+"), _marked_lines(other.diff, "+")
    if not (one_lines and other_lines):
        one_lines, other_lines = _marked_lines(one.diff, "-"), _marked_lines(other.diff, "-")
    return len(one_lines & other_lines) >= MIN_OVERLAP * min(len(one_lines), len(other_lines))


def _marked_lines(diff: str, mark: str) -> set[str]:
    lines = (" ".join(line[1:].split()) for line in diff.splitlines() if line.startswith(mark))
    return {line for line in lines if line}


def record_success(known_fixes: Sequence[Fix], new_fix: Fix) -> list[Fix]:
    """Return the known fixes, updated after `new_fix` fixed the error.

    The known fix that equals `new_fix` gets one more success, and each of the others one more failed trial. If no
    known fix equals it, `new_fix` is added.
    """
    matching_fix = next(
        (fix for fix in sorted(known_fixes, key=lambda fix: -fix.trial_count) if is_same_fix(fix, new_fix)), None
    )
    others = [replace(fix, trial_count=fix.trial_count + 1) for fix in known_fixes if fix is not matching_fix]
    if matching_fix is None:
        return [new_fix, *others]
    updated_fix = replace(
        new_fix,
        id=matching_fix.id,
        success_count=matching_fix.success_count + 1,
        trial_count=matching_fix.trial_count + 1,
    )
    return [updated_fix, *others]


def record_failures(known_fixes: Sequence[Fix], paths: Collection[str]) -> list[Fix]:
    """Count a failed trial for each fix that was applied in vain.

    The error came back after `paths` were changed; a fix counts as applied if all its files are among these paths.
    Past commits are not counted, since editing the same files does not repeat the commit. Returns only the fixes
    that were counted.
    """
    return [
        replace(fix, trial_count=fix.trial_count + 1)
        for fix in known_fixes
        if not fix.is_past and set(fix.paths) <= set(paths)
    ]


def select_best(fixes: Sequence[Fix]) -> Fix | None:
    """Return the fix with the highest confidence.

    If several fixes are equally good, returns the newest. A fix that has been tried counts only if it has helped
    and has a confidence of at least MIN_CONFIDENCE; a past commit is chosen only if there is no such fix. Returns
    None if there is no suitable fix.
    """
    candidates = [fix for fix in fixes if fix.is_past or (fix.success_count and fix.confidence >= MIN_CONFIDENCE)]
    return max(candidates, key=lambda fix: (fix.confidence, fix.at), default=None)


def render_excerpt(fix: Fix) -> str:
    """Render the beginning of the fix's diff for display beside the error.

    If the fix is a commit with a subject, the subject comes first.
    """
    lines = fix.diff.splitlines()
    subject = [f"{fix.commit[:7]} {fix.subject}"] if fix.commit and fix.subject else []
    return "\n".join((*subject, *lines[:EXCERPT_LINES], *(["…"] if len(lines) > EXCERPT_LINES else [])))


def is_fix(memory: Memory) -> bool:
    return (
        memory.kind is Kind.ERROR
        and FIX_TAG in memory.tags
        and any(link.get("type") == FIXES_LINK for link in memory.links)
    )


def fix_to_memory(fix: Fix, project: str, now: datetime, stored_memory: Memory | None = None) -> Memory:
    """Convert a fix to a memory.

    `stored_memory` is the memory that is already stored for the fix, if any; its creation time is kept.
    """
    commit = (Artifact("commit", fix.commit),) if fix.commit else ()
    names = ", ".join(fix.paths)
    memory = Memory(
        id=fix.id,
        kind=Kind.ERROR,
        title=_make_title(fix),
        content=f"{fix.headline}\n{_content_prefix(fix)} {names}\n\n{fix.diff}",
        at=fix.at,
        created=stored_memory.created if stored_memory is not None else now,
        updated=now,
        project=project,
        ref=f"fix:{fix.id}",
        levels=Levels(summary=f"{fix.headline}: {fix.summary}", compressed=fix.summary, index=f"fix in {fix.paths[0]}"),
        value=f"{fix.success_count}/{fix.trial_count}",
        scope=Scope.PROJECT,
        confidence=round(fix.confidence, 4),
        importance=PAST_IMPORTANCE if fix.is_past else IMPORTANCE,
        tags=(FIX_TAG, PAST_TAG) if fix.is_past else (FIX_TAG,),
        links=(
            {"type": FIXES_LINK, "ref": fix.error},
            *({"type": ABOUT_SYMBOL_LINK, "ref": f"{fix.paths[0]}#{name}"} for name in fix.symbols),
        ),
        artifacts=(*(Artifact("file", path) for path in fix.paths), *commit),
        trust=Trust.UNTRUSTED,
        source={
            "type": "fix",
            "headline": fix.headline,
            "command": fix.command,
            "subject": fix.subject,
            "helped": fix.success_count,
            "tried": fix.trial_count,
        },
    )
    return memory if stored_memory is None else replace(memory, usage=stored_memory.usage)


def _make_title(fix: Fix) -> str:
    title = f"{fix.subject} (for: {fix.headline})" if fix.is_past else f"fixed: {fix.headline}"
    return title[:120]


def _content_prefix(fix: Fix) -> str:
    if fix.is_past:
        return f"commit {fix.commit} of {fix.at:%Y-%m-%d} fixed a similar error: {fix.subject}\nin"
    return "fixed in"


def memory_to_fix(memory: Memory) -> Fix | None:
    """Convert a stored memory to a fix.

    Returns None if the memory is not a fix, is no longer active, or names no files.
    """
    if not is_fix(memory) or memory.status is not Status.ACTIVE:
        return None
    source: Mapping[str, Any] = memory.source
    commit = next((artifact.ref for artifact in memory.artifacts if artifact.type == "commit"), None)
    paths = tuple(artifact.ref for artifact in memory.artifacts if artifact.type == "file")
    error = next(link["ref"] for link in memory.links if link.get("type") == FIXES_LINK)
    if not paths:
        return None
    return Fix(
        memory.id,
        error,
        str(source.get("headline", memory.title)),
        paths,
        memory.content.partition("\n\n")[2],
        memory.at,
        source.get("command"),
        commit,
        str(source.get("subject", "")),
        int(source.get("helped", 1)),
        int(source.get("tried", 1)),
        tuple(link["ref"].partition("#")[2] for link in memory.links if link.get("type") == ABOUT_SYMBOL_LINK),
    )
