"""`hunch status`: shows the daemon's activity and resource usage on one screen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from hunchd.cli.consolidation import summarize_run
from hunchd.cli.context import format_last_report
from hunchd.cli.daemon_control import connect
from hunchd.cli.output import (
    BOLD,
    GREEN,
    YELLOW,
    colourize,
    format_age,
    format_duration,
    format_number,
    format_size,
    format_table,
    print_json,
    strip_controls,
)

PERIODS = {"day": "last day", "week": "last week"}  # periods of the prefetch metrics


def status(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    report = client.get("/status")
    daemon = client.daemon
    if arguments.json:
        print_json(report)
        return 0
    reasons = [strip_controls(reason) for reason in report.get("degraded", ())]
    verdict = colourize("degraded", YELLOW) if reasons else colourize("healthy", GREEN)
    print(
        " · ".join((colourize(f"hunchd {daemon.version}", BOLD), f"pid {daemon.pid}", verdict, *_format_uptime(report)))
    )
    for reason in reasons:
        print(f"  {colourize('!', YELLOW)} {reason}")
    if report.get("projects"):
        print()
        print(format_projects_table(report["projects"]))
        for line in format_index_reports(report["projects"]):
            print(line)
    prefetch = report.get("prefetch") or {}
    if any((prefetch.get(name) or {}).get("opened") for name in PERIODS):
        print()
        print(format_prefetch_metrics(prefetch))
    report["resources"] = {name: value for name, value in (report.get("resources") or {}).items() if name != "pid"}
    sections = [
        (name, format_value(report[name])) for name in ("queues", "store", "language", "resources") if report.get(name)
    ]
    sections.insert(0, ("answers", _summarize_responses(prefetch)))
    if run := report.get("consolidation"):
        sections.append(("last night" if run.get("trigger") == "nightly" else "last run", _summarize_run(run)))
    if patterns := _summarize_patterns(report.get("projects", ())):
        sections.append(("patterns", patterns))
    sections.append(("tasks", _summarize_tasks(report.get("tasks", ()))))
    print()
    width = max(len(name) for name, _ in sections) + 2
    for name, text in sections:
        print(f"{name:<{width}}{text}")
    return 0


def format_prefetch_metrics(prefetch: Mapping[str, Any]) -> str:
    """Format the prefetch metrics as a table with one row for each period.

    They state how many of the opened files hunchd expected, and how long before they were opened; how many of the
    files that it confidently expected were opened; and how many of the requested bundles were ready.
    """
    rows = []
    for name, label in PERIODS.items():
        metrics = prefetch.get(name) or {}
        rates = [_format_rate(metrics.get(rate)) for rate in ("hit_rate", "precision", "warm_rate")]
        lead = metrics.get("lead_seconds")
        rows.append(
            (
                label,
                format_number(metrics.get("opened", 0)),
                *rates[:2],
                format_duration(lead) if lead is not None else "–",
                rates[2],
                format_size(metrics.get("wasted_bytes", 0)),
            )
        )
    header = ("foresight", "opened", "expected", "precision", "ahead by", "ready", "wasted")
    return format_table(header, rows, right=(1, 2, 3, 4, 5, 6))


def _format_rate(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _summarize_responses(prefetch: Mapping[str, Any]) -> str:
    """Summarize how bundle requests have been answered since the daemon was started."""
    if not prefetch.get("answers"):
        return "none requested yet"
    words = [
        f"{format_number(prefetch.get('answers', 0))} sent",
        f"{_format_rate(prefetch.get('hit_rate'))} were ready",
    ]
    words += [f"{strip_controls(name)} {value:.1f} ms" for name, value in (prefetch.get("answer_ms") or {}).items()]
    return " · ".join([*words, f"{format_number(prefetch.get('depth', 0))} likely files kept ready"])


def _summarize_run(run: Mapping[str, Any]) -> str:
    status = strip_controls(run["status"]).replace("_", " ")
    if status == "running":
        doing = " of ".join(strip_controls(word) for word in (run.get("step") or "begins", run.get("project")) if word)
        return " · ".join(
            (format_age(run.get("began")), status, doing, f"{format_number(run.get('total', 0))} changes")
        )
    return " · ".join((format_age(run.get("began")), status, summarize_run(run) or "no changes"))


def _summarize_tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """Count the healthy background tasks, and list the others with their state."""
    unhealthy = [task for task in tasks if task.get("state") not in ("running", "done", "ended")]
    words = [f"{len(tasks) - len(unhealthy)} healthy"]
    words += [f"{task['name']} {task['state']}" for task in unhealthy]
    return " · ".join(strip_controls(word) for word in words)


def _summarize_patterns(projects: Sequence[Mapping[str, Any]]) -> str:
    """Summarize how many code patterns are known in each project.

    For a project that is being searched for patterns, the progress is shown instead.
    """
    words = []
    for project in projects:
        patterns, progress = project.get("patterns") or {}, (project.get("progress") or {}).get("patterns") or {}
        if patterns.get("state") == "mining":
            words.append(f"{project['name']} {progress.get('done', 0)} of {progress.get('total', 0)} files searched")
        elif patterns.get("known"):
            words.append(f"{project['name']} {patterns['known']}")
    return " · ".join(strip_controls(word) for word in words)


def _format_uptime(report: Mapping[str, Any]) -> list[str]:
    seconds = report.get("uptime_seconds")
    return [f"up {format_duration(seconds)}"] if isinstance(seconds, (int, float)) else []


def format_value(value: Any) -> str:
    """Format a small JSON value for display.

    The unit of a number follows from the suffix of its field's name, such as `_bytes`.
    """
    if isinstance(value, Mapping):
        return " · ".join(
            _format_field(str(name), part) for name, part in value.items() if part not in (None, [], {}, "")
        )
    if isinstance(value, list):
        return ", ".join(format_value(part) for part in value)
    return strip_controls(format_number(value))


def _format_field(name: str, value: Any) -> str:
    label = strip_controls(
        name.removesuffix("_bytes").removesuffix("_seconds").removesuffix("_percent").replace("_", " ")
    )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if name.endswith("bytes"):
            return f"{label} {format_size(value)}"
        if name.endswith("_seconds"):
            return f"{label} {format_duration(value)}"
        if name.endswith("_percent"):
            return f"{label} {value:.1f} %"
    if isinstance(value, Mapping):
        return f"{label} ({format_value(value)})"
    if value is True:
        return label
    return f"{label} {format_value(value)}"


def format_projects_table(projects: list[dict[str, object]]) -> str:
    rows = [
        (
            strip_controls(project["name"]),
            strip_controls(project.get("branch") or "–"),
            str(project["state"]),
            *(_format_progress(project, stage) for stage in ("commits", "files", "embeddings")),
            strip_controls(project["path"]),
        )
        for project in projects
    ]
    return format_table(
        ("project", "branch", "state", "commits", "files", "embeddings", "folder"), rows, right=(3, 4, 5)
    )


def format_index_reports(projects: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line with the last progress report for each project that is being indexed."""
    return [
        f"  indexing {strip_controls(project['name'])}: {last_report}"
        for project in projects
        if (last_report := format_last_report(project))
    ]


def _format_progress(project: dict[str, object], stage: str) -> str:
    """Format progress as "1,200 of 15,000", or as the total when done.

    Returns "–" if there is no progress for `stage`.
    """
    progress = project["progress"]
    counts = progress.get(stage) if isinstance(progress, dict) else None
    if not counts:
        return "–"
    done_count, total = counts["done"], counts["total"]
    return (
        format_number(done_count) if done_count >= total else f"{format_number(done_count)} of {format_number(total)}"
    )
