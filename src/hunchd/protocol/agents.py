"""Hook events of coding agents in one shape.

Also formats the reply for each agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

AGENTS: Final = ("claude-code", "codex", "cursor", "gemini")  # agents with hooks
# Empty replies: these agents expect output for every event.
NOTHING: Final[Mapping[str, str]] = {"cursor": "{}", "gemini": "{}"}
Kind = Literal["began", "opens", "edits", "failed", "passed", "checked_out", "paused", "ended", ""]

_OPENS: Final = frozenset({"Read", "read_file"})
_EDITS: Final = frozenset(
    {"Edit", "MultiEdit", "Write", "NotebookEdit", "replace", "write_file", "apply_patch", "StrReplace"}
)
_SHELLS: Final = frozenset({"Bash", "Shell", "run_shell_command", "shell"})
_PATHS: Final = ("file_path", "notebook_path", "absolute_path", "path")
_CHECKOUT = re.compile(r"\bgit\b[^|;&\n]*?\s(?:checkout|switch|worktree add)\s")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:exited with code|exit code:?|exit_code\"?:)\s*([1-9][0-9]*)", re.IGNORECASE)
# Codex reports only a command's output: a line that begins like a failure message counts as a failure.
_FAILURE = re.compile(
    r"^(?:Traceback \(most recent call last\):|error(?:\[\w+\])?: |FAILED |npm (?:ERR!|error) |thread '.*' panicked)",
    re.MULTILINE,
)
_WORDLESS = re.compile(r"\A(?:Exit code:? \d+|the command failed)\s*", re.IGNORECASE)
_LONGEST_ERROR: Final = 8_000  # characters, from the end, where the message is


class Event(NamedTuple):
    """Hook event of a coding agent, the same for all agents."""

    kind: Kind
    name: str  # the agent's own name for the event
    folder: str
    session: str
    path: str = ""
    command: str = ""
    text: str = ""  # of an error, or the agent's last message


def understood(agent: str, told: Any) -> Event | None:
    """Parse a hook payload.

    Returns None for an event that needs no action.
    """
    if not isinstance(told, dict):
        return None
    name = _text(told, "hook_event_name")
    roots = told.get("workspace_roots")
    folder = _text(told, "cwd") or (str(roots[0]) if isinstance(roots, list) and roots else "")
    session = _text(told, "session_id") or _text(told, "conversation_id")
    event = Event("", name, folder, session)
    match name[:1].lower() + name[1:]:
        case "sessionStart":
            return event._replace(kind="began")
        case "sessionEnd":
            return event._replace(kind="ended")
        case "stop" | "afterAgent":
            return event._replace(
                kind="paused", text=_text(told, "last_assistant_message") or _text(told, "prompt_response")
            )
        case "preToolUse" | "postToolUse" | "postToolUseFailure" | "beforeTool" | "afterTool":
            return _of_tool(event, told)
        case _:
            return None


def begins(told: bytes) -> bool:
    """Return True if the raw payload looks like the start of a session.

    Searches the bytes only, so that the caller need not parse the payload first.
    """
    return b'"SessionStart"' in told or b'"sessionStart"' in told


def answer(agent: str, event: Event | None, context: str) -> str:
    """Format the output of the hook; an empty context prints nothing.

    Agents that expect a reply to every event get their empty reply (NOTHING).
    """
    if not context or event is None:
        return NOTHING.get(agent, "")
    if agent == "cursor":
        return json.dumps({"additional_context": context})
    if agent == "codex" and event.kind == "began":
        return context  # some releases reject JSON here, all accept plain text
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}})


def _of_tool(event: Event, told: Mapping[str, Any]) -> Event | None:
    tool = _text(told, "tool_name")
    given = told.get("tool_input")
    arguments: Mapping[str, Any] = given if isinstance(given, dict) else {}
    command = _text(arguments, "command")
    if tool in _SHELLS:
        if (error := _error(event.name, told)) is not None:
            # A failure without output, such as a grep without matches, has nothing to learn from.
            if not _WORDLESS.sub("", error).strip():
                return None
            return event._replace(kind="failed", command=command, text=error[-_LONGEST_ERROR:])
        if not command or event.name.lower().startswith(("pre", "before")) or _is_unfinished(arguments, told):
            return None
        return event._replace(kind="checked_out" if _CHECKOUT.search(command) else "passed", command=command)
    kind: Kind = "opens" if tool in _OPENS else "edits" if tool in _EDITS else ""
    path = next((value for name in _PATHS if (value := _text(arguments, name))), "")
    if not path and (patched := _PATCHED.search(command or _text(arguments, "input"))) is not None:
        path = patched.group(1).strip()
    return event._replace(kind=kind, path=path) if kind and path else None


def _is_unfinished(arguments: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Return True if the outcome of a command is unknown.

    It was interrupted, or still runs in the background.
    """
    response = told.get("tool_response")
    stopped = told.get("is_interrupt") or (isinstance(response, dict) and response.get("interrupted"))
    return bool(arguments.get("run_in_background") or stopped)


def _error(name: str, told: Mapping[str, Any]) -> str | None:
    """Return the text of a failed command, or None.

    None if it succeeded or was interrupted.
    """
    told_so = _text(told, "error") or _text(told, "error_message")
    if name.lower() == "posttoolusefailure":
        return None if told.get("is_interrupt") else told_so or "the command failed"
    response = told.get("tool_response", told.get("tool_output"))
    if isinstance(response, dict):
        if isinstance(failed := response.get("error"), dict):
            return _text(failed, "message") or json.dumps(failed)
        if isinstance(failed, str) and failed:
            return failed
        if response.get("exit_code") not in (None, 0, "0"):
            output = (_text(response, part) for part in ("stderr", "output", "stdout"))
            return next((text for text in output if text), "the command failed")
        response = _text(response, "llmContent")
    if isinstance(response, str) and (_EXIT_CODE.search(response) or _FAILURE.search(response)):
        return response
    return None


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""
