"""Hook events of coding agents in one common form, and their replies.

A reply is formatted as the agent in question expects it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

AGENTS: Final = ("claude-code", "codex", "cursor", "gemini")  # agents with hooks
# Empty replies: these agents expect output for every event.
EMPTY_REPLIES: Final[Mapping[str, str]] = {"cursor": "{}", "gemini": "{}"}
EventKind = Literal[
    "began", "prompted", "opens", "edits", "failed", "passed", "checked_out", "compacts", "paused", "ended", ""
]

_READ_TOOLS: Final = frozenset({"Read", "read_file"})
_EDIT_TOOLS: Final = frozenset(
    {"Edit", "MultiEdit", "Write", "NotebookEdit", "replace", "write_file", "apply_patch", "StrReplace"}
)
_SHELL_TOOLS: Final = frozenset({"Bash", "Shell", "run_shell_command", "shell"})
_PATH_ARGUMENTS: Final = ("file_path", "notebook_path", "absolute_path", "path")
_CHECKOUT = re.compile(r"\bgit\b[^|;&\n]*?\s(?:checkout|switch|worktree add)\s")
_PATCH_FILE_HEADER = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:exited with code|exit code:?|exit_code\"?:)\s*([1-9][0-9]*)", re.IGNORECASE)
# Codex reports only a command's output: a line that begins like a failure message counts as a failure.
_FAILURE_LINE = re.compile(
    r"^(?:Traceback \(most recent call last\):|error(?:\[\w+\])?: |FAILED |npm (?:ERR!|error) |thread '.*' panicked)",
    re.MULTILINE,
)
_WITHOUT_OUTPUT = re.compile(r"\A(?:Exit code:? \d+|the command failed)\s*", re.IGNORECASE)
_MAX_ERROR_CHARACTERS: Final = 8_000  # characters, from the end, where the message is


class HookEvent(NamedTuple):
    """Hook event of a coding agent, in the form common to all agents."""

    kind: EventKind
    name: str  # the agent's own name for the event
    folder: str
    session: str
    path: str = ""
    command: str = ""
    text: str = ""  # text of an error, the user's prompt, or the agent's last message


def parse_event(agent: str, payload: Any) -> HookEvent | None:
    """Parse the payload of an agent's hook.

    Returns None if the payload is not valid or the event needs no action.
    """
    if not isinstance(payload, dict):
        return None
    name = _get_text(payload, "hook_event_name")
    roots = payload.get("workspace_roots")
    folder = _get_text(payload, "cwd") or (str(roots[0]) if isinstance(roots, list) and roots else "")
    session = _get_text(payload, "session_id") or _get_text(payload, "conversation_id")
    event = HookEvent("", name, folder, session)
    match name[:1].lower() + name[1:]:
        case "sessionStart":
            return event._replace(kind="began")
        case "sessionEnd":
            return event._replace(kind="ended")
        case "userPromptSubmit" | "beforeSubmitPrompt" | "beforeAgent":
            return event._replace(kind="prompted", text=_get_text(payload, "prompt"))
        case "preCompact" | "preCompress":
            return event._replace(kind="compacts")
        case "stop" | "afterAgent":
            return event._replace(
                kind="paused",
                text=_get_text(payload, "last_assistant_message") or _get_text(payload, "prompt_response"),
            )
        case "preToolUse" | "postToolUse" | "postToolUseFailure" | "beforeTool" | "afterTool":
            return _parse_tool_event(event, payload)
        case _:
            return None


def is_session_start(payload: bytes) -> bool:
    """Return True if the raw payload looks like the start of a session.

    Only the bytes are searched, so that the caller need not parse the payload first.
    """
    return b'"SessionStart"' in payload or b'"sessionStart"' in payload


def format_reply(agent: str, event: HookEvent | None, context: str) -> str:
    """Format the text that the hook prints; an empty context prints nothing.

    Agents that expect a reply to every event get their empty reply (see EMPTY_REPLIES) instead.
    """
    if not context or event is None:
        return EMPTY_REPLIES.get(agent, "")
    if agent == "cursor":
        return json.dumps({"additional_context": context})
    if agent == "codex" and event.kind == "began":
        return context  # some releases reject JSON here, all accept plain text
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}})


def _parse_tool_event(event: HookEvent, payload: Mapping[str, Any]) -> HookEvent | None:
    tool = _get_text(payload, "tool_name")
    raw_arguments = payload.get("tool_input")
    arguments: Mapping[str, Any] = raw_arguments if isinstance(raw_arguments, dict) else {}
    command = _get_text(arguments, "command")
    if tool in _SHELL_TOOLS:
        if (error := _extract_error(event.name, payload)) is not None:
            # A failure without output, such as a grep without matches, has nothing to learn from.
            if not _WITHOUT_OUTPUT.sub("", error).strip():
                return None
            return event._replace(kind="failed", command=command, text=error[-_MAX_ERROR_CHARACTERS:])
        if not command or event.name.lower().startswith(("pre", "before")) or _is_unfinished(arguments, payload):
            return None
        return event._replace(kind="checked_out" if _CHECKOUT.search(command) else "passed", command=command)
    kind: EventKind = "opens" if tool in _READ_TOOLS else "edits" if tool in _EDIT_TOOLS else ""
    path = next((value for name in _PATH_ARGUMENTS if (value := _get_text(arguments, name))), "")
    if not path and (patch_header := _PATCH_FILE_HEADER.search(command or _get_text(arguments, "input"))) is not None:
        path = patch_header.group(1).strip()
    return event._replace(kind=kind, path=path) if kind and path else None


def _is_unfinished(arguments: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    """Return True if the outcome of a command is unknown.

    This is the case if the command was interrupted or is still running in the background.
    """
    response = payload.get("tool_response")
    is_interrupted = payload.get("is_interrupt") or (isinstance(response, dict) and response.get("interrupted"))
    return bool(arguments.get("run_in_background") or is_interrupted)


def _extract_error(name: str, payload: Mapping[str, Any]) -> str | None:
    """Return the error text of a failed command.

    Returns None if the command succeeded or was interrupted, or if no failure can be recognised.
    """
    message = _get_text(payload, "error") or _get_text(payload, "error_message")
    if name.lower() == "posttoolusefailure":
        return None if payload.get("is_interrupt") else message or "the command failed"
    response = payload.get("tool_response", payload.get("tool_output"))
    if isinstance(response, dict):
        if isinstance(error := response.get("error"), dict):
            return _get_text(error, "message") or json.dumps(error)
        if isinstance(error, str) and error:
            return error
        if response.get("exit_code") not in (None, 0, "0"):
            output = (_get_text(response, part) for part in ("stderr", "output", "stdout"))
            return next((text for text in output if text), "the command failed")
        response = _get_text(response, "llmContent")
    if isinstance(response, str) and (_EXIT_CODE.search(response) or _FAILURE_LINE.search(response)):
        return response
    return None


def _get_text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
