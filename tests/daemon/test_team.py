"""Daemons of a team on one dataset: agreement, dispute, erasure, exclusion, absence of the store."""

from __future__ import annotations

import asyncio
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hunchd.protocol.team_records import TeamRecord, compute_record_id
from hunchd.store.team_dataset import TeamDataset
from tests.daemon.running import RunningDaemon, running_daemon
from tests.object_stores import create_s3_user, enforce_s3_rights, find_moto, s3_store

pytestmark = pytest.mark.timeout(200)
SETTINGS = """
[team]
poll_seconds = 0.2
care_minutes = 0.02
[embedding]
enabled = false
[consolidation]
nightly = false
"""
WITHIN = 60.0  # seconds
PRIVATE = ("planted-private-note", "planted-preference", "planted-session", "planted-command")


@dataclass
class Colleague:
    """Daemon of one member with the member's checkout."""

    name: str
    daemon: RunningDaemon
    folder: Path

    def state(self, key: str, value: str) -> str:
        fact = {"kind": "fact", "key": key, "value": value, "category": "decision", "project": str(self.folder)}
        return str(self.daemon.post("/memories", {**fact, "content": f"{key}: {value}"})["ids"][0])

    def say(self, text: str) -> str:
        fact = {"kind": "fact", "content": text, "category": "decision", "project": str(self.folder)}
        return str(self.daemon.post("/memories", fact)["ids"][0])

    def list_said(self) -> dict[str, str]:
        """Map the valid decisions to their ids."""
        found = self.daemon.get("/memories", project=str(self.folder), kind="fact", category="decision")["items"]
        return {one["content"]: one["id"] for one in found if one["status"] == "active"}

    def open_dispute(self, a: str, b: str) -> str:
        said = self.list_said()
        return str(self.daemon.post("/contradictions", {"a": said[a], "b": said[b]})["id"])

    def leave(self) -> None:
        assert self.daemon.request("DELETE", "/team", query={"project": str(self.folder)})[0] == 200

    def look_up(self, key: str) -> str | None:
        status, answer = self.daemon.request("GET", "/facts", query={"key": key, "project": str(self.folder)})
        fact = answer.get("fact") if status == 200 else None
        return fact["value"] if fact is not None else None

    def disputed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.daemon.get("/contradictions", project=str(self.folder), status="open")[
            "items"
        ]
        return found

    def join(self, uri: str, *, create: bool = False) -> dict[str, Any]:
        body = {"project": str(self.folder), "uri": uri, "name": self.name, "create": create}
        joined: dict[str, Any] = self.daemon.post("/team", body)
        return joined

    def team(self, path: str = "") -> Any:
        return self.daemon.get(f"/team{path}", project=str(self.folder))


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def team(hunchd_home: Path, tmp_path: Path) -> Iterator[list[Colleague]]:
    with ExitStack() as stack:
        members = []
        for name in ("Ada", "Bob", "Cem"):
            folder = tmp_path / name / "shop"
            folder.mkdir(parents=True)
            daemon = stack.enter_context(running_daemon(hunchd_home / name, settings=SETTINGS))
            daemon.add(folder)
            members.append(Colleague(name, daemon, folder))
        address = members[0].join(str(tmp_path / "dataset"), create=True)["address"]
        for member in members[1:]:
            member.join(address)
        yield members


