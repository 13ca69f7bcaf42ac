"""Memories in the JSON API: drafts to store, patches, and complete records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, structs
from msgspec import field as struct_field

from hunchd.domain.errors import InvalidInput
from hunchd.domain.facts import CATEGORIES, MIN_CONFIDENCE, MIN_IMPORTANCE
from hunchd.domain.json_values import JsonObject
from hunchd.domain.kinds import select_kinds
from hunchd.domain.memory import Artifact, ArtifactType, Kind, Levels, Memory, Scope, Status, Trust, Usage
from hunchd.protocol.fields import (
    MAX_LIST_ENTRIES,
    Fields,
    ProjectLookup,
    get_batch,
    parse_each,
    refuse_unknown_project,
)
from hunchd.protocol.responses import Answer, Count, Fraction, Rejection, to_json, to_utc
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
    decode,
    list_wire_names,
    refuse_unknown_fields,
)

MAX_DRAFTS: Final = 1000  # memories per request
MAX_TITLE_CHARACTERS: Final = 120  # characters of a title that is derived from the content
# Exports may hold longer texts than clients may send.
MAX_STORED_BYTES: Final = 1024 * 1024  # bytes of UTF-8
# Kinds that clients may add. A category stands for a fact, as in bundles.
DRAFT_KINDS: Final = (*select_kinds(lambda one: not one.is_detected_only), *CATEGORIES)
STORED_LIST_LIMIT: Final = 10_000  # entries of a stored list

# `valid_from` can be changed but not cleared: every memory is valid from some time on.
CLEARABLE_FIELDS: Final = ("category", "key", "value", "branch", "valid_to")

ValueT = TypeVar("ValueT")
MemoryFields = Mapping[str, Any]  # values of a memory by name, in domain types, for `dataclasses.replace`


def _read_links(fields: Fields, name: str, *, most: int = MAX_LIST_ENTRIES) -> tuple[Mapping[str, str], ...]:
    links = fields.get_objects(name, max_entries=most)
    for link in links:
        if not isinstance(link, dict) or not all(isinstance(text, str) for text in link.values()) or "ref" not in link:
            raise fields.error(name, 'must contain objects with string values, such as {"type": …, "ref": …}')
    return tuple(links)


def _read_stored_links(fields: Fields, name: str) -> tuple[Mapping[str, str], ...]:
    return _read_links(fields, name, most=STORED_LIST_LIMIT)


def _read_stored_source(fields: Fields, name: str) -> Mapping[str, Any]:
    return fields.get_mapping(name, limit=MAX_STORED_BYTES)


StoredText = Annotated[str, Meta(max_length=MAX_STORED_BYTES)]
DraftKind = Annotated[str, Meta(extra_json_schema={"enum": list(DRAFT_KINDS)})]
Link = Annotated[
    Mapping[str, str],
    Meta(
        extra_json_schema={"properties": {"type": {"type": "string"}, "ref": {"type": "string"}}, "required": ["ref"]}
    ),
]
_CATEGORY: Final = Meta(description=f"of a fact: {', '.join(CATEGORIES)}")


class LevelsBody(Request, frozen=True, kw_only=True):
    summary: LongText = ""
    compressed: LongText = ""
    index: LongText = ""


class StoredLevels(Struct, frozen=True, kw_only=True):
    summary: StoredText = ""
    compressed: StoredText = ""
    index: StoredText = ""


class ArtifactRecord(Struct, frozen=True, kw_only=True):
    type: ArtifactType
    ref: Annotated[PathText, Meta(min_length=1)]


class ArtifactBody(ArtifactRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Artifact of a memory, as sent in a request.

    An artifact is a source that the memory is based on, such as a file, commit or pull request.
    """


class UsageBody(Answer, frozen=True, kw_only=True):
    retrieved: Count = 0
    cited: Count = 0
    ignored: Count = 0
    wrong: Count | UnsetType = UNSET
    missed: Count | UnsetType = UNSET
    last: Annotated[Time, Meta(description="ISO 8601: when it was last shown, used or missed")] | UnsetType = UNSET


