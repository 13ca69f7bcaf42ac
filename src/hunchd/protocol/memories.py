"""Memories on the wire: drafts, patches, and the full shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import CATEGORIES, LEAST_CONFIDENCE, LEAST_IMPORTANCE
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust, Usage
from hunchd.protocol.answers import iso
from hunchd.protocol.fields import LIST_LIMIT, TEXT_LIMIT, Fields, Known, batch_of, each_good
from hunchd.protocol.paths import PATH_LIMIT
from hunchd.protocol.requests import KINDS, SCOPES, STATUSES

DRAFTS_LIMIT: Final = 1000  # memories a request
TITLE_LIMIT: Final = 120  # characters of a title made from the content
# Exports may hold longer texts than clients may send.
STORED_LIMIT: Final = 1024 * 1024  # bytes of UTF-8
TRUSTS: Final = tuple(trust.value for trust in Trust)
# Kinds that clients may add; contradictions are only detected. A category stands for a fact, as in bundles.
DRAFT_KINDS: Final = (*(kind for kind in KINDS if kind != Kind.CONTRADICTION), *CATEGORIES)
_COUNTED: Final = ("retrieved", "cited", "ignored", "wrong", "missed")
ARTIFACT_TYPES: Final = ("commit", "pr", "adr", "file", "tag", "url")

DRAFT_FIELDS: Final = (
    "kind", "content", "title", "project", "ref", "levels", "category", "key", "value", "scope", "branch", "confidence",
    "importance", "tags", "at", "valid_from", "valid_to", "supersedes", "links", "artifacts", "trust", "source",
)  # fmt: skip
PATCH_FIELDS: Final = (
    "title", "content", "levels", "category", "key", "value", "scope", "branch", "confidence", "importance", "tags",
    "valid_from", "valid_to", "links", "artifacts", "trust", "status",
)  # fmt: skip
MEMORY_FIELDS: Final = (
    *DRAFT_FIELDS, "id", "superseded_by", "usage", "status", "created", "updated",
)  # fmt: skip
# `valid_from` can be changed but not cleared: every memory is valid from some time on.
CLEARABLE: Final = ("category", "key", "value", "branch", "valid_to")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """Memory before it has an id.

    `project` is a project's path or id; None for the user's own.
    """

    kind: Kind
    title: str
    content: str
    project: str | None = None
    ref: str | None = None
    levels: Levels = field(default_factory=Levels)
    category: str | None = None
    key: str | None = None
    value: str | None = None
    scope: Scope = Scope.PROJECT
    branch: str | None = None
    confidence: float = 1.0
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    at: datetime | None = None  # None: now
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: str | None = None
    links: tuple[Mapping[str, str], ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    trust: Trust = Trust.USER
    source: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = field(default=None, compare=False)  # index in its batch

    def called(self, name: str) -> str:
        """Return the full name of a field in the client's request."""
        return f"{_where(self.number)}{name}"


def drafts_of_body(raw: Any, known: Known | None = None) -> tuple[list[MemoryDraft], list[dict[str, Any]]]:
    """Parse one memory or {"memories": […]}.

    Returns valid drafts and rejected entries with their index. If none is valid, raises InvalidInput, or NotFound
    for a project that is not `known`.
    """
    if not isinstance(raw, dict) or "memories" not in raw:
        return [memory_draft(raw, known=known)], []
    entries = batch_of(raw, "memories", most=DRAFTS_LIMIT)
    return each_good(entries, lambda entry, index: memory_draft(entry, number=index, known=known))


def memory_draft(raw: Any, *, number: int | None = None, known: Known | None = None) -> MemoryDraft:
    """Parse a draft.

    `kind` and `content` are required, a fact may have `key` and `value` instead. `number` is its index in a batch.
    """
    fields = Fields(raw, DRAFT_FIELDS, where=_where(number))
    called = fields.choice("kind", DRAFT_KINDS)
    kind = Kind.FACT if called in CATEGORIES else Kind(called)
    project = fields.project(known)
    key, value = fields.text("key") or None, fields.text("value", limit=TEXT_LIMIT) or None
    content = _content(fields, key, value)
    return MemoryDraft(
        kind=kind,
        title=fields.text("title") or title_of(content),
        content=content,
        project=project,
        ref=fields.text("ref") or None,
        levels=_levels(fields),
        category=fields.text("category") or (called if called in CATEGORIES else None),
        key=key,
        value=value,
        scope=Scope(fields.choice("scope", SCOPES, Scope.PROJECT if project else Scope.USER)),
        branch=fields.text("branch") or None,
        confidence=_worth_keeping(fields, kind, "confidence", 1.0, LEAST_CONFIDENCE),
        importance=_worth_keeping(fields, kind, "importance", 0.5, LEAST_IMPORTANCE),
        tags=fields.texts("tags"),
        at=fields.time("at"),
        valid_from=fields.time("valid_from"),
        valid_to=_valid_to(fields),
        supersedes=fields.text("supersedes") or None,
        links=_links(fields),
        artifacts=_artifacts(fields),
        trust=Trust(fields.choice("trust", TRUSTS, Trust.USER)),
        source=fields.mapping("source"),
        number=number,
    )


