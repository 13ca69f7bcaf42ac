"""Tests that the daemon still answers as recorded in the transcripts."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.running import running_daemon
from tests.editors.recording import CONVERSATIONS, Stage
from tests.editors.transcripts import find_differences, matches, names, transcript
from tests.repositories import make_shop


def test_daemon_answers_match_transcripts(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home) as daemon:
        shop = make_shop(tmp_path / "shop")
        daemon.add(shop)
        stage = Stage(daemon, tmp_path, is_shared=shop)
        assert [found for name in names() for found in _differences(stage, name)] == []


def _differences(stage: Stage, name: str) -> list[str]:
    recorded = transcript(name)
    played = stage.play(recorded.given, recorded.exchanges)
    found = []
    for exchange, (status, answer, _) in zip(recorded.exchanges, played, strict=True):
        what = f"{name}: {exchange.method} {exchange.path}"
        if status != exchange.status:
            found.append(f"{what} is answered {status} instead of {exchange.status}: {answer}")
        elif exchange.answer is not None:
            found += [f"{what}: {difference}" for difference in find_differences(answer, exchange.answer)]
    return found


def test_each_conversation_has_one_transcript() -> None:
    assert names() == sorted(CONVERSATIONS)


def test_markdown_list_items_match_bundle_items() -> None:
    """Check the assumption of the editors' views: the n-th line with "- " is the n-th item."""
    bundles = [
        exchange.answer
        for name in names()
        for exchange in transcript(name).exchanges
        if exchange.path == "/context" and exchange.status == 200
    ]
    assert any(bundle["items"] for bundle in bundles)
    for bundle in bundles:
        listed = [line for line in bundle["context"].splitlines() if line.startswith("- ")]
        assert len(listed) == len(bundle["items"])
        for line, item in zip(listed, bundle["items"], strict=True):
            assert item["kind"] != "file" or item["source"]["path"] in line


def test_request_mismatch_detected() -> None:
    recorded = {"signals": [{"kind": "file_opened", "path": "a.py", "event_id": "{event_id}", "at": "{at}"}]}
    assert matches({"signals": [{"kind": "file_opened", "path": "a.py", "event_id": "7"}]}, recorded)
    assert not matches({"signals": [{"kind": "file_opened", "path": "b.py", "event_id": "7"}]}, recorded)
    assert not matches({"signals": [{"kind": "file_opened", "path": "a.py", "event_id": 7}]}, recorded)
    assert not matches({"signals": [{"kind": "file_opened", "path": "a.py", "colour": "red"}]}, recorded)


def test_answer_missing_key_detected() -> None:
    recorded = {"items": [{"id": "a", "score": 1.0, "source": {"path": "a.py"}}, {"id": "b", "source": {}}]}
    assert find_differences({"items": [{"id": "c", "score": 3, "source": {}}], "more": 1}, recorded) == []
    assert find_differences({"items": [{"id": "c", "source": {}}]}, recorded) == []  # not in all recorded entries
    assert find_differences({"items": [{"id": 5, "source": {}}]}, recorded) == [
        "answer.items[0].id: int instead of str"
    ]
    assert find_differences({"items": []}, recorded) == ["answer.items is empty"]
    assert find_differences({}, recorded) == ["answer.items is missing"]
