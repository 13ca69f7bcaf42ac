from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec import Struct

from hunchd.domain.errors import InvalidInput
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Status
from hunchd.protocol.fields import get_batch
from hunchd.protocol.memories import parse_draft
from hunchd.protocol.requests import (
    AssembleRequest,
    ContextRequest,
    ExpandRequest,
    FeedbackItem,
    ForgetRequest,
    MemoriesQuery,
    NewProject,
    PredictRequest,
    SearchBody,
    SearchRequest,
    parse_context_query,
    parse_feedback_body,
)
from hunchd.protocol.signals import MAX_SIGNALS
from hunchd.protocol.struct_decoding import decode, decode_query


def test_context_query_with_project_only_is_valid() -> None:
    assert parse_context_query("project=%2Fp") == (ContextRequest(project="/p"), "json")


def test_context_query_reads_every_field() -> None:
    query = urlencode(
        {
            "project": "/p",
            "file": "a b.py",
            "budget": 500,
            "activity": "debugging",
            "branch": "x/y",
            "query": "why?",
            "format": "markdown",
        }
    )

    assert parse_context_query(query) == (
        ContextRequest(project="/p", file="a b.py", budget=500, activity="debugging", branch="x/y", query="why?"),
        "markdown",
    )


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "'project' is missing"),
        ("project=", "'project' is missing"),
        ("project=/p&budget=lots", "'budget' must be an integer from 1 to 200,000; got 'lots'"),
        ("project=/p&budget=0", "'budget' must be an integer"),
        ("project=/p&budget=" + "9" * 5000, "'budget' must be an integer"),
        ("project=/p&budget=8e3", "'budget' must be an integer"),
        ("project=/p&activity=debuging", "allowed: .*debugging"),
        ("project=/p&format=xml", "allowed: json, markdown"),
        ("project=/p&file=a&file=b", "contains 'file' twice"),
        ("project=/p&file=%00", "NUL"),
        ("project=/p&file=%ff", "not UTF-8"),
        ("project=/p&" + "&".join(f"x{n}=1" for n in range(200)), "more than 100 fields"),
        ("projct=/p", "'projct' is not a known parameter"),
        ("project=/p&query=" + "x" * 70_000, "longer than 65,536 bytes"),
    ],
)
def test_context_query_error_lists_allowed_values(query: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_context_query(query)


def test_assemble_body_extends_context_query() -> None:
    body = {
        "project": "/p",
        "budget": 1000,
        "signals": {
            "current_file": "a.py",
            "open_files": ["b.py", "c.py"],
            "recent_errors": ["boom", {"text": "bang", "line": 3}],
            "branch": "main",
            "activity": "new_feature",
            "query": "q",
        },
    }

    assert decode(body, AssembleRequest).to_context_request() == ContextRequest(
        project="/p",
        file="a.py",
        open_files=("b.py", "c.py"),
        budget=1000,
        activity="new_feature",
        branch="main",
        query="q",
        errors=("boom", "bang"),
    )
    assert decode({"project": "/p"}, AssembleRequest).to_context_request() == ContextRequest(project="/p")


@pytest.mark.parametrize(
    ("signals", "field"),
    [
        ([], "signals"),
        ({"current_file": 1}, "signals.current_file"),
        ({"open_files": "a.py"}, "signals.open_files"),
        ({"open_files": ["a.py"] * 101}, "signals.open_files"),
        ({"recent_errors": [1]}, "signals.recent_errors"),
        ({"activity": "sleeping"}, "signals.activity"),
        ({"curent_file": "a.py"}, "signals.curent_file"),
    ],
)
def test_assemble_body_error_names_signal(signals: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode({"project": "/p", "signals": signals}, AssembleRequest).to_context_request()

    assert refused.value.field == field


def test_other_bodies_read_every_field() -> None:
    assert decode(
        {"project": "p", "file_opened": "a", "open_files": ["b"], "query": "q", "branch": "x", "error": "e", "k": 3},
        PredictRequest,
    ) == PredictRequest(project="p", file_opened="a", open_files=("b",), query="q", branch="x", error="e", k=3)
    assert decode(
        {
            "project": "p",
            "query": "q",
            "depth": "deep",
            "kinds": ["fact"],
            "path_prefix": "/x",
            "tags": ["t"],
            "session": "s",
            "as_of": "2025-01-01",
            "k": 20,
        },
        SearchBody,
    ).to_search_request() == SearchRequest(
        project="p",
        query="q",
        depth="deep",
        kinds=(Kind.FACT,),
        path_prefix="/x",
        tags=("t",),
        session="s",
        as_of=datetime(2025, 1, 1, tzinfo=UTC),
        k=20,
        code=False,
    )
    assert decode({"topic": "cli", "level": "summary", "project": "p"}, ExpandRequest) == ExpandRequest(
        topic="cli", level="summary", project="p"
    )
    assert parse_feedback_body({"items": [{"id": "m1", "outcome": "missed", "note": "the ADR"}]}) == (
        [FeedbackItem(id="m1", outcome="missed", note="the ADR")],
        [],
    )
    assert decode({"path": "/p"}, NewProject).path == "/p"


@pytest.mark.parametrize(
    ("of", "body", "field"),
    [
        (PredictRequest, {"project": "p", "k": 0}, "k"),
        (PredictRequest, {"file_opened": "a"}, "project"),
        (SearchBody, {"query": " "}, "query"),
        (SearchBody, {"query": "q", "depth": "deeper"}, "depth"),
        (SearchBody, {"query": "q", "kinds": ["fact", "facts"]}, "kinds"),
        (SearchBody, {"query": "q", "as_of": "now"}, "as_of"),
        (ExpandRequest, {}, "id"),
        (ExpandRequest, {"id": "a", "topic": "b"}, "id"),
        (NewProject, {"path": ["/p"]}, "path"),
    ],
)
def test_other_bodies_error_names_field(of: type[Struct], body: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode(body, of)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("body", "field"), [({"items": [{"id": "b", "outcome": "meh"}]}, "items[0].outcome"), ({"items": {}}, "items")]
)
def test_feedback_error_names_field(body: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_feedback_body(body)

    assert refused.value.field == field


@pytest.mark.parametrize("body", [{"signals": {}}, [], {"signals": [0] * 10_001}])
def test_signals_batch_must_be_short_list(body: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        get_batch(body, "signals", max_entries=MAX_SIGNALS)

    assert refused.value.field == "signals"


def test_batch_bad_item_keeps_the_others() -> None:
    items, rejected = parse_feedback_body({"items": [{"id": "a", "outcome": "meh"}, {"id": "b", "outcome": "cited"}]})

    assert items == [FeedbackItem(id="b", outcome="cited")]
    assert [(each.index, each.error.field) for each in rejected] == [(0, "items[0].outcome")]


def test_memories_query_reads_kinds_and_page() -> None:
    request = decode_query(
        "project=p&kind=fact,episode&status=archived&tag=db,cli&since=2025-01-01&limit=10&cursor=abc", MemoriesQuery
    )

    assert request.to_filters() == Filters(
        project="p",
        kinds=(Kind.FACT, Kind.EPISODE),
        statuses=(Status.ARCHIVED,),
        tags=("db", "cli"),
        since=datetime(2025, 1, 1, tzinfo=UTC),
    )
    assert (request.limit, request.cursor) == (10, "abc")
    assert decode_query("", MemoriesQuery).to_filters() == Filters()


def test_empty_project_is_rejected_not_ignored() -> None:
    for ask in (
        lambda: decode({"query": "q", "project": ""}, SearchBody),
        lambda: decode({"topic": "t", "project": " "}, ExpandRequest),
        lambda: parse_feedback_body({"items": [{"id": "m1", "outcome": "cited", "project": ""}]}),
        lambda: parse_draft({"kind": "fact", "content": "we use pnpm", "project": ""}),
    ):
        with pytest.raises(InvalidInput, match="project' is empty; name a project or leave it out"):
            ask()


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": [" "]}])
def test_forget_without_ids_is_rejected(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="'ids' must be a list of 1 or more; got 0"):
        decode(body, ForgetRequest)
