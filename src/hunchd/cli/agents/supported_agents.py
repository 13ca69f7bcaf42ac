"""Coding agents that hunchd supports, their settings files, and the entries to add."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from hunchd.cli.agents import jsonc, toml, yaml
from hunchd.cli.agents.settings_files import SettingsFile
from hunchd.domain.json_values import JsonObject

SERVER_NAME: Final = "hunch"  # the name of the MCP server in an agent's settings
# Agents kill a hook that takes longer. A hook takes up to 0.1 s; the rest is a reserve for a busy machine.
_HOOK_TIMEOUT_SECONDS: Final = 5  # seconds
_HOOK_SCRIPT: Final = Path(__file__).parents[1] / "shell" / "agent-hook"


class SupportedAgent(NamedTuple):
    """Coding agent that hunchd can be added to."""

    name: str
    title: str
    settings: Callable[[LaunchCommand], tuple[SettingsFile, ...]]
    notes: tuple[str, ...] = ()  # what the user must know or do


class LaunchCommand(NamedTuple):
    """Command line that agents use to start hunch.

    `variables` are the environment variables that the command needs.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def build_server_entry(self) -> JsonObject:
        """Settings entry that starts the MCP server, in the format that most agents use."""
        entry: JsonObject = {"command": self.words[0], "args": [*self.words[1:], "mcp"]}
        return entry | ({"env": dict(self.variables)} if self.variables else {})

    def build_hook_line(self, agent: str) -> str:
        """Return the shell command for the hooks of `agent`.

        The command never fails, and prints nothing but the daemon's response.
        """
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join((*variables, shlex.join(("sh", str(_HOOK_SCRIPT), agent, *self.words)), "2>/dev/null || :"))


