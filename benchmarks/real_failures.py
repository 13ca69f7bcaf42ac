r"""Benchmark of real failures: code is broken under `hunch run`, fixed, and broken again.

    python benchmarks/real_failures.py --tree CLONE --language python --whole "python -m pytest -q -x tests" \
        --sources "src/**/*.py" --seed 1 --faults 30 --work FOLDER

CLONE is changed: a clean disposable clone whose tests pass with the command `--whole`. Faults are made by rule
(benchmarks/mutations.py) at sites drawn with the seed; one that no test detects is skipped. Then, with a daemon of
its own below FOLDER:

  mend    break, run the failing command, fix it (restored; with other edits; or committed), run it again.
          Is the error that is shown the one that occurred? Is the change stored as its fix? Is an older fix shown
          that does not belong to it (a false alarm)?
  again   later, in another order, after a restart: the same fault with lines moved and another value. Is the first
          item of the bundle this error, with that fix?

Results are appended to FOLDER/results.jsonl; a restart continues there. `--minutes` ends it earlier. `--table` prints
the results of several folders.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daemon import daemon
from failing_tests import TONGUES, LanguageTests, run
from failures_table import format_table
from mutations import OPERATORS, Site, find_sites

from hunchd.cli.client import Client
from hunchd.config.app_paths import resolve_app_paths

SEEN = 30.0  # seconds until the daemon has processed an event
MOST_TRUE = 200  # stored simultaneous failures
MOVED = (3, 40)  # lines, at least and at most
BROKEN = "Work on"  # prefix of the message of a commit with a fault
WAYS = ("put back", "with other edits", "committed")


@dataclass
class Work:
    tree: Path
    language: str
    whole: str
    sources: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    seed: int
    until: float  # monotonic

    @property
    def tongue(self) -> LanguageTests:
        return TONGUES[self.language]

    @property
    def results(self) -> Path:
        return self.folder / "results.jsonl"

    def done(self, stage: str) -> list[dict[str, Any]]:
        if not self.results.exists():
            return []
        lines = [json.loads(line) for line in self.results.read_text("utf-8").splitlines()]
        return [line for line in lines if line["stage"] == stage]

    def keep(self, stage: str, **told: Any) -> None:
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": stage, **told}, ensure_ascii=False) + "\n")

    @property
    def late(self) -> bool:
        return time.monotonic() > self.until

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
        done = subprocess.run(["git", *identity, *words], cwd=self.tree, check=True, capture_output=True, text=True)
        return done.stdout

    def clean(self) -> None:
        self.git("checkout", "-q", "--", ".")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", nargs="+", type=Path, metavar="FOLDER", help="print the results in these folders")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--language", choices=tuple(TONGUES))
    parser.add_argument("--whole", help="the command that runs all tests")
    parser.add_argument("--sources", nargs="+", default=[], metavar="GLOB")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="environment of the tests")
    parser.add_argument("--work", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--only-plant", action="store_true", help="end when the faults are found")
    parser.add_argument("--minutes", type=float, default=600)
    options = parser.parse_args()
    if options.table:
        print(format_table(options.table))
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    environment = dict(pair.split("=", 1) for pair in options.set) | {"PYTHONDONTWRITEBYTECODE": "1"}
    until = time.monotonic() + options.minutes * 60
    tree = options.tree.resolve()
    work = Work(
        tree, options.language, options.whole, tuple(options.sources), environment, options.work, options.seed, until
    )
    work.clean()
    if work.git("log", "-1", "--format=%s").startswith(BROKEN):  # stopped between a fault and its fix
        work.git("reset", "-q", "--hard", "HEAD~1")
    if not work.results.exists() and run(work.whole, tree, environment).code != 0:
        raise SystemExit(f"{work.whole} does not pass in {tree} as it is")
    plant_faults(work, options.faults)
    if not work.late and not options.only_plant:
        with daemon(options.work / "home") as (rendezvous, _):
            session = Session(work, Client(rendezvous))
            session.mend()
        if not work.late:
            with daemon(options.work / "home") as (rendezvous, _):  # stored data must survive a restart
                Session(work, Client(rendezvous)).again()
    print("to be continued" if work.late else "done")
    return 0


def plant_faults(work: Work, wanted: int) -> None:
    """Find faults that a test detects, each operator in turn."""
    planted = work.done("plant")
    tried = {(line["path"], line["start"], line["operator"]) for line in (*planted, *work.done("unnoticed"))}
    drawn = random.Random(f"{work.seed}")
    pools: dict[str, list[Site]] = {}
    files = sorted({file for glob in work.sources for file in work.tree.glob(glob) if file.is_file()})
    for operator in OPERATORS[work.language]:
        for file in files:
            path = file.relative_to(work.tree).as_posix()
            if bool(work.tongue.is_test.search(path)) == operator.in_tests and path.endswith(work.tongue.suffixes):
                pools.setdefault(operator.name, []).extend(find_sites(work.language, operator, path, file.read_bytes()))
    for pool in pools.values():
        drawn.shuffle(pool)
    names = sorted(pools)
    drawn.shuffle(names)
    count = len(planted)
    while count < wanted and any(pools.values()) and not work.late:
        for name in names:
            if not pools[name] or count >= wanted or work.late:
                continue
            site = pools[name].pop()
            if (site.path, site.start, site.operator) in tried:
                continue
            count += _plant_at(work, site, count)


def _plant_at(work: Work, site: Site, number: int) -> bool:
    file = work.tree / site.path
    source = file.read_bytes()
    drawn = random.Random(f"{work.seed}:{site.path}:{site.start}:{site.operator}")
    try:
        file.write_bytes(site.applied(source))
        first = run(work.whole, work.tree, work.environment)
        command = work.tongue.narrowed(work.whole, first.output, drawn)
        code, truth = (0, []) if first.code in (0, 124) else work.tongue.truth(command, work.tree, work.environment)
    finally:
        file.write_bytes(source)
        work.clean()
    line, old = _find_broken_line(source, site.applied(source))
    fault = asdict(site) | {"line": line + 1, "old": old}
    if code in (0, 124) or not truth:
        work.keep("unnoticed", **fault)
        return False
    work.keep("plant", fault=number, command=command, truth=truth[:MOST_TRUE], **fault)
    return True


def _find_broken_line(source: bytes, broken: bytes) -> tuple[int, str]:
    """Return the first line that differs, from 0, and its old text."""
    lines, after = source.split(b"\n"), broken.split(b"\n")
    pairs = enumerate(zip(lines, after, strict=False))
    line = next((number for number, (one, other) in pairs if one != other), min(len(lines), len(after)) - 1)
    return line, lines[line].decode("utf-8", "replace").strip()


class Session:
    """Simulated developer in the clone, and the daemon's view of it."""

    def __init__(self, work: Work, client: Client) -> None:
        self._work = work
        self._client = client
        self._home = resolve_app_paths({"HUNCHD_HOME": str(work.folder / "home")})
        added = client.post("/projects", {"path": str(work.tree)})
        self._wait(lambda: self._state(added["id"]) == "ready", 120)

    def mend(self) -> None:
        done = {line["fault"] for line in self._work.done("mend")}
        for fault in self._work.done("plant"):
            if fault["fault"] in done or self._work.late:
                continue
            way = WAYS[fault["fault"] % len(WAYS)]
            self._work.clean()
            source = self._break(fault, lines=0)
            if way == "committed":
                self._work.git("commit", "-qam", f"{BROKEN} {fault['path']}")
            failed = self._run(fault["command"])
            shown = self._first() if failed else None
            (self._work.tree / fault["path"]).write_bytes(source)
            if way == "committed":
                self._work.git("commit", "-qam", f"Mend {fault['path']}")
            elif way == "with other edits":
                self._comment(fault["path"], at_end=True)
            passed = not self._run(fault["command"])
            fix = self._fix(shown["id"]) if shown else None
            self._work.keep(
                "mend", fault=fault["fault"], operator=fault["operator"], way=way, failed=failed, passed=passed,
                seen=shown, fix=fix, text=self._text(shown),
            )  # fmt: skip
            self._work.clean()

    def again(self) -> None:
        done = {line["fault"] for line in self._work.done("again")}
        mended = [line for line in self._work.done("mend") if line["failed"] and line["passed"]]
        faults = {line["fault"]: line for line in self._work.done("plant")}
        random.Random(f"again:{self._work.seed}").shuffle(mended)
        for line in mended:
            fault = faults[line["fault"]]
            if fault["fault"] in done or self._work.late:
                continue
            self._work.clean()
            drawn = random.Random(f"{self._work.seed}:{fault['fault']}")
            self._break(fault, lines=drawn.randint(*MOVED), again=True)
            failed = self._run(fault["command"])
            seen = self._first() if failed else None
            shown = self._memory(seen["fix"]) if seen and seen["fix"] else None
            found = self._client.post(
                "/search", {"project": str(self._work.tree), "query": (seen or {}).get("headline") or "error", "k": 3}
            )["results"]
            same = bool(seen) and seen["id"] == (line["seen"] or {}).get("id")
            self._work.keep(
                "again", fault=fault["fault"], operator=fault["operator"], failed=failed, seen=seen,
                shown=shown and shown["content"], same_error=same,
                found=[one["id"] for one in found], fix=line["fix"], text=self._text(seen),
            )  # fmt: skip
            self._work.clean()
            cleared = {"kind": "error_cleared", "project": str(self._work.tree)}
            self._client.post("/signals", {"signals": [cleared]})

    def _break(self, fault: dict[str, Any], *, lines: int, again: bool = False) -> bytes:
        """Insert the fault and return the file's old content."""
        file = self._work.tree / fault["path"]
        source = file.read_bytes()
        site = Site(*(fault[name] for name in ("operator", "path", "start", "end", "broken", "again")))
        moved = f"{self._work.tongue.comment}\n".encode() * lines + (b"\n" if lines else b"")
        file.write_bytes(moved + site.applied(source, again=again))
        if lines:
            for test in self._tests():
                test.write_bytes(moved + test.read_bytes())
        return source

    def _tests(self) -> Iterator[Path]:
        names = self._work.git("ls-files", "-z").split("\0")
        for name in names:
            if name.endswith(self._work.tongue.suffixes) and self._work.tongue.is_test.search(name):
                yield self._work.tree / name

    def _comment(self, path: str, *, at_end: bool) -> None:
        file = self._work.tree / path
        line = f"\n{self._work.tongue.comment}\n".encode()
        file.write_bytes(file.read_bytes() + line if at_end else line + file.read_bytes())
        for readme in list(self._work.tree.glob("README*"))[:1]:
            readme.write_bytes(readme.read_bytes() + b"\nMore.\n")

    def _run(self, command: str) -> bool:
        """Return True if the command failed, once the daemon has processed it."""
        began = datetime.now(UTC)
        words = [sys.executable, "-m", "hunchd.cli", "run", "--", *shlex.split(command)]
        settings = os.environ | {"HUNCHD_HOME": str(self._work.folder / "home")}
        code = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in self._work.environment.items()), *words],
            cwd=self._work.tree, env=settings, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300,
        ).returncode  # fmt: skip
        self._wait(lambda: self._heard(command) >= began, SEEN)
        return code != 0

    def _first(self) -> dict[str, Any] | None:
        """Return the first error in the bundle without a current file."""
        bundle = self._client.get("/context", project=str(self._work.tree))
        for place, item in enumerate(item for item in bundle["items"] if item["tier"] == 1):
            if item["kind"] == "error":
                fixed = [reason for reason in item["reasons"] if reason.startswith("fixed")]
                memory = self._memory(item["id"])
                return {
                    "id": item["id"], "place": place, "headline": memory["levels"]["summary"],
                    "type": memory["tags"][1] if len(memory["tags"]) > 1 else "", "path": item["source"]["path"],
                    "told": fixed[0] if fixed else "", "fix": item["source"].get("fix") if fixed else None,
                    "fixed_in": item["source"].get("fixed_in"), "likely": item["source"].get("likely_fixed_by"),
                }  # fmt: skip
        return None

    def _fix(self, error: str) -> dict[str, Any] | None:
        """Return the newest fix of an error."""
        fixes = [one for one in self._fixes() if self._of(one) == error]
        newest = max(fixes, key=lambda one: one["updated"] if "updated" in one else one["at"], default=None)
        if newest is None:
            return None
        paths = [one["ref"] for one in newest["artifacts"] if one["type"] == "file"]
        commits = [one["ref"] for one in newest["artifacts"] if one["type"] == "commit"]
        return {"id": newest["id"], "paths": paths, "commits": commits, "content": newest["content"]}

    def _fixes(self) -> Sequence[dict[str, Any]]:
        listed = self._client.get("/memories", project=str(self._work.tree), kind="error", limit=1_000)["items"]
        return [one for one in listed if "fix" in one["tags"] and "history" not in one["tags"]]

    @staticmethod
    def _of(fix: dict[str, Any]) -> str:
        return next(str(link["ref"]) for link in fix["links"] if link["type"] == "fixes")

    def _memory(self, identifier: str) -> Any:
        return self._client.get(f"/memories/{identifier}")

    def _text(self, shown: dict[str, Any] | None) -> str:
        return str(self._memory(shown["id"])["content"])[-6_000:] if shown else ""

    def _heard(self, command: str) -> datetime:
        """Return when the command was last processed; it is stored afterwards."""
        files = list(self._home.cache.rglob("runs.json"))
        until = json.loads(files[0].read_text())["until"] if files else {}
        return datetime.fromisoformat(until.get(f"{self._work.tree}\n{command}", "2000-01-01T00:00:00+00:00"))

    def _state(self, project: str) -> str:
        return next(one["state"] for one in self._client.get("/projects")["items"] if one["id"] == project)

    def _wait(self, holds: Any, within: float) -> None:
        deadline = time.monotonic() + within
        while not holds():
            if time.monotonic() > deadline:
                raise SystemExit("the daemon did not look into what happened")
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
