"""`hunch import-transcripts`: imports earlier sessions of coding agents."""

from __future__ import annotations

import os
import sqlite3
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client, part
from hunchd.cli.errors import Refused, WrongUsage
from hunchd.cli.launching import connect
from hunchd.cli.output import clean, line, note, number, print_json, table
from hunchd.cli.session_commands import AGENTS
from hunchd.cli.targets import items, known_project
from hunchd.ingestion.transcripts import aider, claude_code, codex, cursor, gemini
from hunchd.ingestion.transcripts.transcript import Transcript
from hunchd.repository.layout import find

READERS: Final = dict(zip(AGENTS, (claude_code, codex, gemini, cursor, aider), strict=True))
BATCH: Final = 200  # messages a request
BATCH_BYTES: Final = 2 * 1024 * 1024  # total size of their texts
# An agent that wrote this recently may still be active: its session is imported, but not ended.
AT_WORK: Final = 15 * 60.0  # seconds
PATIENCE: Final = 120.0  # seconds to wait for a daemon that cannot keep up


@dataclass
class Tally:
    """Result of an import."""

    sessions: list[dict[str, Any]] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)  # folder outside the known projects → number of sessions
    unreadable: list[str] = field(default_factory=list)
    unknown_forms: dict[str, list[str]] = field(default_factory=dict)  # agent: files without a session


def import_transcripts(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    projects = items(client.get("/projects"))
    wanted = known_project(client, arguments.project) if arguments.project else None
    chosen = wanted["id"] if wanted else None
    agents = tuple(dict.fromkeys(arguments.agents)) or AGENTS
    tally = Tally()
    owners = _Owners(projects)
    for transcript in _transcripts(agents, arguments.file, projects, tally):
        if arguments.since is not None and (transcript.began is None or transcript.began < arguments.since):
            continue
        project = owners.of(transcript.project)
        if chosen is not None and (project is None or project["id"] != chosen):
            continue
        if project is None and not arguments.all:
            place = transcript.project or "no folder"
            tally.unknown[place] = tally.unknown.get(place, 0) + 1
            continue
        accepted = 0 if arguments.dry_run else _sent(client, transcript, project)
        tally.sessions.append(_told(transcript, project, accepted))
    _say(tally, arguments)
    return 1 if (tally.unreadable or (arguments.file and tally.unknown_forms)) and not tally.sessions else 0


class _Owners:
    """Map from folders to registered projects."""

    def __init__(self, projects: Sequence[dict[str, Any]]) -> None:
        self._by_path = {path: one for one in projects for path in (one["path"], *one.get("worktrees", ()))}
        by_path = dict(self._by_path)
        for name in (gemini.folder_hash, cursor.folder_name):
            self._by_path |= {name(path): one for path, one in by_path.items()}

    def of(self, folder: str | None) -> dict[str, Any] | None:
        if folder is None or folder in self._by_path:
            return self._by_path.get(folder or "")
        layout = find(Path(folder)) if Path(folder).is_absolute() else None
        return self._by_path.get(str(layout.root)) if layout is not None else None


def _transcripts(
    agents: Iterable[str], named: Sequence[str], projects: Sequence[Mapping[str, Any]], tally: Tally
) -> Iterator[Transcript]:
    """Yield every session of every file; record unreadable files and continue."""
    for agent in agents:
        reader = READERS[agent]
        for file in _files(agent, named, projects):
            found = 0
            try:
                for transcript in reader.read(file):
                    found += 1
                    if transcript.messages:
                        yield transcript
                if not found and file.stat().st_size:
                    tally.unknown_forms.setdefault(agent, []).append(str(file))
            except (OSError, sqlite3.Error, UnicodeDecodeError, ImportError) as error:
                tally.unreadable.append(f"{file}: {error}")


def _files(agent: str, named: Sequence[str], projects: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    if named:
        for name in named:
            if not Path(name).is_file():
                raise WrongUsage(f"no such file: {name!r}.")
            if _written_by(Path(name)) == agent:
                yield Path(name).resolve()
        return
    yield from READERS[agent].files(Path.home(), os.environ)
    if agent == "aider":
        found = (Path(project["path"]) / aider.HISTORY for project in projects)
        yield from (file for file in found if file.is_file())


def _written_by(file: Path) -> str:
    """Return the agent that wrote a transcript, judged by its file name."""
    if file.name.endswith(".md"):
        return "aider"
    if file.suffix == ".vscdb":
        return "cursor"
    if file.suffix == ".json" or file.name.startswith("session-"):
        return "gemini"
    if "agent-transcripts" in file.parts:
        return "cursor"
    return "codex" if file.name.startswith("rollout-") else "claude-code"


def _sent(client: Client, transcript: Transcript, project: Mapping[str, Any] | None) -> int:
    """Upload the session.

    Returns the number of new messages. End it unless its agent may still be active.
    """
    path = f"/sessions/{part(transcript.session)}"
    accepted = 0
    for batch in _batches(transcript.messages):
        body = {"messages": batch} | ({"project": project["id"]} if project is not None else {})
        accepted += int(_patiently(client, f"{path}/messages", body)["accepted"])
    if accepted and time.time() - transcript.file.stat().st_mtime > AT_WORK:
        _patiently(client, f"{path}/end", {})
    return accepted


def _patiently(client: Client, path: str, body: Mapping[str, Any]) -> Any:
    """Send a request, retrying while the daemon is overloaded."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return client.post(path, body)
        except Refused as refusal:
            if refusal.status not in (429, 503) or time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _batches(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    size = 0
    for message in messages:
        length = len(str(message.get("content") or message.get("event_data")))
        if batch and (len(batch) >= BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def _told(transcript: Transcript, project: Mapping[str, Any] | None, accepted: int) -> dict[str, Any]:
    return {
        "agent": transcript.agent,
        "session": transcript.session,
        "project": project["path"] if project is not None else None,
        "began": transcript.began.isoformat() if transcript.began is not None else None,
        "messages": len(transcript.messages),
        "accepted": accepted,
    }


def _say(tally: Tally, arguments: Namespace) -> None:
    if arguments.json:
        print_json(
            {
                "sessions": tally.sessions,
                "unknown": tally.unknown,
                "unreadable": tally.unreadable,
                "unknown_forms": tally.unknown_forms,
            }
        )
        return
    rows = [
        (one["agent"], clean(one["session"])[:36], number(one["messages"]), number(one["accepted"]), _where(one))
        for one in tally.sessions
    ]
    if rows:
        print(table(("agent", "session", "messages", "new", "project"), rows, right=(2, 3)))
    messages, new = sum(one["messages"] for one in tally.sessions), sum(one["accepted"] for one in tally.sessions)
    told = f"{number(len(rows))} sessions with {number(messages)} messages"
    note(f"{told} would be imported; nothing was sent" if arguments.dry_run else f"{told}, {number(new)} of them new")
    for folder, times in sorted(tally.unknown.items()):
        hint = f"hunch add {folder}" if folder.startswith("/") else "--all imports them as your own"
        note(f"{number(times)} sessions in {line(folder, 60)} were skipped: {line(hint, 80)}")
    for agent, files in sorted(tally.unknown_forms.items()):
        note(f"{number(len(files))} files of {agent} hold no message that hunchd understands: {line(files[0], 100)}")
    for trouble in tally.unreadable:
        note(f"not read: {line(trouble, 100)}")


def _where(one: Mapping[str, Any]) -> str:
    return clean(one["project"] or "-")
