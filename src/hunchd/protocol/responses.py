"""JSON shapes of responses: bundles, predictions, projects, errors, pages, export lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct, to_builtins

from hunchd.domain.context import Bundle, ContextItem, Level, MissingFile, Prediction
from hunchd.domain.errors import HunchError, InvalidInput
from hunchd.domain.memory import Trust

EXPORT_VERSION: Final = 1
EXPORT_TYPES: Final = (
    "memory", "message", "document", "signal", "contradiction", "feedback", "link", "project", "meta",
)  # fmt: skip
# Types of lines that hold a memory. Kinds that readers of an export look for have a type of their own.
MEMORY_TYPES: Final = ("memory", "message", "document", "contradiction")

MAX_LISTED_REJECTIONS: Final = 100  # per import; further ones are only counted

ProgressCount = tuple[int, int]  # done, total
Count = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
ListedT = TypeVar("ListedT")


def format_iso(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC, with Z."""
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat().replace("+00:00", "Z")


class ItemAnswer(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    title: Annotated[str, Meta(description="its first line; text by others is quoted in «»")]
    tier: Annotated[int, Meta(ge=1, le=4)]
    level: Level
    tokens: Count
    score: float
    reasons: list[str]
    source: Mapping[str, Any]
    trust: Trust


class TiersAnswer(Struct, frozen=True, kw_only=True):
    """Tokens by tier."""

    tier1: Count
    tier2: Count
    tier3: Count
    tier4: Count


class BundleAnswer(Struct, frozen=True, kw_only=True):
    """Context within a budget."""

    status: Literal["ok", "empty", "degraded"]
    degraded: list[str]
    context: Annotated[str, Meta(description="Markdown")]
    token_count: Count
    budget: Count
    tiers: TiersAnswer
    items: list[ItemAnswer]
    prefetched: bool
    etag: str


class MissingAnswer(Struct, frozen=True, kw_only=True):
    path: str
    probability: Fraction
    reasons: list[str]


class ReviewAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Files that a change lacks."""

    missing: list[MissingAnswer]
    changed: list[str]
    degraded: list[str] = []


class StageAnswer(Struct, frozen=True, kw_only=True):
    done: Count
    total: Count


class ProgressAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    commits: StageAnswer
    files: StageAnswer
    embeddings: StageAnswer
    patterns: StageAnswer | None = None


class ProjectAnswer(Struct, frozen=True, kw_only=True):
    """Registered project."""

    id: str
    path: str
    name: str
    branch: str
    state: Literal["indexing", "ready", "missing"]
    progress: ProgressAnswer


class ErrorAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    message: str
    field: str | None = None
    hint: str | None = None


class ErrorEnvelope(Struct, frozen=True, kw_only=True):
    error: ErrorAnswer


class Rejection(Struct, frozen=True, kw_only=True):
    """Rejected entry of a batch."""

    index: Count
    error: ErrorAnswer


def bundle_to_json(bundle: Bundle) -> dict[str, Any]:
    return _plain(
        BundleAnswer(
            status=bundle.status,
            degraded=list(bundle.degraded),
            context=bundle.context,
            token_count=bundle.token_count,
            budget=bundle.budget,
            tiers=TiersAnswer(**{f"tier{tier}": bundle.tiers.get(tier, 0) for tier in (1, 2, 3, 4)}),
            items=[_item_of(item) for item in bundle.items],
            prefetched=bundle.prefetched,
            etag=bundle.etag,
        )
    )


def _item_of(item: ContextItem) -> ItemAnswer:
    return ItemAnswer(
        id=item.id,
        kind=item.kind,
        title=item.title,
        tier=item.tier,
        level=item.level,
        tokens=item.tokens,
        score=round(item.score, 4),
        reasons=list(item.reasons),
        source=dict(item.source),
        trust=item.trust,
    )


def review_json(missing: Sequence[MissingFile], changed_paths: Sequence[str]) -> dict[str, Any]:
    """Convert what a change lacks to JSON."""
    return _plain(
        ReviewAnswer(
            missing=[
                MissingAnswer(path=one.path, probability=round(one.probability, 4), reasons=list(one.reasons))
                for one in missing
            ],
            changed=list(changed_paths),
        )
    )


def prediction_to_json(
    prediction: Prediction,
    *,
    k: int,
    episode_id: Callable[[str], str] = str,
    memories: Sequence[Mapping[str, Any]] = (),
    commands: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Convert the best `k` files, memories and commands to JSON.

    `episode_id` maps a commit to the id of the memory that stores it; `memories` are additional ones,
    {"id", "kind", "title", "confidence", "reasons"}. A memory that occurs twice is listed once.
    """
    units: list[Mapping[str, Any]] = [
        {
            "id": episode_id(unit.sha),
            "kind": "episode",
            "title": unit.subject,
            "confidence": round(unit.confidence, 4),
            "reasons": list(unit.reasons),
        }
        for unit in prediction.units
    ]
    ranked_memories = sorted([*units, *memories], key=lambda memory: -memory["confidence"])
    ranked_memories = list({memory["id"]: memory for memory in reversed(ranked_memories)}.values())[::-1]
    return {
        "predicted_files": [
            {
                "path": file.path,
                "score": round(file.score, 4),
                "confidence": round(file.confidence, 4),
                "reasons": list(file.reasons),
            }
            for file in prediction.files[:k]
        ],
        "predicted_memories": [dict(memory) for memory in ranked_memories[:k]],
        "predicted_commands": [dict(command) for command in commands[:k]],
        "confidence": round(prediction.confidence, 4),
    }


def project_to_json(
    *,
    id: str,
    path: str,
    name: str,
    branch: str,
    state: Literal["indexing", "ready", "missing"],
    commits: ProgressCount = (0, 0),
    files: ProgressCount = (0, 0),
    embeddings: ProgressCount = (0, 0),
) -> dict[str, Any]:
    stages = {"commits": commits, "files": files, "embeddings": embeddings}
    progress = {stage: StageAnswer(done=done_count, total=total) for stage, (done_count, total) in stages.items()}
    return _plain(
        ProjectAnswer(id=id, path=path, name=name, branch=branch, state=state, progress=ProgressAnswer(**progress))
    )


def page_to_json(items: Iterable[Mapping[str, Any]], *, next_cursor: str | None, total: int) -> dict[str, Any]:
    return {"items": list(items), "next": next_cursor, "total": total}


def slice_to_json(
    entries: Sequence[ListedT], to_json: Callable[[ListedT], Mapping[str, Any]], *, offset: int, limit: int
) -> dict[str, Any]:
    """Return one page of a complete list; its cursor is an offset."""
    end = min(offset + limit, len(entries))
    next_cursor = str(end) if end < len(entries) else None
    return page_to_json(map(to_json, entries[offset:end]), next_cursor=next_cursor, total=len(entries))


def error_to_json(error: HunchError) -> dict[str, Any]:
    """Convert an error to {"error": {"code", "message", "field"?, "hint"?}}."""
    return _plain(ErrorEnvelope(error=_error_of(error)))


def rejection_to_json(index: int, error: HunchError) -> dict[str, Any]:
    """Convert a rejected batch entry to JSON: its index and the usual error shape."""
    return _plain(Rejection(index=index, error=_error_of(error)))


def _error_of(error: HunchError) -> ErrorAnswer:
    return ErrorAnswer(code=error.code, message=error.message, field=error.field, hint=error.hint)


def _plain(answer: Struct) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(answer, enc_hook=_to_plain_number)
    return plain


def _to_plain_number(value: object) -> float:
    """Return a float in place of a subclass such as numpy's, which rankers return and msgspec refuses."""
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def build_export_line(type_: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": type_, "version": EXPORT_VERSION, "data": payload}


def build_memory_line(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Build the export line of a memory from the result of `memory_json`."""
    return build_export_line(memory["kind"] if memory["kind"] in MEMORY_TYPES else "memory", memory)


def parse_export_line(raw: Any) -> tuple[str, dict[str, Any]]:
    """Return the type and the data of one export line.

    Raises InvalidInput for another version or an unknown type.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("data"), dict):
        raise InvalidInput('an export line is {"type":…,"version":1,"data":{…}}', field="data")
    if isinstance(raw.get("version"), int) and raw["version"] > EXPORT_VERSION:
        raise InvalidInput(
            f"written by a newer hunchd: its format is {ascii(raw['version'])[:20]}, this one reads {EXPORT_VERSION}",
            field="version",
        )
    if raw.get("version") != EXPORT_VERSION:
        raise InvalidInput(
            f"unsupported export version {ascii(raw.get('version'))[:40]}; expected {EXPORT_VERSION}", field="version"
        )
    if raw.get("type") not in EXPORT_TYPES:
        raise InvalidInput(
            f"unknown type {ascii(raw.get('type'))[:40]}; allowed: {', '.join(EXPORT_TYPES)}", field="type"
        )
    return raw["type"], raw["data"]
