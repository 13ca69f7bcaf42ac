"""Facts of a session: what a withdrawal leaves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hunchd.core.memory.drafts import draft_to_memory
from hunchd.core.memory.session_log import SessionHead
from hunchd.features.sessions.extraction import build_facts
from hunchd.ingestion.session_statements import Statement

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HEAD = SessionHead(session="s", project="p", started_at=NOW)


def state(turn: int, text: str, *, withdraws: bool = False) -> Statement:
    at = NOW + timedelta(minutes=turn)
    return Statement("decision", text, turn, f"m{turn}", at, True, withdraws, withdraws, text)


def test_withdrawal_ends_with_what_it_withdraws() -> None:
    made = state(1, "Mail the club when a pass climbs over sixty degrees.")
    withdrawn = state(2, "The mails to the club about a pass over sixty degrees, scrap them.", withdraws=True)
    decided, ended = build_facts(HEAD, 2, [made, withdrawn])
    assert ended.supersedes == draft_to_memory(decided, decided.project, NOW).id
    assert ended.valid_to == withdrawn.at


def test_withdrawal_of_nothing_known_is_dropped() -> None:
    made = state(1, "Mail the club when a pass climbs over sixty degrees.")
    withdrawn = state(2, "Forget dark mode.", withdraws=True)
    [decided] = build_facts(HEAD, 2, [made, withdrawn])
    assert decided.content == made.text
