"""Agents' settings: hunchd is added beside existing entries, and removed without a trace."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.cli.agent_commands import AGENTS as NAMES
from hunchd.cli.agents import jsonc, toml, yaml
from hunchd.cli.agents.supported_agents import AGENTS
from hunchd.cli.main import main

ZED = """// Zed settings
{
  "theme": "One Dark", // nice at night
  /* servers of mine */
  "context_servers": {
    "docs": { "command": "docs-server" }, // keep
  },
}
"""
CLAUDE = """{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ]
  }
}
"""
CODEX = '# mine\nmodel = "o9"\n\n[mcp_servers.docs]\ncommand = "docs-server"\n'
AIDER = "dark-mode: true\nread:\n  - CONVENTIONS.md  # ours\nmodel: sonnet\n"


@pytest.fixture
def user() -> Path:
    """Home folder of a user with settings of every agent."""
    home = Path.home()
    for name, text in {
        ".config/zed/settings.json": ZED,
        ".claude/settings.json": CLAUDE,
        ".claude.json": '{"numStartups": 3, "mcpServers": {"docs": {"command": "d"}}}',
        ".codex/config.toml": CODEX,
        ".aider.conf.yml": AIDER,
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return home


def tree(home: Path) -> dict[str, bytes | None]:
    """Return every file with its content, and every folder."""
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


@pytest.mark.parametrize("agent", NAMES)
def test_uninstall_restores_settings_byte_for_byte(user: Path, agent: str) -> None:
    before = tree(user)

    assert main(["install", agent]) == 0
    installed = tree(user)
    assert installed != before
    assert main(["install", agent]) == 0
    assert tree(user) == installed
    assert main(["uninstall", agent]) == 0

    assert tree(user) == before


@pytest.mark.parametrize("agent", NAMES)
def test_uninstall_removes_created_files_and_folders(agent: str) -> None:
    Path.home().mkdir(parents=True)
    assert main(["install", agent]) == 0
    assert tree(Path.home())
    assert main(["uninstall", agent]) == 0
    assert tree(Path.home()) == {}
    assert main(["uninstall", agent]) == 0


@pytest.mark.parametrize("agent", NAMES)
def test_install_dry_run_shows_diff_only(user: Path, agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(user)

    assert main(["install", agent, "--dry-run"]) == 0

    shown = capsys.readouterr().out
    assert "hunch" in "".join(line for line in shown.splitlines() if line.startswith("+"))
    assert tree(user) == before


def test_uninstall_keeps_users_later_changes(user: Path) -> None:
    zed, claude, codex = (
        user / name for name in (".config/zed/settings.json", ".claude/settings.json", ".codex/config.toml")
    )
    for agent in ("zed", "claude-code", "codex"):
        assert main(["install", agent]) == 0
    zed.write_text(zed.read_text().replace("One Dark", "Gruvbox"))
    claude.write_text(claude.read_text().replace("opus", "sonnet"))
    codex.write_text(codex.read_text().replace("o9", "o10"))

    for agent in ("zed", "claude-code", "codex"):
        assert main(["uninstall", agent]) == 0

    assert zed.read_text() == ZED.replace("One Dark", "Gruvbox")
    assert claude.read_text() == CLAUDE.replace("opus", "sonnet")
    assert codex.read_text() == CODEX.replace("o9", "o10")


def test_reinstall_keeps_users_changes(user: Path) -> None:
    zed = user / ".config/zed/settings.json"
    assert main(["install", "zed"]) == 0
    zed.write_text(zed.read_text().replace("docs-server", "other-server"))
    assert main(["install", "zed"]) == 0
    assert main(["uninstall", "zed"]) == 0

    assert zed.read_text() == ZED.replace("docs-server", "other-server")


def test_uninstall_without_backups_removes_entries(user: Path, hunchd_home: Path) -> None:
    assert main(["install", "claude-code"]) == 0
    for kept in (hunchd_home / "state" / "agents" / "claude-code").iterdir():
        kept.unlink()
    assert main(["uninstall", "claude-code"]) == 0

    assert (user / ".claude/settings.json").read_text() == CLAUDE


def test_install_writes_absolute_command(user: Path, hunchd_home: Path) -> None:
    for agent in NAMES:
        assert main(["install", agent]) == 0

    def starts(entry: dict[str, Any]) -> bool:
        return (
            entry["args"][-1] == "mcp"
            and Path(entry["command"]).is_absolute()
            and (entry["env"]["HUNCHD_HOME"] == str(hunchd_home))
        )

    assert starts(json.loads((user / ".claude.json").read_text())["mcpServers"]["hunch"])
    assert starts(json.loads((user / ".cursor/mcp.json").read_text())["mcpServers"]["hunch"])
    assert starts(json.loads((user / ".gemini/settings.json").read_text())["mcpServers"]["hunch"])
    assert starts(tomllib.loads((user / ".codex/config.toml").read_text())["mcp_servers"]["hunch"])
    assert starts(jsonc.parse((user / ".config/zed/settings.json").read_text()).to_value()["context_servers"]["hunch"])
    hooks = json.loads((user / ".claude/settings.json").read_text())["hooks"]
    tool_hooks = {"PreToolUse", "PostToolUse", "PostToolUseFailure"}
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", *tool_hooks, "PreCompact", "Stop", "SessionEnd"}
    assert len(hooks["Stop"]) == 2


def test_install_unparsable_file_is_not_changed(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zed = user / ".config/zed/settings.json"
    zed.write_text('{"theme": ')

    assert main(["install", "zed"]) == 1

    assert zed.read_text() == '{"theme": '
    assert str(zed) in capsys.readouterr().err


def test_install_keeps_symlink_and_permissions(user: Path) -> None:
    real = user / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o600)
    link = user / ".gemini" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)

    assert main(["install", "gemini"]) == 0

    assert link.is_symlink()
    assert "hunch" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_agents_md_written_only_on_request(user: Path, repository: Path) -> None:
    page = repository / "AGENTS.md"
    page.write_text("# Rules\n\nBe kind.\n")

    assert main(["install", "zed"]) == 0
    assert page.read_text() == "# Rules\n\nBe kind.\n"
    for _ in range(2):
        assert main(["install", "--agents-md"]) == 0
        assert page.read_text().count("hunch context FILE") == 1
    assert main(["uninstall", "--agents-md"]) == 0

    assert page.read_text() == "# Rules\n\nBe kind.\n"


def test_agent_choices_match_supported_agents() -> None:
    assert tuple(agent.name for agent in AGENTS) == NAMES


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values=st.dictionaries(st.text(max_size=3), values, max_size=4), indent=st.sampled_from([None, 2, "\t"]))
def test_jsonc_put_changes_only_the_path(values: dict[str, Any], indent: Any) -> None:
    values.pop("servers", None)
    text = json.dumps(values, indent=indent, ensure_ascii=False)

    changed = jsonc.set_value(text, ("servers", "hunch"), {"args": ["mcp"]})

    assert json.loads(changed) == {**values, "servers": {"hunch": {"args": ["mcp"]}}}
    assert json.loads(jsonc.remove_member(changed, ("servers", "hunch"))) == values
    if values:
        assert jsonc.remove_member(changed, ("servers", "hunch")) == text


@pytest.mark.parametrize("text", ["{", '{"a" 1}', '{"a": 1} x', "[1 2]", "", '{"a": tru}', '{"a": [}'])
def test_jsonc_parse_invalid_text_raises(text: str) -> None:
    with pytest.raises(jsonc.InvalidJson):
        jsonc.parse(text)


@pytest.mark.parametrize(
    "text",
    ['{"a": {"x": 1,},}', '{\n  "a": {\n    // only this\n    "x": 1\n  }\n}\n', '{"a": {"x": "// no, a /* text"}}'],
)
def test_jsonc_keeps_comments_and_trailing_commas(text: str) -> None:
    changed = jsonc.set_value(text, ("a", "hunch"), 1)

    assert jsonc.parse(changed).to_value()["a"]["hunch"] == 1
    assert jsonc.remove_member(changed, ("a", "hunch")) == text


def test_jsonc_list_keeps_other_entries() -> None:
    text = '{"h": [1, 2]}'

    changed = jsonc.append_item(text, ("h",), 3)

    assert changed == '{"h": [1, 2, 3]}'
    assert jsonc.remove_items(changed, ("h",), lambda item: item == 3) == text
    assert jsonc.remove_items('{"h": [3]}', ("h",), lambda item: item == 3) == "{}"


def test_toml_remove_includes_subtables() -> None:
    text = CODEX + '\n[mcp_servers.hunch]\ncommand = "x"\n\n[mcp_servers.hunch.env]\nA = "b"\n\n[tui]\nx = 1\n'

    assert tomllib.loads(toml.remove_table(text, ("mcp_servers", "hunch"))) == tomllib.loads(CODEX + "\n[tui]\nx = 1\n")


def test_toml_inline_table_is_not_changed() -> None:
    with pytest.raises(toml.InvalidToml):
        toml.set_table('mcp_servers = { docs = { command = "x" } }\n', ("mcp_servers", "hunch"), {"command": "h"})


@pytest.mark.parametrize("text", ["", "a: 1\n", "read: [A.md, B.md]\n", "read:\n- A.md\nz: 1\n", AIDER])
def test_yaml_add_and_remove_round_trip(text: str) -> None:
    changed = yaml.add_entry(text, "read", "/home/ada/x.md")

    assert "/home/ada/x.md" in changed
    assert yaml.add_entry(changed, "read", "/home/ada/x.md") == changed
    assert yaml.remove_entry(changed, "read", "/home/ada/x.md") == text


@pytest.mark.parametrize("text", ["read: A.md\n", "read:\n    nested: 1\n"])
def test_yaml_unsupported_notation_raises(text: str) -> None:
    with pytest.raises(yaml.UnsupportedYaml):
        yaml.add_entry(text, "read", "x.md")
