"""In-memory cache: search, project isolation, eviction and tombstones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.domain.filters import Filters, matches
from hunchd.domain.memory import Artifact, Kind, Memory, Status
from hunchd.store.indexes.word_index import WordIndex, count_words
from hunchd.store.memory_cache import MemoryCache

NOW = datetime(2026, 5, 1, tzinfo=UTC)
P1 = Filters(project="p1")


def memory(identifier: str, content: str = "", *, title: str = "", **others: object) -> Memory:
    fields: dict[str, object] = {"kind": Kind.EPISODE, "at": NOW, "created": NOW, "updated": NOW, "project": "p1"}
    return Memory(id=identifier, title=title, content=content, **(fields | others))  # type: ignore[arg-type]


def found(hot: MemoryCache, query: str, filters: Filters = P1, k: int = 10) -> list[str]:
    return [hit.memory_id for hit in hot.search(query, filters, k)]


@pytest.fixture
def hot() -> MemoryCache:
    return MemoryCache()


def test_upserted_memory_is_found_with_reason(hot: MemoryCache) -> None:
    hot.upsert(memory("a", "sessions stay signed cookies"))
    hot.upsert(memory("b", "blueprints are registered late"))

    [(identifier, score, why, _)] = hot.search("which cookies for sessions?", P1, 10)
    assert identifier == "a"
    assert score > 0
    assert why == ("words: cookies, sessions",)
    assert found(hot, "nothing of this kind") == []


def test_search_ignores_stop_words_and_reports_share(hot: MemoryCache) -> None:
    hot.upsert(memory("clock", "runs by the clock"))
    hot.upsert(memory("context", "the app context is pushed"))
    for number in range(20):
        hot.upsert(memory(f"other{number}", f"template number{number}"))

    [hit] = hot.search("How is the AppContext pushed?", P1, 10)
    assert (hit.memory_id, hit.share) == ("context", 1.0)
    [hit] = hot.search("why was the session cookie pushed", P1, 10)
    assert hit.share == pytest.approx(1 / 3)
    assert found(hot, "the") == ["clock", "context"]  # nothing else was asked for


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("getUserName", "user name"),
        ("parse_http_header", "http header"),
        ("src/flask/json/provider.py", "provider"),
        ("HTTPServer2", "http server"),
        ("user name", "getUserName"),
        ("OAuth2Token", "oauth2token"),
        ("会话数据保存在签名的cookie中", "签名"),
        ("größere Änderung", "änderung"),
    ],
)
def test_identifiers_match_by_subwords(hot: MemoryCache, text: str, query: str) -> None:
    hot.upsert(memory("a", text))
    hot.upsert(memory("b", "something else entirely"))
    assert found(hot, query) == ["a"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("deploys happen on Tuesdays", "when do we deploy"),
        ("hedgehogs sleep in the garage", "hedgehog"),
        ("the badger eats worms", "badgers"),
        ("two entries are cached", "caching an entry"),
        ("the list is sorted", "sort the lists"),
    ],
)
def test_search_matches_inflected_forms(hot: MemoryCache, text: str, query: str) -> None:
    hot.upsert(memory("m1", content=text))
    hot.upsert(memory("m2", content="something else entirely"))
    [found] = hot.search(query, Filters(project="p1"), 5)
    assert found.memory_id == "m1"
    assert found.share > 0.5


def test_exact_word_ranks_before_inflected_form(hot: MemoryCache) -> None:
    for identifier, content in (("m1", "we deploy twice"), ("m2", "we deploys twice"), ("m3", "we build twice")):
        hot.upsert(memory(identifier, content=content))
    assert [found.memory_id for found in hot.search("deploy", Filters(project="p1"), 5)] == ["m1", "m2"]


def test_title_and_rare_words_rank_higher(hot: MemoryCache) -> None:
    for number in range(30):
        hot.upsert(memory(f"noise-{number}", "the release was built and published in the usual way " * 2))
    hot.upsert(memory("in text", "somewhere in here the cache is mentioned among other matters of the day"))
    hot.upsert(
        memory("in title", "somewhere in here it is mentioned among other matters of the day", title="the cache")
    )
    assert found(hot, "the cache")[:2] == ["in title", "in text"]


def test_search_with_only_common_words_finds(hot: MemoryCache) -> None:
    for number in range(10):
        hot.upsert(memory(f"m{number}", "release notes"))
    assert len(found(hot, "release")) == 10


def test_common_words_only_rank_in_large_collection(hot: MemoryCache) -> None:
    for number in range(800):
        hot.upsert(memory(f"m{number:03}", "new release" if number % 100 else "new release of the cache"))
    hits = hot.search("new cache release", P1, 100)
    assert {hit.memory_id for hit in hits} == {f"m{number}00" for number in range(8)}
    assert hits[0].why == ("words: cache, new, release",)
    assert len(found(hot, "the release", k=1_000)) == 800


def test_filters_apply_before_limit(hot: MemoryCache) -> None:
    for number in range(50):
        hot.upsert(memory(f"best-{number}", "cache", title="cache"))
    hot.upsert(memory("fact", "a cache among many other words", kind=Kind.FACT))
    hot.upsert(memory("old", "cache", kind=Kind.FACT, status=Status.SUPERSEDED))
    assert found(hot, "cache", Filters(project="p1", kinds=(Kind.FACT,)), k=3) == ["fact"]


def test_upsert_replaces_earlier_version(hot: MemoryCache) -> None:
    hot.upsert(memory("a", "uses sqlite", ref="db"))
    hot.upsert(memory("a", "uses postgres", ref="db"))
    assert found(hot, "sqlite") == []
    assert found(hot, "postgres") == ["a"]
    assert len(hot) == 1
    kept = hot.get_by_ref("p1", "db")
    assert kept is not None
    assert kept.content == "uses postgres"
    assert hot.get_by_ref("p2", "db") is None


def test_tombstone_bars_id_until_upsert(hot: MemoryCache) -> None:
    hot.upsert(memory("a", "a secret plan", ref="r"))
    hot.tombstone("a")
    hot.tombstone("only in the store")
    assert (hot.get("a"), hot.get_by_ref("p1", "r"), found(hot, "secret"), len(hot)) == (None, None, [], 0)
    assert hot.is_tombstoned("a")
    assert hot.is_tombstoned("only in the store")
    hot.upsert(memory("a", "a public plan"))
    assert not hot.is_tombstoned("a")
    assert found(hot, "plan") == ["a"]


def test_eviction_drops_oldest_committed_only() -> None:
    hot = MemoryCache(max_count=5)
    for number in range(8):
        hot.upsert(memory(f"m{number}", "cache"))
    assert (len(hot), hot.uncommitted_count) == (8, 8)
    hot.mark_committed(["m1", "m0", "m6", "m7"])
    assert hot.get("m1") is None
    assert hot.get("m0") is None
    assert hot.get("m6") is None
    assert sorted(found(hot, "cache")) == ["m2", "m3", "m4", "m5", "m7"]
    assert hot.uncommitted_count == 4


def test_cache_respects_max_bytes() -> None:
    hot = MemoryCache(max_bytes=200_000)
    for number in range(100):
        hot.upsert(memory(f"m{number}", f"word{number} " * 500))
        hot.mark_committed([f"m{number}"])
        assert hot.bytes <= 200_000
    assert 10 < len(hot) < 100
    assert hot.get("m99") is not None
    for number in range(100):
        hot.tombstone(f"m{number}")
    assert hot.bytes == 0


def test_commit_of_outdated_version_is_ignored(hot: MemoryCache) -> None:
    first = memory("a", "first")
    hot.upsert(first)
    hot.upsert(replace(first, content="second"))
    hot.mark_committed([first])
    assert hot.uncommitted_count == 1
    hot.mark_committed([replace(first, content="second")])
    assert hot.uncommitted_count == 0
    hot.mark_committed(["never seen"])


def test_forget_project_removes_only_its_memories(hot: MemoryCache) -> None:
    hot.upsert(memory("a", "cache"))
    hot.upsert(memory("b", "cache", project="p2"))
    hot.forget_project("p1")
    hot.forget_project("never there")
    assert (found(hot, "cache"), found(hot, "cache", Filters(project="p2"))) == ([], ["b"])


def test_list_is_newest_first(hot: MemoryCache) -> None:
    for number in (2, 0, 1):
        hot.upsert(memory(f"m{number}", at=NOW + timedelta(days=number)))
    hot.upsert(memory("mine", project=None))
    assert [one.id for one in hot.list_memories(P1)] == ["m2", "m1", "m0"]
    assert [one.id for one in hot.list_memories(Filters())] == ["mine"]
    assert hot.list_memories(Filters(project="p3")) == ()


steps = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "upsert", "tombstone", "committed", "forget_project"]),
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from([None, "p1", "p2"]),
        st.sampled_from(["red cache", "blue cache", "green tree", ""]),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(steps)
def test_random_operations_isolate_projects_and_bytes(history: list[tuple[str, ...]]) -> None:
    hot = MemoryCache(max_count=3)
    kept: dict[str, Memory] = {}
    stored: set[str] = set()
    for action, identifier, project, text in history:
        match action:
            case "upsert":
                kept[identifier] = memory(identifier, text, project=project, artifacts=(Artifact("file", "a.py"),))
                stored.discard(identifier)
                hot.upsert(kept[identifier])
            case "tombstone":
                kept.pop(identifier, None)
                hot.tombstone(identifier)
            case "committed":
                stored |= {identifier} & kept.keys()
                hot.mark_committed([identifier])
            case "forget_project" if project is not None:
                kept = {key: one for key, one in kept.items() if one.project != project}
                hot.forget_project(project)
    for filters in (Filters(), Filters(project="p1"), Filters(project="p2")):
        at_hand = hot.list_memories(filters)
        assert all(matches(one, filters) and kept[one.id] == one for one in at_hand)
        assert {i for i, one in kept.items() if matches(one, filters) and i not in stored} <= {
            one.id for one in at_hand
        }
        assert set(found(hot, "cache", filters)) == {one.id for one in at_hand if "cache" in one.content}
    assert len(hot) <= max(3, hot.uncommitted_count)
    for identifier in "abcd":
        hot.tombstone(identifier)
    assert (len(hot), hot.bytes, hot.uncommitted_count) == (0, 0, 0)


def test_word_index_remove_leaves_no_postings() -> None:
    index = WordIndex()
    index.add("a", [("getUserName from the cache", 1)])
    index.add("a", [("something else", 1)])
    index.remove("a")
    index.remove("a")
    assert len(index) == 0
    assert index == WordIndex() or not any(vars(index).values())


def test_tokenizer_is_linear_for_long_names() -> None:
    assert count_words("aB" * 100_000 + "_" * 100_000 + "漢" * 100_000)  # a quadratic pattern would not end


def test_search_waiting_only_skips_committed(hot: MemoryCache) -> None:
    stored = [memory(f"s{number}", "a cache of sessions") for number in range(30)]
    for one in [*stored, memory("w1", "the cache is slow"), memory("w2", "nothing of it")]:
        hot.upsert(one)
    hot.mark_committed(stored)
    assert hot.uncommitted_count == 2
    assert [hit.memory_id for hit in hot.search("cache", P1, 20, uncommitted_only=True)] == ["w1"]
    hot.tombstone("w1")
    assert hot.search("cache", P1, 20, uncommitted_only=True) == ()
    hot.upsert(memory("s3", "a cache that changed"))  # the store has what it said before
    assert [hit.memory_id for hit in hot.search("cache", P1, 20, uncommitted_only=True)] == ["s3"]
