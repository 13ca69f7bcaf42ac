"""The commands that tie hunchd to git, shells and the system; a part of the table in `commands`."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser
from typing import Final

from hunchd.cli.command import DAEMON, RUN, TOOLS, Command

SHELLS: Final = ("bash", "zsh", "fish")
MANAGERS: Final = ("systemd", "launchd")


def _hooks(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "uninstall", "status"), help="what to do with them")
    parser.add_argument("path", nargs="?", default=".", metavar="DIR", help="the repository (default: where you are)")
    parser.add_argument("--everywhere", action="store_true", help="uninstall: from every repository that has them")


def _run(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs=REMAINDER, metavar="COMMAND", help="with its arguments, as you would give it")


def _shell(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which one you use")


def _service(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "uninstall", "status"), help="what to do with it")
    parser.add_argument("--dry-run", action="store_true", help="install: print what would be written, change nothing")
    parser.add_argument("--manager", choices=MANAGERS, help="default: the one this system has")


def _error(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="with the error's text (default: standard input)")
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one you are in)")


SYSTEM_COMMANDS: Final = (
    Command(
        "hooks",
        TOOLS,
        "let git tell of commits, checkouts, merges, rewrites",
        "Puts a few lines of shell into four of the repository's hooks, beside whatever is there: git then tells\n"
        "hunchd what happened, also while no daemon runs. They take milliseconds and never stop git. core.hooksPath,\n"
        "husky, pre-commit, lefthook, linked working trees and submodules are respected; a file that the repository\n"
        "itself tracks is left alone. uninstall leaves every file as it was found.",
        f"{RUN}.hooks:hooks",
        _hooks,
        ("hunch hooks install", "hunch hooks status ~/src/flask", "hunch hooks uninstall --everywhere"),
        asks_daemon=False,
    ),
    Command(
        "run",
        TOOLS,
        "run a command; if it fails, its error is remembered",
        "Runs a command as if it had been started alone: same output, exit code, terminal, signals. When it fails,\n"
        "the end of what it said becomes an error that shows where you work; when it passes again, the error goes and\n"
        "what was changed in between is kept as its fix. No daemon is needed meanwhile, none is started.\n"
        "All that it prints is the command's own; there is nothing to print as JSON. `hunch search` finds the error.",
        f"{RUN}.running.run:run",
        _run,
        ("hunch run -- pytest -x", "hunch run -- cargo test"),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "error",
        TOOLS,
        "what is known of an error that you paste",
        "Reads an error's text, from a file or standard input, keeps it as one that was seen, and prints what it is,\n"
        "what mended it before, and the files it most likely concerns.",
        f"{RUN}.pasted:error",
        _error,
        ("hunch error trace.txt",),
    ),
    Command(
        "shell-init",
        TOOLS,
        "let your shell tell which commands failed",
        "Prints what makes a shell tell hunchd of each command that ended: the command line, its exit code, how long\n"
        "it took and where. No output is read. Only commands inside git working trees count, while the daemon runs;\n"
        "one that begins with a space is not told, and [shell] private_folders names folders to keep out of.",
        f"{RUN}.shells:shell_init",
        _shell,
        (
            'hunch shell-init bash  # in ~/.bashrc:  eval "$(hunch shell-init bash)"',
            "hunch shell-init fish  # in config.fish:  hunch shell-init fish | source",
        ),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "completion",
        TOOLS,
        "complete hunch's own commands with Tab",
        "Prints the completion of every command and option for a shell.",
        f"{RUN}.completion:completion",
        _shell,
        (
            "hunch completion bash  # > ~/.local/share/bash-completion/completions/hunch",
            "hunch completion zsh   # > ~/.zfunc/_hunch, with that folder in $fpath",
            "hunch completion fish  # > ~/.config/fish/completions/hunch.fish",
        ),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "service",
        DAEMON,
        "have the system start it and watch over it",
        "Under systemd: a user unit that is started on the first request (and at login), restarted when it hangs.\n"
        "Under launchd: an agent. Without it nothing is lost: any command starts the daemon.",
        f"{RUN}.service:service",
        _service,
        ("hunch service install", "hunch service install --dry-run", "hunch service status"),
        asks_daemon=False,
    ),
)