def memory_patch(raw: Any) -> dict[str, Any]:
    """Parse the fields to change, in domain types, ready for `dataclasses.replace`.

    null clears a field that may be empty.
    """
    fields = Fields(raw, PATCH_FIELDS)
    fixed = [name for name in raw if name in MEMORY_FIELDS and name not in PATCH_FIELDS]
    if fixed:
        raise fields.refused(fixed[0], f"cannot be changed; can be: {', '.join(PATCH_FIELDS)}")
    cleared = [name for name in PATCH_FIELDS if name in raw and raw[name] is None]
    for name in cleared:
        if name not in CLEARABLE:
            raise fields.refused(
                name, f"cannot be cleared; can be: {', '.join(CLEARABLE)}", hint="leave it out to keep it"
            )
    patch: dict[str, Any] = {name: _patched(fields, name) for name in PATCH_FIELDS if fields.has(name)}
    patch |= dict.fromkeys(cleared)
    if not patch:
        raise InvalidInput(f"nothing to change; can be: {', '.join(PATCH_FIELDS)}")
    return patch


def memory_json(memory: Memory) -> dict[str, Any]:
    """Convert a memory to the contract's shape; empty optional fields are omitted."""
    optional: dict[str, Any] = {
        "ref": memory.ref,
        "levels": _levels_json(memory.levels),
        "category": memory.category,
        "key": memory.key,
        "value": memory.value,
        "project": memory.project,
        "branch": memory.branch,
        "valid_from": memory.valid_from and iso(memory.valid_from),
        "valid_to": memory.valid_to and iso(memory.valid_to),
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
    }
    return {
        "id": memory.id,
        "kind": str(memory.kind),
        "title": memory.title,
        "content": memory.content,
        **{name: value for name, value in optional.items() if value is not None},
        "scope": str(memory.scope),
        "confidence": memory.confidence,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "at": iso(memory.at),
        "created": iso(memory.created),
        "updated": iso(memory.updated),
        "links": [dict(link) for link in memory.links],
        "artifacts": [{"type": artifact.type, "ref": artifact.ref} for artifact in memory.artifacts],
        "trust": str(memory.trust),
        "source": dict(memory.source),
        "usage": _usage_json(memory.usage),
        "status": str(memory.status),
    }


def memory_from_json(raw: Any) -> Memory:
    """Parse the output of `memory_json` into an equal memory."""
    fields = Fields(raw, MEMORY_FIELDS)
    at = fields.time("at")
    if at is None:
        raise fields.refused("at", "is missing")
    return Memory(
        id=fields.required_text("id"),
        kind=Kind(fields.choice("kind", KINDS)),
        title=fields.text("title", limit=TEXT_LIMIT) or "",
        content=fields.text("content", limit=STORED_LIMIT) or "",
        at=at,
        created=fields.time("created") or at,
        updated=fields.time("updated") or at,
        project=fields.text("project", limit=PATH_LIMIT),
        ref=fields.text("ref"),
        levels=_levels(fields, limit=STORED_LIMIT),
        category=fields.text("category"),
        key=fields.text("key", limit=TEXT_LIMIT),
        value=fields.text("value", limit=STORED_LIMIT),
        scope=Scope(fields.choice("scope", SCOPES, Scope.PROJECT)),
        branch=fields.text("branch"),
        confidence=fields.fraction("confidence", 1.0),
        importance=fields.fraction("importance", 0.5),
        tags=fields.texts("tags", most=10_000),
        valid_from=fields.time("valid_from"),
        valid_to=fields.time("valid_to"),
        supersedes=fields.text("supersedes"),
        superseded_by=fields.text("superseded_by"),
        links=_links(fields, most=10_000),
        artifacts=_artifacts(fields, most=10_000),
        trust=Trust(fields.choice("trust", TRUSTS, Trust.USER)),
        source=fields.mapping("source", limit=STORED_LIMIT),
        usage=_usage(fields),
        status=Status(fields.choice("status", STATUSES, Status.ACTIVE)),
    )


