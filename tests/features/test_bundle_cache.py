"""Tests of the bundle cache: hits, eviction, waste counters."""

from hunchd.domain.context import Bundle, Focus
from hunchd.features.context.bundle_cache import BundleCache, BundleKey


def key(file: str, revision: int = 0) -> BundleKey:
    return BundleKey(Focus(project="p", file=file), 8000, revision, 0)


def bundle(text: str) -> Bundle:
    return Bundle(status="ok", context=text, token_count=1, budget=8000, tiers={1: 0, 2: 1, 3: 0, 4: 0}, items=())


def test_take_prefetched_bundle_marks_prefetched() -> None:
    bundles = BundleCache()
    bundles.put(key("a"), bundle("A"), is_prefetched=True)
    taken = bundles.get(key("a"))
    assert taken is not None
    assert (taken.context, taken.prefetched) == ("A", True)
    assert bundles.tally.built_ahead == 1


def test_take_newer_revision_misses() -> None:
    bundles = BundleCache()
    bundles.put(key("a"), bundle("A"), is_prefetched=False)
    assert bundles.get(key("a", revision=1)) is None


def test_record_answer_counts_hits_and_misses() -> None:
    bundles = BundleCache()
    for warm in (True, False, True):
        bundles.record_answer(is_hit=warm, seconds=0.001)
    assert (bundles.tally.hits, bundles.tally.misses, list(bundles.latencies)) == (2, 1, [0.001] * 3)


def test_keep_full_cache_evicts_least_used() -> None:
    bundles = BundleCache(capacity=2)
    bundles.put(key("a"), bundle("A"), is_prefetched=True)
    bundles.put(key("b"), bundle("B"), is_prefetched=True)
    assert bundles.get(key("a")) is not None
    bundles.put(key("c"), bundle("C"), is_prefetched=False)
    assert not bundles.has(key("b"))
    assert bundles.has(key("a"))
    assert bundles.tally.wasted == 1


def test_forget_project_drops_its_bundles() -> None:
    bundles = BundleCache()
    bundles.put(key("a"), bundle("A"), is_prefetched=False)
    bundles.forget_project("other")
    assert len(bundles) == 1
    bundles.forget_project("p")
    assert len(bundles) == 0


def test_keep_evicts_outdated_bundles_as_wasted() -> None:
    lost: list[int] = []
    bundles = BundleCache(on_unused=lost.append)
    bundles.put(key("a"), bundle("A"), is_prefetched=True)
    bundles.put(key("b"), bundle("B"), is_prefetched=True)
    assert bundles.get(key("b")) is not None
    bundles.put(key("c", revision=1), bundle("C"), is_prefetched=False)

    assert len(bundles) == 1
    assert len(lost) == bundles.tally.wasted == 1


def test_drop_counts_unused_bundles_as_wasted() -> None:
    lost: list[int] = []
    bundles = BundleCache(on_unused=lost.append)
    for name in "abc":
        bundles.put(key(name), bundle(name), is_prefetched=True)
    assert bundles.get(key("b")) is not None
    bundles.clear()

    assert len(bundles) == 0
    assert len(lost) == bundles.tally.wasted == 2


def test_peek_does_not_count_as_hit() -> None:
    bundles = BundleCache()
    bundles.put(key("a"), bundle("A"), is_prefetched=True)
    assert bundles.peek(key("a")) is not None
    assert bundles.peek(key("b")) is None
    assert bundles.put(key("c", revision=1), bundle("C"), is_prefetched=False)
    assert bundles.tally.wasted == 1


def test_list_prefetched_names_newest_first() -> None:
    bundles = BundleCache()
    for name in "ab":
        bundles.put(key(name), bundle(name), is_prefetched=True)
    bundles.put(key("c"), bundle("c"), is_prefetched=False)
    assert bundles.list_prefetched("p") == ["b", "a"]
    assert bundles.list_prefetched("other") == []