class MemoryBody(Request, frozen=True, kw_only=True):
    """Memory to store.

    `kind` and `content` are sufficient; a fact may have `key` and `value` instead of `content`.
    """

    schema_keywords: ClassVar = {"anyOf": [{"required": ["content"]}, {"required": ["key", "value"]}]}

    kind: DraftKind
    content: Annotated[LongText, Meta(description="kept verbatim, after redaction")] = ""
    title: Annotated[Name, Meta(description="derived from the content if omitted")] = ""
    project: Annotated[
        ProjectRef | None, Meta(description="the path or the id of a project; if omitted, the user's own")
    ] = None
    ref: Annotated[
        Name | None,
        Meta(
            description="the caller's own key: sending it again changes nothing; "
            "with another key of a fact it is rejected"
        ),
    ] = None
    levels: LevelsBody = LevelsBody()
    category: Annotated[Name | None, _CATEGORY] = None
    key: Name | None = None
    value: LongText | None = None
    scope: Scope | None = None
    branch: Name | None = None
    confidence: Fraction = 1.0
    importance: Fraction = 0.5
    tags: Names = ()
    at: Time | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    supersedes: Annotated[
        Name | None,
        Meta(
            description="id of a memory in the same project that this one replaces; it is no longer valid from then on"
        ),
    ] = None
    links: Annotated[
        tuple[Link, ...],
        Meta(max_length=MAX_LIST_ENTRIES),
        CustomReader(_read_links),
    ] = ()
    artifacts: Annotated[tuple[ArtifactBody, ...], Meta(max_length=MAX_LIST_ENTRIES)] = ()
    trust: Trust = Trust.USER
    source: Mapping[str, Any] = {}

    @property
    def is_fact(self) -> bool:
        return self.kind == Kind.FACT or self.kind in CATEGORIES

    def check(self, fields: Fields) -> None:
        if not self.content.strip() and not (self.key and self.value):
            raise fields.error("content", "must be a non-empty string (a fact may have 'key' and 'value' instead)")
        for name, least in (("confidence", MIN_CONFIDENCE), ("importance", MIN_IMPORTANCE)):
            if self.is_fact and getattr(self, name) < least:
                raise fields.error(name, f"of a fact must be at least {least:g}; facts below that are not stored")
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise fields.error("valid_to", "is before 'valid_from'")


class MemoryDrafts(Request, frozen=True, kw_only=True):
    memories: Annotated[tuple[MemoryBody, ...], Meta(max_length=MAX_DRAFTS)]


class MemoryPatch(Request, frozen=True, kw_only=True):
    """Fields of a memory to change.

    Omitted fields stay unchanged; null clears category, key, value, branch and valid_to.
    """

    title: Annotated[Name, Meta(min_length=1)] | UnsetType = UNSET
    content: Annotated[LongText, Meta(min_length=1)] | UnsetType = UNSET
    levels: LevelsBody | UnsetType = UNSET
    category: Annotated[Name | UnsetType | None, _CATEGORY] = UNSET
    key: Name | UnsetType | None = UNSET
    value: LongText | UnsetType | None = UNSET
    scope: Scope | UnsetType = UNSET
    branch: Name | UnsetType | None = UNSET
    confidence: Fraction | UnsetType = UNSET
    importance: Fraction | UnsetType = UNSET
    tags: Names | UnsetType = UNSET
    valid_from: Time | UnsetType = UNSET
    valid_to: Time | UnsetType | None = UNSET
    links: Annotated[
        tuple[Link, ...] | UnsetType,
        Meta(extra_json_schema={"maxItems": MAX_LIST_ENTRIES}),
        CustomReader(_read_links),
    ] = UNSET
    artifacts: Annotated[tuple[ArtifactBody, ...], Meta(max_length=MAX_LIST_ENTRIES)] | UnsetType = UNSET
    trust: Trust | UnsetType = UNSET
    status: Status | UnsetType = UNSET


