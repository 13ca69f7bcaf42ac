"""Tests of links, staleness, module histories and merges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation import module_history
from hunchd.consolidation.code_presence import UnknownCode
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.consolidation.linking import plan_links
from hunchd.consolidation.merging import plan_merges
from hunchd.consolidation.module_history import (
    MIN_EPISODES_PER_CHANGE,
    list_quoted_ids,
    make_history_id,
    plan_histories,
)
from hunchd.consolidation.plan import PlannedChange
from hunchd.consolidation.staleness import STALE_REASON, plan_staleness
from hunchd.domain.memory import Artifact, Kind, Memory, Status, Trust, Usage
from hunchd.retrieval.ranking import rank_hits
from hunchd.store.hits import Hit
from tests.consolidation.made import NOW, ListedGround, by_id, memory

SETTINGS = ConsolidationSettings()
GROUND = ListedGround({"src/app.py": ("make_app", "Router"), "src/db.py": ("connect",)})


def after(changes: list[PlannedChange], *memories: Memory) -> dict[str, Memory]:
    return by_id(*memories) | {one.id: one for change in changes for one in change.after}


def commit(name: str, sha: str, text: str, **fields: object) -> Memory:
    return memory(name, content=text, artifacts=(Artifact("commit", sha),), **fields)  # type: ignore[arg-type]


def test_links_revert_and_fix_in_both_directions() -> None:
    first = commit("first", "a" * 40, "add the cache")
    fix = commit("fix", "b" * 40, f"mend it\n\nFixes: {'a' * 12} where the cache was born")
    revert = commit("revert", "c" * 40, f"This reverts commit {'a' * 40}.")

    result = after(list(plan_links(by_id(first, fix, revert), UnknownCode())), first, fix, revert)

    assert {(link["type"], link["ref"]) for link in result["first"].links} == {
        ("fixed_by", "fix"),
        ("reverted_by", "revert"),
    }
    assert result["fix"].links == ({"type": "fixes", "ref": "first"},)
    assert list(plan_links(result, UnknownCode())) == []


def test_memories_of_one_commit_linked_by_subject_only() -> None:
    def fact(name: str, content: str) -> Memory:
        return memory(name, kind=Kind.FACT, title=content, content=content, artifacts=(Artifact("commit", "a" * 40),))

    cache, eviction = fact("cache", "the cache keeps sessions"), fact("eviction", "sessions leave the cache at night")
    other = fact("other", "the icons are drawn anew")
    result = after(list(plan_links(by_id(cache, eviction, other), UnknownCode())), cache, eviction, other)

    assert [link["ref"] for link in result["cache"].links] == ["eviction"]
    assert result["other"].links == ()


def test_fact_suspect_when_named_code_removed() -> None:
    fact = memory("fact", kind=Kind.FACT, content="sessions are opened by `connect()` in src/db.py")
    result = after(list(plan_links(by_id(fact), GROUND)), fact)
    assert {link["ref"] for link in result["fact"].links} == {"src/db.py", "src/db.py#connect"}
    assert list(plan_staleness(result.values(), GROUND)) == []

    without = ListedGround({"src/app.py": ("make_app",)})
    doubted = after(list(plan_staleness(result.values(), without)), *result.values())["fact"]
    assert doubted.status is Status.SUSPECT
    assert doubted.source[STALE_REASON] in (
        "src/db.py is gone",
        "`connect` is defined nowhere any more (it was in src/db.py)",
    )

    trusted = after(list(plan_staleness([doubted], GROUND)), doubted)["fact"]
    assert trusted == result["fact"]


def test_incomplete_index_marks_nothing_suspect() -> None:
    fact = memory("fact", kind=Kind.FACT, links=({"type": "about", "ref": "src/gone.py"},))
    assert list(plan_staleness([fact], ListedGround({}, is_complete=False))) == []


def test_suspicion_ends_when_file_returns() -> None:
    one = memory("one", kind=Kind.FACT, links=({"type": "about", "ref": "src/gone.py"},))
    suspect = after(list(plan_staleness([one], GROUND)), one)
    assert suspect["one"].status is Status.SUSPECT

    back = ListedGround({"src/gone.py": ()})
    assert after(list(plan_staleness(suspect.values(), back)), *suspect.values())["one"].status is Status.ACTIVE


def test_episode_not_suspect_when_files_removed() -> None:
    episode = memory("m", paths=("src/gone.py",), links=({"type": "about", "ref": "src/gone.py"},))
    assert list(plan_staleness([episode], GROUND)) == []


def test_history_of_module_extended_by_episodes() -> None:
    old = [memory(f"m{number}", age=40 + number, paths=("src/auth/login.py",)) for number in range(5)]
    recent = memory("recent", age=3, paths=("src/auth/login.py",))
    lonely = memory("lonely", age=50, paths=("docs/a.md",))

    [change] = plan_histories(by_id(*old, recent, lonely), Vocabulary(), SETTINGS, NOW)
    history_memory = change.after[0]

    assert history_memory.id == make_history_id("p", "src/auth")
    assert [one.title in history_memory.content for one in (*old, recent, lonely)] == [True] * 5 + [False] * 2
    assert history_memory.trust is Trust.UNTRUSTED
    assert list(plan_histories(after([change], *old), Vocabulary(), SETTINGS, NOW)) == []

    later = memory("later", age=35, paths=("src/auth/token.py",))
    [more] = plan_histories(after([change], *old, later), Vocabulary(), SETTINGS, NOW)
    assert more.after[0].id == history_memory.id
    assert "work on later" in more.after[0].content
    assert "work on m3" in more.after[0].content


def test_history_rebuilt_without_forgotten_episode() -> None:
    old = [memory(f"m{number}", age=40 + number, paths=("src/auth/login.py",)) for number in range(7)]
    [change] = plan_histories(by_id(*old), Vocabulary(), SETTINGS, NOW)
    result = after([change], *old)
    [history] = list_quoted_ids(result["m3"])

    assert history == change.after[0].id
    remaining = {name: one for name, one in result.items() if name not in ("m3", history)}
    [again] = plan_histories(remaining, Vocabulary(), SETTINGS, NOW)
    assert again.after[0].id == history
    assert "work on m3" not in again.after[0].content
    assert "work on m4" in again.after[0].content
    assert all(len(one.links) == 1 for one in again.after[1:])


def test_merge_keeps_user_memory_without_raising_trust() -> None:
    mine = memory("mine", trust=Trust.USER, importance=0.5, usage=Usage(1, 1, 0), tags=("a",))
    strangers = memory("strange", importance=1.0, usage=Usage(2, 0, 3), tags=("evil",), source={"path": "x.md"})

    [change] = plan_merges(by_id(mine, strangers), [["mine", "strange"]], NOW)
    keeper, superseded = change.after

    assert (keeper.id, keeper.trust, keeper.importance, keeper.tags) == ("mine", Trust.USER, 0.5, ("a",))
    assert keeper.usage == Usage(3, 1, 3)
    assert keeper.source["also"][0]["path"] == "x.md"
    assert (superseded.status, superseded.superseded_by) == (Status.SUPERSEDED, "mine")
    elsewhere = replace(strangers, project="q")
    assert list(plan_merges(by_id(mine, elsewhere), [["mine", "strange"]], NOW)) == []


def test_small_module_in_parent_history_before_forgetting() -> None:
    lonely = memory("lonely", age=61, paths=("src/http/headers.py",))
    other = memory("other", age=61, paths=("src/http/proxies/chain.py",))
    scattered = memory("scattered", age=61, paths=("src/a.py", "docs/b.md", "tests/c.py"))
    young = memory("young", age=50, paths=("tools/release.py",))
    bot = memory("bot", age=61, paths=("package.json",), tags=("bot",))
    many = [memory(f"m{number}", age=61, paths=(f"src/http/part{number}.py",)) for number in range(3)]
    release = memory("v2", age=61, paths=("package.json",), tags=("release", "bot"))
    bumped = memory("bumped", age=61, paths=("package.json",), tags=("deps", "maintenance"))
    every = by_id(lonely, other, scattered, young, bot, release, bumped)
    changes = list(plan_histories(every, Vocabulary(), SETTINGS, NOW))

    [whole] = [change.after[0] for change in changes]
    assert whole.title == "history of the whole project"
    names = {line.split()[-1] for line in whole.content.splitlines()[1:]}
    assert names == {"lonely", "other", "scattered", "bot", "v2", "bumped"}

    [around, whole] = [
        change.after[0]
        for change in plan_histories(by_id(lonely, other, scattered, *many), Vocabulary(), SETTINGS, NOW)
    ]
    assert around.title == "history of src/http"
    assert len(around.content.splitlines()) == 6
    assert "scattered" in whole.content


def test_history_newest_first_counts_older_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module_history, "MAX_LINES", 400)
    entry_lines = [
        memory(f"m{number:03d}", age=40 + number, title=f"Rule number {number} of baskets", paths=("shop/basket.py",))
        for number in range(500)
    ]
    changes = list(plan_histories(by_id(*entry_lines), Vocabulary(), SETTINGS, NOW))
    assert max(len(change.after) for change in changes) == MIN_EPISODES_PER_CHANGE + 1
    told_of = after(changes, *entry_lines)
    lines = told_of[changes[0].after[0].id].content.splitlines()[1:]
    assert lines[0].endswith("Rule number 0 of baskets")
    assert len([line for line in lines if "Rule" in line]) == 400
    count_lines = [line for line in lines if "more changes in" in line]
    assert sum(int(line[1:].split()[0]) for line in count_lines) == 100

    later = memory("later", age=35, title="The last rule of baskets", paths=("shop/basket.py",))
    [more] = plan_histories(told_of | by_id(later), Vocabulary(), SETTINGS, NOW)
    again = more.after[0].content.splitlines()[1:]
    assert again[0].endswith("The last rule of baskets")
    count_lines = [line for line in again if "more changes in" in line]
    assert sum(int(line[1:].split()[0]) for line in count_lines) == 101

    hits = [Hit(memory=one, lexical=5.0, similarity=None) for one in (more.after[0], memory("x", title="basket"))]
    assert rank_hits("the last rule of baskets", hits, depth="shallow", k=5, now=NOW)[0].memory.category == "history"


def test_history_batch_grows_with_length() -> None:
    episodes = [memory(f"m{number:04d}", age=40 + number / 9, paths=("shop/basket.py",)) for number in range(1_500)]
    sizes = [len(change.before) for change in plan_histories(by_id(*episodes), Vocabulary(), SETTINGS, NOW)]
    assert sizes[0] == MIN_EPISODES_PER_CHANGE
    assert max(sizes) > 2 * MIN_EPISODES_PER_CHANGE
    assert len(sizes) < 1_500 / MIN_EPISODES_PER_CHANGE
