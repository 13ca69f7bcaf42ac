"""`hunch import-transcripts`: imports earlier sessions of coding agents."""

from __future__ import annotations

import os
import sqlite3
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.cli.client import Client, quote_segment
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import RequestRejected, WrongUsage
from hunchd.cli.output import format_line, format_number, format_table, print_json, print_note, strip_controls
from hunchd.cli.session_commands import AGENTS
from hunchd.cli.targets import find_registered_project, get_items
from hunchd.ingestion.transcripts import aider, claude_code, codex, cursor, gemini
from hunchd.ingestion.transcripts.transcript import Transcript
from hunchd.repository.layout import find_repository

READERS: Final = dict(zip(AGENTS, (claude_code, codex, gemini, cursor, aider), strict=True))
BATCH_SIZE: Final = 200  # messages in one request
BATCH_BYTES: Final = 2 * 1024 * 1024  # total size of their texts
# An agent that wrote this recently may still be active: its session is imported, but not ended.
ACTIVE_SECONDS: Final = 15 * 60.0  # seconds
RETRY_SECONDS: Final = 120.0  # seconds to wait for a daemon that cannot keep up


@dataclass
class ImportTally:
    """Counts and problems collected during an import, printed when the import ends."""

    sessions: list[dict[str, Any]] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)  # folder outside the known projects → number of sessions
    unreadable: list[str] = field(default_factory=list)
    unknown_forms: dict[str, list[str]] = field(default_factory=dict)  # agent → files in which no session was found


def import_transcripts(arguments: Namespace) -> int:
    client = connect(start=not arguments.no_start)
    projects = get_items(client.get("/projects"))
    selected_project = find_registered_project(client, arguments.project) if arguments.project else None
    selected_id = selected_project["id"] if selected_project else None
    agents = tuple(dict.fromkeys(arguments.agents)) or AGENTS
    tally = ImportTally()
    owners = _ProjectLookup(projects)
    for transcript in _read_transcripts(agents, arguments.file, projects, tally):
        if arguments.since is not None and (transcript.started_at is None or transcript.started_at < arguments.since):
            continue
        project = owners.find_project(transcript.project)
        if selected_id is not None and (project is None or project["id"] != selected_id):
            continue
        if project is None and not arguments.all:
            folder = transcript.project or "no folder"
            tally.unknown[folder] = tally.unknown.get(folder, 0) + 1
            continue
        accepted_count = 0 if arguments.dry_run else _upload_session(client, transcript, project)
        tally.sessions.append(_to_report(transcript, project, accepted_count))
    _print_tally(tally, arguments)
    return 1 if (tally.unreadable or (arguments.file and tally.unknown_forms)) and not tally.sessions else 0


class _ProjectLookup:
    """Lookup table that finds the registered project for an agent's folder.

    Agents name the folder by its path, or by a hash or name derived from the path.
    """

    def __init__(self, projects: Sequence[dict[str, Any]]) -> None:
        self._by_path = {path: one for one in projects for path in (one["path"], *one.get("worktrees", ()))}
        by_path = dict(self._by_path)
        for name in (gemini.hash_folder, cursor.folder_name):
            self._by_path |= {name(path): one for path, one in by_path.items()}

    def find_project(self, folder: str | None) -> dict[str, Any] | None:
        if folder is None or folder in self._by_path:
            return self._by_path.get(folder or "")
        layout = find_repository(Path(folder)) if Path(folder).is_absolute() else None
        return self._by_path.get(str(layout.root)) if layout is not None else None


def _read_transcripts(
    agents: Iterable[str], file_names: Sequence[str], projects: Sequence[Mapping[str, Any]], tally: ImportTally
) -> Iterator[Transcript]:
    """Yield every session with messages in every transcript file.

    Files that cannot be read, or in which no session is found, are recorded in `tally`.
    """
    for agent in agents:
        reader = READERS[agent]
        for file in _list_files(agent, file_names, projects):
            transcript_count = 0
            try:
                for transcript in reader.read(file):
                    transcript_count += 1
                    if transcript.messages:
                        yield transcript
                if not transcript_count and file.stat().st_size:
                    tally.unknown_forms.setdefault(agent, []).append(str(file))
            except (OSError, sqlite3.Error, UnicodeDecodeError, ImportError) as error:
                tally.unreadable.append(f"{file}: {error}")


