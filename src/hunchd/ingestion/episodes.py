"""Units of history → episodes: what was done, why and where, at four lengths, taken from the text itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b

from hunchd.domain.history import Change, Unit, likely
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.work import is_bot, is_bulk, is_forward_port, is_work, plain_title
from hunchd.ingestion.redaction import redact

MAX_FILES = 200  # listed in the full text; mass changes name their folders instead
MAX_ARTIFACTS = 60  # files an episode is about: of more, none is what it was about
MAX_TITLE = 120  # characters
MAX_WHY = 240
MAX_INDEX = 60

_PULL_REQUEST = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)|\(!(\d+)\)\s*$")
_CONVENTIONAL = re.compile(
    r"^(feat|fix|docs?|perf|refactor|tests?|build|ci|chore|style|revert)(?:\(([^)]+)\))?!?:\s*", re.I
)
_TRAILER = re.compile(
    r"^[A-Z][\w-]+(?:-by|-on|-id|-to)?: \S|^(?:Co-authored-by|Signed-off-by|Change-Id|PiperOrigin)", re.I
)
_NOISE = re.compile(
    r"^(?:\s*$|[-=*_~]{3,}|#+ |<!--|See merge request|Conflicts?:|https?://\S+$|git-svn-id|\W*#\d+\W*$|"
    r"\(?(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?|see|cc|ref)\W+(?:[\w./-]*#\d+|https?://\S+)\W*$)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|to (?:avoid|allow|make|prevent|support|fix|ensure)|otherwise|previously|"
    r"instead of|this (?:fixes|allows|avoids|makes|prevents|removes|adds))\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?:^|/)(?:tests?|docs?|changes?|changelog|news)\b|\.(?:md|rst|txt)$", re.IGNORECASE)
_VAGUE = re.compile(
    r"(?:^|/)(?:__init__\.py|index\.[jt]sx?|(?:mod|lib|main)\.rs|main\.(?:py|go)|README\.md|package\.json)$"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


def episode_id(project: str, sha: str) -> str:
    """The same id whoever meets the commit first: the backfill, a hook or a prediction."""
    return "m" + blake2b(f"{project}:commit:{sha}".encode(), digest_size=10).hexdigest()


def episode(unit: Unit, project: str, *, now: datetime) -> Memory:
    """What `unit` left behind; `now` is when it is stored. Its text is a stranger's until somebody vouches for it."""
    unit = replace(unit, subject=redact(unit.subject).text, body=redact(unit.body).text)
    at = datetime.fromtimestamp(likely(unit.at), UTC)
    title = _cut(plain_title(unit.subject) or unit.subject or unit.sha[:10], MAX_TITLE)
    why, where = reason_in(unit.body), places_of(unit.changes)
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
            summary=". ".join(part.rstrip(". ") for part in (title, why, where and f"In {where}") if part),
            compressed=_cut(f"{at:%Y-%m} {title}" + (f" ({_names(unit.changes)})" if unit.changes else ""), 160),
            index=_cut(_CONVENTIONAL.sub("", title), MAX_INDEX),
        ),
        scope=Scope.PROJECT,
        importance=_importance(unit),
        tags=_tags(unit),
        artifacts=_artifacts(unit),
        trust=Trust.UNTRUSTED,
        source={"type": "commit", "sha": unit.sha, "author": unit.author}
        | ({"branch": unit.branch} if unit.branch else {}),
    )


def reason_in(body: str) -> str:
    """The sentences of a message that say why; failing that, how it begins. Trailers and references are left out."""
    paragraphs = [paragraph for block in re.split(r"\n\s*\n", body) if (paragraph := _prose(block))]
    sentences = [sentence for paragraph in paragraphs[:6] for sentence in _SENTENCE.split(paragraph)]
    telling = next((at for at, sentence in enumerate(sentences) if _REASON.search(sentence)), 0)
    found = ""
    for sentence in sentences[telling : telling + 3]:
        if found and len(found) + len(sentence) > MAX_WHY:
            break
        found = f"{found} {sentence}".strip()
    return _cut(found, MAX_WHY)


def places_of(changes: Sequence[Change]) -> str:
    """Where the change happened: its files when they are few, else the folders with most of them."""
    if len(changes) <= 4:
        return ", ".join(change.path for change in changes)
    folders = Counter(_folder(change.path) for change in changes)
    best = ", ".join(f"{folder} ({count})" for folder, count in folders.most_common(3))
    return f"{best}: {len(changes)} files"


def _full(unit: Unit) -> str:
    """The message word for word, and what changed."""
    lines = [f"{change.status} {_moved(change)}" for change in unit.changes[:MAX_FILES]]
    if len(unit.changes) > MAX_FILES:
        lines.append(f"and {len(unit.changes) - MAX_FILES} more files")
    parts = (unit.subject, unit.body.strip(), "\n".join(lines))
    return "\n\n".join(part for part in parts if part)


def _moved(change: Change) -> str:
    return f"{change.old_path} → {change.path}" if change.old_path else change.path


def _prose(block: str) -> str:
    """The running text of a paragraph, on one line; list items become sentences of their own."""
    lines: list[str] = []
    for line in block.splitlines():
        if _NOISE.match(line) or _TRAILER.match(line):
            continue
        item = re.match(r"\s*(?:[-*+]|\d+[.)])\s+(.*)", line)
        if item and lines and lines[-1][-1:] not in ".!?:":
            lines[-1] += "."
        lines.append(item[1] if item else line.strip())
    return " ".join(lines).strip()


def _names(changes: Sequence[Change]) -> str:
    """`app.py, json/provider.py +3`: files by their shortest telling names, sources before tests and papers."""
    paths = sorted((change.path for change in changes), key=lambda path: bool(_ASIDE.search(path)))
    names = [_telling(path) for path in paths[:2]]
    return ", ".join(names) + (f" +{len(paths) - 2}" if len(paths) > 2 else "")


def _telling(path: str) -> str:
    """The file's name; with its folder where every folder has one of that name."""
    return "/".join(path.split("/")[-2:]) if _VAGUE.search(path) else path.rpartition("/")[2]


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
    """What people did and explained matters most; what bots and calendars did hardly at all."""
    if unit.tags:
        return 0.6
    if not is_work(unit):
        return 0.1 if is_bot(unit) or is_bulk(unit) or is_forward_port(unit) else 0.3
    return 0.4 + 0.1 * bool(reason_in(unit.body)) + 0.1 * (len(unit.changes) > 2)


def _folder(path: str) -> str:
    """Two levels are enough to tell a part of the project."""
    return "/".join(path.split("/")[:-1][:3]) or "the root"


def _cut(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"
