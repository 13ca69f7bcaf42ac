"""A simulated team of real daemons on one dataset: edits, forgets, disputes, absence, kills, skewed clocks, bad stores.

    python benchmarks/team.py --members 3 --minutes 5 --store folder|s3|azure
    python benchmarks/team.py --members 12 --minutes 120 --store s3 --pause 1.5 --poll 5

Prints one line of JSON: whether every member ends with the same knowledge, what was lost, doubled or private in the
dataset, the lag from accepting a statement to seeing it elsewhere, and the requests and bytes of a member and hour.
The object stores need moto and Azurite (tests/object_stores.py); each member reaches them through a proxy that delays,
refuses, drops and counts. Azurite keeps its files and is killed in between; moto keeps its objects in memory, so it is
only cut off. A member who goes offline is so for 3 to 10 minutes, and goes on working. Clock skew needs libfaketime
(LD_PRELOAD named by HUNCHD_FAKETIME) and is left out without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import lancedb
from proxy import Proxy

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from hunchd.store.team_dataset import TABLE  # noqa: E402
from tests.daemon import running  # noqa: E402
from tests.daemon.running import RunningDaemon  # noqa: E402
from tests.object_stores import azure_store, read_body, s3_store  # noqa: E402

SETTINGS = """
[team]
poll_seconds = {poll}
care_minutes = 1.0
[embedding]
enabled = false
[consolidation]
nightly = false
"""
running.START = 300.0  # seconds: twelve daemons start on few cores
KEYS = [f"subject {number}" for number in range(40)]
PRIVATE = "planted-and-private"
PUBLIC = "stated-for-all"  # the search of the dataset has to find it
TROUBLES = (
    (0.0, 0.0, False),
    (0.0, 0.0, False),
    (0.5, 0.0, False),
    (2.0, 0.0, False),
    (0.0, 0.3, False),
    (0.0, 0.0, True),
)
OFFLINE = (180.0, 600.0)  # seconds that a member without a network goes on working
REST = 900.0  # seconds until everybody is to be in step
CARE = 600.0  # seconds: two epochs of care, after which erased texts are to be gone, take 120
SAVING = 7.0  # seconds: Azurite saves its index every 5, and what it acknowledged since is lost with a SIGKILL


@dataclass
class Member:
    name: str
    daemon: RunningDaemon
    folder: Path
    proxy: Proxy | None = None
    stated: dict[str, tuple[str, float]] = field(default_factory=dict)  # key → value and time, as acknowledged
    unanswered: dict[str, str] = field(default_factory=dict)  # key → value, stated while the daemon was killed
    said: dict[str, str] = field(default_factory=dict)  # statement without a key → id of its memory
    forgotten: set[str] = field(default_factory=set)  # values
    is_up: bool = True
    address: str = ""

    def state(self, key: str, value: str) -> None:
        fact = {"kind": "fact", "key": key, "value": value, "category": "decision", "project": str(self.folder)}
        self.unanswered[key] = value
        self.daemon.post("/memories", {**fact, "content": f"{key}: {value}"})
        self.stated[key] = (value, time.monotonic())
        self.unanswered.pop(key, None)

    def say(self, text: str) -> None:
        fact = {"kind": "fact", "content": text, "category": "decision", "project": str(self.folder)}
        self.said[text] = str(self.daemon.post("/memories", fact)["ids"][0])

    def take_back(self) -> None:
        text = random.choice(sorted(self.said))
        identifier = self.said.pop(text)  # unknown if there is no answer
        if self.daemon.request("DELETE", f"/memories/{identifier}")[0] == 200:
            self.forgotten.add(text)
        else:
            self.said[text] = identifier

    def decide_between_statements(self) -> bool:
        """Report that two statements without a key contradict each other, and decide for one of them."""
        valid = sorted(self.load_sayings().items())
        if len(valid) < 2:
            return False
        pair = dict(zip("ab", (identifier for _, identifier in random.sample(valid, 2)), strict=True))
        status, conflict = self.daemon.request("POST", "/contradictions", pair)
        if status not in (200, 201) or conflict["status"] != "open":
            return False
        choice = random.choice(("a_wins", "b_wins"))
        path = f"/contradictions/{conflict['id']}/resolve"
        self.said.pop(conflict["b" if choice == "a_wins" else "a"]["content"], None)  # decided against, so retracted
        return self.daemon.request("POST", path, {"resolution": choice})[0] == 200

    def load_sayings(self) -> dict[str, str]:
        """Map the valid statements without a key to the ids of their memories."""
        query = {"project": str(self.folder), "kind": "fact", "category": "decision", "limit": 1000}
        items = self.daemon.get("/memories", **query)["items"]
        return {one["content"]: one["id"] for one in items if not one.get("key") and one["status"] == "active"}

    def leave_and_join(self) -> bool:
        """Leave the team and join it again, however often a busy machine or an absent store does not answer."""
        project, has_left, deadline = str(self.folder), False, time.monotonic() + REST
        while True:
            assert time.monotonic() < deadline
            with suppress(OSError):
                is_joined = self.daemon.get("/team", project=project)["joined"]
                if has_left and is_joined:
                    return True
                has_left = has_left or not is_joined
                if is_joined:
                    self.daemon.request("DELETE", "/team", query={"project": project})
                else:
                    body = {"uri": self.address, "project": project, "name": self.name}
                    self.daemon.request("POST", "/team", body)
            if has_left and self.proxy is not None:
                self.proxy.recover()
            time.sleep(1)

    def kill_while_stating(self, key: str, value: str) -> None:
        killer = threading.Timer(random.uniform(0.0, 0.05), self.daemon.kill)
        killer.start()
        with suppress(OSError):
            self.state(key, value)
        killer.join()
        self.daemon.start()

    def forget(self, key: str) -> None:
        status, answer = self.daemon.request("GET", "/facts", query={"key": key, "project": str(self.folder)})
        fact = answer.get("fact") if status == 200 else None
        own = self.stated.get(key)
        if fact is None or own is None or fact["value"] != own[0] or fact["trust"] != "user":
            return
        del self.stated[key]  # unknown if there is no answer
        if self.daemon.request("DELETE", f"/memories/{fact['id']}")[0] == 200:
            self.forgotten.add(own[0])
        else:
            self.stated[key] = own

    def resolve_one(self) -> bool:
        disputes = self.daemon.get("/contradictions", project=str(self.folder), status="open")["items"]
        if not disputes:
            return False
        choice = random.choice(("a_wins", "b_wins"))
        dispute = random.choice(disputes)
        loser = dispute["b" if choice == "a_wins" else "a"]
        own = self.stated.get(loser["key"])
        if own is not None and own[0] == loser["value"]:
            del self.stated[loser["key"]]  # it is in the team only if it was sent before
        done = self.daemon.request("POST", f"/contradictions/{dispute['id']}/resolve", {"resolution": choice})[0] == 200
        if own is not None and not done:
            self.stated[loser["key"]] = own
        return done

    def load_subjects(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.daemon.get("/team/statements", project=str(self.folder), after=after, limit=1000)
            items += page["items"]
            if page["next"] is None:
                return items
            after = page["next"]

    def load_values(self) -> dict[str, list[str]]:
        """Return the values that are in play of each key: the current one, and those in open contradictions."""
        values: dict[str, set[str]] = {}
        for key in KEYS:
            status, answer = self.daemon.request("GET", "/facts", query={"key": key, "project": str(self.folder)})
            if status == 200 and answer["fact"] is not None and answer["fact"]["status"] == "active":
                values.setdefault(key, set()).add(answer["fact"]["value"].casefold())
        for one in self.daemon.get("/contradictions", project=str(self.folder), status="open", limit=1000)["items"]:
            for side in "ab":
                values.setdefault(one[side]["key"], set()).add(one[side]["value"].casefold())
        values["without a key"] = set(self.load_sayings())
        return {key: sorted(found) for key, found in values.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--store", choices=("folder", "s3", "azure"), default="folder")
    parser.add_argument("--pause", type=float, default=0.28, help="seconds between two actions, in the mean")
    parser.add_argument("--poll", type=float, default=2.0, help="seconds between two looks at the dataset")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    base = Path(tempfile.mkdtemp(prefix="tc-"))
    try:
        with ExitStack() as stack:
            print(json.dumps(run_campaign(arguments, base, stack)))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 0


def run_campaign(arguments: argparse.Namespace, base: Path, stack: ExitStack) -> dict[str, Any]:
    store = open_store(arguments.store, base, stack)
    settings = SETTINGS.format(poll=arguments.poll)
    members = [
        create_member(f"Member {chr(ord('A') + number)}", base, store, number, settings)
        for number in range(arguments.members)
    ]
    for member in members:
        member.daemon.start()
        stack.callback(member.daemon.kill)
        member.daemon.add(member.folder)
        plant_private(member)
    body = {"uri": store.uri, "create": True}
    for member in members:
        joined = member.daemon.post("/team", {**body, "project": str(member.folder), "name": member.name})
        member.address = joined["address"]
        body = {"uri": member.address, "create": False}
        time.sleep(3 if member is members[0] else 0)
    lags: list[float] = []
    members[0].state("public", PUBLIC)
    del members[0].stated["public"]  # nobody forgets it
    counts: Counter[str] = Counter()
    began = noted = time.monotonic()
    while time.monotonic() - began < arguments.minutes * 60:
        try:
            act(members, store, counts, lags)
        except (OSError, subprocess.TimeoutExpired) as error:  # a busy machine: no answer in time, or killed at its end
            counts[f"unanswered {type(error).__name__}"] += 1
        time.sleep(random.uniform(0, 2 * arguments.pause))
        if time.monotonic() - noted > 60:
            noted = time.monotonic()
            print(f"{(noted - began) / 60:.0f} min {dict(counts)} lags {len(lags)}", file=sys.stderr, flush=True)
    hours = (time.monotonic() - began) / 3_600
    proxies = [one.proxy for one in members if one.proxy is not None]
    traffic = (sum(one.requests for one in proxies), sum(one.received_bytes for one in proxies))
    return {"store": arguments.store, "members": len(members), "minutes": arguments.minutes, **counts} | judge(
        members, store, lags, traffic, hours
    )


@dataclass
class Store:
    """Store of the dataset; `read` yields the content of every file in it."""

    uri: str
    read: Callable[[], Iterator[bytes]]
    credentials: str = ""
    port: int = 0
    restart: Callable[[], None] | None = None  # kills it and starts it again with the same files


def open_store(kind: str, base: Path, stack: ExitStack) -> Store:
    if kind == "folder":
        return Store(str(base / "dataset"), lambda: read_files(base / "dataset"))
    folder = base / "store"
    folder.mkdir()
    if kind == "s3":
        server = stack.enter_context(s3_store(folder))
        return Store(server.uri, lambda: read_objects(server.port), server.credentials, server.port)
    server = stack.enter_context(azure_store(folder))
    return Store(server.uri, lambda: read_files(folder), server.credentials, server.port, server.restart)


def read_files(folder: Path) -> Iterator[bytes]:
    return (file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def read_decoded(store: Store) -> list[bytes]:
    """Return the rows of every version that is left: files may be compressed."""
    options = next(iter(tomllib.loads(store.credentials).values()), {})
    connection = await lancedb.connect_async(store.uri, storage_options=options or None)
    table = await connection.open_table(TABLE)
    contents = []
    for version in await table.list_versions():
        await table.checkout(version["version"])
        contents.append(json.dumps((await table.query().to_arrow()).to_pylist()).encode())
    return contents


def read_objects(port: int) -> Iterator[bytes]:
    """Yield the objects of the S3 server, which holds them in memory."""
    space, after = "{http://s3.amazonaws.com/doc/2006-03-01/}", ""
    while True:
        page = ElementTree.fromstring(read_body(port, f"/team-bucket?list-type=2&start-after={after}"))
        names = [str(one.text) for one in page.iter(f"{space}Key")]
        yield from (read_body(port, f"/team-bucket/{name}") for name in names)
        if not names:
            return
        after = names[-1]


def create_member(name: str, base: Path, store: Store, number: int, settings: str) -> Member:
    folder = base / name.replace(" ", "") / "shop"
    folder.mkdir(parents=True)
    environment = {}
    if library := os.environ.get("HUNCHD_FAKETIME"):
        environment = {"LD_PRELOAD": library, "FAKETIME": f"{(number % 3 - 1) * 600:+d}"}
    proxy = Proxy(store.port) if store.port else None
    daemon = RunningDaemon(base / name.replace(" ", "") / "home", settings=settings, environment=environment)
    daemon.places.config.mkdir(parents=True, mode=0o700)
    file = daemon.places.config / "team-credentials.toml"
    file.touch(mode=0o600)
    if proxy is not None:
        proxy.start()
        file.write_text(store.credentials.replace(f":{store.port}", f":{proxy.port}"))
    return Member(name, daemon, folder, proxy)


def plant_private(member: Member) -> None:
    folder = str(member.folder)
    member.daemon.post("/memories", {"kind": "fact", "content": f"{PRIVATE} of {member.name}"})
    member.daemon.post("/memories", {"kind": "preference", "content": PRIVATE, "project": folder})
    message = {"role": "user", "content": f"{PRIVATE} in a session"}
    member.daemon.post("/sessions/s/messages", {"project": folder, "messages": [message]})
    command = {"kind": "command_finished", "project": folder, "command": PRIVATE, "exit_code": 0, "duration_ms": 1}
    member.daemon.post("/signals", {"signals": [command]})


def act(members: list[Member], store: Store, counts: Counter[str], lags: list[float]) -> None:
    """Let something happen to one member, or to the store."""
    member = random.choice(members)
    chance = random.random()
    if not member.is_up:
        if chance < 0.1:
            member.daemon.start()
            member.is_up = True
        return
    if chance < 0.04:
        member.say(f"rule v{time.time_ns():x} holds")
        counts["sayings"] += 1
    elif chance < 0.05 and member.said:
        member.take_back()
        counts["forgets"] += 1
    elif chance < 0.07:
        counts["resolutions_without_key"] += member.decide_between_statements()
    elif chance < 0.08:
        counts["rejoins"] += member.leave_and_join()
    elif chance < 0.70:
        member.state(random.choice(KEYS), f"v{time.time_ns():x}")
        counts["edits"] += 1
    elif chance < 0.80 and member.stated:
        member.forget(random.choice(sorted(member.stated)))
        counts["forgets"] += 1
    elif chance < 0.90:
        counts["resolutions"] += member.resolve_one()
    elif chance < 0.92:
        member.kill_while_stating(random.choice(KEYS), f"v{time.time_ns():x}")
        counts["kills"] += 1
    elif chance < 0.93:
        member.is_up = False
        counts["absences"] += 1
        member.daemon.stop()
    elif chance < 0.932 and member.proxy is not None:
        member.proxy.offline_until = time.monotonic() + random.uniform(*OFFLINE)
        counts["offline"] += 1
    elif chance < 0.96 and member.proxy is not None:
        disturb(members, member, store, counts)
    else:
        measure_lag([one for one in members if one.is_up and (one.proxy is None or one.proxy.is_well)], lags)


def disturb(members: list[Member], member: Member, store: Store, counts: Counter[str]) -> None:
    """Change the network of one member or of all, or kill the store."""
    if store.restart is not None and random.random() < 0.2:
        for one in members:
            if one.proxy is not None:
                one.proxy.is_down = True
        time.sleep(SAVING)
        store.restart()
        counts["kills_of_store"] += 1
        for one in members:
            if one.proxy is not None:
                one.proxy.is_down = False
        return
    is_for_all, trouble = random.random() < 0.5, random.choice(TROUBLES)
    for one in members if is_for_all else (member,):
        assert one.proxy is not None
        one.proxy.trouble(*trouble)
        if not is_for_all and not one.proxy.is_well:
            counts["cut_off" if one.proxy.is_down else "bad_networks"] += 1
    if is_for_all:
        counts["outages"] += any(trouble)


def measure_lag(members: list[Member], lags: list[float]) -> None:
    """Measure how long a statement of one member takes to another; all of them reach the store."""
    if len(members) < 2:
        return
    author, reader = random.sample(members, 2)
    key, value, began = f"lag {time.time_ns()}", "x", time.monotonic()
    author.state(key, value)
    del author.stated[key]
    while time.monotonic() - began < 60:
        query = {"key": key, "project": str(reader.folder)}
        if reader.daemon.request("GET", "/facts", query=query)[0] == 200:
            lags.append(time.monotonic() - began)
            return
        time.sleep(0.05)
    lags.append(60.0)


def judge(
    members: list[Member], store: Store, lags: list[float], traffic: tuple[int, int], hours: float
) -> dict[str, Any]:
    """Let everybody come to rest, then compare."""
    for member in members:
        if member.proxy is not None:
            member.proxy.recover()
        if not member.is_up:
            member.daemon.start()
    began = time.monotonic()
    views: list[str] = []
    values: list[dict[str, list[str]]] = []
    while time.monotonic() - began < REST:
        time.sleep(5)
        try:
            statuses = [one.daemon.get("/team", project=str(one.folder)) for one in members]
        except OSError:  # a daemon on a busy machine has not answered in time
            continue
        if any(one["unsent"] or one["unapplied"] or one["progress"]["state"] != "in step" for one in statuses):
            continue
        subjects = [one.load_subjects() for one in members]
        views = [json.dumps(one, sort_keys=True) for one in subjects]
        values = [one.load_values() for one in members]
        if len(set(views)) == 1 and all(one == values[0] for one in values):
            break
    in_step_seconds = time.monotonic() - began
    statements = {
        (one["by"], one["key"]): one["value"] for subject in subjects for item in subject for one in item["statements"]
    }
    lost = [
        (member.name, key, value)
        for member in members
        for key, (value, _) in member.stated.items()
        if statements.get((member.name, key)) not in (value, member.unanswered.get(key, value))
    ]
    sayings = {one["content"] for subject in subjects for item in subject for one in item["statements"]}
    lost += [(member.name, "", text) for member in members for text in member.said if text not in sayings]
    doubled = sum(
        len(item["statements"]) - len({one["by"] for one in item["statements"]}) for item in json.loads(views[0])
    )
    forgotten = {value for member in members for value in member.forgotten}
    returned = sorted(forgotten & {value for one in values for found in one.values() for value in found})
    members[0].state("the last word", "said")  # a version for which somebody takes care of the dataset again
    texts = json.dumps(subjects)
    forgotten_texts = {value for value in forgotten if value not in texts}  # not quoted in a resolution
    waiting = time.monotonic()
    while True:
        decoded = asyncio.run(read_decoded(store))
        contents = [*store.read(), *decoded]
        remaining = decoded if store.restart is not None else contents  # Azurite keeps deleted blobs for ten minutes
        present = sum(any(text.encode() in one for one in remaining) for text in forgotten_texts)
        if not present or time.monotonic() - waiting > CARE:
            break
        time.sleep(15)
    sorted_lags = sorted(lags)
    return {
        "same_views": len(set(views)) == 1,
        "same_values": all(one == values[0] for one in values),
        "members_listed": len(members[0].daemon.get("/team/members", project=str(members[0].folder))["items"]),
        "differing_keys": [
            key for key in (*KEYS, "without a key") if len({json.dumps(one.get(key)) for one in values}) > 1
        ],
        "subjects": len(json.loads(views[0])),
        "lost": lost,
        "doubled": doubled,
        "forgotten_returned": returned,
        "in_step_after": round(in_step_seconds),
        "searched_files": len(contents),
        "public_in_dataset": any(PUBLIC.encode() in content for content in contents),
        "private_in_dataset": any(PRIVATE.encode() in content for content in contents),
        "forgotten_in_dataset": present,
        "forgotten_searched": len(forgotten_texts),
        "forgotten_gone_after": round(time.monotonic() - waiting),
        "folders_in_dataset": any(str(members[0].folder.parent).encode() in content for content in contents),
        "forged": sum(one["progress"]["forged"] for one in statuses),
        "lag_p50": round(statistics.median(sorted_lags), 2) if lags else None,
        "lag_p95": round(sorted_lags[int(len(sorted_lags) * 0.95)], 2) if lags else None,
        "lags": len(lags),
        "requests_per_member_hour": round(traffic[0] / len(members) / hours),
        "kilobytes_per_member_hour": round(traffic[1] / len(members) / hours / 1_024),
        "errors": [line for member in members for line in member.daemon.log.splitlines() if " ERROR " in line][:5],
    }


if __name__ == "__main__":
    sys.exit(main())
