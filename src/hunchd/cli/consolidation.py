"""`hunch consolidate`: condenses, assesses and archives memories, with preview and undo."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import CommandError, WrongUsage
from hunchd.cli.output import (
    BOLD,
    DIM,
    colourize,
    format_age,
    format_line,
    format_number,
    format_table,
    print_json,
    print_note,
    strip_controls,
)
from hunchd.cli.targets import find_project_root_or_none, get_items

POLL_INTERVAL_SECONDS: Final = 0.3  # seconds between two checks of a run
REQUEST_TIMEOUT_SECONDS: Final = 900.0  # seconds
MAX_ROWS: Final = 60  # maximum of changes printed
MIN_ROWS_PER_STEP: Final = 5  # … for each step
_COUNT_LABELS: Final = {
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
        return _undo_run(client, arguments)
    if arguments.change is not None:
        raise WrongUsage("--change needs --undo RUN.")
    if arguments.listing:
        return _list_runs(client, arguments)
    if arguments.show:
        return _print_run(client.get(_run_path(arguments.show)), arguments)
    if arguments.stop:
        return _stop_run(client, arguments)
    question = {
        "dry_run": arguments.dry_run,
        "steps": arguments.step or None,
        "project": find_project_root_or_none(arguments.project) if arguments.project else None,
        "wait": False,
    }
    body = {name: value for name, value in question.items() if value is not None}
    if arguments.dry_run:
        answer = _with_long_timeout(client).post("/consolidate", body | {"wait": True})
    else:
        answer = _follow_run(client, client.post("/consolidate", body), quiet=arguments.json)
    code = _print_run(answer, arguments)
    return 1 if answer["status"] in ("rolled_back", "interrupted") else code


def _follow_run(client: Client, run_record: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    """Print a run's progress until it ends, and return its final record.

    Nothing is printed if `quiet` is True.
    """
    last_shown = ""
    while True:
        answer: dict[str, Any] = client.get(_run_path(run_record["run"]))
        if answer["status"] != "running":
            return answer
        step = f"{answer.get('project') or 'yours'}: {answer.get('step')}, {answer.get('total')} changes"
        if answer.get("step") and not quiet and step != last_shown:
            print_note(strip_controls(step))
            last_shown = step
        time.sleep(POLL_INTERVAL_SECONDS)


def _print_run(answer: dict[str, Any], arguments: Namespace) -> int:
    if arguments.json:
        print_json(answer)
        return 0
    dry = answer["status"] == "dry_run"
    heading = (
        "would change"
        if dry
        else f"run {strip_controls(answer['run'])}: {strip_controls(answer['status']).replace('_', ' ')}"
    )
    print(colourize(f"{heading}: {summarize_run(answer) or 'nothing'}", BOLD))
    for loss in answer.get("lost", ())[:10]:
        description = f"{format_line(loss['probe'], 60)} → {strip_controls(loss['lost'])}"
        print(f"  lost: {description}, by {strip_controls(loss['step'])}: {format_line(loss['change'], 70)}")
    rows = [
        (str(each["change"]), strip_controls(each["step"]), format_line(each["what"], 76), format_line(each["why"], 44))
        for each in _select_changes(answer.get("changes", ()))
    ]
    if rows:
        print(format_table(("no", "step", "what", "why"), rows, right=(0,)))
    total = answer.get("total") or len(answer.get("changes", ())) + answer.get("more", 0)
    if total > len(rows):
        json_limit = "100 of each step" if dry else "500"
        print_note(f"and {format_number(total - len(rows))} more; use --json to print the first {json_limit}.")
    if answer["status"] == "done" and total:
        run = strip_controls(answer["run"])
        exception = " except erasures" if answer.get("erased") else ""
        print_note(
            f"To undo all of it{exception}, run `hunch consolidate --undo {run}`; "
            "to undo one change, add `--change NO`."
        )
    return 0


def _select_changes(changes: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the changes to print.

    All changes of a short run are printed. Of a long run, only the first changes made by each step are printed, so
    that those of the last steps, such as archiving, are shown too.
    """
    steps = Counter(change["step"] for change in changes)
    max_per_step = MAX_ROWS if len(changes) <= MAX_ROWS else max(MIN_ROWS_PER_STEP, MAX_ROWS // len(steps))
    shown_counts = Counter[str]()
    for change in changes:
        shown_counts[change["step"]] += 1
        if shown_counts[change["step"]] <= max_per_step:
            yield change


def summarize_run(run: Mapping[str, Any]) -> str:
    """Summarize the changes of a run, or of a dry run, in one line.

    Returns "" if the run changed nothing.
    """
    return ", ".join(f"{format_number(run[name])} {label}" for name, label in _COUNT_LABELS.items() if run.get(name))


def _undo_run(client: Client, arguments: Namespace) -> int:
    body = {} if arguments.change is None else {"change": arguments.change}
    answer = _with_long_timeout(client).post(f"{_run_path(arguments.undo)}/undo", body)
    if arguments.json:
        print_json(answer)
        return 0
    print(f"{strip_controls(arguments.undo)}: {format_number(answer['undone'])} changes undone.")
    if answer["left"]:
        print_note(f"{format_number(answer['left'])} changes were not undone, because the memories have changed since.")
    return 0


def _stop_run(client: Client, arguments: Namespace) -> int:
    running = [run for run in get_items(client.get("/consolidate")) if run["status"] == "running"]
    if not running:
        raise CommandError("no run is in progress.")
    return _print_run(client.post(f"{_run_path(running[0]['run'])}/stop", {}), arguments)


def _list_runs(client: Client, arguments: Namespace) -> int:
    answer = client.get("/consolidate")
    if arguments.json:
        print_json(answer)
        return 0
    for run in get_items(answer):
        status = strip_controls(run["status"]).replace("_", " ")
        print(
            f"{strip_controls(run['run'])}  {format_age(run['began'])}  {status}  {colourize(summarize_run(run), DIM)}"
        )
    if not answer["items"]:
        print_note("no runs yet.")
    return 0


def _with_long_timeout(client: Client) -> Client:
    """Return a client for requests that take minutes to answer."""
    return Client(client.daemon, timeout=REQUEST_TIMEOUT_SECONDS)


def _run_path(run: str) -> str:
    return f"/consolidate/{quote_segment(run)}"
