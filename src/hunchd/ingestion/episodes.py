"""Conversion of units of history to episodes.

An episode says what was done, why and where, in four lengths. All text is extracted from the commit itself.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

from hunchd.domain.history import Change, Unit, likely
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.work import is_bot, is_bulk, is_forward_port, is_work, plain_title
from hunchd.ingestion.prose import cut, joined, sentences
from hunchd.ingestion.redaction import redact
from hunchd.ingestion.whereabouts import names_of, places_of

MAX_FILES = 200  # listed in the full text; mass changes name their folders instead
MAX_ARTIFACTS = 60  # files linked to an episode; with more, no single file is its subject
MAX_TITLE = 120  # characters
MAX_WHY = 240
MOST_SENTENCES = 40  # sentences searched for the reason
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
_POINTS_BACK = re.compile(r"(?:also|but|however|it|now|so|that|then|therefore|these|they|this|those)\b", re.IGNORECASE)


def episode_id(project: str, sha: str) -> str:
    """Return the episode's id, the same for backfill, hooks and predictions."""
    return "m" + blake2b(f"{project}:commit:{sha}".encode(), digest_size=10).hexdigest()


def episode(unit: Unit, project: str, *, now: datetime) -> Memory:
    """Build the episode of a unit.

    `now` is the time at which it is stored. Its text is untrusted until somebody vouches for it.
    """
    unit = replace(unit, subject=redact(unit.subject).text, body=redact(unit.body).text)
    at = datetime.fromtimestamp(likely(unit.at), UTC)
    title = cut(plain_title(unit.subject) or unit.subject or unit.sha[:10], MAX_TITLE)
    paths = [change.path for change in unit.changes]
    why, where = reason_in(unit.body, title), places_of(paths)
    return Memory(
        id=episode_id(project, unit.sha),
        kind=Kind.EPISODE,
        title=title,
        content=_full(unit),
        at=at,
        created=now,
        updated=now,
        project=project,
        ref=f"commit:{unit.sha}",
        levels=Levels(
            summary=joined([part for part in (title, why, where and f"In {where}") if part]),
            compressed=cut(f"{at:%Y-%m} {title}" + (f" ({names_of(paths)})" if paths else ""), 160),
            index=cut(_CONVENTIONAL.sub("", title), MAX_INDEX),
        ),
        scope=Scope.PROJECT,
        importance=_importance(unit),
        tags=_tags(unit),
        artifacts=_artifacts(unit),
        trust=Trust.UNTRUSTED,
        source={"type": "commit", "sha": unit.sha, "author": unit.author}
        | ({"branch": unit.branch} if unit.branch else {}),
    )


def reason_in(body: str, title: str = "") -> str:
    """Return the sentences of a message that give the reason.

    Failing that, its beginning. Sentences that repeat the title are skipped.
    """
    said = [one for one in sentences(body, most=MOST_SENTENCES) if not _repeats(one, title)]
    telling = next((at for at, sentence in enumerate(said) if _REASON.search(sentence)), 0)
    while telling and _POINTS_BACK.match(said[telling]) and len(joined(said[telling - 1 : telling + 1])) <= MAX_WHY:
        telling -= 1
    found: list[str] = []
    for sentence in said[telling : telling + 3]:
        if found and len(joined([*found, sentence])) > MAX_WHY:
            break
        found.append(sentence)
    if len(found) > 1 and found[-1].endswith(":"):  # it introduces text that is cut off
        found.pop()
    return cut(joined(found), MAX_WHY)


def _full(unit: Unit) -> str:
    """Return the full message and the list of changes."""
    lines = [f"{change.status} {_moved(change)}" for change in unit.changes[:MAX_FILES]]
    if len(unit.changes) > MAX_FILES:
        lines.append(f"and {len(unit.changes) - MAX_FILES} more files")
    parts = (unit.subject, unit.body.strip(), "\n".join(lines))
    return "\n\n".join(part for part in parts if part)


def _moved(change: Change) -> str:
    return f"{change.old_path} → {change.path}" if change.old_path else change.path


def _artifacts(unit: Unit) -> tuple[Artifact, ...]:
    found = [Artifact("commit", unit.sha)]
    request = _PULL_REQUEST.search(unit.subject) or _PULL_REQUEST.search(unit.body.split("\n", 1)[0])
    if request:
        found.append(Artifact("pr", next(group for group in request.groups() if group)))
    found += [Artifact("tag", tag) for tag in unit.tags[:5]]
    if len(unit.changes) <= MAX_ARTIFACTS:
        found += [Artifact("file", change.path) for change in unit.changes]
    return tuple(found)


def _tags(unit: Unit) -> tuple[str, ...]:
    kind = _CONVENTIONAL.match(unit.subject)
    words = [kind[1].lower(), (kind[2] or "").lower()] if kind else []
    words += ["release"] if unit.tags else []
    words += ["bot"] if is_bot(unit) else ["maintenance"] if is_bulk(unit) or is_forward_port(unit) else []
    return tuple(dict.fromkeys(word for word in words if word))


def _importance(unit: Unit) -> float:
    """Rate a unit of history.

    Explained work by people matters most, bots and calendar commits least.
    """
    if unit.tags:
        return 0.6
    if not is_work(unit):
        return 0.1 if is_bot(unit) or is_bulk(unit) or is_forward_port(unit) else 0.3
    return 0.4 + 0.1 * bool(reason_in(unit.body)) + 0.1 * (len(unit.changes) > 2)


def _repeats(sentence: str, title: str) -> bool:
    return plain_title(sentence).casefold().rstrip(". ") in title.casefold()
