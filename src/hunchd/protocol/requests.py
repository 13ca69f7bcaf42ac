"""HTTP requests as immutable objects, with strict parsers for their bodies and queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Meta, Struct, structs

from hunchd.domain.context import Activity, ChangedName, Level
from hunchd.domain.facts import CATEGORIES
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Scope, Status
from hunchd.protocol.fields import MAX_TEXT_BYTES, Fields, ProjectLookup, shorten_middle
from hunchd.protocol.responses import Rejection
from hunchd.protocol.struct_decoding import (
    CustomReader,
    LongText,
    Name,
    Names,
    PathText,
    ProjectRef,
    Request,
    RequiredName,
    Time,
    decode_batch,
    decode_query,
)

DEFAULT_BUDGET: Final = 8000  # tokens
MAX_BUDGET: Final = 200_000  # tokens; the largest common model window
MAX_OPEN_FILES: Final = 100
MAX_ERRORS: Final = 20
NOTE_LIMIT: Final = 4096  # bytes
MAX_QUERY_BYTES: Final = MAX_TEXT_BYTES  # bytes; a long query is read as an error report
MAX_FEEDBACK_ITEMS: Final = 1000  # items per request
MAX_FORGOTTEN: Final = 500  # memories per request
DEFAULT_PAGE_SIZE: Final = 50  # items when no limit is asked for
MAX_PAGE_SIZE: Final = 1000
DEFAULT_SIMILAR: Final = 3  # similar memories returned for one
MAX_SIMILAR: Final = 20

Format = Literal["json", "markdown"]
Depth = Literal["shallow", "deep", "specific"]
Outcome = Literal["cited", "ignored", "wrong", "missed"]
ResolutionOutcome = Literal["a_wins", "b_wins", "both_valid", "merged"]

Note = Annotated[str, Meta(max_length=NOTE_LIMIT)]
Question = Annotated[str, Meta(max_length=MAX_QUERY_BYTES)]
Budget = Annotated[int, Meta(ge=1, le=MAX_BUDGET, description="tokens, never exceeded")]
ResultCount = Annotated[int, Meta(ge=1, le=100)]
PageSize = Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE)]
Cursor = Annotated[Name | None, Meta(description="`next` from the previous page")]
OpenFiles = Annotated[tuple[PathText, ...], Meta(max_length=MAX_OPEN_FILES, description="newest last")]
AboutPath = Annotated[
    PathText | None,
    Meta(description="path of the file that the results are about; absolute, or relative to the project"),
]
OptionalProject = Annotated[
    ProjectRef | None, Meta(description="the path or the id of a project; if omitted, the user's own")
]

ACTIVITIES: Final[tuple[str, ...]] = get_args(Activity)
OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)
KINDS: Final = tuple(kind.value for kind in Kind)
KIND_NAMES: Final = (*KINDS, *CATEGORIES)  # names that clients may use
CODE: Final = "code"  # a kind of result that is not a memory
KINDS_FOUND: Final = (*KIND_NAMES, CODE)
ROLES: Final = ("source", "test", "docs", "example", "generated", "vendored", "config", "changelog")  # of files
KindNames = Annotated[
    tuple[Annotated[str, Meta(extra_json_schema={"enum": list(KIND_NAMES)})], ...],
    Meta(description="a category of facts must be the only entry"),
]
ResultKinds = Annotated[
    tuple[Annotated[str, Meta(extra_json_schema={"enum": list(KINDS_FOUND)})], ...],
    Meta(description="a category of facts must be the only entry besides code"),
]
FileRoles = Annotated[
    tuple[Annotated[str, Meta(extra_json_schema={"enum": list(ROLES)})], ...],
    Meta(description="roles of files; restricts the search to code"),
]
RESOLUTIONS: Final[tuple[str, ...]] = get_args(ResolutionOutcome)


class ContextQuery(Request, frozen=True, kw_only=True):
    """Query parameters for GET /context."""

    project: ProjectRef
    file: Annotated[PathText | None, Meta(description="absolute, or relative to the project")] = None
    budget: Budget = DEFAULT_BUDGET
    activity: Activity = ""
    branch: Name = ""
    query: Question = ""
    format: Format = "json"


class RecentError(Struct, frozen=True, kw_only=True):
    """Error in the form of an `error` signal; additional fields are ignored."""

    text: Annotated[str, Meta(min_length=1)]


def _recent_errors(fields: Fields, name: str) -> tuple[str, ...]:
    return tuple(_parse_error_text(fields, error) for error in fields.get_objects(name, max_entries=MAX_ERRORS))


class AssembleSignals(Request, frozen=True, kw_only=True):
    current_file: PathText | None = None
    open_files: OpenFiles = ()
    recent_errors: Annotated[
        tuple[Annotated[str, Meta(min_length=1)] | RecentError, ...],
        Meta(max_length=MAX_ERRORS, description="newest first"),
        CustomReader(_recent_errors),
    ] = ()
    branch: Name = ""
    activity: Activity = ""
    query: Question = ""


class AssembleRequest(Request, frozen=True, kw_only=True):
    """Request for a context bundle based on everything the user has open."""

    project: ProjectRef
    budget: Budget = DEFAULT_BUDGET
    signals: AssembleSignals = AssembleSignals()

    def to_context_request(self) -> ContextRequest:
        signals = self.signals
        return ContextRequest(
            project=self.project,
            file=signals.current_file,
            open_files=signals.open_files,
            budget=self.budget,
            activity=signals.activity,
            branch=signals.branch,
            query=signals.query,
            errors=tuple(each if isinstance(each, str) else each.text for each in signals.recent_errors),
            file_field="signals.current_file",
            open_files_field="signals.open_files",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Request for a context bundle.

    `project` is the path or the id of a project. Paths have the form in which the client sent them (see
    `paths.to_relative_path`). `file_field` and `open_files_field` are the names that those fields have in the client's
    request.
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
    changed_names: tuple[ChangedName, ...] = ()  # names in it, if it is reviewed
    already_shown: frozenset[tuple[str, str]] = frozenset()  # ids and titles of items that the reader already has
    file_field: str = field(default="file", compare=False)
    open_files_field: str = field(default="open_files", compare=False)


class PredictRequest(Request, frozen=True, kw_only=True):
    """Request for the files and memories that will be needed."""

    project: ProjectRef
    file_opened: PathText | None = None
    open_files: OpenFiles = ()
    query: Question = ""
    branch: Name = ""
    error: Annotated[
        str,
        Meta(description="text of the error; beyond 64 KiB its middle is left out"),
        CustomReader(Fields.get_shortened_text),
    ] = ""
    k: ResultCount = 10


class SearchBody(Request, frozen=True, kw_only=True):
    """Request to search the text of code and memories."""

    project: ProjectRef | None = None
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_BYTES)]
    depth: Depth = "shallow"
    kinds: ResultKinds = ()
    path_prefix: AboutPath = None
    roles: FileRoles = ()
    languages: Annotated[Names, Meta(description="as named in `source.language`; restricts the search to code")] = ()
    tags: Names = ()
    session: Name | None = None
    as_of: Time | None = None
    k: ResultCount = 10

    def check(self, fields: Fields) -> None:
        _refuse_mixed_kinds(tuple(each for each in self.kinds if each != CODE), fields, "kinds")

    def to_search_request(self) -> SearchRequest:
        kinds, category = _split_kinds(tuple(kind for kind in self.kinds if kind != CODE))
        of_memories = bool(self.tags or self.session or self.as_of)
        values = structs.asdict(self) | {"kinds": kinds, "category": category}
        return SearchRequest(
            **values,
            code=CODE in self.kinds or not (self.kinds or of_memories),
            memories=not (self.roles or self.languages) and (not self.kinds or bool(kinds)),
        )


class ReviewRequest(Request, frozen=True, kw_only=True):
    """Request for the files that a change seems to lack."""

    project: ProjectRef
    base: Annotated[Name, Meta(description="a revision; commits made since then are part of the change")] = ""

    def check(self, fields: Fields) -> None:
        if self.base.startswith("-"):
            raise fields.error("base", "must be a revision, such as main or HEAD~3")


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
    memories: bool = True  # whether memories are searched


class ExpandRequest(Request, frozen=True, kw_only=True):
    """Request for the full text of one memory or file (`id`), or of one `topic`."""

    schema_keywords = {"oneOf": [{"required": ["id"]}, {"required": ["topic"]}]}  # noqa: RUF012 - a ClassVar

    id: Name | None = None
    topic: Annotated[Name | None, Meta(description="as named in a bundle")] = None
    level: Level = "full"
    project: Annotated[
        ProjectRef | None, Meta(description="if omitted, the project used last that knows the id or topic")
    ] = None

    def check(self, fields: Fields) -> None:
        if (self.id is None) == (self.topic is None):
            raise fields.error("id", "or 'topic' is required, but not both")


class FeedbackItem(Request, frozen=True, kw_only=True):
    """Feedback on one item that was shown."""

    id: Annotated[RequiredName, Meta(description="id of a memory, or `file:path` as a bundle names a file")]
    outcome: Outcome
    note: Note = ""
    project: Annotated[
        ProjectRef | None, Meta(description="project of a file; if omitted, the project used last that knows the file")
    ] = None


class Feedback(Request, frozen=True, kw_only=True):
    """Feedback on the usefulness of items."""

    items: Annotated[tuple[FeedbackItem, ...], Meta(max_length=MAX_FEEDBACK_ITEMS)]


class ForgetRequest(Request, frozen=True, kw_only=True):
    """Request to erase memories."""

    ids: Annotated[tuple[RequiredName, ...], Meta(min_length=1, max_length=MAX_FORGOTTEN)]


class FactRequest(Request, frozen=True, kw_only=True):
    """Request for the value of a fact, which is identified by its key and scope."""

    key: RequiredName
    project: OptionalProject = None
    category: Annotated[Name | None, Meta(description="if omitted, any category")] = None
    scope: Annotated[Scope | None, Meta(description="if omitted: project-shared in a project, else user-private")] = (
        None
    )
    branch: Annotated[Name | None, Meta(description="if omitted, the branch that is checked out")] = None
    as_of: Time | None = None


class ContradictionReport(Request, frozen=True, kw_only=True):
    """Report that two memories contradict each other."""

    a: Annotated[RequiredName, Meta(description="id of a memory")]
    b: Annotated[RequiredName, Meta(description="id of another memory in the same project")]
    note: Annotated[Note, Meta(description="reason for the contradiction")] = ""


class ResolutionRequest(Request, frozen=True, kw_only=True):
    """Request to resolve a contradiction."""

    resolution: ResolutionOutcome
    note: Note = ""
    value: Annotated[LongText, Meta(description="the merged value")] = ""
    group: Annotated[bool, Meta(description="also decide against all that contradicts the winner")] = False


class ShareRequest(Request, frozen=True, kw_only=True):
    """Request to render memories of a project as files to be shared."""

    project: ProjectRef
    names: Annotated[Names, Meta(description="ids of memories or keys of facts; if omitted, all shareable ones")] = ()
    by: Annotated[Name, Meta(description="name of the person who shares the memories")] = ""


class FocusQuery(Request, frozen=True, kw_only=True):
    """Query parameters for GET /focus."""

    project: ProjectRef


class FileQuery(Request, frozen=True, kw_only=True):
    """Query parameters for GET /files."""

    project: ProjectRef
    path: Annotated[PathText, Meta(min_length=1, description="absolute, or relative to the project")]


class PageCodeRequest(Request, frozen=True, kw_only=True):
    """Request for a code that opens the web page."""

    read_only: bool = False


class PageSessionRequest(Request, frozen=True, kw_only=True):
    """Request to exchange a code for a browser session."""

    code: RequiredName


class NewProject(Request, frozen=True, kw_only=True):
    """Request to register a project."""

    path: Annotated[PathText, Meta(min_length=1, description="path of the working tree, or of a folder in it")]


def _offset(fields: Fields, name: str) -> str:
    return str(fields.get_integer(name, 0, low=0, high=2**31))


class ListSlice(Request, frozen=True, kw_only=True):
    """Slice of a list, by default the whole list; the cursor is an offset."""

    limit: PageSize = MAX_PAGE_SIZE
    cursor: Annotated[Cursor, CustomReader(_offset)] = None

    @property
    def offset(self) -> int:
        return int(self.cursor or 0)


class ContradictionsRequest(ListSlice, frozen=True, kw_only=True):
    """Query parameters for GET /contradictions, which lists the newest contradictions first."""

    status: Literal["open", "resolved", "all"] = "open"
    project: Annotated[ProjectRef | None, Meta(description="if omitted, all projects")] = None


class AsOfQuery(Request, frozen=True, kw_only=True):
    as_of: Time | None = None


class NearQuery(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_SIMILAR)] = DEFAULT_SIMILAR


class ExportQuery(Request, frozen=True, kw_only=True):
    project: Annotated[ProjectRef | None, Meta(description="export only this project")] = None


class McpQuery(Request, frozen=True, kw_only=True):
    """Query parameters for POST /mcp, which `hunch mcp` sends."""

    folder: Annotated[PathText | None, Meta(description="where the agent runs, in the default project")] = None
    key: Annotated[Name | None, Meta(description="the same if a message is sent again")] = None


class MemoriesQuery(Request, frozen=True, kw_only=True):
    """Query parameters for GET /memories."""

    project: Annotated[
        ProjectRef | None, Meta(description="the path or the id of a project; if omitted, everything stored")
    ] = None
    kind: KindNames = ()
    scope: tuple[Scope, ...] = ()
    status: Annotated[tuple[Status, ...], Meta(description="if omitted, active")] = ()
    branch: Name | None = None
    tag: Annotated[Names, Meta(description="only memories with all of these tags")] = ()
    kinds: Annotated[KindNames, Meta(description="same as kind")] = ()
    tags: Annotated[Names, Meta(description="same as tag")] = ()
    category: Name | None = None
    key: Name | None = None
    path_prefix: Annotated[PathText | None, Meta(description="absolute, or relative to the project")] = None
    since: Time | None = None
    until: Time | None = None
    as_of: Time | None = None
    limit: PageSize = DEFAULT_PAGE_SIZE
    cursor: Cursor = None

    def check(self, fields: Fields) -> None:
        _refuse_mixed_kinds((*self.kind, *self.kinds), fields, "kind")

    def to_filters(self) -> Filters:
        """Return the filters that the query describes.

        The `project` of the filters is the path or the id that the client sent.
        """
        kinds, category = _split_kinds((*self.kind, *self.kinds))
        default_statuses = (Status.ACTIVE, Status.SUPERSEDED) if self.as_of else (Status.ACTIVE,)
        return Filters(
            project=self.project,
            kinds=kinds,
            scopes=self.scope,
            statuses=self.status or default_statuses,
            branch=self.branch,
            tags=(*self.tag, *self.tags),
            category=self.category or category,
            key=self.key,
            path_prefix=self.path_prefix,
            since=self.since,
            until=self.until,
            as_of=self.as_of,
        )


def parse_context_query(query: str) -> tuple[ContextRequest, Format]:
    """Parse the query string of GET /context into a request and its format."""
    values = structs.asdict(decode_query(query, ContextQuery))
    form = values.pop("format")
    return ContextRequest(**values), form


def parse_feedback_body(raw: Any, lookup: ProjectLookup | None = None) -> tuple[list[FeedbackItem], list[Rejection]]:
    """Parse a request body with feedback items.

    Returns the valid items, and the rejected ones with their index. If no item is valid, raises InvalidInput, or
    NotFound for a project that `lookup` does not know.
    """
    return decode_batch(raw, Feedback, "items", FeedbackItem, lookup)


def _parse_error_text(signals: Fields, raw: Any) -> str:
    """Return the text of a recent error.

    The error is either a string or an object with the field `text`, as in an `error` signal.
    """
    text = raw.get("text") if isinstance(raw, dict) else raw
    if not isinstance(text, str) or not text.strip():
        raise signals.error("recent_errors", 'contains an entry that is neither a non-empty string nor {"text": …}')
    return shorten_middle(text)


def _split_kinds(kind_names: tuple[str, ...]) -> tuple[tuple[Kind, ...], str | None]:
    """Return the kinds of memories that the names stand for, and the category of facts.

    As in context bundles, the name of a category stands for facts of that category. The category is None if no name is
    that of a category.
    """
    if kind_names and kind_names[0] in CATEGORIES:
        return (Kind.FACT,), kind_names[0]
    return tuple(Kind(each) for each in dict.fromkeys(kind_names)), None


def _refuse_mixed_kinds(kind_names: tuple[str, ...], fields: Fields, name: str) -> None:
    categories = [each for each in kind_names if each in CATEGORIES]
    if categories and len(set(kind_names)) > 1:
        raise fields.error(name, f"may contain '{categories[0]}', a category of facts, only on its own")
