from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.errors import InvalidInput
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust, Usage
from hunchd.protocol.fields import MAX_TEXT_BYTES
from hunchd.protocol.memories import (
    CLEARABLE_FIELDS,
    DRAFT_KINDS,
    MemoryBody,
    MemoryPatch,
    MemoryRecord,
    derive_title,
    memory_from_json,
    memory_to_json,
    parse_draft,
    parse_drafts_body,
    parse_patch,
)
from hunchd.protocol.responses import to_json
from hunchd.protocol.struct_decoding import list_wire_names

DRAFT_FIELDS = list_wire_names(MemoryBody)
PATCH_FIELDS = list_wire_names(MemoryPatch)
AT = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
SMALL = Memory(id="m1", kind=Kind.FACT, title="t", content="c", at=AT, created=AT, updated=AT)
WHOLE = replace(
    SMALL,
    project="p1",
    ref="adr-12",
    levels=Levels("s", "c", "i"),
    category="decision",
    key="db",
    value="postgres",
    scope=Scope.SYSTEM,
    branch="main",
    confidence=0.75,
    importance=1.0,
    tags=("db", "storage"),
    valid_from=AT,
    valid_to=datetime(2026, 1, 1, tzinfo=UTC),
    supersedes="m0",
    superseded_by="m2",
    links=({"type": "about", "ref": "src/db.py"},),
    artifacts=(Artifact("adr", "docs/decisions/012.md"),),
    trust=Trust.DERIVED,
    source={"file": "docs/decisions/012.md", "lines": [1, 2]},
    usage=Usage(3, 2, 1),
    status=Status.SUPERSEDED,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
named = texts.filter(str.strip)
times = st.datetimes(datetime(1970, 1, 2), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - strategies take naive bounds
fractions = st.floats(0, 1)
memories = st.builds(
    Memory,
    id=named,
    kind=st.sampled_from(Kind),
    title=texts,
    content=texts,
    at=times,
    created=times,
    updated=times,
    project=st.none() | texts,
    ref=st.none() | texts,
    levels=st.builds(Levels, texts, texts, texts),
    key=st.none() | texts,
    value=st.none() | texts,
    scope=st.sampled_from(Scope),
    confidence=fractions,
    importance=fractions,
    tags=st.lists(named, max_size=3).map(tuple),
    valid_from=st.none() | times,
    valid_to=st.none() | times,
    artifacts=st.lists(st.builds(Artifact, st.sampled_from(["commit", "file"]), named), max_size=2).map(tuple),
    trust=st.sampled_from(Trust),
    status=st.sampled_from(Status),
)


@pytest.mark.parametrize("memory", [SMALL, WHOLE])
def test_memory_json_round_trip(memory: Memory) -> None:
    assert memory_from_json(json.loads(json.dumps(memory_to_json(memory)))) == memory


@given(memories)
def test_memory_json_round_trip_of_any_memory(memory: Memory) -> None:
    assert memory_from_json(json.loads(json.dumps(memory_to_json(memory)))) == memory


def test_memory_json_matches_contract_shape() -> None:
    assert memory_to_json(WHOLE) == {
        "id": "m1",
        "ref": "adr-12",
        "kind": "fact",
        "title": "t",
        "content": "c",
        "levels": {"summary": "s", "compressed": "c", "index": "i"},
        "category": "decision",
        "key": "db",
        "value": "postgres",
        "scope": "system",
        "project": "p1",
        "branch": "main",
        "confidence": 0.75,
        "importance": 1.0,
        "tags": ["db", "storage"],
        "at": "2025-03-01T09:30:00Z",
        "created": "2025-03-01T09:30:00Z",
        "updated": "2025-03-01T09:30:00Z",
        "valid_from": "2025-03-01T09:30:00Z",
        "valid_to": "2026-01-01T00:00:00Z",
        "supersedes": "m0",
        "superseded_by": "m2",
        "links": [{"type": "about", "ref": "src/db.py"}],
        "artifacts": [{"type": "adr", "ref": "docs/decisions/012.md"}],
        "trust": "derived",
        "source": {"file": "docs/decisions/012.md", "lines": [1, 2]},
        "usage": {"retrieved": 3, "cited": 2, "ignored": 1},
        "status": "superseded",
    }
    assert set(memory_to_json(WHOLE)) == set(list_wire_names(MemoryRecord))
    assert not {"ref", "levels", "project", "valid_to", "superseded_by"} & set(memory_to_json(SMALL))


def test_draft_with_kind_and_content_is_valid() -> None:
    draft = parse_draft({"kind": "episode", "content": "\n  Moved the parser out.\nBecause it grew."})

    assert (draft.kind, draft.title, draft.scope, draft.at) == (Kind.EPISODE, "Moved the parser out.", Scope.USER, None)


def test_draft_fact_with_key_value_is_valid() -> None:
    draft = parse_draft({"kind": "fact", "key": "db", "value": "postgres", "project": "/p"})

    assert (draft.content, draft.key, draft.value, draft.scope) == ("db: postgres", "db", "postgres", Scope.PROJECT)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "note"}, "kind"),
        ({"kind": None}, "kind"),
        ({"content": None}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "x" * (MAX_TEXT_BYTES + 1)}, "content"),
        ({"content": "é" * (MAX_TEXT_BYTES // 2 + 1)}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"confidence": 1.5}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"importance": "high"}, "importance"),
        ({"tags": "db"}, "tags"),
        ({"tags": ["x"] * 201}, "tags"),
        ({"tag": ["x"]}, "tag"),
        ({"scope": "project"}, "scope"),
        ({"at": "soon"}, "at"),
        ({"valid_from": "2025-02-01", "valid_to": "2025-01-01"}, "valid_to"),
        ({"links": [{"type": "about"}]}, "links"),
        ({"artifacts": [{"type": "commit"}]}, "artifacts[0].ref"),
        ({"artifacts": ["a41c9e2"]}, "artifacts[0]"),
        ({"levels": {"summary": 1}}, "levels.summary"),
        ({"source": {"x": "y" * MAX_TEXT_BYTES}}, "source"),
    ],
)
def test_draft_invalid_error_names_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_draft({"kind": "fact", "content": "c"} | change)

    assert refused.value.field == field


def test_drafts_batch_keeps_valid_lists_rejected() -> None:
    good, bad = {"kind": "fact", "content": "c"}, {"kind": "fcat", "content": "c"}

    drafts, rejected = parse_drafts_body({"memories": [good, bad, good, {"kind": "fact", "content": "\ud800"}]})

    assert len(drafts) == 2
    assert rejected.pop().index == 3
    assert to_json(rejected) == [
        {
            "index": 1,
            "error": {
                "code": "invalid",
                "message": f"'memories[1].kind' is 'fcat'; allowed: {', '.join(DRAFT_KINDS)}",
                "field": "memories[1].kind",
                "hint": "did you mean 'fact'?",
            },
        }
    ]


def test_drafts_batch_without_valid_entry_raises() -> None:
    with pytest.raises(InvalidInput, match=r"memories\[0\]\.kind"):
        parse_drafts_body({"memories": [{"kind": "fcat", "content": "c"}, 7]})
    with pytest.raises(InvalidInput, match="expected"):
        parse_drafts_body({"memories": None})
    assert parse_drafts_body({"memories": []}) == ([], [])
    assert parse_drafts_body({"kind": "fact", "content": "c"}) == ([parse_draft({"kind": "fact", "content": "c"})], [])


def test_patch_converts_types_and_null_clears() -> None:
    patch = parse_patch({"title": "new", "tags": ["a"], "status": "archived", "branch": None, "valid_to": "2025-01-01"})

    assert replace(WHOLE, **patch) == replace(
        WHOLE, title="new", tags=("a",), status=Status.ARCHIVED, branch=None, valid_to=datetime(2025, 1, 1, tzinfo=UTC)
    )


def test_patch_accepts_every_patchable_field() -> None:
    whole = memory_to_json(WHOLE)

    patch = parse_patch({name: whole[name] for name in PATCH_FIELDS})

    assert set(patch) == set(PATCH_FIELDS)
    assert replace(WHOLE, **patch) == WHOLE


@pytest.mark.parametrize(
    "raw", [{}, {"id": "m2"}, {"usage": {}}, {"kind": "fact"}, {"title": ""}, {"titel": "x"}, [], None]
)
def test_patch_of_immutable_field_is_rejected(raw: Any) -> None:
    with pytest.raises(InvalidInput):
        parse_patch(raw)


@pytest.mark.parametrize("name", sorted({*PATCH_FIELDS} - {*CLEARABLE_FIELDS}))
def test_patch_null_of_required_field_is_rejected(name: str) -> None:
    with pytest.raises(
        InvalidInput, match=f"'{name}' cannot be cleared; fields that can be cleared: category, key, value"
    ):
        parse_patch({"branch": "main", name: None})

    assert parse_patch(dict.fromkeys(CLEARABLE_FIELDS)) == dict.fromkeys(CLEARABLE_FIELDS)


def test_draft_reads_every_field() -> None:
    whole = memory_to_json(WHOLE)

    draft = parse_draft({name: whole[name] for name in DRAFT_FIELDS})

    assert {name: getattr(draft, name) for name in DRAFT_FIELDS} == {
        name: getattr(WHOLE, name) for name in DRAFT_FIELDS
    }


def test_title_of_takes_first_nonblank_line() -> None:
    assert derive_title("\n \n first\nsecond") == "first"
    assert derive_title("x" * 500) == "x" * 119 + "…"
    assert derive_title("") == ""


@pytest.mark.parametrize(("name", "value"), [("confidence", 0.39), ("importance", 0.1)])
def test_draft_fact_below_minimum_confidence_is_rejected(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match="of a fact must be at least"):
        parse_draft({"kind": "fact", "content": "x", name: value})

    assert getattr(parse_draft({"kind": "episode", "content": "x", name: value}), name) == value
