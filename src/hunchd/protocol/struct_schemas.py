"""JSON Schemas of Structs, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import fields

from hunchd.protocol.responses import Answer, PageAnswer
from hunchd.protocol.struct_decoding import Request

REF: Final = "#/components/schemas/"
Schema = dict[str, Any]


def build_component_schemas(structs: Mapping[str, type[Struct]]) -> dict[str, Schema]:
    """Return the schema of each Struct, keyed by its name in the document.

    Structs and enums that have no name in the document are included inline.
    """
    _, raw = msgspec.json.schema_components(structs.values(), ref_template=REF + "{name}")
    names = {of.__name__: name for name, of in structs.items()}
    keywords = {of.__name__: _list_keywords(of) for of in structs.values()}
    return {names[own]: _simplify_schema(raw[own], raw, names) | keywords[own] for own in names}


def page_schema(name: str, of: type[Struct]) -> Schema:
    """Return the schema of a page that lists Structs of type `of`.

    `name` is the name that `of` has in the document.
    """
    page = PageAnswer[of]  # type: ignore[valid-type]
    (reference,), raw = msgspec.json.schema_components([page], ref_template=REF + "{name}")
    return _simplify_schema(raw[reference["$ref"].removeprefix(REF)], raw, {of.__name__: name})


def _list_keywords(of: type[Struct]) -> Schema:
    """Return the schema keywords that the Struct's types cannot express."""
    if issubclass(of, Request):
        return dict(of.schema_keywords)
    if issubclass(of, Answer):
        return {"required": [each.encode_name for each in fields(of) if each.default is not UNSET]}
    return {}


def list_query_parameters(of: type[Struct]) -> tuple[tuple[str, Schema, bool], ...]:
    """Return the parameters of a query string.

    Each entry consists of a name, a schema, and True if the parameter is required.
    """
    schema = build_component_schemas({of.__name__: of})[of.__name__]
    required_names = schema.get("required", ())
    return tuple((name, each, name in required_names) for name, each in schema["properties"].items())


def _simplify_schema(schema: Schema, raw: Mapping[str, Schema], names: Mapping[str, str]) -> Schema:
    """Return the schema without titles and empty defaults.

    The defaults null, "", [] and {} mean the same as an omitted field.
    """
    if "$ref" in schema:
        own = schema["$ref"].removeprefix(REF)
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        if own in names:
            return {"$ref": REF + names[own]} | rest
        inner = _simplify_schema(raw[own], raw, names)
        if "enum" in inner:  # the description of an enum is about its use in the code
            inner.pop("description", None)
        return inner | rest
    tidy = {key: value for key, value in schema.items() if key != "title" and (key, value) != ("required", [])}
    if "description" in tidy:
        tidy["description"] = cleandoc(tidy["description"])
    if "properties" in tidy:
        tidy["properties"] = {
            name: _build_property_schema(each, raw, names) for name, each in tidy["properties"].items()
        }
    if "items" in tidy:
        tidy["items"] = _simplify_schema(tidy["items"], raw, names)
    if "enum" in tidy and all(isinstance(each, str) for each in tidy["enum"]):
        tidy["type"] = "string"
    elif "enum" in tidy and len(tidy["enum"]) == 1:
        [tidy["const"]] = tidy.pop("enum")
    if "anyOf" in tidy:
        return _merge_alternatives(tidy, [_simplify_schema(each, raw, names) for each in tidy.pop("anyOf")])
    return tidy


def _build_property_schema(schema: Schema, raw: Mapping[str, Schema], names: Mapping[str, str]) -> Schema:
    """Return the schema of a field.

    If null is the default, it is not listed as an alternative, because it means the same as an omitted field.
    """
    if "default" not in schema:
        return _simplify_schema(schema, raw, names)
    rest = {key: value for key, value in schema.items() if key != "default"}
    if schema["default"] is None and "anyOf" in rest:
        rest["anyOf"] = [each for each in rest["anyOf"] if each != {"type": "null"}]
    empty = schema["default"] in (None, "", [], ()) or isinstance(schema["default"], dict)
    return _simplify_schema(rest, raw, names) | ({} if empty else {"default": schema["default"]})


def _merge_alternatives(outer: Schema, alternatives: list[Schema]) -> Schema:
    """Merge the alternatives of a type into the surrounding schema.

    This is possible if there is only one alternative apart from null; otherwise they are listed under "oneOf".
    """
    null = {"type": "null"} in alternatives
    others = [each for each in alternatives if each != {"type": "null"}]
    if len(others) == 1 and isinstance(others[0].get("type"), str):
        merged_schema = others[0] | outer
        return merged_schema | ({"type": [merged_schema["type"], "null"]} if null else {})
    if len(others) == 1 and not null:
        return others[0] | outer
    return outer | {"oneOf": alternatives}
