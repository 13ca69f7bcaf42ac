"""Every plugin asks what the transcripts say, and shows what they answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.editors.editor import Editor, wait_until
from tests.editors.recording import BASKET, CHECKOUT, DECISION
from tests.editors.replaying import Replay
from tests.editors.transcripts import transcript


def able(editor: Editor, ability: str) -> None:
    if ability not in editor.abilities:
        pytest.skip(f"the plugin for {editor.name} has no {ability}")


def signals_come(replay: Replay, *kinds: str) -> None:
    wait_until(
        lambda: replay.kinds() == list(kinds) or replay.strangers, f"signals {kinds}; there are {replay.kinds()}"
    )
    assert replay.strangers == []
    assert replay.kinds() == list(kinds)


def test_opening_a_file_tells_the_daemon_and_its_context_can_be_shown(
    editor: Editor, replay: Replay, shop: Path
) -> None:
    replay.load("open")
    editor.open(shop / BASKET)
    signals_come(replay, "file_opened")
    editor.show_context()
    editor.see(DECISION)
    bundle = transcript("open").exchanges[1].answer
    for item in bundle["items"]:
        assert item["title"].strip("«»") in editor.shown()
    assert "def pay(basket: Basket) -> int" in editor.shown()
    assert "changed together 8 of 8 times, last today" in editor.shown()


def test_a_project_that_the_daemon_does_not_know_is_added_once(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("open-unknown", others=[BASKET])
    editor.open(shop / BASKET)
    signals_come(replay, "file_opened", "file_opened")
    assert replay.signals[0]["event_id"] == replay.signals[1]["event_id"]
    assert replay.times("POST", "/projects") == 1


def test_context_of_a_project_that_the_daemon_does_not_know_comes_after_all(
    editor: Editor, replay: Replay, shop: Path
) -> None:
    replay.load("unknown", "open")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see("still being read")
    assert replay.times("POST", "/projects") == 1
    editor.see(DECISION)  # it looks again by itself, until all is read


def test_saving_switching_and_closing_are_told(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("edit", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    signals_come(replay, "file_opened")
    editor.save()
    signals_come(replay, "file_opened", "file_saved")
    editor.open(shop / CHECKOUT)
    signals_come(replay, "file_opened", "file_saved", "file_opened")
    editor.close(shop / BASKET)
    signals_come(replay, "file_opened", "file_saved", "file_opened", "file_closed")


def test_errors_are_told_and_cleared(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "diagnostics")
    replay.load("diagnostics")
    editor.open(shop / BASKET)
    signals_come(replay, "file_opened")
    editor.report_errors([(3, '"Basket" has no attribute "items"', "pyright")])
    signals_come(replay, "file_opened", "error")
    editor.report_errors([])
    signals_come(replay, "file_opened", "error", "error_cleared")


def test_a_related_file_can_be_chosen_and_is_told_as_used(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("related", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    signals_come(replay, "file_opened")
    editor.choose_related(CHECKOUT)
    signals_come(replay, "file_opened", "used", "file_opened")
    assert editor.current() == str(shop / CHECKOUT)


def test_an_entry_leads_to_its_file(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "view")
    replay.load("related", others=[BASKET, CHECKOUT])
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see(DECISION)
    signals_come(replay, "file_opened")
    editor.do("open", CHECKOUT)
    signals_come(replay, "file_opened", "used", "file_opened")
    assert editor.current() == str(shop / CHECKOUT)


def test_thumbs_up_and_down_are_told(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "view")
    replay.load("feedback")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see(DECISION)
    editor.do("helpful", CHECKOUT)
    wait_until(lambda: replay.times("POST", "/feedback") == 1, "the thumb up arrives")
    editor.see("helpful")
    editor.do("not_helpful", DECISION)
    wait_until(lambda: replay.times("POST", "/feedback") == 2, "the thumb down arrives")
    editor.see("not helpful")


def test_a_memory_can_be_forgotten(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "view")
    replay.load("open", "forget")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see(DECISION)
    signals_come(replay, "file_opened")
    editor.do("forget", DECISION)
    wait_until(lambda: replay.times("DELETE", "/memories/m-decision") == 1, "the memory is forgotten")
    wait_until(lambda: DECISION not in editor.shown(), "it is no longer shown")


def test_why_tells_reasons_and_source(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "view")
    replay.load("open")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see(DECISION)
    editor.do("why", CHECKOUT)
    editor.hear("uses what it defines")
    editor.hear("trust: project")


def test_a_name_under_ask_for_more_is_expanded(editor: Editor, replay: Replay, shop: Path) -> None:
    able(editor, "view")
    replay.load("open", "expand")
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see("Ask for more")
    editor.do("open", "basket  ")
    editor.hear("rule 5 for discounts")


def test_nothing_relevant_is_said(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("empty")
    opened = transcript("open").exchanges[0]
    replay.exchanges.append(replace(opened, body={"signals": [opened.body["signals"][0] | {"path": "note.txt"}]}))
    (shop / "note.txt").write_text("hello")
    editor.open(shop / "note.txt")
    editor.show_context()
    editor.see("Nothing relevant")


def test_what_is_broken_is_said(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("degraded")
    replay.exchanges.append(transcript("open").exchanges[0])
    editor.open(shop / BASKET)
    editor.show_context()
    editor.see("is not there")


def test_a_new_token_is_found_in_the_rendezvous_file(editor: Editor, replay: Replay, shop: Path) -> None:
    replay.load("open")
    replay.token = "n" * 43  # a daemon that has just taken the place of another
    editor.open(shop / BASKET)
    wait_until(lambda: any(not each.authorised for each in replay.asked), "the old token is tried")
    assert replay.signals == []
    replay.publish()
    editor.show_context()
    editor.see(DECISION)
    signals_come(replay, "file_opened")