def get_launch_command(environment: Mapping[str, str]) -> LaunchCommand:
    """Return the command that starts this installation of hunch.

    The path is absolute, because the PATH of desktop programs differs from that of shells.
    """
    script = Path(sys.executable).with_name("hunch")
    words = (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-m", "hunchd.cli")
    passed_variables = ("HUNCHD_HOME", "PYTHONPATH") if len(words) > 1 else ("HUNCHD_HOME",)
    return LaunchCommand(words, {name: environment[name] for name in passed_variables if environment.get(name)})


def _config_folder(variable: str, default: str) -> Path:
    """Return the folder that contains an agent's settings.

    If the environment variable `variable` is set, it names the folder; otherwise the folder is `default`, relative to
    the home folder.
    """
    configured_path = os.environ.get(variable)
    return Path(configured_path).expanduser() if configured_path else Path.home() / default


def _json_settings(path: Path, *edits: tuple[Callable[[str], str], Callable[[str], str]]) -> SettingsFile:
    def add_entries(text: str) -> str:
        new_text = text if text.strip() else "{}\n"
        for add, _ in edits:
            new_text = add(new_text)
        return new_text

    def remove_entries(text: str) -> str:
        if not text.strip():
            return text
        for _, remove in edits:
            text = remove(text)
        return "" if jsonc.parse(text).to_value() == {} and "/" not in text else text

    return SettingsFile(path, add_entries, remove_entries)


def _server_edits(key: str, entry: JsonObject) -> tuple[Callable[[str], str], Callable[[str], str]]:
    path = (key, SERVER_NAME)
    return (lambda text: jsonc.set_value(text, path, entry)), (lambda text: jsonc.remove_member(text, path))


def _hook_edits(agent: str, entries: Mapping[str, JsonObject]) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Return two functions that edit settings text: one adds hunchd's hooks, the other removes them.

    The hooks are entries in the lists inside "hooks", which contains one list for each event. Hunchd's own entries are
    recognised by their command.
    """

    def is_own_entry(entry: Any) -> bool:
        commands = [entry, *entry.get("hooks", ())] if isinstance(entry, dict) else []
        return any(
            isinstance(each, dict) and f"agent-hook {agent} " in str(each.get("command", "")) for each in commands
        )

    def add_entries(text: str) -> str:
        for event, entry in entries.items():
            path = ("hooks", event)
            present = jsonc.find_node(text, path)
            own_entries = (
                [item.to_value() for item in present.items if is_own_entry(item.to_value())]
                if present is not None
                else []
            )
            if own_entries != [entry]:
                text = jsonc.append_item(jsonc.remove_items(text, path, is_own_entry), path, entry)
        return text

    def remove_entries(text: str) -> str:
        for event in entries:
            text = jsonc.remove_items(text, ("hooks", event), is_own_entry)
        return text

    return add_entries, remove_entries


def _group_hooks(command: str, *, timeout: int = _HOOK_TIMEOUT_SECONDS, **events: str) -> dict[str, JsonObject]:
    """Build the hook entries for Claude Code, Codex and Gemini CLI.

    `events` maps the name of each event to a matcher for the agent's tools; an empty matcher matches all of them.
    """
    hook = {"type": "command", "command": command, "timeout": timeout}
    return {event: ({"matcher": tools} if tools else {}) | {"hooks": [hook]} for event, tools in events.items()}


def _claude_code_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    folder = _config_folder("CLAUDE_CONFIG_DIR", ".claude")
    # Unless the variable is set, the file with the servers is beside the folder, not in it.
    servers = folder / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else Path.home() / ".claude.json"
    hooks = _group_hooks(
        launch.build_hook_line("claude-code"),
        SessionStart="",
        UserPromptSubmit="",
        PreToolUse="Read|Edit|MultiEdit|Write|NotebookEdit",
        PostToolUse="Bash",
        PostToolUseFailure="Bash",
        PreCompact="",
        Stop="",
        SessionEnd="",
    )
    return (
        _json_settings(servers, _server_edits("mcpServers", {"type": "stdio", **launch.build_server_entry})),
        _json_settings(folder / "settings.json", _hook_edits("claude-code", hooks)),
    )


def _codex_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    folder = _config_folder("CODEX_HOME", ".codex")
    path = ("mcp_servers", SERVER_NAME)
    hooks = _group_hooks(
        launch.build_hook_line("codex"),
        SessionStart="",
        UserPromptSubmit="",
        PostToolUse="Bash|apply_patch",
        PreCompact="",
        Stop="",
    )
    return (
        SettingsFile(
            folder / "config.toml",
            lambda text: toml.set_table(text, path, launch.build_server_entry),
            lambda text: toml.remove_table(text, path),
        ),
        _json_settings(folder / "hooks.json", _hook_edits("codex", hooks)),
    )


def _cursor_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    folder = Path.home() / ".cursor"
    hook = {"command": launch.build_hook_line("cursor"), "timeout": _HOOK_TIMEOUT_SECONDS}
    hooks: dict[str, JsonObject] = {
        "sessionStart": hook,
        "beforeSubmitPrompt": hook,
        "preToolUse": hook | {"matcher": "Read|Write"},
        "postToolUse": hook | {"matcher": "Shell"},
        "postToolUseFailure": hook | {"matcher": "Shell"},
        "preCompact": hook,
        "stop": hook,
        "sessionEnd": hook,
    }

    def add_version(text: str) -> str:
        return text if jsonc.find_node(text, ("version",)) is not None else jsonc.set_value(text, ("version",), 1)

    def remove_lone_version(text: str) -> str:
        """Remove the version number if the file contains nothing else.

        Such a file was created by hunchd.
        """
        return jsonc.remove_member(text, ("version",)) if jsonc.parse(text).to_value() == {"version": 1} else text

    return (
        _json_settings(folder / "mcp.json", _server_edits("mcpServers", launch.build_server_entry)),
        _json_settings(
            folder / "hooks.json",
            (add_version, lambda text: text),
            _hook_edits("cursor", hooks),
            (str, remove_lone_version),
        ),
    )


def _gemini_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    hooks = _group_hooks(
        launch.build_hook_line("gemini"),
        timeout=_HOOK_TIMEOUT_SECONDS * 1000,  # milliseconds here
        SessionStart="",
        BeforeAgent="",
        AfterTool="read_file|replace|write_file|run_shell_command",
        PreCompress="",
        AfterAgent="",
        SessionEnd="",
    )
    path = Path.home() / ".gemini" / "settings.json"
    return (_json_settings(path, _server_edits("mcpServers", launch.build_server_entry), _hook_edits("gemini", hooks)),)


_AIDER_PAGE: Final = """# hunchd

This repository's history and decisions are known to the command `hunch`. When you need to know what belongs to a file,
what was decided before or how an error was solved, ask the user to run one of these and read the output:

- `/run hunch context FILE`: what belongs to FILE, decisions, past errors and their fixes
- `/run hunch search WORDS`: past decisions, errors, commits
- `/run hunch predict FILE`: which files will probably be edited after FILE
- `/run hunch remember "STATEMENT" --category decision`: store what the user decided
"""


def _aider_settings(_: LaunchCommand) -> tuple[SettingsFile, ...]:
    page = Path.home() / ".aider.hunch.md"
    return (
        SettingsFile(page, lambda _: _AIDER_PAGE, lambda _: "", is_own=True),
        SettingsFile(
            Path.home() / ".aider.conf.yml",
            lambda text: yaml.add_entry(text, "read", str(page)),
            lambda text: yaml.remove_entry(text, "read", str(page)),
        ),
    )


def _continue_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    import json

    entry = launch.build_server_entry
    lines = [
        "# Written by `hunch install continue`.",
        "name: hunchd",
        "version: 0.0.1",
        "schema: v1",
        "mcpServers:",
        f"  - name: {SERVER_NAME}",
        f"    command: {json.dumps(entry['command'])}",  # JSON strings are valid YAML
        f"    args: {json.dumps(entry['args'])}",
        *([f"    env: {json.dumps(entry['env'])}"] if "env" in entry else []),
    ]
    text = "\n".join(lines) + "\n"
    path = Path.home() / ".continue" / "mcpServers" / "hunch.yaml"
    return (SettingsFile(path, lambda _: text, lambda _: "", is_own=True),)


def _zed_settings(launch: LaunchCommand) -> tuple[SettingsFile, ...]:
    folder = _config_folder("XDG_CONFIG_HOME", ".config") / "zed"
    return (
        _json_settings(
            folder / "settings.json", _server_edits("context_servers", {"env": {}, **launch.build_server_entry})
        ),
    )


AGENTS: Final = (
    SupportedAgent("claude-code", "Claude Code", _claude_code_settings, ("Restart open sessions to use it.",)),
    SupportedAgent(
        "codex",
        "Codex",
        _codex_settings,
        ("Codex runs new hooks only after you have approved them: type /hooks in it.",),
    ),
    SupportedAgent(
        "cursor", "Cursor", _cursor_settings, ("Cursor may ask you to enable the server in its settings, under MCP.",)
    ),
    SupportedAgent("gemini", "Gemini CLI", _gemini_settings),
    SupportedAgent(
        "aider", "aider", _aider_settings, ("aider cannot call hunch itself; it will ask you to type `/run hunch …`.",)
    ),
    SupportedAgent("continue", "Continue", _continue_settings),
    SupportedAgent("zed", "Zed", _zed_settings),
)
