"""Exports imported by real daemons: everything is restored elsewhere, and newer data stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli import http
from tests.daemon.running import RunningDaemon, running_daemon
from tests.repositories import make_shop

pytestmark = pytest.mark.daemon("shared")

PAGE = "# Plan\n\n" + "\n\n".join(f"paragraph {number} " + "word " * 200 for number in range(8))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


def asked(daemon: RunningDaemon, method: str, path: str, body: bytes | None = None) -> str:
    """The text of an answer, sent and read as lines."""
    assert daemon.told is not None
    response = http.send_request(
        http.Address(daemon.told.socket, "127.0.0.1", 0),
        method,
        path,
        headers={"Authorization": f"Bearer {daemon.told.token}", "Content-Type": "application/x-ndjson"},
        body=body,
        timeout=60,
    )
    content = response.read_body().decode()
    assert response.status == 200, content
    return content


def exported(daemon: RunningDaemon) -> list[str]:
    """Return every line but the first, which has the export time, once all queues are empty."""
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=60, what="settle")
    return asked(daemon, "GET", "/export").splitlines()[1:]


def imported(daemon: RunningDaemon, lines: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(asked(daemon, "POST", "/import", "\n".join(lines).encode()))
    return answer


def db(daemon: RunningDaemon, folder: Path, value: str) -> None:
    daemon.post("/memories", {"kind": "fact", "key": "db", "value": value, "content": value, "project": str(folder)})


def values(daemon: RunningDaemon, **asked: Any) -> list[str]:
    """Return the current value of a key and its earlier ones, newest first."""
    identifier = daemon.get("/facts", **asked)["fact"]["id"]
    return [one["value"] for one in daemon.get(f"/memories/{identifier}/history")["items"]]


@pytest.mark.timeout(120)
@pytest.mark.daemon("own")
def test_export_import_export_round_trip(daemon: RunningDaemon, shop: Path, homes: Path) -> None:
    daemon.add(shop)
    db(daemon, shop, "mysql")
    db(daemon, shop, "sqlite")
    opened = {"kind": "file_opened", "project": str(shop), "path": "shop/basket.py", "event_id": "opened-1"}
    failed = {"kind": "error", "project": str(shop), "text": "KeyError: 'x'", "command": "pytest", "event_id": "e-1"}
    daemon.post("/signals", {"signals": [opened, failed]})
    daemon.request("PUT", "/documents/projects/shop/plan", {"content": PAGE})
    daemon.post(
        "/sessions/s/messages", {"messages": [{"role": "user", "content": "I prefer tabs"}], "project": str(shop)}
    )
    daemon.post("/sessions/s/end", {})
    daemon.wait_until(lambda: exported(daemon) == exported(daemon), within=60, what="settle")
    lines = exported(daemon)
    daemon.stop()
    shop.rename(shop.with_name("gone"))  # elsewhere the files are not read a second time

    with running_daemon(homes / "elsewhere") as other:
        imported(other, lines)
        assert sorted(exported(other)) == sorted(lines)
        assert values(other, key="db", project=str(shop)) == ["sqlite", "mysql"]

        db(other, shop, "duckdb")
        held = other.get("/memories", kind="fact", key="db", project=str(shop))["items"]
        assert [one["value"] for one in held] == ["duckdb"]

        assert imported(other, lines)["memories"] == 0  # all of it is known
        assert values(other, key="db", project=str(shop)) == ["duckdb", "sqlite", "mysql"]


@pytest.mark.timeout(120)
def test_import_into_known_project_merges_values(daemon: RunningDaemon, shop: Path, homes: Path) -> None:
    daemon.add(shop)
    db(daemon, shop, "mysql")
    lines = exported(daemon)

    with running_daemon(homes / "elsewhere") as other:
        other.add(shop)
        db(other, shop, "sqlite")
        imported(other, lines)
        facts = [
            (one["key"], one["value"], one["status"])
            for status in ("active", "superseded")
            for one in other.get("/memories", kind="fact", project=str(shop), status=status)["items"]
        ]

    assert sorted(told for told in facts if told[0] == "db") == [
        ("db", "mysql", "superseded"),
        ("db", "sqlite", "active"),
    ]
    assert len({key for key, _, status in facts if status == "active"}) == sum(one[2] == "active" for one in facts)


def test_import_restores_open_error(daemon: RunningDaemon, shop: Path, homes: Path) -> None:
    daemon.add(shop)
    trace = "File \"shop/basket.py\", line 3, in add\nKeyError: 'apple'"
    daemon.post("/signals", {"signals": [{"kind": "error", "project": str(shop), "text": trace}]})
    lines = exported(daemon)

    with running_daemon(homes / "elsewhere") as other:
        imported(other, lines)
        assert "apple" in other.get("/context", project=str(shop), file="shop/basket.py")["context"]


def test_old_export_does_not_overwrite_newer_document(daemon: RunningDaemon) -> None:
    daemon.request("PUT", "/documents/reference/plan", {"content": PAGE})
    old = exported(daemon)
    daemon.request("PUT", "/documents/reference/plan", {"content": "# Plan\n\nshort"})
    new = exported(daemon)

    imported(daemon, old)
    assert sorted(exported(daemon)) == sorted(new)

    daemon.request("DELETE", "/documents/reference/plan")
    imported(daemon, old)
    imported(daemon, new)
    assert sorted(exported(daemon)) == sorted(new)


def test_import_skips_invalid_project_folder(daemon: RunningDaemon) -> None:
    daemon.post("/memories", {"kind": "episode", "content": "what stays"})
    lines = exported(daemon)
    odd = [
        json.dumps({"type": "project", "version": 1, "data": {"id": name, "path": path, "name": "x"}})
        for name, path in (("p1", "relative"), ("../../p2", "/nowhere/to/be/found"))
    ]

    answer = imported(daemon, [*odd, *lines])

    assert (answer["projects"], answer["skipped"], answer["known"]) == (1, 1, 1)
    assert [".." in one["id"] for one in daemon.get("/projects")["items"]] == [False]
    assert [(one["index"], one["error"]["field"]) for one in answer["rejected"]] == [(0, "path")]


def test_import_conflicting_id_is_rejected(daemon: RunningDaemon, shop: Path, tmp_path: Path) -> None:
    """Two projects that shared an id lost one of the memories, whichever was read, changed or forgotten last."""
    daemon.add(shop)
    [ours] = daemon.post("/memories", {"kind": "episode", "content": "heron", "project": str(shop)})["ids"]
    lines = exported(daemon)
    other = tmp_path / "other"
    copied = [line.replace(str(shop), str(other)).replace("heron", "otter") for line in lines]

    answer = imported(daemon, copied)

    at = next(number for number, line in enumerate(copied) if ours in line)
    [told] = [one["error"] for one in answer["rejected"] if one["index"] == at]
    assert (told["code"], told["field"]) == ("conflict", "data.id")
    assert told["message"] == f"'{ours}' is already the id of a memory in {shop}"
    assert daemon.get(f"/memories/{ours}")["content"] == "heron"

    def line(project: str) -> str:
        at = dict.fromkeys(("at", "created", "updated"), "2026-01-01T00:00:00Z")
        told = {"id": "m1", "kind": "episode", "title": "t", "content": project, "project": project, **at}
        return json.dumps({"type": "memory", "version": 1, "data": told})

    answer = imported(daemon, [line(str(shop)), line(str(other))])  # in one go
    assert (answer["memories"], answer["skipped"], answer["rejected"][0]["index"]) == (1, 1, 1)
    assert daemon.get("/memories/m1")["content"] == str(shop)


@pytest.mark.daemon("own")
def test_reimported_signals_are_known(daemon: RunningDaemon, shop: Path, homes: Path) -> None:
    project = daemon.add(shop)
    [note] = daemon.post("/memories", {"kind": "episode", "content": "discounts", "project": str(shop)})["ids"]
    told = {"project": str(shop), "at": "2026-05-01T12:00:00+02:00"}
    used, opened = {"kind": "used", "id": note}, {"kind": "file_opened", "path": "shop/basket.py"}
    daemon.post("/signals", {"signals": [{**told, **used}, {**told, **opened}]})
    lines = [line for line in exported(daemon) if '"type":"project"' in line or '"type":"signal"' in line]
    assert {json.loads(line)["data"]["at"] for line in lines[1:]} == {"2026-05-01T10:00:00Z"}
    daemon.stop()
    shop.rename(shop.with_name("gone"))

    with running_daemon(homes / "elsewhere") as other:
        first, again = imported(other, lines), imported(other, lines)
        assert (first["signals"], first["known"]) == (2, 0)
        assert (again["signals"], again["known"]) == (0, 2)
        assert len([line for line in exported(other) if project["id"] in line and '"type":"signal"' in line]) == 2


def test_truncated_import_is_reported_incomplete(daemon: RunningDaemon) -> None:
    daemon.post("/memories", {"memories": [{"kind": "episode", "content": f"note {n}"} for n in range(3)]})
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=60, what="settle")
    lines = asked(daemon, "GET", "/export").splitlines()
    assert json.loads(lines[-1]) == {"type": "meta", "version": 1, "data": {"end": True, "lines": len(lines) - 1}}

    def came(lines: list[str]) -> tuple[bool | None, int]:
        told = imported(daemon, lines)
        return told["complete"], len(told["warnings"])

    assert came(lines) == (True, 0)
    assert came(lines[:-1]) == (False, 1)
    assert came(lines[:-2]) == (False, 1)
    assert came([*lines[:-2], lines[-1]]) == (False, 1)
    assert came([line.replace(',"counted":true', "") for line in lines[:-1]]) == (None, 1)  # as older versions wrote it
