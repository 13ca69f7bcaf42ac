"""Exports of two colleagues meet in a third daemon: conflicts become contradictions, nothing is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli import http
from tests.daemon.running import RunningDaemon, running_daemon
from tests.daemon.test_consolidation import SETTINGS

pytestmark = pytest.mark.timeout(120)


def said(name: str, key: str, value: str, **fields: Any) -> dict[str, Any]:
    told = {
        "id": f"m{name}{key.replace(' ', '')}",
        "kind": "fact",
        "title": f"{key}: {value}",
        "content": f"{key}: {value}",
        "key": key,
        "value": value,
        "category": "decision",
        "project": f"p-{name}",
        "scope": "project-shared",
        "trust": "user",
        "at": "2026-05-01T12:00:00+00:00",
        "created": "2026-05-01T12:00:00+00:00",
        "updated": "2026-05-01T12:00:00+00:00",
        "confidence": 0.9,
        "source": {"type": "user"},
    }
    return told | fields


def merge(daemon: RunningDaemon, name: str, folder: Path, *memories: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the daemon's response to a colleague's export."""
    assert daemon.told is not None
    lines = "\n".join(json.dumps({"type": "memory", "version": 1, "data": one}) for one in memories)
    answer = http.send_request(
        http.Address(daemon.told.socket, "127.0.0.1", 0),
        "POST",
        f"/import?colleague={name}&project={folder}",
        headers={"Authorization": f"Bearer {daemon.told.token}", "Content-Type": "application/x-ndjson"},
        body=lines.encode(),
        timeout=60,
    )
    return answer.status, json.loads(answer.read_body())


@pytest.fixture
def shop(hunchd_home: Path, tmp_path: Path) -> Any:
    folder = tmp_path / "shop"
    folder.mkdir()
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(folder)
        yield daemon, folder


def test_colleague_imports_merge_and_open_contradictions(shop: Any) -> None:
    daemon, folder = shop
    mine = {"kind": "fact", "content": "we use npm, not yarn", "project": str(folder)}
    own = daemon.post("/memories", mine)["understood"][0]

    def value(key: str) -> str:
        return str(daemon.get("/facts", key=key, project=str(folder))["fact"]["value"])

    ada = (
        said("ada", own["key"], "pnpm", category=own.get("category")),
        said("ada", "database", "PostgreSQL"),
        said("ada", "queue", "Redis"),
        said("ada", "editor", "vim", scope="user-private"),
        said("ada", "my colours", "dark", category="preference"),
        said("ada", "licence", "MIT", source={"type": "convention", "path": "LICENSE"}, trust="project"),
    )
    bob = (said("bob", "database", "MySQL"), said("bob", "queue", "redis"))
    counts = merge(daemon, "Ada", folder, *ada)[1]
    told = [counts[name] for name in ("memories", "known", "contradictions", "skipped", "refused", "rejected")]
    assert told == [2, 0, 1, 3, 0, []]
    counts = merge(daemon, "Bob", folder, *bob)[1]
    assert (counts["memories"], counts["known"], counts["contradictions"]) == (0, 1, 1)

    assert (value(own["key"]), value("database"), value("queue")) == ("npm", "PostgreSQL", "Redis")
    asked = daemon.get("/contradictions", project=str(folder))["items"]
    assert {(one["a"]["value"], one["b"]["value"]) for one in asked} == {("npm", "pnpm"), ("PostgreSQL", "MySQL")}
    for name, lines in (("Ada", ada), ("Bob", bob)):  # the same again changes nothing
        again = merge(daemon, name, folder, *lines)[1]
        assert (again["memories"], again["contradictions"]) == (0, 0)

    database = next(one for one in asked if one["b"]["value"] == "MySQL")
    assert "Bob" in database["reason"]
    daemon.post(f"/contradictions/{database['id']}/resolve", {"resolution": "b_wins"})
    assert value("database") == "MySQL"
    assert [one["b"]["value"] for one in daemon.get("/contradictions", project=str(folder))["items"]] == ["pnpm"]
    assert merge(daemon, "Bob", folder, *bob)[1]["contradictions"] == 0


def test_colleague_reimport_replaces_own_statement(shop: Any) -> None:
    daemon, folder = shop
    daemon.post("/memories", {"kind": "fact", "content": "Redis", "key": "queue", "category": "decision",
                              "project": str(folder)})  # fmt: skip
    merge(daemon, "Ada", folder, said("ada", "queue", "Kafka"), said("ada", "database", "PostgreSQL"))

    later = {"at": "2026-05-02T12:00:00+00:00"}
    changed = (said("ada", "queue", "NATS", **later), said("ada", "database", "MySQL", **later))
    counts = merge(daemon, "Ada", folder, *changed)[1]

    assert (counts["memories"], counts["contradictions"]) == (1, 1)
    asked = daemon.get("/contradictions", project=str(folder))["items"]
    assert [(one["a"]["value"], one["b"]["value"]) for one in asked] == [("Redis", "NATS")]
    held = daemon.get("/facts", key="database", project=str(folder))
    assert held["fact"]["value"] == "MySQL"
    assert [(one["from"], one["to"]) for one in held["changes"]] == [(None, "PostgreSQL"), ("PostgreSQL", "MySQL")]

    merge(daemon, "Ada", folder, said("ada", "queue", "Redis", **later))
    assert daemon.get("/contradictions", project=str(folder))["items"] == []


def test_colleague_import_of_several_projects_is_rejected(shop: Any) -> None:
    daemon, folder = shop
    status, answer = merge(daemon, "Ada", folder, said("ada", "database", "MySQL"), said("bob", "queue", "Redis"))
    assert (status, answer["error"]["code"]) == (422, "invalid")
    assert daemon.request("POST", "/import", {}, query={"colleague": "Ada"})[0] == 422
    assert daemon.get("/memories", project=str(folder))["items"] == []
