"""Facts of a session: what a withdrawal leaves."""

from __future__ import annotations

from array import array
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hunchd.core.memory.drafts import draft_to_memory
from hunchd.core.memory.session_log import SessionHead
from hunchd.features.sessions.extraction import build_facts
from hunchd.ingestion.session_statements import REPORT_LABEL, Statement

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


def report(turn: int, text: str, *, category: str = "decision", changes: float = 0.3) -> Statement:
    return replace(state(turn, text), category=category, changes=changes, is_weak=True, reports=0.5)


def test_report_ends_action_it_names() -> None:
    planned = replace(state(1, "I call the plumber about the leak."), category="action")
    drafts = build_facts(HEAD, 2, [planned, report(2, "The plumber came, sorted.", category=REPORT_LABEL)])
    assert [draft.valid_to is not None for draft in drafts] == [False, True]


def test_report_without_shared_word_is_dropped() -> None:
    planned = replace(state(1, "I call the plumber about the leak."), category="action")
    assert len(build_facts(HEAD, 2, [planned, report(2, "The tests are green.", category=REPORT_LABEL)])) == 1


def test_weak_change_without_target_is_dropped() -> None:
    assert len(build_facts(HEAD, 2, [state(1, "We use Vue here."), report(2, "Make the button red.")])) == 1


def test_weak_change_ends_name_it_mentions() -> None:
    _, changed = build_facts(HEAD, 2, [state(1, "We use Vue here."), report(2, "Vue's out, Svelte.")])
    assert changed.supersedes is not None


def test_terse_change_quotes_what_it_replaces() -> None:
    earlier = state(1, "Invoices are due after 14 days.")
    _, changed = build_facts(HEAD, 2, [earlier, replace(state(2, "make that 30"), changes=0.5)])
    assert changed.content == "make that 30 (instead of: Invoices are due after 14 days.)"


def test_statement_of_same_message_is_no_context() -> None:
    first = state(1, "Denise has the first shift and reads the notes.")
    second = replace(state(1, "It goes back in."), changes=1.0, in_context=f"{first.text} It goes back in.")
    vectors = {one: array("f", (1.0, 0.0)).tobytes() for one in (first.text, second.in_context)}
    assert [draft.supersedes for draft in build_facts(HEAD, 1, [first, second], vectors=vectors)] == [None, None]
