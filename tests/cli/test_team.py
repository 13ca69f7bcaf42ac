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
