"""Ranking: answers come first with reasons, irrelevant hits are dropped, boosts are bounded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.memory import Artifact, Kind, Memory, Status, Usage
from hunchd.protocol.responses import format_iso
from hunchd.retrieval.fusion import fuse_scores, make_selector
from hunchd.retrieval.question_words import filter_said, find_expansion_terms, make_snippet
from hunchd.retrieval.ranking import FRESH_BOOST, rank_hits, rank_results
from hunchd.store.hits import Hit
from hunchd.text.words import extract_terms

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def memory(id_: str, content: str = "", *, days: float = 100, **fields: Any) -> Memory:
    at = NOW - timedelta(days=days)
    given: dict[str, Any] = {"kind": Kind.FACT, "title": id_, "content": content, "project": "p"}
    return Memory(id=id_, at=at, created=at, updated=at, **given | fields)


def ids(query: str, hits: list[Hit], **how: Any) -> list[str]:
    asked: dict[str, Any] = {"depth": "shallow", "k": 5, "now": NOW} | how
    return [one.memory.id for one in rank_hits(query, hits, **asked)]


def test_irrelevant_hits_are_dropped() -> None:
    hits = [
        Hit(memory=memory("a", "the wheel of the windows build"), lexical=0.4, similarity=0.05),
        Hit(memory=memory("b", "how the build is released"), lexical=0.4),
    ]
    assert ids("how are user sessions persisted", hits) == []


def test_lexical_and_dense_match_ranks_first() -> None:
    hits = [
        Hit(memory=memory("words", "session timeout of the lexer"), lexical=5.0, similarity=0.1),
        Hit(memory=memory("meaning", "login state expires"), similarity=0.6),
        Hit(memory=memory("both", "a session has a timeout"), lexical=5.0, similarity=0.6),
    ]
    assert ids("session timeout", hits)[0] == "both"


def test_new_memory_without_vector_ranks_well() -> None:
    hits = [
        Hit(memory=memory("older", "the release captain is Ada"), lexical=5.0, similarity=0.77),
        Hit(memory=memory("new", "the release captain is Grace"), lexical=2.0),
    ]
    assert ids("captain grace", hits) == ["new", "older"]
    assert ids("captain ada", hits) == ["older", "new"]


def test_commit_snippet_omits_title() -> None:
    source = {"type": "commit", "sha": "a" * 40}
    told = (
        ("Keep sessions\n\nM app/session.py\nR a.py → b.py", "app/session.py, a.py → b.py"),
        (
            "Keep sessions (#3)\n\nA cookie holds them.\nCo-authored-by: Ada <ada@example.org>\n\nM app/session.py",
            "A cookie holds them. app/session.py",
        ),
        ("Keep sessions", "Keep sessions"),
        ("Keep sessions\n\n--HG--\nextra : convert_revision : svn%3Ab85faa\n\nM app.py", "app.py"),
    )
    for content, quoted in told:
        work = memory("w", content, title="Keep sessions", kind=Kind.EPISODE, source=source)
        [result] = rank_results("keep sessions", [Hit(memory=work, lexical=5.0)], depth="shallow", k=5, now=NOW)
        assert result.snippet == quoted
        assert result.at == work.at.isoformat().replace("+00:00", "Z")


def test_long_question_weighs_first_words() -> None:
    question = "the session timeout of the cookie is ignored " + " ".join(f"detail{number}" for number in range(40))
    first = Hit(memory=memory("first", "session timeout kept in a cookie, ignored before"), lexical=9.0)
    detail = Hit(memory=memory("detail", "detail35 detail36 detail37 detail38"), lexical=9.0)
    unrelated = Hit(memory=memory("unrelated", "a cookie jar"), lexical=1.0)
    assert ids(question, [detail, unrelated, first]) == ["first", "detail"]


def test_named_speaker_and_month_raise_score() -> None:
    def turn(id_: str, name: str, at: datetime) -> Hit:
        source = {"type": "session", "session": id_, "number": 1, "name": name}
        told = memory(id_, "the garden needs rain", kind=Kind.MESSAGE, source=source)
        return Hit(memory=replace(told, at=at), lexical=3.0, similarity=0.4)

    june, july = datetime(2025, 6, 3, tzinfo=UTC), datetime(2025, 7, 3, tzinfo=UTC)
    turns = [turn("ben in july", "Ben", july), turn("ada in july", "Ada", july), turn("ada in june", "Ada", june)]
    assert ids("what does Ada say of the garden", turns)[-1] == "ben in july"
    assert ids("what was said of the garden in June", turns)[0] == "ada in june"


def test_question_ranks_behind_answer() -> None:
    def turn(number: int, text: str) -> Hit:
        source = {"type": "session", "session": "s", "number": number}
        return Hit(memory=memory(f"m{number}", text, kind=Kind.MESSAGE, source=source), lexical=3.0, similarity=0.5)

    assert ids("which cache", [turn(1, "Is the cache Valkey?"), turn(9, "The cache is Valkey.")]) == ["m9", "m1"]


def test_fresh_memory_wins_among_equals() -> None:
    old = Hit(memory=memory("old", "session timeout raised to an hour"), lexical=4.0)
    fresh = Hit(memory=memory("fresh", "session timeout raised to an hour", days=2), lexical=4.0)
    assert ids("session timeout", [old, fresh]) == ["fresh", "old"]
    weak = Hit(memory=memory("weak", "a session", days=2), lexical=1.0)
    assert ids("session timeout", [old, weak]) == ["old", "weak"]
    first, second = rank_hits("session timeout", [old, fresh], depth="shallow", k=5, now=NOW)
    assert first.score / second.score == pytest.approx(FRESH_BOOST)


def test_version_in_question_counts() -> None:
    asked = Hit(memory=memory("z", "drop python 3.8"), lexical=4.0)
    other = Hit(memory=memory("a", "python 3.2 compatibility fix"), lexical=4.0)
    first, second = rank_hits("python 3.8", [other, asked], depth="shallow", k=5, now=NOW)
    assert [first.memory.id, second.memory.id] == ["z", "a"]
    assert "says python, 3.8" in first.reasons
    assert "says python" in second.reasons


def test_pattern_read_today_is_not_fresh() -> None:
    said = Hit(memory=memory("said", "session timeout raised to an hour"), lexical=4.0)
    mined = memory("mined", "session timeout raised to an hour", kind=Kind.PATTERN, days=0)
    first, second = rank_hits("session timeout", [said, Hit(memory=mined, lexical=4.0)], depth="shallow", k=5, now=NOW)
    assert first.score == second.score
    assert not any("today" in reason for one in (first, second) for reason in one.reasons)


def test_convention_read_today_is_not_fresh() -> None:
    convention = replace(memory("read", "tests: pytest", days=0), source={"type": "convention", "path": "pytest.ini"})
    (result,) = rank_results("tests", [Hit(memory=convention, lexical=4.0)], depth="shallow", k=1, now=NOW)
    assert "from today" not in result.reasons
    assert result.at is None


def test_statement_result_has_its_date() -> None:
    hit = Hit(memory=memory("said", "support for windows was dropped", days=40), lexical=4.0)
    (result,) = rank_results("when was windows dropped", [hit], depth="shallow", k=1, now=NOW)
    assert result.at == format_iso(hit.memory.at)


def test_unspaced_question_finds_its_answer() -> None:
    answer = Hit(memory=memory("answer", "照片存到本地的 MinIO"), lexical=2.0)
    other = Hit(memory=memory("other", "存档每周做一次"), lexical=1.0)
    assert ids("照片现在存到哪里?", [answer, other]) == ["answer"]
    assert ids("合同的保质期到什么时候为止?", [Hit(memory=memory("m", "现在是什么"), lexical=1.0)]) == []


def test_tool_output_ranks_behind_message() -> None:
    def turn(id_: str, event: str, session: str) -> Hit:
        source = {"type": "session", "session": session, "number": 1, "event": event}
        told = memory(id_, "Templates are rendered by Mako", kind=Kind.MESSAGE, source=source)
        return Hit(memory=told, lexical=3.0, similarity=0.5)

    hits = [turn("printed", "tool_result", "s"), turn("said", "assistant_response", "t")]
    assert ids("how are templates rendered", hits) == ["said", "printed"]


def test_importance_and_usage_break_near_ties() -> None:
    plain = Hit(memory=memory("plain", "session timeout"), lexical=4.0)
    cited = Hit(memory=memory("cited", "session timeout", usage=Usage(9, 5, 0)), lexical=4.0)
    ignored = Hit(memory=memory("ignored", "session timeout", usage=Usage(9, 0, 9)), lexical=4.0)
    important = Hit(memory=memory("important", "session timeout", importance=1.0), lexical=4.0)
    outdated = Hit(memory=memory("outdated", "session timeout", status=Status.SUPERSEDED), lexical=4.0)
    found = ids("session timeout", [outdated, ignored, plain, cited, important])
    assert found == ["cited", "important", "plain", "ignored", "outdated"]


@pytest.mark.parametrize("query", ["adr-7", "database", "docs/adr/7.md", " `Database` "])
def test_specific_depth_returns_exact_matches_only(query: str) -> None:
    named = memory("m1", "we use postgres", ref="adr-7", key="database", artifacts=(Artifact("file", "docs/adr/7.md"),))
    other = Hit(memory=memory("m2", "the database and adr-7 in docs/adr/7.md"), lexical=9.0, similarity=0.9)
    assert ids(query, [other, Hit(memory=named)], depth="specific") == ["m1"]


def test_every_result_has_reasons() -> None:
    [result] = rank_results(
        "session timeout",
        [Hit(memory=memory("a", "the session has a timeout", days=2), lexical=3.0, similarity=0.7)],
        depth="shallow",
        k=5,
        now=NOW,
    )
    assert result.reasons == ["says session, timeout", "close in meaning (0.70)", "2 days old"]


def test_future_memory_is_tolerated() -> None:
    assert ids("session timeout", [Hit(memory=memory("a", "session timeout", days=-3), lexical=1.0)]) == ["a"]


def test_identifier_matches_by_parts() -> None:
    assert filter_said(extract_terms("user name"), "def getUserName(): ...") == ["user", "name"]
    assert filter_said(extract_terms("timeouts"), "one timeout") == ["timeouts"]
    assert filter_said(extract_terms("東京駅"), "昨日は東京駅にいた") != []


@given(st.text(max_size=600), st.text(max_size=30))
def test_snippet_is_short_single_line(text: str, query: str) -> None:
    found = make_snippet(text, extract_terms(query))
    assert len(found) <= 200
    assert "\n" not in found
    assert found.strip("…").strip() in " ".join(text.split())


def test_snippet_shows_matching_part() -> None:
    text = "filler words here. " * 60 + "The session timeout is one hour." + " more filler." * 60
    assert "session timeout is one hour" in make_snippet(text, extract_terms("session timeout"))


def test_expansion_terms_are_shared_by_answers() -> None:
    texts = ["the session cookie is signed", "cookie of a session, signed by itsdangerous", "signed cookie"]
    assert find_expansion_terms("session", texts)[:2] == ["cookie", "signed"]
    assert find_expansion_terms("session", []) == []


Candidates = st.lists(
    st.tuples(st.integers(0, 10**6), st.none() | st.floats(0, 50), st.none() | st.floats(-1, 1)),
    max_size=30,
    unique_by=lambda one: one[0],
)


@given(Candidates)
def test_fusion_keeps_all_and_prefers_both(candidates: list[Any]) -> None:
    order = fuse_scores(candidates)
    assert sorted(key for key, _ in order) == sorted(key for key, _, _ in candidates)
    place = {key: at for at, (key, _) in enumerate(order)}
    for one, words, meaning in candidates:
        for other, fewer, further in candidates:
            if None not in (words, meaning, fewer, further) and words > fewer + 1e-6 and meaning > further + 1e-6:
                assert place[one] < place[other]
    assert make_selector(3)(candidates) == [key for key, _ in order[:3]]
