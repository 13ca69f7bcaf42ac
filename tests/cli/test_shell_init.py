"""Shells report which commands ended and how, and otherwise behave unchanged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.shells import render_script
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol.signals import parse_signal
from tests.cli.terminal import Terminal, terminal

RC = {
    "bash": "PS1='~$ready~'\nHISTCONTROL=ignoreboth\nHISTFILE=\nPROMPT_COMMAND='seen=$?; ((++ready))'\n",
    "zsh": "setopt prompt_subst HIST_IGNORE_SPACE HIST_IGNORE_DUPS\nPS1='~$ready~'\nPROMPT_SP=\n"
    "precmd() { seen=$?; ((++ready)) }\n",
    "fish": "set -g ready 0\nset -g fish_greeting\n"
    "function tick --on-event fish_prompt; set ready (math $ready + 1); end\n"
    'function fish_prompt; set -g seen $status; echo -n "~$ready~"; end\n',
}


@pytest.fixture(
    params=[
        pytest.param(shell, marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed"))
        for shell in RC
    ]
)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / 'it\'s "mine"'
    (folder / ".git").mkdir(parents=True)
    return folder


@contextmanager
def start_shell(shell: str, folder: Path, *, private: tuple[str, ...] = (), daemon: bool = True) -> Iterator[Terminal]:
    """Start the shell with hunchd's lines in its settings; without a daemon if `daemon` is False."""
    where = resolve_app_paths()
    ensure_private_folder(where.spool)
    ensure_private_folder(where.runtime)
    if daemon:
        where.rendezvous_file.touch()
    home = ensure_private_folder(where.config)
    name = {"bash": "rc", "zsh": ".zshrc", "fish": "fish/config.fish"}[shell]
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_text(RC[shell] + render_script(shell, where, private))
    # Else fish begins by reading all manual pages, in the background.
    (home / ".local" / "share" / "fish" / "generated_completions").mkdir(parents=True, exist_ok=True)
    argv = {"bash": ["bash", "--noprofile", "--rcfile", str(home / "rc"), "-i"], "zsh": ["zsh", "-d", "-i"]}
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "XDG_CONFIG_HOME": str(home),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    with terminal(argv.get(shell, ["fish", "-i"]), folder=folder, environment=environment) as opened:
        yield opened


def read_lines() -> list[dict[str, Any]]:
    """Return the reports so far, each accepted by the daemon's parser."""
    file = resolve_app_paths().spool / "lines"
    found = [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []
    for raw in found:
        parse_signal(raw, now=datetime.now(UTC))
    return found


def commands() -> list[tuple[str, int]]:
    return [(one["command"], one["exit_code"]) for one in read_lines()]


def test_command_reported_with_status_duration_folder(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        prompt.run("sleep 0.2")
        prompt.run("sh -c 'exit 3'")

    assert commands() == [("sleep 0.2", 0), ("sh -c 'exit 3'", 3)]
    first = read_lines()[0]
    assert first["kind"] == "command_finished"
    assert first["duration_ms"] >= 190
    assert first["project"] == os.path.realpath(root)


def test_command_output_is_not_reported(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        assert "for your eyes" in prompt.run("echo for your\\ eyes")

    assert "for your eyes" not in (resolve_app_paths().spool / "lines").read_text()


def test_exit_status_is_preserved(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        prompt.run("sh -c 'exit 7'")
        assert "seen 7" in prompt.run("echo seen $seen")  # by what runs before the prompt, beside us
        prompt.run("false")
        answer = prompt.run("echo status $status" if shell == "fish" else "echo status $?")

    assert "status 1" in answer


def test_multiline_command_is_reported_once(shell: str, root: Path) -> None:
    quoted = 'echo "one \\\\ two\nthree"'
    with start_shell(shell, root) as prompt:
        prompt.run(*quoted.split("\n"))

    assert commands() == [(quoted, 0)]


def test_subshell_and_pipeline_reported_once_each(shell: str, root: Path) -> None:
    lines = ["begin; false; end"] if shell == "fish" else ["(cd / && false)", "for i in 1 2 3; do true; done"]
    lines += ["true | false", "sh -c 'sh -c false; exit 4'"]
    with start_shell(shell, root) as prompt:
        for line in lines:
            prompt.run(line)

    ended = [1] if shell == "fish" else [1, 0]
    assert commands() == list(zip(lines, [*ended, 1, 4], strict=True))


def test_repeated_command_is_reported_again(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        for _ in range(2):
            prompt.run("test -e done")
        prompt.run("touch done")
        prompt.run("test -e done")

    assert [code for command, code in commands() if command == "test -e done"] == [1, 1, 0]


def test_empty_and_space_prefixed_not_reported(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        prompt.run("true")
        prompt.run(" echo secret-word")
        prompt.run("")
        prompt.run("false")

    assert commands() == [("true", 0), ("false", 1)]


def test_outside_repository_and_private_not_reported(shell: str, root: Path, tmp_path: Path) -> None:
    private = tmp_path / "diary"
    (private / ".git").mkdir(parents=True)
    (private / "year").mkdir()
    (root / "way").symlink_to(private)
    with start_shell(shell, root, private=(str(private),)) as prompt:
        for folder in (str(tmp_path), str(private), str(private / "year")):
            prompt.run(f"cd {folder}")
            prompt.run("echo outside")
            prompt.run(f"cd '{tmp_path}'/it*")
        prompt.run("cd way")
        prompt.run("echo outside")

    assert "echo outside" not in [command for command, _ in commands()]
    assert "cd way" in [command for command, _ in commands()]


def test_nothing_reported_without_daemon(shell: str, root: Path) -> None:
    with start_shell(shell, root, daemon=False) as prompt:
        prompt.run("export TOKEN=abc")

    assert read_lines() == []


def test_lines_file_is_private_under_any_umask(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        prompt.run("umask 0002")
        prompt.run("true")
        assert "002" in prompt.run("umask")

    assert (resolve_app_paths().spool / "lines").stat().st_mode & 0o077 == 0


def test_long_command_is_one_bounded_line(shell: str, root: Path) -> None:
    with start_shell(shell, root) as prompt:
        prompt.run("true " + "é" * 1500)
        prompt.run("true \\\\ 'tab\\there' \"double\"")

    lines = (resolve_app_paths().spool / "lines").read_bytes().splitlines()
    assert all(len(line) <= 4096 for line in lines)
    assert read_lines()[0]["command"].startswith("true éé")
    assert read_lines()[1]["command"] == "true \\\\ 'tab\\there' \"double\""
