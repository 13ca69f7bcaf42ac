"""The daemon answers what editors ask as the transcripts say that the editors' own tests replay."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.running import running_daemon
from tests.editors.recording import CONVERSATIONS, Stage
from tests.editors.transcripts import agrees, differences, names, transcript
from tests.repositories import make_shop


def test_the_daemon_answers_as_recorded(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home) as daemon:
        shop = make_shop(tmp_path / "shop")
        daemon.add(shop)
        stage = Stage(daemon, tmp_path, shared=shop)
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
            found += [f"{what}: {difference}" for difference in differences(answer, exchange.answer)]
    return found


def test_every_conversation_is_recorded_and_none_is_left_over() -> None:
    assert names() == sorted(CONVERSATIONS)


def test_each_list_item_of_the_markdown_is_an_item_of_the_bundle() -> None:
    """What the editors' views rest on: the n-th line that begins with "- " is the n-th item."""
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


def test_a_request_that_differs_from_the_recorded_one_is_told_apart() -> None:
    recorded = {"signals": [{"kind": "file_opened", "path": "a.py", "event_id": "{event_id}", "at": "{at}"}]}
    assert agrees({"signals": [{"kind": "file_opened", "path": "a.py", "event_id": "7"}]}, recorded)
    assert not agrees({"signals": [{"kind": "file_opened", "path": "b.py", "event_id": "7"}]}, recorded)
    assert not agrees({"signals": [{"kind": "file_opened", "path": "a.py", "event_id": 7}]}, recorded)
    assert not agrees({"signals": [{"kind": "file_opened", "path": "a.py", "colour": "red"}]}, recorded)


def test_an_answer_that_lacks_something_is_told_apart() -> None:
    recorded = {"items": [{"id": "a", "score": 1.0, "source": {"path": "a.py"}}, {"id": "b", "source": {}}]}
    assert differences({"items": [{"id": "c", "score": 3, "source": {}}], "more": 1}, recorded) == []
    assert differences({"items": [{"id": "c", "source": {}}]}, recorded) == []  # not all of the recorded ones have it
    assert differences({"items": [{"id": 5, "source": {}}]}, recorded) == ["answer.items[0].id: int instead of str"]
    assert differences({"items": []}, recorded) == ["answer.items is empty"]
    assert differences({}, recorded) == ["answer.items is missing"]
