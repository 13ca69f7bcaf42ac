"""`hunch install AGENT` and `hunch uninstall AGENT`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from hunchd.cli.agents.files import Change, Keeper, content, write
from hunchd.cli.agents.known import AGENTS, Agent, start
from hunchd.cli.agents.page import page_in, put, take_out
from hunchd.cli.errors import WrongUsage
from hunchd.cli.output import DIM, clean, coloured, note, print_json
from hunchd.config.places import places


def install(arguments: Namespace) -> int:
    """Add hunchd to an agent's settings; idempotent."""
    if arguments.agent is None and not arguments.agents_md:
        raise WrongUsage("which agent?", hint=f"one of: {', '.join(agent.name for agent in AGENTS)}; or --agents-md")
    report: list[dict[str, str | None]] = []
    if arguments.agent is not None:
        agent, keeper = _named(arguments.agent)
        settings = agent.settings(start(os.environ))
        changes = [keeper.installed(each) for each in settings]  # parse all files before writing one
        for each, change in zip(settings, changes, strict=True):
            kept = None
            if change.after != change.before and not arguments.dry_run:
                kept = keeper.carry_out(change, each)
            report.append(_reported(change, kept))
            _tell(arguments, change, "written" if change.before is not None else "created", kept)
        if any(each["change"] == "written" for each in report) and not arguments.dry_run and not arguments.json:
            for line in agent.notes:
                note(line)
    if arguments.agents_md:
        report.append(_page(arguments, put))
    if arguments.json:
        print_json({"files": report, "dry_run": arguments.dry_run})
    return 0


def uninstall(arguments: Namespace) -> int:
    """Remove hunchd from an agent's settings and restore their previous content."""
    if arguments.agent is None and not arguments.agents_md:
        raise WrongUsage("which agent?", hint=f"one of: {', '.join(agent.name for agent in AGENTS)}; or --agents-md")
    report: list[dict[str, str | None]] = []
    if arguments.agent is not None:
        agent, keeper = _named(arguments.agent)
        changes = [keeper.uninstalled(each) for each in agent.settings(start(os.environ))]
        for change in changes:
            if not arguments.dry_run:
                keeper.give_back(change)
            report.append(_reported(change, None))
            _tell(arguments, change, "restored" if change.after is not None else "removed", None)
        if not arguments.dry_run:
            keeper.forget()
    if arguments.agents_md:
        report.append(_page(arguments, take_out))
    if arguments.json:
        print_json({"files": report, "dry_run": arguments.dry_run})
    return 0


def _named(name: str) -> tuple[Agent, Keeper]:
    agent = next(agent for agent in AGENTS if agent.name == name)
    return agent, Keeper(places(), name)


def _page(arguments: Namespace, edit: Callable[[str], str]) -> dict[str, str | None]:
    """Edit the block in AGENTS.md; the repository's history is its only backup."""
    path = page_in(Path.cwd())
    before = content(path)
    after = edit((before or b"").decode("utf-8")).encode("utf-8") or None
    change = Change(path, before, after)
    if not arguments.dry_run and after != before:
        if after is None:
            path.unlink(missing_ok=True)
        else:
            write(path, after)
    _tell(arguments, change, "written", None)
    return _reported(change, None)


def _reported(change: Change, kept: Path | None) -> dict[str, str | None]:
    done = "unchanged" if change.after == change.before else "removed" if change.after is None else "written"
    return {"path": str(change.path), "change": done, "backup": str(kept) if kept else None}


def _tell(arguments: Namespace, change: Change, done: str, kept: Path | None) -> None:
    if arguments.json:
        return
    shown = clean(change.path)
    if change.after == change.before:
        print(f"{shown}: nothing to change.")
    elif arguments.dry_run:
        sys.stdout.write(clean(change.diff(str(change.path))))
    else:
        print(
            f"{shown}: {done}."
            + (coloured(f" The previous content is backed up in {clean(kept)}.", DIM) if kept else "")
        )
