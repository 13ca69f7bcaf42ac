"""Supported agents: where each keeps its settings, and what is added to them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from hunchd.cli.agents import jsonc, toml, yaml
from hunchd.cli.agents.files import Settings

SERVER: Final = "hunch"  # the name of the MCP server in an agent's settings
# Agents kill a hook that takes longer. The hook takes up to 0.1 s; the rest is for a busy machine.
_PATIENCE: Final = 5  # seconds
_HOOK: Final = Path(__file__).parents[1] / "shell" / "agent-hook"


class Agent(NamedTuple):
    """Supported agent."""

    name: str
    title: str
    settings: Callable[[Start], tuple[Settings, ...]]
    notes: tuple[str, ...] = ()  # what the user must know or do


class Start(NamedTuple):
    """Command line by which agents start hunch, and the environment variables it needs."""

    words: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def server(self) -> dict[str, Any]:
        """Entry of a started MCP server, in most agents' format."""
        entry: dict[str, Any] = {"command": self.words[0], "args": [*self.words[1:], "mcp"]}
        return entry | ({"env": dict(self.variables)} if self.variables else {})

    def hook(self, agent: str) -> str:
        """Return a shell command that never fails and prints nothing but the response."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join((*variables, shlex.join(("sh", str(_HOOK), agent, *self.words)), "2>/dev/null || :"))


def start(environment: Mapping[str, str]) -> Start:
    """Return the command that starts this installation.

    The path is absolute: desktop programs have another PATH than shells.
    """
    script = Path(sys.executable).with_name("hunch")
    words = (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-m", "hunchd.cli")
    kept = ("HUNCHD_HOME", "PYTHONPATH") if len(words) > 1 else ("HUNCHD_HOME",)
    return Start(words, {name: environment[name] for name in kept if environment.get(name)})


def _home(variable: str, default: str) -> Path:
    """Return the folder of an agent's settings.

    The agent's own variable names it; the default is below the home folder.
    """
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / default


def _json(path: Path, *edits: tuple[Callable[[str], str], Callable[[str], str]]) -> Settings:
    def put(text: str) -> str:
        changed = text if text.strip() else "{}\n"
        for add, _ in edits:
            changed = add(changed)
        return changed

    def take_out(text: str) -> str:
        if not text.strip():
            return text
        for _, remove in edits:
            text = remove(text)
        return "" if jsonc.parse(text).plain() == {} and "/" not in text else text

    return Settings(path, put, take_out)


def _server(key: str, entry: dict[str, Any]) -> tuple[Callable[[str], str], Callable[[str], str]]:
    place = (key, SERVER)
    return (lambda text: jsonc.put(text, place, entry)), (lambda text: jsonc.remove(text, place))


def _hooks(agent: str, entries: Mapping[str, dict[str, Any]]) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Build edits for the lists by event below "hooks".

    Hunchd's entries are recognised by their command.
    """

    def ours(entry: Any) -> bool:
        commands = [entry, *entry.get("hooks", ())] if isinstance(entry, dict) else []
        return any(
            isinstance(each, dict) and f"agent-hook {agent} " in str(each.get("command", "")) for each in commands
        )

    def put(text: str) -> str:
        for event, entry in entries.items():
            place = ("hooks", event)
            present = jsonc.find(text, place)
            known = [item.plain() for item in present.items if ours(item.plain())] if present is not None else []
            if known != [entry]:
                text = jsonc.append(jsonc.remove_items(text, place, ours), place, entry)
        return text

    def take_out(text: str) -> str:
        for event in entries:
            text = jsonc.remove_items(text, ("hooks", event), ours)
        return text

    return put, take_out


def _grouped(command: str, *, patience: int = _PATIENCE, **events: str) -> dict[str, dict[str, Any]]:
    """Build entries for Claude Code, Codex and Gemini CLI.

    An entry has a matcher (all, if empty) and its commands.
    """
    hook = {"type": "command", "command": command, "timeout": patience}
    return {event: ({"matcher": tools} if tools else {}) | {"hooks": [hook]} for event, tools in events.items()}


def _claude_code(begin: Start) -> tuple[Settings, ...]:
    folder = _home("CLAUDE_CONFIG_DIR", ".claude")
    # Without the variable the servers are beside the folder, not in it.
    servers = folder / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else Path.home() / ".claude.json"
    hooks = _grouped(
        begin.hook("claude-code"),
        SessionStart="",
        PreToolUse="Read|Edit|MultiEdit|Write|NotebookEdit",
        PostToolUse="Bash",
        PostToolUseFailure="Bash",
        Stop="",
        SessionEnd="",
    )
    return (
        _json(servers, _server("mcpServers", {"type": "stdio", **begin.server})),
        _json(folder / "settings.json", _hooks("claude-code", hooks)),
    )


