"""Completion offers what the parsers accept, in every shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hunchd.cli.commands import COMMANDS
from hunchd.cli.completion import FILES, list_offers
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
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    assert done.stderr == ""
    return done.stdout.split("\n")


def complete_in_bash(file: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    code = f". '{file}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hunch_complete; "
    code += "printf '%s\\n' \"${COMPREPLY[@]}\""
    return complete_line("bash", "--norc", "-c", code)


def list_words(*words: str) -> list[str]:
    return [offer for offer, _ in list_offers(words)]


def test_offers_cover_commands_verbs_options_values() -> None:
    assert {command.name for command in COMMANDS} < set(list_words(""))
    assert list_words("project", "") == ["list", "add", "remove"]
    assert "--wait" in list_words("project", "add", "--")
    assert list_words("predict", "-k", "")[0] == list_words("context", "")[0] == FILES
    assert "replay" in list_words("bench", "")
    assert "--activity" not in list_words("hooks", "")
    assert list_words("nonsense", "") == []


@require_shell("bash")
@pytest.mark.parametrize("completion_script", ["bash"], indirect=True)
def test_bash_completes_commands_options_and_values(completion_script: Path, tmp_path: Path) -> None:
    (tmp_path / "with space.py").touch()

    assert complete_in_bash(completion_script, "hunch", "con")[0] == "context"
    assert "--budget" in complete_in_bash(completion_script, "hunch", "context", "--")
    assert complete_in_bash(completion_script, "hunch", "context", "--activity", "d")[0] == "debugging"
    assert complete_in_bash(completion_script, "hunch", "hooks", "un")[0] == "uninstall"
    found = complete_in_bash(completion_script, "hunch", "context", f"{tmp_path}/with")
    assert found[0] == f"{tmp_path}/with space.py"


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
def test_zsh_offers_commands_with_summaries(completion_script: Path) -> None:
    code = f"autoload -Uz compinit; compinit -D -u; . '{completion_script}'; print $_comps[hunch]; "
    code += "_describe() { print -l -- ${(P)2} }; words=(hunch context --activity ''); CURRENT=4; _hunch; "
    code += "words=(hunch pre); CURRENT=2; _hunch"

    lines = complete_line("zsh", "-f", "-c", code)

    assert lines[0] == "_hunch"
    assert "debugging" in lines
    assert "predict:which files come next after FILE, or for a task" in lines
