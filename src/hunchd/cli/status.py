"""`hunch status`: the daemon's activity and resource usage on one screen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from hunchd.cli.answers import heard_of
from hunchd.cli.consolidation import done
from hunchd.cli.launching import connect
from hunchd.cli.output import BOLD, GREEN, YELLOW, ago, clean, coloured, number, print_json, size, span, table

SPANS = {"day": "last day", "week": "last week"}  # periods of the prefetch metrics


def status(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    told = client.get("/status")
    daemon = client.daemon
    if arguments.json:
        print_json(told)
        return 0
    reasons = [clean(reason) for reason in told.get("degraded", ())]
    verdict = coloured("degraded", YELLOW) if reasons else coloured("healthy", GREEN)
    print(" · ".join((coloured(f"hunchd {daemon.version}", BOLD), f"pid {daemon.pid}", verdict, *_life(told))))
    for reason in reasons:
        print(f"  {coloured('!', YELLOW)} {reason}")
    if told.get("projects"):
        print()
        print(projects_table(told["projects"]))
        for line in readings(told["projects"]):
            print(line)
    prefetch = told.get("prefetch") or {}
    if any((prefetch.get(name) or {}).get("opened") for name in SPANS):
        print()
        print(scoreboard(prefetch))
    told["resources"] = {name: value for name, value in (told.get("resources") or {}).items() if name != "pid"}
    rest = [(name, described(told[name])) for name in ("queues", "store", "language", "resources") if told.get(name)]
    rest.insert(0, ("answers", _answers(prefetch)))
    if run := told.get("consolidation"):
        rest.append(("last night" if run.get("trigger") == "nightly" else "last run", _run(run)))
    if patterns := _patterns(told.get("projects", ())):
        rest.append(("patterns", patterns))
    rest.append(("tasks", _tasks(told.get("tasks", ()))))
    print()
    width = max(len(name) for name, _ in rest) + 2
    for name, text in rest:
        print(f"{name:<{width}}{text}")
    return 0


def scoreboard(prefetch: Mapping[str, Any]) -> str:
    """Format the prefetch metrics.

    Of the opened files: how many were expected, and how long before. Of the files expected with confidence: how
    many were
    opened. Of the requested bundles: how many were ready.
    """
    rows = []
    for name, said in SPANS.items():
        told = prefetch.get(name) or {}
        rates = [_rate(told.get(rate)) for rate in ("hit_rate", "precision", "warm_rate")]
        lead = told.get("lead_seconds")
        rows.append(
            (
                said,
                number(told.get("opened", 0)),
                *rates[:2],
                span(lead) if lead is not None else "–",
                rates[2],
                size(told.get("wasted_bytes", 0)),
            )
        )
    header = ("foresight", "opened", "expected", "precision", "ahead by", "ready", "wasted")
    return table(header, rows, right=(1, 2, 3, 4, 5, 6))


def _rate(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _answers(prefetch: Mapping[str, Any]) -> str:
    """Summarize the responses of this daemon process."""
    if not prefetch.get("answers"):
        return "none requested yet"
    words = [f"{number(prefetch.get('answers', 0))} sent", f"{_rate(prefetch.get('hit_rate'))} were ready"]
    words += [f"{clean(name)} {value:.1f} ms" for name, value in (prefetch.get("answer_ms") or {}).items()]
    return " · ".join([*words, f"{number(prefetch.get('depth', 0))} likely files kept ready"])


def _run(run: Mapping[str, Any]) -> str:
    status = clean(run["status"]).replace("_", " ")
    return " · ".join((ago(run.get("began")), status, done(run) or "no changes"))


def _tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """Count the healthy tasks, and name the others with their state."""
    troubled = [task for task in tasks if task.get("state") not in ("running", "done", "ended")]
    words = [f"{len(tasks) - len(troubled)} healthy"]
    words += [f"{task['name']} {task['state']}" for task in troubled]
    return " · ".join(clean(word) for word in words)


def _patterns(projects: Sequence[Mapping[str, Any]]) -> str:
    """Summarize the code patterns of each project.

    Shows the progress while they are being searched for.
    """
    words = []
    for project in projects:
        told, progress = project.get("patterns") or {}, (project.get("progress") or {}).get("patterns") or {}
        if told.get("state") == "mining":
            words.append(f"{project['name']} {progress.get('done', 0)} of {progress.get('total', 0)} files searched")
        elif told.get("known"):
            words.append(f"{project['name']} {told['known']}")
    return " · ".join(clean(word) for word in words)


def _life(told: Mapping[str, Any]) -> list[str]:
    seconds = told.get("uptime_seconds")
    return [f"up {span(seconds)}"] if isinstance(seconds, (int, float)) else []


def described(value: Any) -> str:
    """Format a small JSON value for people.

    The suffix of a name gives the unit.
    """
    if isinstance(value, Mapping):
        return " · ".join(_part(str(name), part) for name, part in value.items() if part not in (None, [], {}, ""))
    if isinstance(value, list):
        return ", ".join(described(part) for part in value)
    return clean(number(value))


def _part(name: str, value: Any) -> str:
    plain = clean(name.removesuffix("_bytes").removesuffix("_seconds").removesuffix("_percent").replace("_", " "))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if name.endswith("bytes"):
            return f"{plain} {size(value)}"
        if name.endswith("_seconds"):
            return f"{plain} {span(value)}"
        if name.endswith("_percent"):
            return f"{plain} {value:.1f} %"
    if isinstance(value, Mapping):
        return f"{plain} ({described(value)})"
    return f"{plain} {described(value)}"


def projects_table(projects: list[dict[str, object]]) -> str:
    rows = [
        (
            clean(project["name"]),
            clean(project.get("branch") or "–"),
            str(project["state"]),
            *(_share(project, what) for what in ("commits", "files", "embeddings")),
            clean(project["path"]),
        )
        for project in projects
    ]
    return table(("project", "branch", "state", "commits", "files", "embeddings", "folder"), rows, right=(3, 4, 5))


def readings(projects: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the last progress report of each project that is being indexed."""
    return [f"  indexing {clean(project['name'])}: {heard}" for project in projects if (heard := heard_of(project))]


def _share(project: dict[str, object], what: str) -> str:
    """Format "1,200 of 15,000", or just the total when all is done."""
    progress = project["progress"]
    told = progress.get(what) if isinstance(progress, dict) else None
    if not told:
        return "–"
    done, total = told["done"], told["total"]
    return number(done) if done >= total else f"{number(done)} of {number(total)}"