def title_of(content: str) -> str:
    """Return the first line that is not blank, shortened."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 1].rstrip() + "…"


def _where(number: int | None) -> str:
    return "" if number is None else f"memories[{number}]."


def _content(fields: Fields, key: str | None, value: str | None) -> str:
    content = fields.text("content", limit=TEXT_LIMIT)
    if content and content.strip():
        return content
    if key and value:
        return f"{key}: {value}"
    raise fields.refused("content", "is missing or empty; give a text (a fact may have 'key' and 'value' instead)")


def _patched(fields: Fields, name: str) -> Any:
    match name:
        case "title":
            return fields.required_text(name)
        case "content":
            return fields.required_text(name, limit=TEXT_LIMIT)
        case "levels":
            return _levels(fields)
        case "value":
            return fields.text(name, limit=TEXT_LIMIT)
        case "scope":
            return Scope(fields.choice(name, SCOPES))
        case "confidence" | "importance":
            return fields.fraction(name, 0.0)
        case "tags":
            return fields.texts(name)
        case "valid_from" | "valid_to":
            return fields.time(name)
        case "links":
            return _links(fields)
        case "artifacts":
            return _artifacts(fields)
        case "trust":
            return Trust(fields.choice(name, TRUSTS))
        case "status":
            return Status(fields.choice(name, STATUSES))
        case _:
            return fields.text(name)


def _levels(fields: Fields, *, limit: int = TEXT_LIMIT) -> Levels:
    inner = Fields(fields.mapping("levels", limit=4 * limit), ("summary", "compressed", "index"), where="levels.")
    return Levels(*(inner.text(name, limit=limit) or "" for name in ("summary", "compressed", "index")))


def _levels_json(levels: Levels) -> dict[str, str] | None:
    if levels == Levels():
        return None
    return {"summary": levels.summary, "compressed": levels.compressed, "index": levels.index}


def _links(fields: Fields, *, most: int = LIST_LIMIT) -> tuple[Mapping[str, str], ...]:
    links = fields.objects("links", most=most)
    for link in links:
        if not isinstance(link, dict) or not all(isinstance(text, str) for text in link.values()) or "ref" not in link:
            raise fields.refused("links", 'must hold objects of texts, {"type": …, "ref": …}')
    return tuple(links)


def _artifacts(fields: Fields, *, most: int = LIST_LIMIT) -> tuple[Artifact, ...]:
    artifacts = []
    for index, raw in enumerate(fields.objects("artifacts", most=most)):
        inner = Fields(raw, ("type", "ref"), where=f"artifacts[{index}].")
        artifacts.append(Artifact(inner.choice("type", ARTIFACT_TYPES), inner.required_text("ref", limit=PATH_LIMIT)))
    return tuple(artifacts)


def _usage(fields: Fields) -> Usage:
    inner = Fields(fields.mapping("usage"), (*_COUNTED, "last"), where="usage.")
    counts = {name: inner.integer(name, 0, low=0, high=2**62) for name in _COUNTED}
    return Usage(**counts, last=inner.time("last"))


def _usage_json(usage: Usage) -> dict[str, Any]:
    told: dict[str, Any] = {name: getattr(usage, name) for name in _COUNTED[:3]}
    told |= {name: count for name in _COUNTED[3:] if (count := getattr(usage, name))}
    return told | ({"last": iso(usage.last)} if usage.last is not None else {})


def _worth_keeping(fields: Fields, kind: Kind, name: str, default: float, least: float) -> float:
    value = fields.fraction(name, default)
    if kind is Kind.FACT and value < least:
        raise fields.refused(name, f"of a fact must be at least {least:g}; facts below that are not stored")
    return value


def _valid_to(fields: Fields) -> datetime | None:
    begins, ends = fields.time("valid_from"), fields.time("valid_to")
    if begins and ends and ends < begins:
        raise fields.refused("valid_to", "lies before 'valid_from'")
    return ends
