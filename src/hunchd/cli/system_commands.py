"""Definitions of the commands that connect hunchd to git, shells and the system.

The table in `commands` includes them.
"""

from __future__ import annotations

from argparse import REMAINDER
from typing import Final

from hunchd.cli.command import COMMANDS_PACKAGE, DAEMON_GROUP, TOOLS_GROUP, Command, argument

SHELLS: Final = ("bash", "zsh", "fish")
MANAGERS: Final = ("systemd", "launchd")
INSTALL_ACTION: Final = argument(
    "action", nargs="?", default="status", choices=("install", "uninstall", "status"), help="default: status"
)


SYSTEM_COMMANDS: Final = (
    Command(
        "hooks",
        TOOLS_GROUP,
        "let git report commits, checkouts, merges, rewrites",
        "Adds a few lines of shell to four of the repository's hooks, beside existing ones: git then reports events\n"
        "to hunchd, even while no daemon runs. They take milliseconds and never stop git. core.hooksPath, husky,\n"
        "pre-commit, lefthook, linked working trees and submodules are supported; a file that the repository itself\n"
        "tracks is not changed. uninstall restores every file.",
        f"{COMMANDS_PACKAGE}.hooks:hooks",
        (
            INSTALL_ACTION,
            argument(
                "path", nargs="?", default=".", metavar="DIR", help="the repository (default: the current folder)"
            ),
            argument(
                "--everywhere",
                action="store_true",
                help="uninstall: remove the hooks from every repository that has them",
            ),
        ),
        ("hunch hooks install", "hunch hooks status ~/src/flask", "hunch hooks uninstall --everywhere"),
        asks_daemon=False,
    ),
    Command(
        "run",
        TOOLS_GROUP,
        "run a command; if it fails, record its error",
        "Runs a command transparently: same output, exit code, terminal, signals. When it fails, the end of its\n"
        "output is recorded as an error that appears in your context; when it passes again, the error is cleared and\n"
        "the changes in between are recorded as its fix. No daemon is needed or started meanwhile.\n"
        "All output is the command's own; there is nothing to print as JSON. `hunch search` finds the error.",
        f"{COMMANDS_PACKAGE}.running.run:run",
        (argument("words", nargs=REMAINDER, metavar="COMMAND", help="the command with its arguments"),),
        ("hunch run -- pytest -x", "hunch run -- cargo test"),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "error",
        TOOLS_GROUP,
        "show what is known about a pasted error",
        "Reads an error's text, from a file or standard input, records it, and prints what it is, what fixed it\n"
        "before, and the files it most likely concerns.",
        f"{COMMANDS_PACKAGE}.error_command:error",
        (
            argument("file", nargs="?", metavar="FILE", help="file with the error's text (default: standard input)"),
            argument("--project", metavar="DIR", help="the project (default: the one you are in)"),
        ),
        ("hunch error trace.txt",),
    ),
    Command(
        "shell-init",
        TOOLS_GROUP,
        "let your shell report which commands failed",
        "Prints shell code that reports each command that ended: the command line, its exit code, duration and\n"
        "folder. No output is read. Commands are reported only inside git working trees and while the daemon runs;\n"
        "those that begin with a space, or run below [shell] private_folders, are not.",
        f"{COMMANDS_PACKAGE}.shells:shell_init",
        (argument("shell", choices=SHELLS, help="your shell"),),
        (
            'hunch shell-init bash  # in ~/.bashrc:  eval "$(hunch shell-init bash)"',
            "hunch shell-init fish  # in config.fish:  hunch shell-init fish | source",
        ),
        prints_data=False,
        asks_daemon=False,
    ),
    Command(
        "completion",
        TOOLS_GROUP,
        "complete hunch's own commands with Tab",
        "Prints the completion of every command and option for a shell.",
        f"{COMMANDS_PACKAGE}.completion:completion",
        (argument("shell", choices=SHELLS, help="your shell"),),
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
        DAEMON_GROUP,
        "let the system start and supervise the daemon",
        "With systemd: a user unit that is started on the first request (and at login) and restarted when it hangs.\n"
        "With launchd: an agent. Optional: any command starts the daemon anyway.",
        f"{COMMANDS_PACKAGE}.service:service",
        (
            INSTALL_ACTION,
            argument(
                "--dry-run", action="store_true", help="install: print what would be written without changing anything"
            ),
            argument("--manager", choices=MANAGERS, help="service manager (default: the one this system has)"),
        ),
        ("hunch service install", "hunch service install --dry-run", "hunch service status"),
        asks_daemon=False,
    ),
)
