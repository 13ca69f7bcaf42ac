"""Tests of the bundle cache: hits, eviction, waste counters."""

from hunchd.domain.context import Bundle, Focus
from hunchd.engine.answering.bundles import Bundles, Key


def key(file: str, revision: int = 0) -> Key:
    return Key(Focus(project="p", file=file), 8000, revision, 0)


def bundle(text: str) -> Bundle:
    return Bundle(status="ok", context=text, token_count=1, budget=8000, tiers={1: 0, 2: 1, 3: 0, 4: 0}, items=())


def test_take_prefetched_bundle_marks_prefetched() -> None:
    bundles = Bundles()
    bundles.keep(key("a"), bundle("A"), ahead=True)
    taken = bundles.take(key("a"))
    assert taken is not None
    assert (taken.context, taken.prefetched) == ("A", True)
    assert bundles.tally.built_ahead == 1


def test_take_newer_revision_misses() -> None:
    bundles = Bundles()
    bundles.keep(key("a"), bundle("A"), ahead=False)
    assert bundles.take(key("a", revision=1)) is None


def test_record_answer_counts_hits_and_misses() -> None:
    bundles = Bundles()
    for warm in (True, False, True):
        bundles.answered(warm=warm, seconds=0.001)
    assert (bundles.tally.hits, bundles.tally.misses, list(bundles.latencies)) == (2, 1, [0.001] * 3)


def test_keep_full_cache_evicts_least_used() -> None:
    bundles = Bundles(keep=2)
    bundles.keep(key("a"), bundle("A"), ahead=True)
    bundles.keep(key("b"), bundle("B"), ahead=True)
    assert bundles.take(key("a")) is not None
    bundles.keep(key("c"), bundle("C"), ahead=False)
    assert not bundles.has(key("b"))
    assert bundles.has(key("a"))
    assert bundles.tally.wasted == 1


def test_forget_project_drops_its_bundles() -> None:
    bundles = Bundles()
    bundles.keep(key("a"), bundle("A"), ahead=False)
    bundles.forget("other")
    assert len(bundles) == 1
    bundles.forget("p")
    assert len(bundles) == 0


def test_keep_evicts_outdated_bundles_as_wasted() -> None:
    lost: list[int] = []
    bundles = Bundles(dropped=lost.append)
    bundles.keep(key("a"), bundle("A"), ahead=True)
    bundles.keep(key("b"), bundle("B"), ahead=True)
    assert bundles.take(key("b")) is not None
    bundles.keep(key("c", revision=1), bundle("C"), ahead=False)

    assert len(bundles) == 1
    assert len(lost) == bundles.tally.wasted == 1


def test_drop_counts_unused_bundles_as_wasted() -> None:
    lost: list[int] = []
    bundles = Bundles(dropped=lost.append)
    for name in "abc":
        bundles.keep(key(name), bundle(name), ahead=True)
    assert bundles.take(key("b")) is not None
    bundles.drop()

    assert len(bundles) == 0
    assert len(lost) == bundles.tally.wasted == 2


def test_peek_does_not_count_as_hit() -> None:
    bundles = Bundles()
    bundles.keep(key("a"), bundle("A"), ahead=True)
    assert bundles.peek(key("a")) is not None
    assert bundles.peek(key("b")) is None
    assert bundles.keep(key("c", revision=1), bundle("C"), ahead=False)
    assert bundles.tally.wasted == 1
