"""Decoder that converts plain JSON values and query strings to Structs.

A Struct defines a request once: its names, types, limits and descriptions. `struct_schemas` renders the same Struct as
JSON Schema. `msgspec.convert` is not used, because its errors mention neither the allowed values nor similar names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields as fields_of

from hunchd.protocol.fields import (
    MAX_LIST_ENTRIES,
    MAX_NAME_CHARACTERS,
    MAX_TEXT_BYTES,
    Fields,
    ProjectLookup,
    get_batch,
    parse_each,
    refuse_unknown_project,
)
from hunchd.protocol.paths import MAX_PATH_CHARACTERS
from hunchd.protocol.responses import Rejection

Read = Callable[[Fields, str], Any]  # function that reads the field with that name


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class for all requests.

    Requests are immutable, and unknown fields are rejected.
    """

    # Keywords of JSON Schema that types cannot state.
    schema_keywords: ClassVar[Mapping[str, Any]] = {}

    def check(self, fields: Fields) -> None:
        """Raise InvalidInput if the fields contradict each other."""


@dataclass(frozen=True, slots=True)
class CustomReader:
    """Annotation that names the function that reads a field."""

    read: Read


DecodedT = TypeVar("DecodedT", bound=Struct)

# A limit on a string counts bytes of UTF-8 in the decoder but characters in the schema, so the decoder is stricter.
Name = Annotated[str, Meta(max_length=MAX_NAME_CHARACTERS)]
RequiredName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARACTERS)]
LongText = Annotated[str, Meta(max_length=MAX_TEXT_BYTES)]
PathText = Annotated[str, Meta(max_length=MAX_PATH_CHARACTERS)]
Names = Annotated[tuple[Name, ...], Meta(max_length=MAX_LIST_ENTRIES)]
Time = Annotated[datetime, Meta(description="ISO 8601; a time without a time zone is in UTC")]
ProjectRef = Annotated[
    str, Meta(min_length=1, max_length=MAX_PATH_CHARACTERS, description="the path or the id of a project")
]


def decode(raw: Any, of: type[DecodedT], *, where: str = "") -> DecodedT:
    """Decode a JSON object to the Struct `of`.

    `where` precedes the field names in errors. Raises InvalidInput with a message that names the field and states what
    is allowed.
    """
    return _decode_fields(Fields(raw, list_wire_names(of), prefix=where, strict=_is_strict(of)), of)


def decode_query(query: str, of: type[DecodedT]) -> DecodedT:
    """Decode a query string to the Struct `of`.

    The entries of a list are separated by commas.
    """
    return _decode_fields(Fields.from_query(query, list_wire_names(of), strict=_is_strict(of)), of)


def refuse_query(query: str) -> None:
    """Raise InvalidInput if `query` has parameters.

    This is for routes that accept no parameters.
    """
    if query:
        Fields.from_query(query, (), strict=True)


def decode_batch(
    raw: Any, of: type[Struct], name: str, entry: type[DecodedT], known_projects: ProjectLookup | None = None
) -> tuple[list[DecodedT], list[Rejection]]:
    """Decode the entries in the list `name` one by one.

    `of` is the Struct that contains the list. Returns the valid entries, and the rejected ones with their index. If no
    entry is valid, raises InvalidInput, or NotFound for a project that `known_projects` does not know.
    """
    [list_type] = [each.type for each in fields_of(of) if each.name == name]
    entries = get_batch(raw, name, max_entries=_find_limit(_unwrap_hint(list_type)[1], "max_length", MAX_LIST_ENTRIES))
    refuse_unknown_fields(raw, of)

    def read(each: Any, index: int) -> DecodedT:
        where = f"{name}[{index}]."
        entry_value = decode(each, entry, where=where)
        if known_projects is not None and (project := getattr(entry_value, "project", None)) is not None:
            refuse_unknown_project(project, known_projects, field=f"{where}project")
        return entry_value

    return parse_each(entries, read)


def refuse_unknown_fields(raw: Mapping[str, Any], of: type[Struct]) -> None:
    """Raise InvalidInput if `raw` has a field that the Struct `of` does not have.

    Only the names of the fields are checked, not the values.
    """
    Fields(dict.fromkeys(raw, ""), list_wire_names(of), strict=_is_strict(of))


@cache
def list_wire_names(of: type[Struct]) -> tuple[str, ...]:
    """Return the names of the Struct's fields as clients send them."""
    return tuple(each.encode_name for each in fields_of(of))


def _is_strict(of: type[Struct]) -> bool:
    return of.__struct_config__.forbid_unknown_fields


def _decode_fields(fields: Fields, of: type[DecodedT]) -> DecodedT:
    values = {}
    for field in _plan_fields(of):
        if not field.is_required and not fields.has(field.name):
            continue
        value = field.read(fields, field.name)
        if value is None and field.is_required:
            raise fields.error(field.name, "is missing")
        if value is not None and not (value == "" and field.blank_is_none):
            values[field.attribute] = value
    struct = of(**values)
    if isinstance(struct, Request):
        struct.check(fields)
    return struct


