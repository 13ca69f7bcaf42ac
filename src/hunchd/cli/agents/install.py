"""`hunch install AGENT` and `uninstall AGENT`: add hunchd to an agent's settings or remove it."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from hunchd.cli.agents.agents_md import add_block, find_agents_md, remove_block
from hunchd.cli.agents.settings_files import SettingsBackup, SettingsChange, read_content, replace_file
from hunchd.cli.agents.supported_agents import AGENTS, SupportedAgent, get_launch_command
from hunchd.cli.errors import WrongUsage
from hunchd.cli.output import DIM, colourize, print_json, print_note, strip_controls
from hunchd.config.app_paths import resolve_app_paths


def install(arguments: Namespace) -> int:
    """Add hunchd to an agent's settings, to AGENTS.md, or to both.

    Installing it a second time changes nothing.
    """
    if arguments.agent is None and not arguments.agents_md:
        raise WrongUsage(
            "the AGENT is missing.",
            hint=f"Name one of {', '.join(agent.name for agent in AGENTS)}, or use --agents-md.",
        )
    report: list[dict[str, str | None]] = []
    if arguments.agent is not None:
        agent, backup = _get_agent(arguments.agent)
        settings = agent.settings(get_launch_command(os.environ))
        file_changes = [backup.plan_install(each) for each in settings]  # parse all files before writing one
        for each, change in zip(settings, file_changes, strict=True):
            backup_path = None
            if change.after != change.before and not arguments.dry_run:
                backup_path = backup.apply_install(change, each)
            report.append(_to_report(change, backup_path))
            _print_change(arguments, change, "written" if change.before is not None else "created", backup_path)
        if any(each["change"] == "written" for each in report) and not arguments.dry_run and not arguments.json:
            for line in agent.notes:
                print_note(line)
    if arguments.agents_md:
        report.append(_edit_agents_md(arguments, add_block))
    if arguments.json:
        print_json({"files": report, "dry_run": arguments.dry_run})
    return 0


def uninstall(arguments: Namespace) -> int:
    """Remove hunchd from an agent's settings, from AGENTS.md, or from both.

    Settings that have not changed since the installation get their previous content back.
    """
    if arguments.agent is None and not arguments.agents_md:
        raise WrongUsage(
            "the AGENT is missing.",
            hint=f"Name one of {', '.join(agent.name for agent in AGENTS)}, or use --agents-md.",
        )
    report: list[dict[str, str | None]] = []
    if arguments.agent is not None:
        agent, backup = _get_agent(arguments.agent)
        changes = [backup.plan_uninstall(each) for each in agent.settings(get_launch_command(os.environ))]
        for change in changes:
            if not arguments.dry_run:
                backup.apply_uninstall(change)
            report.append(_to_report(change, None))
            _print_change(arguments, change, "restored" if change.after is not None else "removed", None)
        if not arguments.dry_run:
            backup.delete_backups()
    if arguments.agents_md:
        report.append(_edit_agents_md(arguments, remove_block))
    if arguments.json:
        print_json({"files": report, "dry_run": arguments.dry_run})
    return 0


def _get_agent(name: str) -> tuple[SupportedAgent, SettingsBackup]:
    agent = next(agent for agent in AGENTS if agent.name == name)
    return agent, SettingsBackup(resolve_app_paths(), name)


def _edit_agents_md(arguments: Namespace, edit: Callable[[str], str]) -> dict[str, str | None]:
    """Apply `edit` to the repository's AGENTS.md.

    No backup is made, because the file is under version control.
    """
    path = find_agents_md(Path.cwd())
    before = read_content(path)
    after = edit((before or b"").decode("utf-8")).encode("utf-8") or None
    change = SettingsChange(path, before, after)
    if not arguments.dry_run and after != before:
        if after is None:
            path.unlink(missing_ok=True)
        else:
            replace_file(path, after)
    _print_change(arguments, change, "written", None)
    return _to_report(change, None)


def _to_report(change: SettingsChange, backup_path: Path | None) -> dict[str, str | None]:
    state = "unchanged" if change.after == change.before else "removed" if change.after is None else "written"
    return {"path": str(change.path), "change": state, "backup": str(backup_path) if backup_path else None}


def _print_change(arguments: Namespace, change: SettingsChange, action: str, backup_path: Path | None) -> None:
    if arguments.json:
        return
    path = strip_controls(change.path)
    if change.after == change.before:
        print(f"{path}: nothing to change.")
    elif arguments.dry_run:
        sys.stdout.write(strip_controls(change.format_diff(str(change.path))))
    else:
        print(
            f"{path}: {action}."
            + (
                colourize(f" The previous content is backed up in {strip_controls(backup_path)}.", DIM)
                if backup_path
                else ""
            )
        )
