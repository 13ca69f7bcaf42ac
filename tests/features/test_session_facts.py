"""Facts of a session: what a withdrawal leaves."""

from __future__ import annotations

from array import array
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hunchd.core.memory.drafts import draft_to_memory
from hunchd.core.memory.session_log import SessionHead
from hunchd.features.sessions.extraction import build_facts
from hunchd.ingestion.session_statements import Statement

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HEAD = SessionHead(session="s", project="p", started_at=NOW)


def state(turn: int, text: str, *, withdraws: bool = False) -> Statement:
    at = NOW + timedelta(minutes=turn)
    return Statement("decision", text, turn, f"m{turn}", at, True, float(withdraws), withdraws, text)


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


def test_withdrawal_with_new_value_is_kept() -> None:
    made = state(1, "The probes are read every thirty seconds.")
    changed = state(2, "Thirty seconds for the probes was nonsense, so fifteen.", withdraws=True)
    decided, current = build_facts(HEAD, 2, [made, changed])
    assert current.supersedes == draft_to_memory(decided, decided.project, NOW).id
    assert current.valid_to is None


def test_statement_of_same_message_is_no_context() -> None:
    first = state(1, "Denise has the first shift and reads the notes.")
    second = replace(state(1, "It goes back in."), changes=1.0, in_context=f"{first.text} It goes back in.")
    vectors = {one: array("f", (1.0, 0.0)).tobytes() for one in (first.text, second.in_context)}
    assert [draft.supersedes for draft in build_facts(HEAD, 1, [first, second], vectors=vectors)] == [None, None]
