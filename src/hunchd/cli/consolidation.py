"""`hunch consolidate`: condense, assess and forget memories; with preview and undo."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hunchd.cli.client import Client, part
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, DIM, ago, clean, coloured, line, note, number, print_json, table
from hunchd.cli.targets import items, root_or_none

LOOK: Final = 0.3  # seconds between two checks of a run
PATIENCE: Final = 900.0  # seconds
MOST_ROWS: Final = 60  # changes printed
FEWEST_ROWS: Final = 5  # … of each step
_COUNTS: Final = {
    "deduped": "merged",
    "contradictions_found": "contradictions found",
    "contradictions_closed": "contradictions closed",
    "retired": "retired",
    "doubted": "doubted",
    "trusted_again": "trusted again",
    "summarised": "summarised",
    "compressed": "compressed",
    "histories": "histories written",
    "linked": "linked",
    "promoted": "promoted",
    "demoted": "demoted",
    "counted": "counted",
    "forgotten": "archived",
    "erased": "erased",
    "embedded": "to be re-embedded",
}


def consolidate(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    if arguments.undo:
        return _undo(client, arguments)
    if arguments.change is not None:
        raise WrongUsage("--change belongs to --undo RUN.")
    if arguments.listing:
        return _runs(client, arguments)
    if arguments.show:
        return _printed(client.get(_address(arguments.show)), arguments)
    if arguments.stop:
        return _stop(client, arguments)
    question = {
        "dry_run": arguments.dry_run,
        "steps": arguments.step or None,
        "project": root_or_none(arguments.project) if arguments.project else None,
        "wait": False,
    }
    asked = {name: value for name, value in question.items() if value is not None}
    if arguments.dry_run:
        answer = _patient(client).post("/consolidate", asked | {"wait": True})
    else:
        answer = _followed(client, client.post("/consolidate", asked), quiet=arguments.json)
    code = _printed(answer, arguments)
    return 1 if answer["status"] in ("rolled_back", "interrupted") else code


def _followed(client: Client, begun: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """Wait for the end of the run and print its progress."""
    told = ""
    while True:
        answer: dict[str, Any] = client.get(_address(begun["run"]))
        if answer["status"] != "running":
            return answer
        step = f"{answer.get('project') or 'yours'}: {answer.get('step')}, {answer.get('total')} changes"
        if answer.get("step") and not quiet and step != told:
            note(clean(step))
            told = step
        time.sleep(LOOK)


def _printed(answer: dict[str, Any], arguments: Namespace) -> int:
    if arguments.json:
        print_json(answer)
        return 0
    dry = answer["status"] == "dry_run"
    heading = "would change" if dry else f"run {clean(answer['run'])}: {clean(answer['status']).replace('_', ' ')}"
    print(coloured(f"{heading}: {done(answer) or 'nothing'}", BOLD))
    for loss in answer.get("lost", ())[:10]:
        told = f"{line(loss['probe'], 60)} → {clean(loss['lost'])}"
        print(f"  lost: {told}, by {clean(loss['step'])}: {line(loss['change'], 70)}")
    rows = [
        (str(each["change"]), clean(each["step"]), line(each["what"], 76), line(each["why"], 44))
        for each in _of_each_step(answer.get("changes", ()))
    ]
    if rows:
        print(table(("no", "step", "what", "why"), rows, right=(0,)))
    total = answer.get("total") or len(answer.get("changes", ())) + answer.get("more", 0)
    if total > len(rows):
        note(f"and {number(total - len(rows))} more; --json prints the first {'100 of each step' if dry else '500'}.")
    if answer["status"] == "done" and total:
        run = clean(answer["run"])
        gone = " except erasures" if answer.get("erased") else ""
        note(f"hunch consolidate --undo {run} undoes all of it{gone}; --undo {run} --change NO undoes one change.")
    return 0


def _of_each_step(changes: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Select the changes to print.

    All of a short run, and the first of each step of a long one. Otherwise the last steps, such as archiving, would
    not be
    shown.
    """
    steps = Counter(change["step"] for change in changes)
    most = MOST_ROWS if len(changes) <= MOST_ROWS else max(FEWEST_ROWS, MOST_ROWS // len(steps))
    shown = Counter[str]()
    for change in changes:
        shown[change["step"]] += 1
        if shown[change["step"]] <= most:
            yield change


def done(run: Mapping[str, Any]) -> str:
    """Summarize what a run did, or would do; "" if nothing."""
    return ", ".join(f"{number(run[name])} {said}" for name, said in _COUNTS.items() if run.get(name))


def _undo(client: Client, arguments: Namespace) -> int:
    body = {} if arguments.change is None else {"change": arguments.change}
    answer = _patient(client).post(f"{_address(arguments.undo)}/undo", body)
    if arguments.json:
        print_json(answer)
        return 0
    print(f"{clean(arguments.undo)}: {number(answer['undone'])} changes undone.")
    if answer["left"]:
        note(f"{number(answer['left'])} not undone, because the memories have been changed since.")
    return 0


def _stop(client: Client, arguments: Namespace) -> int:
    running = [run for run in items(client.get("/consolidate")) if run["status"] == "running"]
    if not running:
        raise CommandError("no run is in progress.")
    return _printed(client.post(f"{_address(running[0]['run'])}/stop", {}), arguments)


def _runs(client: Client, arguments: Namespace) -> int:
    answer = client.get("/consolidate")
    if arguments.json:
        print_json(answer)
        return 0
    for run in items(answer):
        status = clean(run["status"]).replace("_", " ")
        print(f"{clean(run['run'])}  {ago(run['began'])}  {status}  {coloured(done(run), DIM)}")
    if not answer["items"]:
        note("no runs yet.")
    return 0


def _patient(client: Client) -> Client:
    """Return a client with a long timeout.

    For requests that take minutes without progress reports.
    """
    return Client(client.daemon, timeout=PATIENCE)


def _address(run: str) -> str:
    return f"/consolidate/{part(run)}"
