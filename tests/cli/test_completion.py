"""Tab offers what the parsers take, in every shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hunchd.cli.commands import COMMANDS
from hunchd.cli.main import main


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", request.param]) == 0
    file = tmp_path / f"_hunch.{request.param}"
    file.write_text(capsys.readouterr().out)
    return file


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def asked(*argv: str) -> list[str]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split("\n")


def offered_by_bash(file: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    code = f". '{file}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hunch_complete; "
    code += "printf '%s\\n' \"${COMPREPLY[@]}\""
    return asked("bash", "--norc", "-c", code)


@needs("bash")
@pytest.mark.parametrize("written", ["bash"], indirect=True)
def test_bash_offers_commands_then_their_options_and_the_values_of_those(written: Path) -> None:
    assert offered_by_bash(written, "hunch", "con")[0] == "context"
    assert "--budget" in offered_by_bash(written, "hunch", "context", "--")
    assert offered_by_bash(written, "hunch", "context", "--activity", "d")[0] == "debugging"
    assert offered_by_bash(written, "hunch", "hooks", "un")[0] == "uninstall"


@needs("fish")
@pytest.mark.parametrize("written", ["fish"], indirect=True)
def test_fish_offers_commands_then_their_options_and_the_values_of_those(written: Path) -> None:
    def offered(line: str) -> list[str]:
        return [each.split("\t")[0] for each in asked("fish", "-N", "-c", f"source '{written}'; complete -C '{line}'")]

    assert {command.name for command in COMMANDS} <= set(offered("hunch "))
    assert "--budget" in offered("hunch context --")
    assert "debugging" in offered("hunch context --activity ")
    assert "uninstall" in offered("hunch hooks un")


@needs("zsh")
@pytest.mark.parametrize("written", ["zsh"], indirect=True)
def test_zsh_takes_it_as_a_completion_of_hunch(written: Path) -> None:
    code = f"autoload -Uz compinit; compinit -D -u; . '{written}'; print $_comps[hunch]"

    assert asked("zsh", "-f", "-c", code)[0] == "_hunch"
    text = written.read_text()
    for command in COMMANDS:
        assert f"'{command.name}:" in text
        assert f"        {command.name}) _arguments" in text
