"""Tests that each plugin sends the recorded requests and shows the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.editors.editor import Editor, wait_until
from tests.editors.recording import BASKET, CHECKOUT, DECISION
from tests.editors.replaying import Replay
from tests.editors.transcripts import transcript


def require_ability(editor: Editor, ability: str) -> None:
    if ability not in editor.abilities:
        pytest.skip(f"the plugin for {editor.name} has no {ability}")


def expect_signals(replay: Replay, *kinds: str) -> None:
    wait_until(
        lambda: replay.kinds() == list(kinds) or replay.unexpected, f"signals {kinds}; there are {replay.kinds()}"
    )
    assert replay.unexpected == []
    assert replay.kinds() == list(kinds)


def test_open_file_sends_signal_shows_context(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("open")
    editor.open(shop / BASKET)
    expect_signals(replay, "file_opened")
    editor.show_context()
    editor.wait_for_context(DECISION)
    bundle = transcript("open").exchanges[1].answer
    for item in bundle["items"]:
        assert item["title"].strip("«»") in editor.read_context()
    assert "def pay(basket: Basket) -> int" in editor.read_context()
    assert "changed together 8 of 8 times" in editor.read_context()


def test_unknown_project_added_once(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("open-unknown", others=[BASKET])
    editor.open(shop / BASKET)
    expect_signals(replay, "file_opened", "file_opened")
    assert replay.signals[0]["event_id"] == replay.signals[1]["event_id"]
    assert replay.times("POST", "/projects") == 1


def test_unknown_project_context_shown_after_indexing(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("unknown", "open")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context("still being read")
    assert replay.times("POST", "/projects") == 1
    editor.wait_for_context(DECISION)  # the view polls until indexing is done


def test_save_switch_close_send_signals(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("edit", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    expect_signals(replay, "file_opened")
    editor.save()
    expect_signals(replay, "file_opened", "file_saved")
    editor.open(shop / CHECKOUT)
    expect_signals(replay, "file_opened", "file_saved", "file_opened")
    editor.close(shop / BASKET)
    expect_signals(replay, "file_opened", "file_saved", "file_opened", "file_closed")


def test_diagnostics_sent_and_cleared(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "diagnostics")
    replay.load("diagnostics")
    editor.open(shop / BASKET)
    expect_signals(replay, "file_opened")
    editor.report_errors([(3, '"Basket" has no attribute "items"', "pyright")])
    expect_signals(replay, "file_opened", "error")
    editor.report_errors([])
    expect_signals(replay, "file_opened", "error", "error_cleared")


def test_related_file_chosen_sends_used(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("related", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    expect_signals(replay, "file_opened")
    editor.choose_related(CHECKOUT)
    expect_signals(replay, "file_opened", "used", "file_opened")
    assert editor.current_file() == str(shop / CHECKOUT)


def test_view_entry_opens_file(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "view")
    replay.load("related", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context(DECISION)
    expect_signals(replay, "file_opened")
    editor.run_action("open", CHECKOUT)
    expect_signals(replay, "file_opened", "used", "file_opened")
    assert editor.current_file() == str(shop / CHECKOUT)


def test_view_feedback_sent(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "view")
    replay.load("feedback")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context(DECISION)
    editor.run_action("helpful", CHECKOUT)
    wait_until(lambda: replay.times("POST", "/feedback") == 1, "the thumb up arrives")
    editor.wait_for_context("helpful")
    editor.run_action("not_helpful", DECISION)
    wait_until(lambda: replay.times("POST", "/feedback") == 2, "the thumb down arrives")
    editor.wait_for_context("not helpful")


def test_view_forget_deletes_memory(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "view")
    replay.load("open", "forget")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context(DECISION)
    expect_signals(replay, "file_opened")
    editor.run_action("forget", DECISION)
    wait_until(lambda: replay.times("DELETE", "/memories/m-decision") == 1, "the memory is forgotten")
    wait_until(lambda: DECISION not in editor.read_context(), "it is no longer shown")


def test_view_why_shows_reasons_and_source(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "view")
    replay.load("open")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context(DECISION)
    editor.run_action("why", CHECKOUT)
    editor.wait_for_message("uses what it defines")
    editor.wait_for_message("trust: project")


def test_view_ask_for_more_expands_topic(editor: Editor, replay: Replay, shop: Path) -> None:
    require_ability(editor, "view")
    replay.load("open", "expand")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context("Ask for more")
    editor.run_action("open", "basket  ")
    editor.wait_for_message("rule 5 for discounts")


def test_empty_bundle_message_shown(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("empty")
    opened = transcript("open").exchanges[0]
    replay.exchanges.append(replace(opened, body={"signals": [opened.body["signals"][0] | {"path": "note.txt"}]}))
    (shop / "note.txt").write_text("hello")
    editor.open(shop / "note.txt")
    editor.show_context()
    editor.wait_for_context("Nothing relevant")


def test_degraded_bundle_reason_shown(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("degraded")
    replay.exchanges.append(transcript("open").exchanges[0])
    editor.open(shop / BASKET)
    editor.show_context()
    editor.wait_for_context("is not there")


def test_rejected_token_reread_from_rendezvous(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("open")
    replay.token = "n" * 43  # a daemon that has just replaced another
    editor.open(shop / BASKET)
    wait_until(lambda: any(not each.authorised for each in replay.requests), "the old token is tried")
    assert replay.signals == []
    replay.publish()
    editor.show_context()
    editor.wait_for_context(DECISION)
    expect_signals(replay, "file_opened")
