"""Latency of `GET /context` and `POST /search` of a team's member beside a machine without a team.

    python benchmarks/team_latency.py --repo CLONE --requests 300

Two daemons with the same repository and the same statements are asked in turn, so that a busy machine slows both. One
is in a team on an S3 server (moto, tests/object_stores.py) behind a proxy: reachable, then two seconds late with every
request, then gone. A colleague states something every second meanwhile, which the other machine states itself.
Prints one line of JSON for each state: the median of the ratios of a question to both, which a changing load does not
move; medians and 95th percentiles in milliseconds, and their ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from team import Member, create_member, open_store

STATES = {"reachable": (0.0, 0.0, False), "slow": (2.0, 0.0, False), "gone": (0.0, 0.0, True)}
SETTINGS = "[team]\npoll_seconds = 5.0\n[consolidation]\nnightly = false\n"
SETTLING = 15.0  # seconds after a change of the network


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tl-") as base, ExitStack() as stack:
        alone, member, colleague = start_machines(Path(base), arguments.repo, stack)
        assert member.proxy is not None
        ended = threading.Event()
        stack.callback(ended.set)
        threading.Thread(target=state_on, args=([alone, colleague], ended), daemon=True).start()
        for name, trouble in STATES.items():
            member.proxy.trouble(*trouble)
            time.sleep(SETTLING)
            print(json.dumps({"state": name, **compare(alone, member, arguments.requests)}), flush=True)
    return 0


def start_machines(base: Path, repository: Path, stack: ExitStack) -> list[Member]:
    store = open_store("s3", base, stack)
    machines = [create_member(name, base, store, 1, SETTINGS) for name in ("Alone", "Member", "Colleague")]
    for machine in machines:
        machine.folder.rmdir()
        subprocess.run(["git", "clone", "-q", str(repository), str(machine.folder)], check=True)
        machine.daemon.start()
        stack.callback(machine.daemon.stop)
        machine.daemon.add(machine.folder, within=600.0)
    body = {"uri": store.uri, "create": True}
    for machine in machines[1:]:
        joined = machine.daemon.post("/team", {**body, "project": str(machine.folder), "name": machine.name})
        body = {"uri": joined["address"], "create": False}
        time.sleep(3)
    return machines


def state_on(machines: list[Member], ended: threading.Event) -> None:
    number = 0
    while not ended.wait(1.0):
        number += 1
        for machine in machines:
            machine.state(f"choice {number}", f"value {number}")


def compare(alone: Member, member: Member, requests: int) -> dict[str, object]:
    files = list_files(alone.folder)
    found: dict[str, object] = {"progress": member.daemon.get("/team", project=str(member.folder))["progress"]["state"]}
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(requests):
        file = random.choice(files)
        words = random.sample([*filter(None, file.stem.split("_")), "choice", "value", str(number)], 2)
        for machine in random.sample([alone, member], 2):
            project = str(machine.folder)
            asked = {"project": project, "budget": 2000, "file": str(machine.folder / file)}
            body = {"project": project, "query": " ".join(words)}
            for path, ask in (
                ("/context", partial(machine.daemon.get, "/context", **asked)),
                ("/search", partial(machine.daemon.post, "/search", body)),
            ):
                began = time.perf_counter()
                ask()
                seconds.setdefault((path, machine.name), []).append(time.perf_counter() - began)
    for path in ("/context", "/search"):
        pairs = zip(seconds[path, alone.name], seconds[path, member.name], strict=True)
        found[f"{path} paired"] = round(statistics.median(other / one for one, other in pairs), 3)
        of_alone, of_member = (sorted(seconds[path, machine.name]) for machine in (alone, member))
        for name, pick in (("p50", statistics.median), ("p95", lambda times: times[int(len(times) * 0.95)])):
            one, other = pick(of_alone), pick(of_member)
            found[f"{path} {name}"] = [round(one * 1_000, 1), round(other * 1_000, 1), round(other / one, 3)]
    return found


def list_files(folder: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=folder, check=True, capture_output=True, text=True)
    return [Path(line) for line in listed.stdout.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
