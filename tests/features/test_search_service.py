"""Tests of search with the real store, cached and stored memories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.core.memory.session_log import draft_to_message, message_to_memory
from hunchd.domain.facts import slot_id
from hunchd.domain.memory import Kind, Memory, Scope
from hunchd.domain.session import MessageType
from hunchd.features.search.search_service import SearchService
from hunchd.ingestion.conventions import extract_conventions
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.requests import SearchRequest
from hunchd.protocol.session_requests import MessageDraft
from hunchd.store.client import StoreClient, build_command, build_environment
from hunchd.store.memory_cache import MemoryCache

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TALK = (
    ("Ada", "Did anybody look at the flaky upload?"),
    ("Ben", "Which cache do we use for the thumbnails?"),
    ("Ada", "Valkey, since the sorted sets are cheap."),
    ("Ben", "Fine with me."),
    ("Ada", "Lunch was late again."),
    ("Ben", "The printer on the second floor is out of toner."),
    ("Ada", "Then I will print tomorrow."),
)


def make_turn(session: str, lines: tuple[tuple[str, str], ...], *, days: int = 100) -> list[Memory]:
    at = NOW - timedelta(days=days)
    drafts = [MessageDraft(event=MessageType.USER, text=text, name=name, at=at) for name, text in lines]
    messages = [draft_to_message(draft, session, "p", number, NOW) for number, draft in enumerate(drafts, start=1)]
    return [message_to_memory(message, session, "p", NOW) for message in messages]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[StoreClient]:
    line = build_command(tmp_path, idle_after=60.0, model="minilm-int8", embedding=False, model_idle_after=60.0)
    child = HelperProcess(line, name="the store process", env=build_environment())
    yield StoreClient(child)
    await child.stop()


async def search_ids(searching: SearchService, query: str, **asked: Any) -> list[str]:
    answer = await searching.search(SearchRequest(query=query, **asked), "p", timeout=30.0)
    assert answer.status != "degraded"
    return [result.ref for result in answer.results]


async def test_search_finds_turn_by_previous_turn(store: StoreClient) -> None:
    await store.put([*make_turn("s", TALK), *make_turn("other", TALK[3:])])
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    assert (await search_ids(searching, "which cache for thumbnails"))[:2] == ["session:s:3", "session:s:2"]
    answer = await searching.search(SearchRequest(query="which cache for thumbnails"), "p")
    assert answer.results[0].reasons == ["said beside it: cache, thumbnails"]
    assert await search_ids(searching, "when is the quarterly audit of the vault") == []


async def test_search_finds_files_by_synonyms(store: StoreClient, tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[project]\nrequires-python = '>=3.9'\n[tool.black]\n[tool.poetry]\n",
        "pytest.ini": "[pytest]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = ("Run positive tests first", "Update Python version info", "Minor style fix", "Drop a new dependency")
    at = NOW - timedelta(days=100)
    work = [
        Memory(id=title, kind=Kind.EPISODE, title=title, content=title, at=at, created=at, updated=at, project="p")
        for title in told
    ]
    await store.put([*work, *extract_conventions(tmp_path, files, project="p", now=NOW)])
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    assert (await search_ids(searching, "how to run tests"))[0] == "convention:tests"
    assert (await search_ids(searching, "which python version"))[0] == "convention:python"
    assert (await search_ids(searching, "coding style"))[0] == "convention:format"
    assert (await search_ids(searching, "how are dependencies installed"))[0] == "convention:package manager"


async def test_store_reports_time_since_last_request(store: StoreClient) -> None:
    assert store.seconds_since_query == float("inf")
    asked = asyncio.create_task(
        search_ids(SearchService(MemoryCache(), store, now=lambda: NOW), "which cache for thumbnails")
    )
    while store.seconds_since_query:
        await asyncio.sleep(0)
    await asked
    assert 0.0 < store.seconds_since_query < float("inf")


async def test_neighbours_match_filters(store: StoreClient) -> None:
    talk = make_turn("s", TALK)
    await store.put([*talk[:2], *make_turn("s", TALK, days=1)[2:]])
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    earlier = NOW - timedelta(days=50)
    assert await search_ids(searching, "which cache for thumbnails", as_of=earlier) == ["session:s:2", "session:s:1"]


async def test_cached_turn_ranks_like_stored_turn(store: StoreClient) -> None:
    await store.put(make_turn("old", TALK[3:]))
    hot = MemoryCache()
    for memory in make_turn("s", TALK):
        hot.upsert(memory)
    searching = SearchService(hot, store, now=lambda: NOW)
    waiting = await search_ids(searching, "which cache for thumbnails", kinds=(Kind.MESSAGE,))
    await store.put(make_turn("s", TALK))
    hot.mark_committed([memory.id for memory in make_turn("s", TALK)])
    assert await search_ids(searching, "which cache for thumbnails", kinds=(Kind.MESSAGE,)) == waiting
    assert waiting[0] == "session:s:3"


async def test_search_ignores_pasted_text(store: StoreClient) -> None:
    await store.put(make_turn("s", TALK))
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    pasted = "which cache for thumbnails?\n\n> the printer on the second floor is out of toner\n"
    assert (await search_ids(searching, pasted))[0] == "session:s:3"


async def test_search_hides_memories_changed_meanwhile(store: StoreClient) -> None:
    await store.put(make_turn("s", TALK))
    hot = MemoryCache()
    searching = SearchService(hot, store, now=lambda: NOW)
    first, second = (await search_ids(searching, "which cache for thumbnails"))[:2]
    talk = {memory.ref: memory for memory in make_turn("s", TALK)}
    hot.tombstone(talk[first].id)
    # Changed so that it no longer says a word of the question: the store still finds what it said before.
    changed = replace(
        talk[second], title="Ben", content="The toner is in the cellar.", updated=NOW + timedelta(minutes=1)
    )
    hot.upsert(changed)
    results = (await searching.search(SearchRequest(query="which cache for thumbnails"), "p")).results
    assert first not in [result.ref for result in results]
    assert {result.snippet for result in results if result.ref == second} == {"The toner is in the cellar."}


@pytest.mark.parametrize("committed", [True, False])
async def test_branch_fact_hides_main_line_fact(store: StoreClient, committed: bool) -> None:
    def fact(value: str, branch: str | None) -> Memory:
        text = f"the thumbnail cache is {value}"
        id_ = slot_id(project="p", scope=Scope.PROJECT, category=None, key="thumbnail cache", branch=branch)
        return Memory(
            id=id_, kind=Kind.FACT, project="p", title=text, content=text, key="thumbnail cache", value=value,
            branch=branch, scope=Scope.PROJECT, at=NOW, created=NOW, updated=NOW,
        )  # fmt: skip

    main, mine, hot = fact("Valkey", None), fact("Dragonfly", "faster"), MemoryCache()
    await store.put([main, mine] if committed else [main])
    if not committed:
        hot.upsert(mine)
    searching = SearchService(hot, store, now=lambda: NOW)
    asked = SearchRequest(query="thumbnail cache")
    on_branch = await searching.search(asked, "p", "faster")
    assert [result.title for result in on_branch.results] == ["the thumbnail cache is Dragonfly"]
    elsewhere = await searching.search(asked, "p", "other")
    assert [result.title for result in elsewhere.results] == ["the thumbnail cache is Valkey"]


async def test_search_without_store_is_degraded(tmp_path: Path) -> None:
    hot = MemoryCache()
    for memory in make_turn("s", TALK):
        hot.upsert(memory)
    searching = SearchService(hot, StoreClient(HelperProcess(("/nowhere",), name="the store process")), now=lambda: NOW)
    answer = await searching.search(SearchRequest(query="which cache for thumbnails"), "p")
    assert answer.status == "degraded"
    assert "only recent memories were searched" in answer.degraded[0]
    assert answer.results[0].ref == "session:s:3"


async def test_search_of_silent_store_returns_cached(store: StoreClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(store, "search_ranked", never)
    cache = MemoryCache()
    for message in make_turn("s", TALK):
        cache.upsert(message)
    searching = SearchService(cache, store, now=lambda: NOW)

    answer = await searching.search(SearchRequest(query="which cache for thumbnails"), "p", timeout=0.05)

    assert answer.status == "degraded"
    assert answer.results[0].ref == "session:s:3"


async def test_search_ignores_function_words_of_other_languages(store: StoreClient) -> None:
    talk = (
        ("Ada", "El pan tiene que estar en las tiendas a las seis, con el contrato en la mano."),
        ("Ben", "Que el horno de la esquina no lo toque nadie."),
        ("Ada", "Fijaos: del reparto se ocupa Koldo."),
    )
    await store.put(make_turn("s", (*talk[:2], *TALK, *talk[2:])))
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    assert (await search_ids(searching, "¿Quién es el que lleva el reparto?"))[0] == f"session:s:{len(TALK) + 3}"


async def test_search_finds_inflected_and_compound_words(store: StoreClient) -> None:
    await store.put(make_turn("s", (*TALK, ("Ben", "Fahrplanwechsel bleibt der 14. Dezember."))))
    searching = SearchService(MemoryCache(), store, now=lambda: NOW)
    assert (await search_ids(searching, "Wann ist der nächste Wechsel der Fahrpläne, also des Fahrplans?"))[0] == (
        f"session:s:{len(TALK) + 1}"
    )