def _codex(begin: Start) -> tuple[Settings, ...]:
    folder = _home("CODEX_HOME", ".codex")
    place = ("mcp_servers", SERVER)
    hooks = _grouped(begin.hook("codex"), SessionStart="", PostToolUse="Bash|apply_patch", Stop="")
    return (
        Settings(
            folder / "config.toml",
            lambda text: toml.put(text, place, begin.server),
            lambda text: toml.remove(text, place),
        ),
        _json(folder / "hooks.json", _hooks("codex", hooks)),
    )


def _cursor(begin: Start) -> tuple[Settings, ...]:
    folder = Path.home() / ".cursor"
    hook = {"command": begin.hook("cursor"), "timeout": _PATIENCE}
    hooks: dict[str, dict[str, Any]] = {
        "sessionStart": hook,
        "preToolUse": hook | {"matcher": "Read|Write"},
        "postToolUse": hook | {"matcher": "Shell"},
        "postToolUseFailure": hook | {"matcher": "Shell"},
        "stop": hook,
        "sessionEnd": hook,
    }

    def versioned(text: str) -> str:
        return text if jsonc.find(text, ("version",)) is not None else jsonc.put(text, ("version",), 1)

    def unversioned(text: str) -> str:
        """Empty a file that contains only the version: hunchd created it."""
        return jsonc.remove(text, ("version",)) if jsonc.parse(text).plain() == {"version": 1} else text

    return (
        _json(folder / "mcp.json", _server("mcpServers", begin.server)),
        _json(folder / "hooks.json", (versioned, lambda text: text), _hooks("cursor", hooks), (str, unversioned)),
    )


def _gemini(begin: Start) -> tuple[Settings, ...]:
    hooks = _grouped(
        begin.hook("gemini"),
        patience=_PATIENCE * 1000,  # milliseconds here
        SessionStart="",
        AfterTool="read_file|replace|write_file|run_shell_command",
        AfterAgent="",
        SessionEnd="",
    )
    path = Path.home() / ".gemini" / "settings.json"
    return (_json(path, _server("mcpServers", begin.server), _hooks("gemini", hooks)),)


_AIDER: Final = """# hunchd

This repository's history and decisions are known to the command `hunch`. When you need to know what belongs to a file,
what was decided before or how an error was solved, ask the user to run one of these and read the output:

- `/run hunch context FILE`: what belongs to FILE, decisions, past errors and their fixes
- `/run hunch search WORDS`: past decisions, errors, commits
- `/run hunch predict FILE`: which files are likely edited after FILE
- `/run hunch remember "STATEMENT" --category decision`: keep what the user decided
"""


def _aider(_: Start) -> tuple[Settings, ...]:
    page = Path.home() / ".aider.hunch.md"
    return (
        Settings(page, lambda _: _AIDER, lambda _: "", own=True),
        Settings(
            Path.home() / ".aider.conf.yml",
            lambda text: yaml.add(text, "read", str(page)),
            lambda text: yaml.remove(text, "read", str(page)),
        ),
    )


def _continue(begin: Start) -> tuple[Settings, ...]:
    import json

    entry = begin.server
    lines = [
        "# Written by `hunch install continue`.",
        "name: hunchd",
        "version: 0.0.1",
        "schema: v1",
        "mcpServers:",
        f"  - name: {SERVER}",
        f"    command: {json.dumps(entry['command'])}",  # JSON strings are valid YAML
        f"    args: {json.dumps(entry['args'])}",
        *([f"    env: {json.dumps(entry['env'])}"] if "env" in entry else []),
    ]
    text = "\n".join(lines) + "\n"
    path = Path.home() / ".continue" / "mcpServers" / "hunch.yaml"
    return (Settings(path, lambda _: text, lambda _: "", own=True),)


def _zed(begin: Start) -> tuple[Settings, ...]:
    folder = _home("XDG_CONFIG_HOME", ".config") / "zed"
    return (_json(folder / "settings.json", _server("context_servers", {"env": {}, **begin.server})),)


AGENTS: Final = (
    Agent("claude-code", "Claude Code", _claude_code, ("Restart open sessions to use it.",)),
    Agent("codex", "Codex", _codex, ("Codex runs new hooks only after you have approved them: type /hooks in it.",)),
    Agent("cursor", "Cursor", _cursor, ("Cursor may ask you to enable the server: Settings, MCP.",)),
    Agent("gemini", "Gemini CLI", _gemini),
    Agent("aider", "aider", _aider, ("aider has no tools; it is told which `/run hunch …` to ask you for.",)),
    Agent("continue", "Continue", _continue),
    Agent("zed", "Zed", _zed),
)