class MemoryRecord(Answer, frozen=True, kw_only=True):
    """Complete memory as returned, stored and exported; empty optional fields are omitted."""

    id: RequiredName
    kind: Kind
    title: LongText = ""
    content: StoredText = ""
    ref: Name | UnsetType = UNSET
    levels: StoredLevels | UnsetType = UNSET
    category: Annotated[Name, _CATEGORY] | UnsetType = UNSET
    key: LongText | UnsetType = UNSET
    value: StoredText | UnsetType = UNSET
    project: PathText | UnsetType = UNSET
    branch: Name | UnsetType = UNSET
    valid_from: Time | UnsetType = UNSET
    valid_to: Time | UnsetType = UNSET
    supersedes: Name | UnsetType = UNSET
    superseded_by: Name | UnsetType = UNSET
    scope: Scope = Scope.PROJECT
    confidence: Fraction = 1.0
    importance: Fraction = 0.5
    tags: Annotated[list[Name], Meta(max_length=STORED_LIST_LIMIT)] = struct_field(default_factory=list)
    at: Time
    created: Time | UnsetType = UNSET
    updated: Time | UnsetType = UNSET
    links: Annotated[list[Link], CustomReader(_read_stored_links)] = struct_field(default_factory=list)
    artifacts: Annotated[list[ArtifactRecord], Meta(max_length=STORED_LIST_LIMIT)] = struct_field(default_factory=list)
    trust: Trust = Trust.USER
    source: Annotated[Mapping[str, Any], CustomReader(_read_stored_source)] = {}
    usage: UsageBody = UsageBody()
    status: Status = Status.ACTIVE