def _list_files(agent: str, file_names: Sequence[str], projects: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    if file_names:
        for name in file_names:
            if not Path(name).is_file():
                raise WrongUsage(f"no such file: {name!r}.")
            if _detect_agent(Path(name)) == agent:
                yield Path(name).resolve()
        return
    yield from READERS[agent].files(Path.home(), os.environ)
    if agent == "aider":
        candidates = (Path(project["path"]) / aider.HISTORY for project in projects)
        yield from (file for file in candidates if file.is_file())


def _detect_agent(file: Path) -> str:
    """Guess from its file name which agent wrote a transcript."""
    if file.name.endswith(".md"):
        return "aider"
    if file.suffix == ".vscdb":
        return "cursor"
    if file.suffix == ".json" or file.name.startswith("session-"):
        return "gemini"
    if "agent-transcripts" in file.parts:
        return "cursor"
    return "codex" if file.name.startswith("rollout-") else "claude-code"


def _upload_session(client: Client, transcript: Transcript, project: Mapping[str, Any] | None) -> int:
    """Upload a session, and end it unless its agent may still be active.

    Returns the number of messages that the daemon did not know yet.
    """
    path = f"/sessions/{quote_segment(transcript.session)}"
    accepted_count = 0
    for batch in _split_batches(transcript.messages):
        body = {"messages": batch} | ({"project": project["id"]} if project is not None else {})
        accepted_count += int(_post_with_retry(client, f"{path}/messages", body)["accepted"])
    if accepted_count and not _may_be_active(transcript):
        _post_with_retry(client, f"{path}/end", {})
    return accepted_count


def _may_be_active(transcript: Transcript) -> bool:
    """Return True if both the file and its last message are recent.

    A file that was just copied or restored has a recent modification time, so the time of its last message is checked
    too. A log that states no times is not active: an ended session is continued by a later message.
    """
    modification_time = transcript.file.stat().st_mtime
    times = [datetime.fromisoformat(one["at"]).timestamp() for one in transcript.messages if one.get("at")]
    if all(abs(one - modification_time) < 1 for one in times):
        return False
    return time.time() - min(max(times), modification_time) <= ACTIVE_SECONDS


def _post_with_retry(client: Client, path: str, body: Mapping[str, Any]) -> Any:
    """Send a request, and repeat it while the daemon is overloaded. Gives up after RETRY_SECONDS."""
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return client.post(path, body)
        except RequestRejected as refusal:
            if refusal.status not in (429, 503) or time.monotonic() > deadline:
                raise
            time.sleep(1.0)


def _split_batches(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    size = 0
    for message in messages:
        length = len(str(message.get("content") or message.get("event_data")))
        if batch and (len(batch) >= BATCH_SIZE or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch


def _to_report(transcript: Transcript, project: Mapping[str, Any] | None, accepted_count: int) -> dict[str, Any]:
    return {
        "agent": transcript.agent,
        "session": transcript.session,
        "project": project["path"] if project is not None else None,
        "began": transcript.started_at.isoformat() if transcript.started_at is not None else None,
        "messages": len(transcript.messages),
        "accepted": accepted_count,
    }


def _print_tally(tally: ImportTally, arguments: Namespace) -> None:
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
        (
            one["agent"],
            strip_controls(one["session"])[:36],
            format_number(one["messages"]),
            format_number(one["accepted"]),
            _format_project(one),
        )
        for one in tally.sessions
    ]
    if rows:
        print(format_table(("agent", "session", "messages", "new", "project"), rows, right=(2, 3)))
    messages, new_count = sum(one["messages"] for one in tally.sessions), sum(one["accepted"] for one in tally.sessions)
    summary = f"{format_number(len(rows))} sessions with {format_number(messages)} messages"
    print_note(
        f"{summary} would be imported; nothing was sent"
        if arguments.dry_run
        else f"{summary}, {format_number(new_count)} of them new"
    )
    for folder, times in sorted(tally.unknown.items()):
        hint = f"run `hunch add {folder}`" if folder.startswith("/") else "use --all to import them as your own"
        print_note(
            f"{format_number(times)} sessions in {format_line(folder, 60)} were skipped; {format_line(hint, 80)}"
        )
    for agent, files in sorted(tally.unknown_forms.items()):
        print_note(
            f"{format_number(len(files))} files of {agent} contain no message that hunchd understands: "
            f"{format_line(files[0], 100)}"
        )
    for problem in tally.unreadable:
        print_note(f"could not read {format_line(problem, 100)}")


def _format_project(one: Mapping[str, Any]) -> str:
    return strip_controls(one["project"] or "-")
