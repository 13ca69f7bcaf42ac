"""Completion offers what the parsers accept, in every shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hunchd.cli.commands import COMMANDS
from hunchd.cli.main import main


@pytest.fixture
def completion_script(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", request.param]) == 0
    file = tmp_path / f"_hunch.{request.param}"
    file.write_text(capsys.readouterr().out)
    return file


def require_shell(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def complete_line(*argv: str) -> list[str]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split("\n")


def complete_in_bash(file: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    code = f". '{file}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hunch_complete; "
    code += "printf '%s\\n' \"${COMPREPLY[@]}\""
    return complete_line("bash", "--norc", "-c", code)


@require_shell("bash")
@pytest.mark.parametrize("completion_script", ["bash"], indirect=True)
def test_bash_completes_commands_options_and_values(completion_script: Path) -> None:
    assert complete_in_bash(completion_script, "hunch", "con")[0] == "context"
    assert "--budget" in complete_in_bash(completion_script, "hunch", "context", "--")
    assert complete_in_bash(completion_script, "hunch", "context", "--activity", "d")[0] == "debugging"
    assert complete_in_bash(completion_script, "hunch", "hooks", "un")[0] == "uninstall"


@require_shell("fish")
@pytest.mark.parametrize("completion_script", ["fish"], indirect=True)
def test_fish_completes_commands_options_and_values(completion_script: Path) -> None:
    def complete_words(line: str) -> list[str]:
        return [
            each.split("\t")[0]
            for each in complete_line("fish", "-N", "-c", f"source '{completion_script}'; complete -C '{line}'")
        ]

    assert {command.name for command in COMMANDS} <= set(complete_words("hunch "))
    assert "--budget" in complete_words("hunch context --")
    assert "debugging" in complete_words("hunch context --activity ")
    assert "uninstall" in complete_words("hunch hooks un")


@require_shell("zsh")
@pytest.mark.parametrize("completion_script", ["zsh"], indirect=True)
def test_zsh_accepts_completion_script(completion_script: Path) -> None:
    code = f"autoload -Uz compinit; compinit -D -u; . '{completion_script}'; print $_comps[hunch]"

    assert complete_line("zsh", "-f", "-c", code)[0] == "_hunch"
    text = completion_script.read_text()
    for command in COMMANDS:
        assert f"'{command.name}:" in text
        assert f"        {command.name}) _arguments" in text
