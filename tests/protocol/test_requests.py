from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from hunchd.domain.errors import InvalidInput
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Status
from hunchd.protocol.memories import parse_draft
from hunchd.protocol.requests import (
    ContextRequest,
    ExpandRequest,
    FeedbackItem,
    PredictRequest,
    SearchRequest,
    parse_context_body,
    parse_context_query,
    parse_expand_body,
    parse_feedback_body,
    parse_memories_query,
    parse_predict_body,
    parse_project_body,
    parse_search_body,
    parse_signals_body,
)


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

    assert parse_context_body(body) == ContextRequest(
        project="/p",
        file="a.py",
        open_files=("b.py", "c.py"),
        budget=1000,
        activity="new_feature",
        branch="main",
        query="q",
        errors=("boom", "bang"),
    )
    assert parse_context_body({"project": "/p"}) == ContextRequest(project="/p")


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
        parse_context_body({"project": "/p", "signals": signals})

    assert refused.value.field == field


def test_other_bodies_read_every_field() -> None:
    assert parse_predict_body(
        {"project": "p", "file_opened": "a", "open_files": ["b"], "query": "q", "branch": "x", "error": "e", "k": 3}
    ) == PredictRequest(project="p", file_opened="a", open_files=("b",), query="q", branch="x", error="e", k=3)
    assert parse_search_body(
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
        }
    ) == SearchRequest(
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
    assert parse_expand_body({"topic": "cli", "level": "summary", "project": "p"}) == ExpandRequest(
        topic="cli", level="summary", project="p"
    )
    assert parse_feedback_body({"items": [{"id": "m1", "outcome": "missed", "note": "the ADR"}]}) == (
        [FeedbackItem(id="m1", outcome="missed", note="the ADR")],
        [],
    )
    assert parse_project_body({"path": "/p"}) == "/p"
    assert parse_signals_body({"signals": [1, None]}) == [1, None]


@pytest.mark.parametrize(
    ("read", "body", "field"),
    [
        (parse_predict_body, {"project": "p", "k": 0}, "k"),
        (parse_predict_body, {"file_opened": "a"}, "project"),
        (parse_search_body, {"query": " "}, "query"),
        (parse_search_body, {"query": "q", "depth": "deeper"}, "depth"),
        (parse_search_body, {"query": "q", "kinds": ["fact", "facts"]}, "kinds"),
        (parse_search_body, {"query": "q", "as_of": "now"}, "as_of"),
        (parse_expand_body, {}, "id"),
        (parse_expand_body, {"id": "a", "topic": "b"}, "id"),
        (
            parse_feedback_body,
            {"items": [{"id": "b", "outcome": "meh"}]},
            "items[0].outcome",
        ),
        (parse_feedback_body, {"items": {}}, "items"),
        (parse_signals_body, {"signals": {}}, "signals"),
        (parse_signals_body, [], "signals"),
        (parse_signals_body, {"signals": [0] * 10_001}, "signals"),
        (parse_project_body, {"path": ["/p"]}, "path"),
    ],
)
def test_other_bodies_error_names_field(read: Any, body: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(body)

    assert refused.value.field == field


def test_batch_bad_item_keeps_the_others() -> None:
    items, rejected = parse_feedback_body({"items": [{"id": "a", "outcome": "meh"}, {"id": "b", "outcome": "cited"}]})

    assert items == [FeedbackItem(id="b", outcome="cited")]
    assert [(each.index, each.error.field) for each in rejected] == [(0, "items[0].outcome")]


def test_memories_query_reads_kinds_and_page() -> None:
    request = parse_memories_query(
        "project=p&kind=fact,episode&status=archived&tag=db,cli&since=2025-01-01&limit=10&cursor=abc"
    )

    assert request.filters == Filters(
        project="p",
        kinds=(Kind.FACT, Kind.EPISODE),
        statuses=(Status.ARCHIVED,),
        tags=("db", "cli"),
        since=datetime(2025, 1, 1, tzinfo=UTC),
    )
    assert (request.limit, request.cursor) == (10, "abc")
    assert parse_memories_query("").filters == Filters()


def test_empty_project_is_rejected_not_ignored() -> None:
    for ask in (
        lambda: parse_search_body({"query": "q", "project": ""}),
        lambda: parse_expand_body({"topic": "t", "project": " "}),
        lambda: parse_feedback_body({"items": [{"id": "m1", "outcome": "cited", "project": ""}]}),
        lambda: parse_draft({"kind": "fact", "content": "we use pnpm", "project": ""}),
    ):
        with pytest.raises(InvalidInput, match="project' is empty; name a project or leave it out"):
            ask()
