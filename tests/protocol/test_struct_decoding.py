from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from hunchd.domain.errors import InvalidInput
from hunchd.domain.memory import Kind
from hunchd.protocol.fields import Fields
from hunchd.protocol.struct_decoding import Name, Names, ProjectRef, Request, RequiredName, Time, decode, decode_query
from hunchd.protocol.struct_schemas import build_component_schemas, list_query_parameters


class Inner(Request, frozen=True, kw_only=True):
    size: Annotated[int, Meta(ge=0, le=9)] = 3


class Whole(Request, frozen=True, kw_only=True):
    """Everything a field can be."""

    name: RequiredName
    depth: Literal["low", "high"] = "low"
    kinds: tuple[Kind, ...] = ()
    tags: Names = ()
    at: Time | None = None
    note: Annotated[Name | None, Meta(description="why")] = None
    project: ProjectRef | None = None
    share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    dry: bool = False
    inner: Inner = Inner()
    others: tuple[Inner, ...] = ()

    def check(self, fields: Fields) -> None:
        if self.name == "never":
            raise fields.error("name", "is never allowed")


class Lenient(Struct, frozen=True, kw_only=True):
    name: Name = ""


def test_decode_every_type_is_read() -> None:
    raw = {
        "name": "n",
        "depth": "high",
        "kinds": ["fact"],
        "tags": ["a", " ", "b"],
        "at": "2025-01-01",
        "note": "",
        "share": 1,
        "dry": True,
        "inner": {"size": 4.0},
        "others": [{"size": 1}, {}],
    }

    assert decode(raw, Whole) == Whole(
        name="n",
        depth="high",
        kinds=(Kind.FACT,),
        tags=("a", "b"),
        at=datetime(2025, 1, 1, tzinfo=UTC),
        share=1.0,
        dry=True,
        inner=Inner(size=4),
        others=(Inner(size=1), Inner()),
    )


def test_decode_null_equals_omission() -> None:
    assert decode({"name": "n", "depth": None, "inner": None, "tags": None}, Whole) == Whole(name="n")


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"name": " "}, "name", "'name' must be a non-empty string"),
        ({"depth": "hig"}, "depth", "'depth' is 'hig'; allowed: low, high"),
        ({"kinds": ["fakt"]}, "kinds", "allowed: fact, episode"),
        ({"at": "now"}, "at", "must be an ISO 8601 time"),
        ({"project": ""}, "project", "'project' is empty; name a project or leave it out"),
        ({"share": 2}, "share", "must be a number from 0 to 1; got 2"),
        ({"dry": "yes"}, "dry", "must be true or false"),
        ({"inner": []}, "inner", "expected a JSON object with size; got a list"),
        ({"inner": {"size": 10}}, "inner.size", "'inner.size' must be an integer from 0 to 9; got 10"),
        ({"others": [{}, {"size": "x"}]}, "others[1].size", "'others[1].size' must be an integer"),
        ({"nmae": 1}, "nmae", "'nmae' is not a known field; allowed: name, depth"),
        ({"colour": 1}, "colour", "'colour' is not a known field; allowed: name, depth"),
        ({"inner": {"weight": 1}}, "inner.weight", "'inner.weight' is not a known field; allowed: size"),
        ({"name": "never"}, "name", "'name' is never allowed"),
    ],
)
def test_decode_error_names_field_and_allowed(change: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("[", r"\[")) as refused:
        decode({"name": "n"} | change, Whole)

    assert refused.value.field == field


def test_decode_where_prefixes_field_names() -> None:
    with pytest.raises(InvalidInput, match=r"'items\[2\]\.name' is missing"):
        decode({}, Whole, where="items[2].")


def test_decode_lenient_struct_ignores_unknown_fields() -> None:
    assert decode({"name": "n", "colour": 1}, Lenient) == Lenient(name="n")


def test_decode_query_reads_lists_and_numbers() -> None:
    assert decode_query("name=n&tags=a,b&kinds=fact,error", Whole) == Whole(
        name="n", tags=("a", "b"), kinds=(Kind.FACT, Kind.ERROR)
    )
    with pytest.raises(InvalidInput, match="'colour' is not a known parameter"):
        decode_query("name=n&colour=red", Whole)


def test_schema_states_limits_and_descriptions() -> None:
    schema = build_component_schemas({"Whole": Whole})["Whole"]

    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False
    assert schema["description"] == "Everything a field can be."
    assert schema["properties"]["note"] == {"type": "string", "maxLength": 1024, "description": "why"}
    assert schema["properties"]["depth"] == {"type": "string", "enum": ["high", "low"], "default": "low"}
    assert schema["properties"]["inner"]["properties"]["size"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 9,
        "default": 3,
    }


def test_schema_named_struct_is_referenced() -> None:
    schemas = build_component_schemas({"Whole": Whole, "Part": Inner})

    assert schemas["Whole"]["properties"]["others"]["items"] == {"$ref": "#/components/schemas/Part"}


def test_query_parameters_name_required_ones() -> None:
    required = {name: needed for name, _, needed in list_query_parameters(Whole)}

    assert (required["name"], required["depth"]) == (True, False)
