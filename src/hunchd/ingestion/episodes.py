"""Conversion of units of history to episodes.

A unit is one step of the main branch: a commit, or a merge with all it brings in. An episode says what was done,
why and where, at four lengths. All text is extracted from the commit itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

from hunchd.domain.history import PathChange, Unit, clamp_author_time
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.unit_classification import is_bot, is_bulk, is_forward_port, is_work, strip_issue_numbers
from hunchd.ingestion.path_summary import summarize_file_names, summarize_paths
from hunchd.ingestion.prose import join_sentences, shorten, split_sentences
from hunchd.ingestion.redaction import redact

MAX_FILES = 200  # listed in the full text; mass changes name their folders instead
MAX_ARTIFACTS = 60  # files linked to an episode; with more, no single file is its subject
MAX_TITLE = 120  # characters
MAX_WHY = 240
MAX_SENTENCES = 40  # sentences searched for the reason
MAX_INDEX = 60

_PULL_REQUEST = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)|\(!(\d+)\)\s*$")
_CONVENTIONAL = re.compile(
    r"^(feat|fix|docs?|perf|refactor|tests?|build|ci|chore|style|revert)(?:\(([^)]+)\))?!?:\s*", re.I
)
_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|to (?:avoid|allow|make|prevent|support|fix|ensure)|otherwise|previously|"
    r"instead of|this (?:fixes|allows|avoids|makes|prevents|removes|adds))\b",
    re.IGNORECASE,
)
_BACK_REFERENCE = re.compile(
    r"(?:also|but|however|it|now|so|that|then|therefore|these|they|this|those)\b", re.IGNORECASE
)


def make_episode_id(project: str, sha: str) -> str:
    """Return the id of a commit's episode.

    The id depends only on the project and the commit, so the backfill, the git hooks and the predictions agree on it.
    """
    return "m" + blake2b(f"{project}:commit:{sha}".encode(), digest_size=10).hexdigest()


def build_episode(unit: Unit, project: str, *, now: datetime) -> Memory:
    """Build the episode for a unit of history.

    `now` is the time at which the episode is stored. The episode's text is untrusted until somebody vouches for it.
    """
    unit = replace(unit, subject=redact(unit.subject).text, body=redact(unit.body).text)
    at = datetime.fromtimestamp(clamp_author_time(unit.at), UTC)
    title = shorten(strip_issue_numbers(unit.subject) or unit.subject or unit.sha[:10], MAX_TITLE)
    paths = [change.path for change in unit.changes]
    reason, locations = extract_reason(unit.body, title), summarize_paths(paths)
    return Memory(
        id=make_episode_id(project, unit.sha),
        kind=Kind.EPISODE,
        title=title,
        content=_full_text(unit),
        at=at,
        created=now,
        updated=now,
        project=project,
        ref=f"commit:{unit.sha}",
        levels=Levels(
            summary=join_sentences([part for part in (title, reason, locations and f"In {locations}") if part]),
            compressed=shorten(f"{at:%Y-%m} {title}" + (f" ({summarize_file_names(paths)})" if paths else ""), 160),
            index=shorten(_CONVENTIONAL.sub("", title), MAX_INDEX),
        ),
        scope=Scope.PROJECT,
        importance=_rate_importance(unit),
        tags=_make_tags(unit),
        artifacts=_collect_artifacts(unit),
        trust=Trust.UNTRUSTED,
        source={"type": "commit", "sha": unit.sha, "author": unit.author}
        | ({"branch": unit.branch} if unit.branch else {}),
    )


def extract_reason(body: str, title: str = "") -> str:
    """Return the sentences of a commit message that explain the commit.

    If no sentence gives a reason, the beginning of the message is returned. Sentences that repeat the title are
    skipped.
    """
    candidates = [one for one in split_sentences(body, limit=MAX_SENTENCES) if not _repeats_title(one, title)]
    start = next((at for at, sentence in enumerate(candidates) if _REASON.search(sentence)), 0)
    while (
        start
        and _BACK_REFERENCE.match(candidates[start])
        and len(join_sentences(candidates[start - 1 : start + 1])) <= MAX_WHY
    ):
        start -= 1
    reason: list[str] = []
    for sentence in candidates[start : start + 3]:
        if reason and len(join_sentences([*reason, sentence])) > MAX_WHY:
            break
        reason.append(sentence)
    if len(reason) > 1 and reason[-1].endswith(":"):  # it introduces text that is cut off
        reason.pop()
    return shorten(join_sentences(reason), MAX_WHY)


def _full_text(unit: Unit) -> str:
    """Return the whole commit message and the list of changes."""
    lines = [f"{change.status} {_format_path(change)}" for change in unit.changes[:MAX_FILES]]
    if len(unit.changes) > MAX_FILES:
        lines.append(f"and {len(unit.changes) - MAX_FILES} more files")
    parts = (unit.subject, unit.body.strip(), "\n".join(lines))
    return "\n\n".join(part for part in parts if part)


def _format_path(change: PathChange) -> str:
    return f"{change.old_path} → {change.path}" if change.old_path else change.path


def _collect_artifacts(unit: Unit) -> tuple[Artifact, ...]:
    artifacts = [Artifact("commit", unit.sha)]
    request = _PULL_REQUEST.search(unit.subject) or _PULL_REQUEST.search(unit.body.split("\n", 1)[0])
    if request:
        artifacts.append(Artifact("pr", next(group for group in request.groups() if group)))
    artifacts += [Artifact("tag", tag) for tag in unit.tags[:5]]
    if len(unit.changes) <= MAX_ARTIFACTS:
        artifacts += [Artifact("file", change.path) for change in unit.changes]
    return tuple(artifacts)


def _make_tags(unit: Unit) -> tuple[str, ...]:
    kind = _CONVENTIONAL.match(unit.subject)
    words = [kind[1].lower(), (kind[2] or "").lower()] if kind else []
    words += ["release"] if unit.tags else []
    words += ["bot"] if is_bot(unit) else ["maintenance"] if is_bulk(unit) or is_forward_port(unit) else []
    return tuple(dict.fromkeys(word for word in words if word))


def _rate_importance(unit: Unit) -> float:
    """Rate the importance of a unit of history, from 0 to 1.

    Releases are rated highest, and so are changes to several files that people explained. Commits by bots and mass
    changes are rated lowest.
    """
    if unit.tags:
        return 0.6
    if not is_work(unit):
        return 0.1 if is_bot(unit) or is_bulk(unit) or is_forward_port(unit) else 0.3
    return 0.4 + 0.1 * bool(extract_reason(unit.body)) + 0.1 * (len(unit.changes) > 2)


def _repeats_title(sentence: str, title: str) -> bool:
    return strip_issue_numbers(sentence).casefold().rstrip(". ") in title.casefold()