class _PlannedField(NamedTuple):
    attribute: str
    name: str  # on the wire
    read: Read
    is_required: bool
    blank_is_none: bool


@cache
def _plan_fields(of: type[Struct]) -> tuple[_PlannedField, ...]:
    return tuple(
        _PlannedField(
            each.name,
            each.encode_name,
            _build_reader(each.type, is_required=each.required),
            each.required,
            each.default is None,
        )
        for each in fields_of(of)
    )


def _build_reader(hint: Any, *, is_required: bool) -> Read:
    """Return the function that reads a field of type `hint`.

    The function is called only for fields that are present or required.
    """
    of, metas, read = _unwrap_hint(hint)
    if read is not None:
        return read
    if (choices := _find_choices(of, metas)) is not None:
        cast = of if isinstance(of, type) else str
        return lambda fields, name: cast(fields.get_choice(name, choices))
    if of is str:
        return _build_text_reader(
            _find_limit(metas, "max_length", MAX_NAME_CHARACTERS), _find_limit(metas, "min_length", 0), is_required
        )
    if of is int:
        low, high = _find_limit(metas, "ge", -(2**63)), _find_limit(metas, "le", 2**63 - 1)
        return lambda fields, name: fields.get_optional_integer(name, low=low, high=high)
    if of is float:
        return lambda fields, name: fields.get_fraction(name, 0.0)
    if of is bool:
        return Fields.flag
    if of is datetime:
        return Fields.get_time
    if get_origin(of) in (tuple, list):
        read_entries = _build_list_reader(get_args(of)[0], _find_limit(metas, "max_length", MAX_LIST_ENTRIES))
        if least := _find_limit(metas, "min_length", 0):
            read_entries = _require_entries(read_entries, least)
        return read_entries if get_origin(of) is tuple else lambda fields, name: list(read_entries(fields, name))
    if isinstance(of, type) and issubclass(of, Struct):
        return lambda fields, name: decode(fields.value(name), of, where=f"{fields.qualified_name(name)}.")
    return Fields.get_mapping


def _build_text_reader(limit: int, least: int, is_required: bool) -> Read:
    if is_required:
        return lambda fields, name: fields.get_required_text(name, limit=limit)
    if not least:
        return lambda fields, name: fields.get_text(name, limit=limit)
    return lambda fields, name: fields.named_text(name, limit=limit)


def _build_list_reader(entry: Any, most: int) -> Read:
    of, metas, _ = _unwrap_hint(entry)
    if (choices := _find_choices(of, metas)) is not None:
        cast = of if isinstance(of, type) else str
        return lambda fields, name: tuple(cast(each) for each in fields.get_choices(name, choices))
    if of is str:
        limit = _find_limit(metas, "max_length", MAX_NAME_CHARACTERS)
        return lambda fields, name: fields.get_texts(name, limit=limit, max_entries=most)
    return lambda fields, name: tuple(
        decode(each, of, where=f"{fields.qualified_name(name)}[{index}].")
        for index, each in enumerate(fields.get_objects(name, max_entries=most))
    )


def _require_entries(read_entries: Read, least: int) -> Read:
    def read(fields: Fields, name: str) -> Any:
        entries = read_entries(fields, name)
        if len(entries) < least:
            raise fields.error(name, f"must be a list of {least} or more; got {len(entries)}")
        return entries

    return read


def _find_choices(of: Any, metas: tuple[Meta, ...]) -> tuple[str, ...] | None:
    """Return the values allowed for a field, or None if it is not restricted.

    The values come from a Literal, from an enum, or from a schema keyword, which is used if the choices are computed.
    """
    if of is str:
        return next((tuple(each.extra_json_schema["enum"]) for each in metas if each.extra_json_schema), None)
    if get_origin(of) is Literal:
        return get_args(of)
    return tuple(each.value for each in of) if isinstance(of, type) and issubclass(of, StrEnum) else None


def _unwrap_hint(hint: Any) -> tuple[Any, tuple[Meta, ...], Read | None]:
    """Return the type inside `Annotated` and `| None`, and its annotations.

    The annotations are the constraints, outermost first, and the custom reader, if any.
    """
    metas: tuple[Meta, ...] = ()
    read: Read | None = None
    while True:
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            metas = (*metas, *(each for each in notes if isinstance(each, Meta)))
            read = next((each.read for each in notes if isinstance(each, CustomReader)), read)
        elif get_origin(hint) in (Union, UnionType):
            [hint] = [each for each in get_args(hint) if each not in (NoneType, UnsetType)]
        else:
            return hint, metas, read


def _find_limit(metas: tuple[Meta, ...], keyword: str, default: int) -> int:
    return next((value for each in metas if (value := getattr(each, keyword)) is not None), default)
