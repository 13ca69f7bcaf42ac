"""JSON responses: context bundles, projects, errors, pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta, Struct, to_builtins

from hunchd.domain.context import Bundle, ContextItem, Level, MissingFile
from hunchd.domain.errors import HunchError
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Trust

ProgressCount = tuple[int, int]  # done, total
Count = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
TimeText = Annotated[str, Meta(description="ISO 8601, UTC")]
ListedT = TypeVar("ListedT")
ItemT = TypeVar("ItemT")


class Answer(Struct, frozen=True, kw_only=True):
    """Base class for responses that hunchd also decodes.

    A field that is always written is marked as required in the schema, even if it has a default for decoding.
    """


def to_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def format_iso(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC, with a final Z."""
    return to_utc(moment).isoformat().replace("+00:00", "Z")


class ItemAnswer(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    title: Annotated[str, Meta(description="first line of the item; text by others is quoted in «»")]
    tier: Annotated[int, Meta(ge=1, le=4)]
    level: Level
    tokens: Count
    score: float
    reasons: list[str]
    source: JsonObject
    trust: Trust


class TiersAnswer(Struct, frozen=True, kw_only=True):
    """Number of tokens in each tier of a context bundle."""

    tier1: Count
    tier2: Count
    tier3: Count
    tier4: Count


class BundleAnswer(Struct, frozen=True, kw_only=True):
    """Context bundle: the context for a focus, within a token budget."""

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
    """Files that a change probably lacks, and the files it changes."""

    missing: list[MissingAnswer]
    changed: list[str]
    degraded: list[str] = []


class OpenFileAnswer(Struct, frozen=True, kw_only=True):
    path: str
    at: str


class OpenedFileAnswer(Struct, frozen=True, kw_only=True):
    path: str
    at: str
    rank: Annotated[
        Count | None,
        Meta(description="rank predicted just before, where 1 is the first; null: the file was not predicted"),
    ]
    probability: Fraction | None


class FocusAnswer(Struct, frozen=True, kw_only=True):
    """Open files, and the most recently opened files with their predictions.

    Both of these lists start with the newest file.
    """

    branch: str
    open_files: list[OpenFileAnswer]
    opened: list[OpenedFileAnswer]
    ready_files: Annotated[list[str], Meta(description="files whose bundle is ready, the newest bundle first")]


class FileAnswer(Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="relative to the project")]
    exists: Annotated[bool, Meta(description="on disk, or in the last commit")]
    similar: Annotated[list[str], Meta(description="if it does not exist: files with a similar name, nearest first")]


class PageCodeAnswer(Struct, frozen=True, kw_only=True):
    code: Annotated[str, Meta(description="single-use")]
    path: Annotated[str, Meta(description="path of the page")]
    seconds: float


class PageSessionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    read_only: bool
    version: str
    key: Annotated[str, Meta(description="for the header X-Hunchd-Page; only when the session is opened")] = ""


class PageClosedAnswer(Struct, frozen=True, kw_only=True):
    closed: bool


class StageAnswer(Struct, frozen=True, kw_only=True):
    done: Count
    total: Count


class ProgressAnswer(Struct, frozen=True, kw_only=True):
    commits: StageAnswer
    files: StageAnswer
    embeddings: StageAnswer
    patterns: StageAnswer


class ProjectPatternsAnswer(Struct, frozen=True, kw_only=True):
    known: Count
    state: Literal["mining", "ready"]


class ReadingAnswer(Struct, frozen=True, kw_only=True):
    """Current step of indexing, and the time since its last progress."""

    step: str
    silent_seconds: Count


ProjectState = Literal["indexing", "ready", "missing"]


class ProjectAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Registered project."""

    id: str
    path: str
    name: str
    branch: str
    state: ProjectState
    progress: ProgressAnswer
    worktrees: list[str]
    patterns: ProjectPatternsAnswer
    reading: ReadingAnswer | None = None
    index_error: str | None = None
    paused: Annotated[
        bool, Meta(description="true: the project is neither watched nor indexed, and its signals are rejected")
    ] = False


class RemovedAnswer(Struct, frozen=True, kw_only=True):
    removed: Annotated[str, Meta(description="the id of the project")]


class ForgottenAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    forgotten: Annotated[str, Meta(description="id of the memory, or path of the document")]
    still_said_by: Annotated[
        str | None, Meta(description="member of the team whose statement it is; it is hidden on this machine only")
    ] = None
    own_erased: Annotated[bool, Meta(description="your own earlier statement is erased for all members")] = False


class ForgottenManyAnswer(Struct, frozen=True, kw_only=True):
    items: Annotated[list[ForgottenAnswer], Meta(description="those of the memories that existed")]


class HealthAnswer(Struct, frozen=True, kw_only=True):
    status: str
    protocol: Count
    version: str


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


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    accepted: Count
    rejected: list[Rejection]


class PageAnswer(Struct, Generic[ItemT], frozen=True, kw_only=True):
    """One page of a list.

    `next` is the cursor for the next page; it is null on the last page.
    """

    items: list[ItemT]
    next: str | None
    total: Count


def bundle_answer(bundle: Bundle) -> BundleAnswer:
    return BundleAnswer(
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


def review_answer(missing: Sequence[MissingFile], changed_paths: Sequence[str]) -> ReviewAnswer:
    """Build the response that lists the files a change lacks."""
    return ReviewAnswer(
        missing=[
            MissingAnswer(path=one.path, probability=round(one.probability, 4), reasons=list(one.reasons))
            for one in missing
        ],
        changed=list(changed_paths),
    )


def slice_page(
    entries: Sequence[ListedT], convert: Callable[[ListedT], ItemT], *, offset: int, limit: int
) -> PageAnswer[ItemT]:
    """Return one page of a complete list, with an offset as the cursor.

    `convert` is applied to the entries of that page.
    """
    end = min(offset + limit, len(entries))
    next_cursor = str(end) if end < len(entries) else None
    return PageAnswer(items=list(map(convert, entries[offset:end])), next=next_cursor, total=len(entries))


def error_answer(error: HunchError) -> ErrorEnvelope:
    """Build the response {"error": {"code", "message", "field"?, "hint"?}}."""
    return ErrorEnvelope(error=_error_of(error))


def make_rejection(index: int, error: HunchError) -> Rejection:
    """Return the response entry for a rejected entry of a batch.

    It consists of the index of the rejected entry, and the error.
    """
    return Rejection(index=index, error=_error_of(error))


def sort_rejections(*batches: Sequence[Rejection]) -> list[Rejection]:
    """Merge lists of rejected entries, sorted by index."""
    return sorted((one for batch in batches for one in batch), key=lambda one: one.index)


def _error_of(error: HunchError) -> ErrorAnswer:
    return ErrorAnswer(code=error.code, message=error.message, field=error.field, hint=error.hint)


def to_json(answer: Any) -> Any:
    """Convert Structs, including nested ones, to plain JSON values."""
    return to_builtins(answer, enc_hook=to_plain_value)


def to_plain_value(value: object) -> object:
    """Convert a value of a subclass, such as numpy's float, to a plain type.

    msgspec rejects such subclasses. Raises NotImplementedError for a value of any other type.
    """
    for plain in (float, str, int):
        if isinstance(value, plain):
            return plain(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be encoded as JSON")