def test_team_shares_disputes_resolves_and_erases(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, cem = team
    database = ada.state("database", "PostgreSQL")
    wait_for(lambda: bob.look_up("database") == cem.look_up("database") == "PostgreSQL")

    bob.state("queue", "Redis")
    cem.state("queue", "RabbitMQ")
    wait_for(lambda: all(len(one.disputed()) == 1 for one in team))
    assert (bob.look_up("queue"), cem.look_up("queue")) == ("Redis", "RabbitMQ")

    [dispute] = ada.disputed()
    winner = "a_wins" if dispute["a"]["value"] == "RabbitMQ" else "b_wins"
    ada.daemon.post(f"/contradictions/{dispute['id']}/resolve", {"resolution": winner})
    wait_for(lambda: all(one.look_up("queue") == "RabbitMQ" and not one.disputed() for one in team))

    assert ada.daemon.request("DELETE", f"/memories/{database}")[0] == 200
    wait_for(lambda: not any(one.look_up("database") for one in team))
    cem.state("cache", "none")  # a new version, so that somebody takes care of the dataset
    wait_for(lambda: not any(holds(file, b"PostgreSQL") for file in (tmp_path / "dataset").rglob("*")))


def test_team_dataset_holds_nothing_private(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, _ = team
    folder = str(ada.folder)
    ada.daemon.post("/memories", {"kind": "fact", "content": PRIVATE[0]})
    preference = {"kind": "preference", "content": PRIVATE[1], "project": folder}
    ada.daemon.post("/memories", preference)
    ada.daemon.post("/sessions/s1/messages", {"project": folder, "messages": [{"role": "user", "content": PRIVATE[2]}]})
    command = {"kind": "command_finished", "project": folder, "command": PRIVATE[3], "exit_code": 0, "duration_ms": 1}
    ada.daemon.post("/signals", {"signals": [command]})
    ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")

    texts = [file for file in (tmp_path / "dataset").rglob("*") if file.is_file()]
    assert any(holds(file, b"Redis") for file in texts), "the search itself works"
    assert not any(holds(file, secret.encode()) for file in texts for secret in (*PRIVATE, str(Path.home()), folder))


def test_excluded_member_is_void_everywhere(team: list[Colleague]) -> None:
    ada, bob, cem = team
    bob.state("queue", "Redis")
    bob.state("cache", "none")
    wait_for(lambda: cem.look_up("cache") == "none" and cem.look_up("queue") == "Redis")
    body = {"project": str(cem.folder), "member": "Bob", "action": "exclude"}
    assert cem.daemon.request("POST", "/team/members", body)[0] == 409, "a member has no right to"

    ada.daemon.post("/team/members", {**body, "project": str(ada.folder)})
    wait_for(lambda: not any(one.look_up(key) for one in (ada, cem) for key in ("queue", "cache")))

    assert bob.look_up("queue") == "Redis", "one's own memory stays"
    ada.daemon.post("/team/members", {**body, "project": str(ada.folder), "action": "readmit"})
    wait_for(lambda: cem.look_up("queue") == "Redis")


def test_absent_store_is_not_felt(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, _ = team
    ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")
    (tmp_path / "dataset").rename(tmp_path / "gone")

    ada.state("cache", "memcached")
    wait_for(lambda: ada.team()["progress"]["state"] != "in step" and bob.team()["progress"]["state"] != "in step")
    wait_for(lambda: ada.team()["unsent"] and ada.team()["progress"]["failure"])
    progress = ada.team()["progress"]
    assert str(tmp_path / "dataset") + " is not reachable" in progress["failure"]
    assert ".rs" not in progress["failure"]
    assert progress["next_attempt_at"]
    assert not (tmp_path / "dataset").exists()
    assert bob.look_up("queue") == "Redis"
    bob.daemon.kill()
    (tmp_path / "gone").rename(tmp_path / "dataset")
    bob.daemon.start()

    wait_for(lambda: bob.look_up("cache") == "memcached")


def test_leaving_keeps_own_statements_only(team: list[Colleague]) -> None:
    ada, bob, _ = team
    ada.state("queue", "Redis")
    bob.state("cache", "none")
    wait_for(lambda: bob.look_up("queue") == "Redis" and ada.look_up("cache") == "none")

    assert bob.daemon.request("DELETE", "/team", query={"project": str(bob.folder)})[0] == 200

    assert (bob.look_up("queue"), bob.look_up("cache")) == (None, "none")
    assert not bob.team()["joined"]
    assert not any(holds(file, b"Redis") for file in (bob.daemon.places.data / "teams").rglob("*"))
    assert ada.look_up("cache") == "none"


def test_members_statement_is_only_hidden(team: list[Colleague]) -> None:
    ada, bob, _ = team
    ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")
    fact = bob.daemon.get("/facts", key="queue", project=str(bob.folder))["fact"]

    status, answer = bob.daemon.request("PATCH", f"/memories/{fact['id']}", {"value": "RabbitMQ"})
    assert (status, bob.look_up("queue")) == (409, "Redis")
    assert "Ada said this" in answer["error"]["message"]

    _, forgotten = bob.daemon.request("DELETE", f"/memories/{fact['id']}")
    assert (forgotten["still_said_by"], bob.look_up("queue"), ada.look_up("queue")) == ("Ada", None, "Redis")


def test_forget_after_resolution_hides_and_erases(team: list[Colleague]) -> None:
    ada, bob, cem = team
    statement = ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")
    bob.state("queue", "Kafka")
    wait_for(lambda: ada.disputed())
    bob.daemon.post(f"/contradictions/{bob.disputed()[0]['id']}/resolve", {"resolution": "b_wins"})
    wait_for(lambda: ada.look_up("queue") == cem.look_up("queue") == "Kafka")

    _, forgotten = ada.daemon.request("DELETE", f"/memories/{statement}")
    assert (forgotten["still_said_by"], forgotten["own_erased"]) == ("Bob", True)
    wait_for(lambda: ada.team()["unsent"] == ada.team()["unapplied"] == 0)
    bob.leave()  # changes the roster, so that everything he said is looked at again
    wait_for(lambda: any(one["state"] == "left" for one in ada.team("/members")["items"]))
    wait_for(lambda: ada.team()["unapplied"] == 0)
    assert (ada.look_up("queue"), cem.look_up("queue")) == (None, "Kafka")

    bob.join(ada.team()["uri"])
    bob.state("queue", "NATS")
    wait_for(lambda: ada.look_up("queue") == "NATS")


def test_forgetting_outlives_resolution_by_others(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, cem = team
    statement = ada.state("queue", "planted-in-error")
    wait_for(lambda: bob.look_up("queue") == "planted-in-error")
    bob.state("queue", "Redis")
    wait_for(lambda: cem.disputed())
    winner = "a_wins" if cem.disputed()[0]["a"]["value"] == "planted-in-error" else "b_wins"
    cem.daemon.post(f"/contradictions/{cem.disputed()[0]['id']}/resolve", {"resolution": winner})
    wait_for(lambda: all(one.look_up("queue") == "planted-in-error" and not one.disputed() for one in team))

    ada.daemon.request("DELETE", f"/memories/{statement}")

    wait_for(lambda: all(one.look_up("queue") == "Redis" for one in team))
    cem.daemon.kill()  # what it reads again after a start decides nothing either
    cem.daemon.start()
    bob.state("cache", "none")  # a version after which the dataset is compacted
    places = (tmp_path / "dataset", *(one.daemon.places.data for one in team))
    wait_for(lambda: not any(holds(file, b"planted-in-error") for place in places for file in place.rglob("*")))
    assert all(one.look_up("queue") == "Redis" and not one.disputed() for one in team)


def test_keyless_resolution_reaches_its_loser(team: list[Colleague]) -> None:
    ada, bob, _ = team
    ada.say("we release on Tuesdays")
    wait_for(lambda: bob.list_said())
    bob.say("we release on Wednesdays")
    wait_for(lambda: all(len(one.list_said()) == 2 for one in team))
    disputes = [one.open_dispute("we release on Tuesdays", "we release on Wednesdays") for one in team]

    winner = "a_wins" if "Wednesdays" in bob.disputed()[0]["a"]["content"] else "b_wins"
    bob.daemon.post(f"/contradictions/{disputes[1]}/resolve", {"resolution": winner})
    wait_for(lambda: all(list(one.list_said()) == ["we release on Wednesdays"] for one in team))
    wait_for(lambda: not any(one.disputed() for one in team))

    bob.daemon.post(f"/memories/{disputes[1]}/undo", {})
    wait_for(lambda: all(len(one.list_said()) == 2 for one in team))


def test_rejoined_member_repeats_nothing(team: list[Colleague]) -> None:
    ada, bob, cem = team
    ada.say("we release on Tuesdays")
    ada.state("queue", "Redis")
    bob.say("we tag on Wednesdays")
    bob.state("queue", "Kafka")
    wait_for(lambda: all(len(one.list_said()) == 3 and len(one.disputed()) == 1 for one in team))
    for one in team:
        one.open_dispute("we release on Tuesdays", "we tag on Wednesdays")

    bob.leave()
    assert set(bob.list_said()) == {"we tag on Wednesdays", "queue: Kafka"}
    assert not bob.disputed()
    bob.join(ada.team()["uri"])
    bob.say("we freeze on Mondays")

    wait_for(lambda: all(len(one.list_said()) == 4 for one in team))
    assert sorted(one["name"] for one in cem.team("/members")["items"]) == ["Ada", "Bob", "Cem"]
    assert cem.team()["members"] == 3
    assert len(cem.disputed()) == 2


def test_restated_key_erases_forgotten_text(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, _ = team
    statement = ada.state("queue", "planted-in-error")
    wait_for(lambda: bob.look_up("queue") == "planted-in-error")

    ada.daemon.request("DELETE", f"/memories/{statement}")
    ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")

    history = bob.daemon.get(
        f"/memories/{bob.daemon.get('/facts', key='queue', project=str(bob.folder))['fact']['id']}"
    )
    assert "planted-in-error" not in str(history)
    ada.state("cache", "none")
    places = (tmp_path / "dataset", *(one.daemon.places.data for one in team))
    wait_for(lambda: not any(holds(file, b"planted-in-error") for place in places for file in place.rglob("*")))


def test_forged_author_is_refused(team: list[Colleague], tmp_path: Path) -> None:
    ada, bob, _ = team
    ada.state("queue", "Redis")
    wait_for(lambda: bob.look_up("queue") == "Redis")

    async def forge() -> None:
        dataset = await TeamDataset.open(str(tmp_path / "dataset"), {})
        [genuine] = [one for one in await dataset.find_rows("kind", ["state"]) if "Redis" in one["payload"]]
        payload = genuine["payload"].replace("Redis", "Kafka")
        draft = msgspec.convert({**genuine, "clock": genuine["clock"] + 1, "payload": payload}, TeamRecord)
        forged = msgspec.structs.replace(draft, id=compute_record_id(draft, bob.team()["team"]))
        await dataset.append([msgspec.to_builtins(forged)], may_exist=False)

    asyncio.run(forge())
    wait_for(lambda: bob.team()["progress"]["forged"] == 1)
    assert bob.look_up("queue") == "Redis"


@pytest.mark.skipif(not find_moto(), reason="moto_server is not installed")
def test_credentials_stay_in_their_file(hunchd_home: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "shop").mkdir()
    daemon = RunningDaemon(hunchd_home, SETTINGS)
    ada = Colleague("Ada", daemon, tmp_path / "shop")
    with s3_store(tmp_path / "store") as store, ExitStack() as stack:
        credentials = create_s3_user(store.port, "ada", ("GetObject", "PutObject", "DeleteObject"))
        enforce_s3_rights(store.port, credentials)
        replace(store, credentials=credentials).write_credentials(daemon.places.config)
        stack.callback(daemon.start().stop)
        daemon.add(ada.folder)
        ada.join(store.uri, create=True)
        ada.state("queue", "Redis")
        wait_for(lambda: ada.team()["progress"]["sent"] > 2)
        stack.pop_all()
    try:
        wait_for(lambda: ada.team()["progress"]["state"] == "unreachable")
        answers = str([daemon.get("/status"), ada.team(), ada.team("/members"), ada.team("/statements")])
    finally:
        daemon.stop()

    [options] = tomllib.loads(credentials).values()
    for secret in (options["aws_access_key_id"], options["aws_secret_access_key"]):
        assert secret not in answers
        places = {file.name for file in hunchd_home.rglob("*") if holds(file, secret.encode())}
        assert places == {"team-credentials.toml"}


@pytest.mark.parametrize("mode", [0o2775, 0o2750])
def test_shared_folder_keeps_its_permissions(hunchd_home: Path, tmp_path: Path, mode: int) -> None:
    shared, folder = tmp_path / "shared", tmp_path / "shop"
    folder.mkdir()
    shared.mkdir()
    shared.chmod(mode)
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(folder)
        ada = Colleague("Ada", daemon, folder)
        missing = {"project": str(folder), "uri": str(shared / "typo"), "name": "Ada"}
        assert daemon.request("POST", "/team", missing)[0] == 404
        assert not any(shared.iterdir()), "joining creates nothing"
        ada.join(str(shared / "hunch" / "shop"), create=True)
        statement = ada.state("queue", "Redis")
        wait_for(lambda: ada.team()["progress"]["sent"] > 2)
        daemon.request("DELETE", f"/memories/{statement}")
        wait_for(lambda: ada.team()["progress"]["sent"] > 3)
        key_file = next(daemon.places.data.glob("teams/*/key"))
        assert key_file.stat().st_mode & 0o077 == 0
    for path in shared.rglob("*"):
        expected = mode if path.is_dir() else mode & 0o666
        assert path.stat().st_mode & 0o7777 == expected, path


def test_no_team_loads_no_team_code(hunchd_home: Path, tmp_path: Path) -> None:
    with running_daemon(hunchd_home, settings=SETTINGS) as daemon:
        daemon.add(tmp_path)
        tasks = [task["name"] for task in daemon.get("/status")["tasks"]]
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
        commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
        mapped = Path(f"/proc/{daemon.pid}/maps").read_text()

    assert not any(name.startswith("team") for name in tasks)
    assert not any(b"team_process" in command for command in commands)
    assert "cryptography" not in mapped
    assert "lancedb" not in mapped


def holds(file: Path, text: bytes) -> bool:
    try:
        return file.is_file() and text in file.read_bytes()
    except FileNotFoundError:  # cleaned up meanwhile
        return False


def test_address_with_credentials_is_refused(team: list[Colleague]) -> None:
    ada = team[0]
    body = {"project": str(ada.folder), "uri": f"s3://key:{os.urandom(4).hex()}@bucket/x", "name": "Ada"}

    status, answer = ada.daemon.request("POST", "/team", body)

    assert status == 422
    assert "credentials" in answer["error"]["message"]
