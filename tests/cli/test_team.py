"""`hunch team`: what it checks before it asks, and how it reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import FakeDaemon

Output = pytest.CaptureFixture[str]
PROGRESS = {"state": "in step", "in_step_at": datetime.now(UTC).isoformat(), "failure": "", "forged": 0}
STATUS: dict[str, Any] = {
    "joined": True,
    "uri": "/mnt/team",
    "name": "Ada",
    "members": 1,
    "unsent": 0,
    "unapplied": 0,
    "progress": PROGRESS,
}


def test_second_team_is_refused_before_question(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team/preview"] = (200, {"joined": True, "items": []})

    assert main(["team", "create", "/mnt/team", "--name", "Ada"]) == 2

    assert "would be sent" not in (told := capsys.readouterr().err)
    assert "already has a team" in told


def test_unknown_member_is_refused_before_question(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team/members"] = (200, {"items": [{"name": "Ada", "id": "a1b2"}]})

    assert main(["team", "exclude", "Nobody"]) == 2

    assert "no member is named 'Nobody'" in capsys.readouterr().err


def test_status_counts_one_member_once_in_step(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team"] = (200, STATUS)

    assert main(["team"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert "1 member, you are Ada" in lines[0]
    assert lines[1].startswith("in step ")
    assert lines[1].count("in step") == 1


def test_status_with_unsent_is_not_in_step(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team"] = (200, {**STATUS, "unsent": 1})

    assert main(["team"]) == 0

    assert "last exchange " in (told := capsys.readouterr().out)
    assert "in step" not in told


def test_status_tells_next_attempt(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    later = (datetime.now(UTC) + timedelta(seconds=20)).isoformat()
    failed = {**PROGRESS, "state": "unreachable", "failure": "/mnt/team is not reachable", "next_attempt_at": later}
    fake.routes["GET /team"] = (200, {**STATUS, "progress": failed})

    assert main(["team"]) == 0

    assert "/mnt/team is not reachable; the next attempt is in " in capsys.readouterr().err


def test_forget_of_members_statement_tells_limits(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["DELETE /memories/m1"] = (200, {"forgotten": "m1", "still_said_by": "Alice Ames"})

    assert main(["forget", "m1"]) == 0

    assert "hidden on this machine only, until Alice Ames changes it" in capsys.readouterr().out


def test_forget_names_erased_own_statement(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["DELETE /memories/m1"] = (200, {"forgotten": "m1", "still_said_by": "Bob", "own_erased": True})

    assert main(["forget", "m1"]) == 0

    assert "What you said yourself is erased for all members." in capsys.readouterr().out


READ_ONLY = {**PROGRESS, "state": "read-only", "failure": "these credentials can read the team's store, but not write"}


def test_read_only_status_is_one_sentence(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team"] = (200, {**STATUS, "unsent": 2, "progress": READ_ONLY})

    assert main(["team"]) == 0

    output = capsys.readouterr()
    assert "2 wait on this machine" in output.out
    assert "in step" not in output.out
    assert output.err.count("\n") == 1
    assert "next attempt" not in output.err


@pytest.mark.parametrize("command", ["join", "remember"])
def test_read_only_member_is_warned(command: str, fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /team"] = (200, {**STATUS, "progress": READ_ONLY})
    fake.routes["GET /team/preview"] = (200, {"joined": False, "items": [{}]})
    fake.routes["POST /team"] = (201, {"uri": "s3://bucket/shop", "address": "s3://bucket/shop#1"})
    fake.routes["POST /memories"] = (201, {"ids": ["m1"]})

    words = ["join", "s3://bucket/shop", "--yes", "--name", "Ada"] if command == "join" else ["we ship on Mondays"]
    assert main(["team" if command == "join" else command, *words]) == 0

    warning = capsys.readouterr().err
    assert "can read the team's store, but not write: what you state stays on this machine" in warning
    assert "memories of" not in warning.replace("1 memory of", "")


def test_preview_describes_records_without_statement(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    chosen = {"kind": "fact", "category": "decision", "title": "queue: Redis", "content": "queue: Redis"}
    contents = {
        "resolve": {"over": ["r1"], "chosen": chosen, "note": "CI says so"},
        "vote": {"useful": 1},
        "erase": {},
        "join": {"name": "Ada"},
    }
    items = [{"action": action, "memory": None, "content": content} for action, content in contents.items()]
    items.append({"action": "resolve", "memory": None, "content": {"over": ["r1"]}})
    fake.routes["GET /team/preview"] = (200, {"joined": True, "items": items})

    assert main(["team", "preview"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "resolve decision: queue: Redis",
        "    queue: Redis",
        "    CI says so",
        "vote useful",
        "erase one of your earlier statements",
        "join Ada",
        "resolve 1 of the members' statements no longer holds",
    ]


def test_show_names_member(fake: FakeDaemon, capsys: Output) -> None:
    memory = {"id": "m1", "title": "queue: Redis", "content": "queue: Redis", "source": {"by": "Alice Ames"}}
    fake.routes["GET /memories/m1"] = (200, memory)

    assert main(["show", "m1"]) == 0

    assert "said by Alice Ames" in capsys.readouterr().out


def test_search_names_member(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    found = {"id": "m1", "kind": "fact", "title": "queue: Redis", "source": {"by": "Alice Ames"}}
    fake.routes["POST /search"] = (200, {"results": [found]})

    assert main(["search", "queue"]) == 0

    assert "said by Alice Ames" in capsys.readouterr().out