# Fields that a record and a memory have in the same form, and those of them that a record may omit.
_SHARED_FIELDS: Final = tuple(
    name for name in MemoryRecord.__struct_fields__ if name not in ("levels", "artifacts", "usage")
)
_OPTIONAL_FIELDS: Final = tuple(
    each.name for each in structs.fields(MemoryRecord) if each.default is UNSET and each.name in _SHARED_FIELDS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """Memory that has not been given an id yet.

    `project` is the path or id of a project, or None for the user's own memories.
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

    def qualified_name(self, name: str) -> str:
        """Return the full name of a field, as it appears in the client's request."""
        return f"{_field_prefix(self.number)}{name}"


def parse_drafts_body(raw: Any, lookup: ProjectLookup | None = None) -> tuple[list[MemoryDraft], list[Rejection]]:
    """Parse a request body that is either one memory or {"memories": […]}.

    Returns the valid drafts, and the rejected entries with their index. If no entry is valid, raises InvalidInput, or
    NotFound for a project that `lookup` does not know.
    """
    if not isinstance(raw, dict) or "memories" not in raw:
        return [parse_draft(raw, lookup=lookup)], []
    entries = get_batch(raw, "memories", max_entries=MAX_DRAFTS)
    refuse_unknown_fields(raw, MemoryDrafts)
    return parse_each(entries, lambda entry, index: parse_draft(entry, number=index, lookup=lookup))


def parse_draft(raw: Any, *, number: int | None = None, lookup: ProjectLookup | None = None) -> MemoryDraft:
    """Parse one memory to store.

    `kind` and `content` are required; a fact may have `key` and `value` instead of `content`. `number` is the index of
    the draft in a batch. If `lookup` is given, raises NotFound for a project that it does not know.
    """
    body = decode(raw, MemoryBody, where=_field_prefix(number))
    if body.project is not None and lookup is not None:
        refuse_unknown_project(body.project, lookup, field=f"{_field_prefix(number)}project")
    content = body.content if body.content.strip() else f"{body.key}: {body.value}"
    values = structs.asdict(body) | {
        "kind": Kind.FACT if body.is_fact else Kind(body.kind),
        "title": body.title or derive_title(content),
        "content": content,
        "levels": _levels_of(body.levels),
        "category": body.category or (body.kind if body.kind in CATEGORIES else None),
        "scope": body.scope or (Scope.PROJECT if body.project else Scope.USER),
        "artifacts": _artifacts_of(body.artifacts),
    }
    return MemoryDraft(**values, number=number)


def parse_patch(raw: Any) -> MemoryFields:
    """Parse the fields of a memory to change.

    The values are of domain types, ready for `dataclasses.replace`. The value null clears a field that may be empty.
    """
    changeable = list_wire_names(MemoryPatch)
    fields: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
    for name, value in fields.items():
        if name in list_wire_names(MemoryRecord) and name not in changeable:
            raise InvalidInput(
                f"'{name}' cannot be changed; fields that can be changed: {', '.join(changeable)}", field=name
            )
        if value is None and name in changeable and name not in CLEARABLE_FIELDS:
            raise InvalidInput(
                f"'{name}' cannot be cleared; fields that can be cleared: {', '.join(CLEARABLE_FIELDS)}",
                field=name,
                hint="leave the field out to keep its value",
            )
    decoded_patch = decode(raw, MemoryPatch)
    patch = {name: value for name in changeable if (value := getattr(decoded_patch, name)) is not UNSET}
    if not isinstance(decoded_patch.levels, UnsetType):
        patch["levels"] = _levels_of(decoded_patch.levels)
    if not isinstance(decoded_patch.artifacts, UnsetType):
        patch["artifacts"] = _artifacts_of(decoded_patch.artifacts)
    patch |= {name: None for name in CLEARABLE_FIELDS if name in fields and fields[name] is None}
    if not patch:
        raise InvalidInput(
            f"the request contains nothing to change; fields that can be changed: {', '.join(changeable)}"
        )
    return patch


def memory_to_record(memory: Memory) -> MemoryRecord:
    """Convert a memory to a record; empty optional fields are omitted."""
    levels, usage = memory.levels, memory.usage
    values = {name: _to_wire(getattr(memory, name)) for name in _SHARED_FIELDS}
    return MemoryRecord(
        **values,
        levels=StoredLevels(summary=levels.summary, compressed=levels.compressed, index=levels.index)
        if levels != Levels()
        else UNSET,
        artifacts=[ArtifactRecord(type=one.type, ref=one.ref) for one in memory.artifacts],
        usage=UsageBody(
            retrieved=usage.retrieved,
            cited=usage.cited,
            ignored=usage.ignored,
            wrong=usage.wrong or UNSET,
            missed=usage.missed or UNSET,
            last=_to_wire(usage.last),
        ),
    )


def memory_to_json(memory: Memory) -> JsonObject:
    """Convert a memory to plain JSON values.

    This is the form in which memories are stored and exported.
    """
    plain: JsonObject = to_json(memory_to_record(memory))
    return plain


def memory_from_json(raw: Any) -> Memory:
    """Parse the output of `memory_to_json` into a memory equal to the original."""
    record = decode(raw, MemoryRecord)
    usage = record.usage
    values = {name: getattr(record, name) for name in _SHARED_FIELDS}
    values |= {name: _or_none(values[name]) for name in _OPTIONAL_FIELDS}
    values |= {name: values[name] or record.at for name in ("created", "updated")}
    values |= {name: tuple(values[name]) for name in ("tags", "links")}
    return Memory(
        **values,
        levels=Levels() if isinstance(record.levels, UnsetType) else _levels_of(record.levels),
        artifacts=_artifacts_of(record.artifacts),
        usage=Usage(
            usage.retrieved,
            usage.cited,
            usage.ignored,
            _or_none(usage.wrong) or 0,
            _or_none(usage.missed) or 0,
            _or_none(usage.last),
        ),
    )


def derive_title(content: str) -> str:
    """Return the first line that is not blank, shortened if it is too long."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), "")
    return line if len(line) <= MAX_TITLE_CHARACTERS else line[: MAX_TITLE_CHARACTERS - 1].rstrip() + "…"


def _field_prefix(number: int | None) -> str:
    return "" if number is None else f"memories[{number}]."


def _levels_of(levels: LevelsBody | StoredLevels) -> Levels:
    return Levels(levels.summary, levels.compressed, levels.index)


def _artifacts_of(artifacts: Sequence[ArtifactRecord]) -> tuple[Artifact, ...]:
    return tuple(Artifact(each.type, each.ref) for each in artifacts)


def _to_wire(value: Any) -> Any:
    """Convert the value of a memory's field to the form that the record uses.

    Times are converted to UTC and tuples to lists; None becomes UNSET.
    """
    if value is None:
        return UNSET
    if isinstance(value, datetime):
        return to_utc(value)
    return list(value) if isinstance(value, tuple) else value


def _or_none(value: ValueT | UnsetType) -> ValueT | None:
    return None if isinstance(value, UnsetType) or value == "" else value
