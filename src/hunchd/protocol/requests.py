"""HTTP requests as frozen values, with strict parsers of bodies and query strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal, cast, get_args

from msgspec import Meta

from hunchd.domain.context import Activity, Level
from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import CATEGORIES
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Scope, Status
from hunchd.protocol.fields import TEXT_LIMIT, Fields, Known, batch_of, each_good, shortened
from hunchd.protocol.messages import SIGNALS_LIMIT
from hunchd.protocol.paths import PATH_LIMIT
from hunchd.protocol.struct_decoding import (
    LongText,
    Name,
    Names,
    PathText,
    ProjectRef,
    Request,
    RequiredName,
    decode,
)

DEFAULT_BUDGET: Final = 8000  # tokens
LARGEST_BUDGET: Final = 200_000  # tokens; the largest common model window
OPEN_FILES_LIMIT: Final = 100
ERRORS_LIMIT: Final = 20
NOTE_LIMIT: Final = 4096  # bytes
QUERY_LIMIT: Final = TEXT_LIMIT  # bytes; a long one is read as the report of a problem
FEEDBACK_LIMIT: Final = 1000  # items a request
PAGE: Final = 50  # items when no limit is asked for
LARGEST_PAGE: Final = 1000
NEAR: Final = 3  # similar memories returned for one
MOST_NEAR: Final = 20

Format = Literal["json", "markdown"]
Depth = Literal["shallow", "deep", "specific"]
Outcome = Literal["cited", "ignored", "wrong", "missed"]
ResolutionOutcome = Literal["a_wins", "b_wins", "both_valid", "merged"]

Note = Annotated[str, Meta(max_length=NOTE_LIMIT)]

ACTIVITIES: Final[tuple[str, ...]] = get_args(Activity)
LEVELS: Final[tuple[str, ...]] = get_args(Level)
DEPTHS: Final[tuple[str, ...]] = get_args(Depth)
OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)
FORMATS: Final[tuple[str, ...]] = get_args(Format)
KINDS: Final = tuple(kind.value for kind in Kind)
KINDS_CALLED: Final = (*KINDS, *CATEGORIES)  # names that clients may use
CODE: Final = "code"  # a kind of result that is no memory
KINDS_FOUND: Final = (*KINDS_CALLED, CODE)
ROLES: Final = ("source", "test", "docs", "example", "generated", "vendored", "config", "changelog")  # of files
RESOLUTIONS: Final[tuple[str, ...]] = get_args(ResolutionOutcome)
SCOPES: Final = tuple(scope.value for scope in Scope)
STATUSES: Final = tuple(status.value for status in Status)

CONTEXT_FIELDS: Final = ("project", "file", "budget", "activity", "branch", "query", "format")
ASSEMBLE_FIELDS: Final = ("project", "budget", "signals")
ASSEMBLE_SIGNALS: Final = ("current_file", "open_files", "recent_errors", "branch", "activity", "query")
REVIEW_FIELDS: Final = ("project", "base")
PREDICT_FIELDS: Final = ("project", "file_opened", "open_files", "query", "branch", "error", "k")
SEARCH_FIELDS: Final = (
    "project", "query", "depth", "kinds", "path_prefix", "roles", "languages", "tags", "session", "as_of", "k",
)  # fmt: skip
FEEDBACK_FIELDS: Final = ("id", "outcome", "note", "project")
MEMORIES_FIELDS: Final = (
    "project", "kind", "scope", "status", "branch", "tag", "category", "key", "path_prefix", "since", "until", "as_of",
    "limit", "cursor", "kinds", "tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Request for a bundle.

    `project` is the path or the id of a project. Paths are as the client sent them (see `relative_path`);
    `file_called` and
    `open_files_called` are the client's names of those fields.
    """

    project: str
    file: str | None = None
    open_files: tuple[str, ...] = ()
    budget: int = DEFAULT_BUDGET  # tokens
    activity: Activity = ""
    branch: str = ""
    query: str = ""
    errors: tuple[str, ...] = ()  # texts, newest first
    changed: tuple[str, ...] = ()  # files of the uncommitted change, if no file is asked about
    told: frozenset[tuple[str, str]] = frozenset()  # ids and titles of items the reader already has
    file_called: str = field(default="file", compare=False)
    open_files_called: str = field(default="open_files", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest:
    project: str
    file_opened: str | None = None
    open_files: tuple[str, ...] = ()
    query: str = ""
    branch: str = ""
    error: str = ""
    k: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest:
    """`base`: a revision; what was committed since then is part of the change."""

    project: str
    base: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    query: str
    project: str | None = None  # None: the user's own memories
    depth: Depth = "shallow"
    kinds: tuple[Kind, ...] = ()
    category: str | None = None  # of facts
    path_prefix: str | None = None
    roles: tuple[str, ...] = ()  # of files
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session: str | None = None
    as_of: datetime | None = None
    k: int = 10
    code: bool = True  # whether code is searched
    memories: bool = True  # whether memories are


class ExpandRequest(Request, frozen=True, kw_only=True):
    """Request for a full text by exactly one of `id` and `topic`."""

    schema_keywords = {"oneOf": [{"required": ["id"]}, {"required": ["topic"]}]}  # noqa: RUF012 - a ClassVar

    id: Name | None = None
    topic: Annotated[Name | None, Meta(description="as named in a bundle")] = None
    level: Level = "full"
    project: Annotated[
        ProjectRef | None, Meta(description="if omitted, the project that was last asked about and knows it")
    ] = None

    def check(self, fields: Fields) -> None:
        if (self.id is None) == (self.topic is None):
            raise fields.refused("id", "or 'topic' is needed, one of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackItem:
    """Feedback on one shown item.

    Without a project, a predicted file (`file:path`) belongs to the project that was asked about last and knows it.
    """

    id: str
    outcome: Outcome
    note: str = ""
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRequest:
    """Request for the value of a fact's key in exactly one scope.

    `branch` None: the branch that is checked out, and facts that hold everywhere.
    """

    key: str
    project: str | None = None
    category: str | None = None  # None: any
    scope: Scope | None = None  # None: project-shared in a project, user-private without one
    branch: str | None = None
    as_of: datetime | None = None


class OpposeRequest(Request, frozen=True, kw_only=True):
    """Report that two memories contradict each other."""

    a: Annotated[RequiredName, Meta(description="id of a memory")]
    b: Annotated[RequiredName, Meta(description="id of another one of the same project")]
    note: Annotated[Note, Meta(description="why")] = ""


class Resolution(Request, frozen=True, kw_only=True):
    """Resolution of a contradiction."""

    resolution: ResolutionOutcome
    note: Note = ""
    value: Annotated[LongText, Meta(description="the merged value")] = ""


class ShareRequest(Request, frozen=True, kw_only=True):
    """Request to share memories of a project."""

    project: ProjectRef
    names: Annotated[Names, Meta(description="ids of memories or keys of facts; if omitted, all shareable ones")] = ()
    by: Annotated[Name, Meta(description="name of the person who shares it")] = ""


class NewProject(Request, frozen=True, kw_only=True):
    """Request to register a project."""

    path: Annotated[PathText, Meta(min_length=1, description="of the working tree, or of a folder in it")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Slice of a list."""

    limit: int = LARGEST_PAGE
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictsRequest:
    status: str = "open"  # open, resolved or all
    project: str | None = None  # None: everywhere
    part: Part = Part()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesRequest:
    """Request for a list of memories.

    `filters.project` is the path or the id of a project, as sent.
    """

    filters: Filters = field(default_factory=Filters)
    limit: int = PAGE
    cursor: str | None = None


def context_of_query(query: str) -> tuple[ContextRequest, Format]:
    """Parse the query of GET /context."""
    fields = Fields.of_query(query, CONTEXT_FIELDS)
    request = ContextRequest(
        project=fields.required_text("project", limit=PATH_LIMIT),
        file=fields.text("file", limit=PATH_LIMIT),
        budget=_budget(fields),
        activity=_activity(fields),
        branch=fields.text("branch") or "",
        query=fields.text("query", limit=QUERY_LIMIT) or "",
    )
    return request, cast(Format, fields.choice("format", FORMATS, "json"))


def context_of_body(raw: Any) -> ContextRequest:
    """Parse the body of POST /context/assemble."""
    fields = Fields(raw, ASSEMBLE_FIELDS)
    signals = Fields(fields.mapping("signals", limit=ERRORS_LIMIT * TEXT_LIMIT), ASSEMBLE_SIGNALS, where="signals.")
    return ContextRequest(
        project=fields.required_text("project", limit=PATH_LIMIT),
        file=signals.text("current_file", limit=PATH_LIMIT) or None,
        open_files=signals.texts("open_files", limit=PATH_LIMIT, most=OPEN_FILES_LIMIT),
        budget=_budget(fields),
        activity=_activity(signals),
        branch=signals.text("branch") or "",
        query=signals.text("query", limit=QUERY_LIMIT) or "",
        errors=tuple(_error_text(signals, error) for error in signals.objects("recent_errors", most=ERRORS_LIMIT)),
        file_called="signals.current_file",
        open_files_called="signals.open_files",
    )


def predict_of_body(raw: Any) -> PredictRequest:
    fields = Fields(raw, PREDICT_FIELDS)
    return PredictRequest(
        project=fields.required_text("project", limit=PATH_LIMIT),
        file_opened=fields.text("file_opened", limit=PATH_LIMIT) or None,
        open_files=fields.texts("open_files", limit=PATH_LIMIT, most=OPEN_FILES_LIMIT),
        query=fields.text("query", limit=QUERY_LIMIT) or "",
        branch=fields.text("branch") or "",
        error=fields.shortened_text("error") or "",
        k=fields.integer("k", 10, low=1, high=100),
    )


def review_of_body(raw: Any) -> ReviewRequest:
    fields = Fields(raw, REVIEW_FIELDS)
    base = fields.text("base") or ""
    if base.startswith("-"):
        raise InvalidInput("'base' must be a revision, such as main or HEAD~3", field="base")
    return ReviewRequest(project=fields.required_text("project", limit=PATH_LIMIT), base=base)


def search_of_body(raw: Any) -> SearchRequest:
    fields = Fields(raw, SEARCH_FIELDS)
    called = fields.choices("kinds", KINDS_FOUND)
    kinds, category = _kinds_of(fields, "kinds", tuple(kind for kind in called if kind != CODE))
    roles, languages = tuple(fields.choices("roles", ROLES)), fields.texts("languages")
    of_memories = bool(fields.has("tags") or fields.has("session") or fields.has("as_of"))
    return SearchRequest(
        query=fields.required_text("query", limit=QUERY_LIMIT),
        project=fields.project(),
        depth=cast(Depth, fields.choice("depth", DEPTHS, "shallow")),
        kinds=kinds,
        category=category,
        path_prefix=fields.text("path_prefix", limit=PATH_LIMIT) or None,
        roles=roles,
        languages=languages,
        tags=fields.texts("tags"),
        session=fields.text("session") or None,
        as_of=fields.time("as_of"),
        k=fields.integer("k", 10, low=1, high=100),
        code=CODE in called or not (called or of_memories),
        memories=not (roles or languages) and (not called or bool(kinds)),
    )


def expand_of_body(raw: Any) -> ExpandRequest:
    return decode(raw, ExpandRequest)


def feedback_of_body(raw: Any, known: Known | None = None) -> tuple[list[FeedbackItem], list[dict[str, Any]]]:
    """Parse the items.

    Returns the valid ones, and the rejected ones with their index. If none is valid, raises InvalidInput, or
    NotFound for a project that is not `known`.
    """
    items = batch_of(raw, "items", most=FEEDBACK_LIMIT)
    return each_good(items, lambda item, index: _feedback_item(item, f"items[{index}].", known))


def signals_of_body(raw: Any) -> list[Any]:
    """Return the signals unparsed.

    Each is parsed on its own so that a bad one does not cost the others.
    """
    return batch_of(raw, "signals", most=SIGNALS_LIMIT)


def project_of_body(raw: Any) -> str:
    return decode(raw, NewProject).path


def project_of_query(query: str) -> str | None:
    """Parse the optional project of GET /export."""
    return Fields.of_query(query, ("project",)).project()


def import_of_query(query: str) -> tuple[str | None, str | None]:
    """Parse the query of POST /import: the colleague and the project.

    Both None for one's own export.
    """
    fields = Fields.of_query(query, ("colleague", "project"))
    colleague, project = fields.text("colleague", limit=100), fields.project()
    if (colleague is None) != (project is None):
        raise InvalidInput(
            "'colleague' and 'project' go together", field="colleague" if colleague is None else "project"
        )
    return colleague, project


def memories_of_query(query: str) -> MemoriesRequest:
    """Parse the query of GET /memories.

    "kind", "scope", "status" and "tag" take several values, separated by commas. Kinds and tags may use the names
    of POST
    /search as well.
    """
    fields = Fields.of_query(query, MEMORIES_FIELDS)
    kinds, category = _kinds(fields, "kind", "kinds")
    statuses = tuple(Status(status) for status in fields.choices("status", STATUSES))
    filters = Filters(
        project=fields.project(),
        kinds=kinds,
        scopes=tuple(Scope(scope) for scope in fields.choices("scope", SCOPES)),
        statuses=statuses or ((Status.ACTIVE, Status.SUPERSEDED) if fields.has("as_of") else (Status.ACTIVE,)),
        branch=fields.text("branch"),
        tags=(*fields.texts("tag"), *fields.texts("tags")),
        category=fields.text("category") or category,
        key=fields.text("key"),
        path_prefix=fields.text("path_prefix", limit=PATH_LIMIT),
        since=fields.time("since"),
        until=fields.time("until"),
        as_of=fields.time("as_of"),
    )
    return MemoriesRequest(
        filters=filters, limit=fields.integer("limit", PAGE, low=1, high=LARGEST_PAGE), cursor=fields.text("cursor")
    )


def fact_of_query(query: str) -> FactRequest:
    """Parse the query of GET /facts."""
    fields = Fields.of_query(query, ("project", "scope", "category", "key", "branch", "as_of"))
    return FactRequest(
        key=fields.required_text("key"),
        project=fields.project(),
        category=fields.text("category") or None,
        scope=Scope(fields.choice("scope", SCOPES)) if fields.has("scope") else None,
        branch=fields.text("branch"),
        as_of=fields.time("as_of"),
    )


def part_of_query(query: str) -> Part:
    """Parse the requested slice of a complete list: by default all of it.

    The cursor is an offset.
    """
    return _part(Fields.of_query(query, ("limit", "cursor")))


def as_of_query(query: str) -> datetime | None:
    """Parse the optional time of GET /memories/{id}."""
    return Fields.of_query(query, ("as_of",)).time("as_of")


def conflicts_of_query(query: str) -> ConflictsRequest:
    """Parse the query of GET /contradictions.

    The cursor is an offset in the list, newest first.
    """
    fields = Fields.of_query(query, ("status", "project", "limit", "cursor"))
    return ConflictsRequest(
        status=fields.choice("status", ("open", "resolved", "all"), "open"),
        project=fields.project(),
        part=_part(fields),
    )


def near_of_query(query: str) -> int:
    """Parse the number of memories that GET /memories/{id}/near should return."""
    return Fields.of_query(query, ("limit",)).integer("limit", NEAR, low=1, high=MOST_NEAR)


def oppose_of_body(raw: Any) -> OpposeRequest:
    return decode(raw, OpposeRequest)


def resolution_of_body(raw: Any) -> Resolution:
    return decode(raw, Resolution)


def share_of_body(raw: Any) -> ShareRequest:
    return decode(raw, ShareRequest)


def _feedback_item(raw: Any, where: str, known: Known | None) -> FeedbackItem:
    fields = Fields(raw, FEEDBACK_FIELDS, where=where)
    return FeedbackItem(
        id=fields.required_text("id"),
        outcome=cast(Outcome, fields.choice("outcome", OUTCOMES)),
        note=fields.text("note", limit=NOTE_LIMIT) or "",
        project=fields.project(known),
    )


def _error_text(signals: Fields, raw: Any) -> str:
    """Return the text of a recent error.

    The error is a text, or an object with one, as in an `error` signal.
    """
    text = raw.get("text") if isinstance(raw, dict) else raw
    if not isinstance(text, str) or not text.strip():
        raise signals.refused("recent_errors", 'holds an entry that is neither a text nor {"text": …}')
    return shortened(text)


def _kinds(fields: Fields, *names: str) -> tuple[tuple[Kind, ...], str | None]:
    """Parse the requested kinds.

    A category stands for facts of that category, as bundles name them.
    """
    called = tuple(dict.fromkeys(kind for name in names for kind in fields.choices(name, KINDS_CALLED)))
    return _kinds_of(fields, names[0], called)


def _kinds_of(fields: Fields, name: str, called: Sequence[str]) -> tuple[tuple[Kind, ...], str | None]:
    categories = [kind for kind in called if kind in CATEGORIES]
    if not categories:
        return tuple(map(Kind, called)), None
    if len(called) > 1:
        raise fields.refused(name, f"may hold '{categories[0]}', a category of facts, but nothing beside it")
    return (Kind.FACT,), categories[0]


def _part(fields: Fields) -> Part:
    return Part(
        limit=fields.integer("limit", LARGEST_PAGE, low=1, high=LARGEST_PAGE),
        offset=fields.integer("cursor", 0, low=0, high=2**31),
    )


def _budget(fields: Fields) -> int:
    return fields.integer("budget", DEFAULT_BUDGET, low=1, high=LARGEST_BUDGET)


def _activity(fields: Fields) -> Activity:
    return cast(Activity, fields.choice("activity", ACTIVITIES, ""))
