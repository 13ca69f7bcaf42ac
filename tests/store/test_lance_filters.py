"""Filters: the store agrees with Python, texts are quoted, projects are isolated."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Artifact, Kind, Memory, Scope, Status
from hunchd.store.database.collection import Collection
from hunchd.store.database.lance import create_session
from hunchd.store.database.sql_conditions import quote_text
from tests.store.examples import NOON, memory, row_of

SOURCE = Path(__file__).parents[2] / "src" / "hunchd"

# What breaks out of a quote, a LIKE, a list or a comment in one database or another.
HOSTILE = (
    "' OR '1'='1",
    "' OR true --",
    "'; DROP TABLE memories; --",
    "') OR (project <> '",
    "\\' OR 1=1 --",
    "''",
    "'''",
    "\\",
    "%",
    "_",
    "/* */",
    "$1",
    "{0}",
    '"',
    "`project`",
    "x' UNION SELECT * FROM memories --",
    "\x00' OR true",
    "\n' OR true",
    "\u2019 OR \u20181\u2019=\u20181",
    "\ud800' OR true",
    "ʼ OR true",
    "p') OR project IN ('q",
)
PROJECTS = ("p", "q", None, *HOSTILE[:4])
TEXTS = ("", "main", "feature/x", *HOSTILE[:6])
PATHS = ("src/a.py", "src/ab.py", "docs/it's.md", "%/x", "src")


def some(values: tuple[object, ...]) -> st.SearchStrategy[object]:
    return st.sampled_from(values)


TIMES = st.integers(-3, 3).map(lambda days: NOON + timedelta(days=days))
MEMORIES = st.builds(
    memory,
    number=st.integers(0, 10**9),
    content=st.just("text"),
    project=some(PROJECTS),
    kind=st.sampled_from(Kind),
    scope=st.sampled_from(Scope),
    status=st.sampled_from(Status),
    branch=some((None, *TEXTS)),
    category=some((None, *TEXTS)),
    key=some((None, *TEXTS, *PATHS)),
    tags=st.lists(some(TEXTS), max_size=3).map(tuple),
    artifacts=st.lists(some(PATHS).map(lambda path: Artifact("file", str(path))), max_size=2).map(tuple),
    at=TIMES,
    valid_from=st.none() | TIMES,
    valid_to=st.none() | TIMES,
    superseded_by=some((None, "m1", "it's")),
)
FAMILIES = ("m1", "m2", "it's", "m%", "m1.a", "")
FILTERS = st.builds(
    Filters,
    project=some(PROJECTS),
    kinds=st.lists(st.sampled_from(Kind), max_size=4).map(tuple),
    scopes=st.lists(st.sampled_from(Scope), max_size=2).map(tuple),
    statuses=st.lists(st.sampled_from(Status), max_size=3).map(tuple),
    branch=st.none() | some(TEXTS),
    tags=st.lists(some(TEXTS), max_size=2).map(tuple),
    category=st.none() | some(TEXTS),
    key=st.none() | some((*TEXTS, *PATHS)),
    path_prefix=st.none() | some(("src/a", "src", "docs/it's", "%", "", "'")),
    since=st.none() | TIMES,
    until=st.none() | TIMES,
    as_of=st.none() | TIMES,
    family=st.none() | st.none() | some(FAMILIES),
    replaced_by=st.none() | some(("m1", "it's", "m2")),
)


@pytest.fixture
async def collection(tmp_path: Path) -> AsyncIterator[Collection]:
    opened = await Collection.open(tmp_path / "p", create_session())
    yield opened
    await opened.close()


async def test_store_filters_match_python_filters(collection: Collection) -> None:
    loop = asyncio.get_running_loop()
    stored: list[Memory] = []

    @given(st.lists(MEMORIES, min_size=40, max_size=60, unique_by=lambda one: one.id))
    @settings(max_examples=1, deadline=None, database=None, derandomize=True)
    def fill(memories: list[Memory]) -> None:
        stored[:] = memories

    passed = 0

    @given(FILTERS)
    @settings(max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def compare(filters: Filters) -> None:
        nonlocal passed
        page = asyncio.run_coroutine_threadsafe(collection.load_page(filters, 1000, None), loop).result()
        expected = {one.id for one in stored if matches(one, filters)}
        passed += len(expected)
        assert {row["id"] for row in page[0]} == expected
        assert page[1] == len(expected)

    await asyncio.to_thread(fill)
    stored += [memory(n, "text", project="p", branch=None, key=f"src/{n}") for n in range(20)]
    await collection.put([row_of(one) for one in stored])
    await asyncio.to_thread(compare)
    assert passed > 20


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_hostile_filter_text_matches_no_row(collection: Collection, hostile: str) -> None:
    await collection.put([row_of(memory(n, project="q", key="secret", tags=("t",), branch="b")) for n in range(3)])
    for filters in (
        Filters(project=hostile),
        Filters(project="q", key=hostile),
        Filters(project="q", category=hostile),
        Filters(project="q", tags=(hostile,)),
        Filters(project="q", branch=hostile),
        Filters(project="q", path_prefix=hostile),
        Filters(project="q", family=hostile),
    ):
        assert await collection.load_page(filters, 10, None) == ([], 0), filters
    assert await collection.get([hostile]) == []
    assert await collection.find_by_name(hostile, Filters(project="q"), 10) == []
    assert await collection.delete([hostile]) == 0


@pytest.mark.parametrize("hostile", [text for text in HOSTILE if "\ud800" not in text])
async def test_hostile_text_matches_only_its_row(collection: Collection, hostile: str) -> None:
    await collection.put([row_of(memory(1, key=hostile, tags=(hostile,), branch=hostile)), row_of(memory(2, key="x"))])
    for filters in (Filters(project="p", key=hostile), Filters(project="p", tags=(hostile, hostile))):
        assert [row["id"] for row in (await collection.load_page(filters, 10, None))[0]] == ["m1"]


@given(st.text(max_size=200))
def test_quoted_text_is_one_literal(text: str) -> None:
    literal = quote_text(text)
    assert literal.startswith("'")
    assert literal.endswith("'")
    assert re.fullmatch(r"(?:[^']|'')*", literal[1:-1], re.DOTALL)


def test_conditions_are_written_in_one_module() -> None:
    written = re.compile(r"""\b(?:where|delete|count_rows|count)\(\s*f?["']|f["'][^"']*\b(?:IN \(|AND|OR|LIKE) """)
    offenders = [
        path.name
        for path in (SOURCE / "store").glob("*.py")
        if path.name != "expressions.py" and "lancedb" in path.read_text() and written.search(path.read_text())
    ]
    assert offenders == []


async def test_family_filter_matches_id_and_children(collection: Collection) -> None:
    ids = ("m1", "m1.1", "m1.c0", "m1.ab12", "m10", "m1/x", "m1-1", "m2", "m2.1")
    kept = [replace(memory(number), id=identifier) for number, identifier in enumerate(ids)]
    await collection.put([row_of(one) for one in kept])
    filters = Filters(project=kept[0].project, statuses=(), family="m1")

    found, total = await collection.load_page(filters, 100, None)

    assert total == 4
    assert {row["id"] for row in found} == {one.id for one in kept if matches(one, filters)} == set(ids[:4])
