"""Table of common tools: subcommand lengths and option values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Command-line conventions of a tool.

    `words`: number of words after the program that name the action; `hole`: stands for other bare words.
    """

    words: int = 1
    more: frozenset[str] = frozenset()  # first words that take a further subcommand
    hole: str = "<arg>"
    values: Mapping[str, str] = field(default_factory=dict)  # option → placeholder for its value; "" keeps the value
    same_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    literal: frozenset[str] = frozenset()  # options whose short values are kept
    targets: bool = False  # every bare word is a target
    branches: bool = False
    glued: tuple[str, ...] = ()  # options directly followed by a secret


# Wrappers that are stripped from commands, each with its options that take a value.
WRAPPERS: Final[Mapping[str, frozenset[str]]] = {
    "sudo": frozenset({"-u", "-g", "-C", "-h", "-p"}),
    "doas": frozenset({"-u"}),
    "time": frozenset({"-f", "-o"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset(),
    "noglob": frozenset(),
    "env": frozenset({"-u", "-C"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "caffeinate": frozenset({"-t"}),
    "stdbuf": frozenset(),
    "xvfb-run": frozenset(),
}
# Commands that run another one in an environment: both are kept.
RUNNERS: Final = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("bundle", "exec"), ("npx",), ("bunx",), ("uvx",), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"),
    ("python", "-m"), ("python3", "-m"), ("docker", "compose", "exec"), ("docker", "compose", "run"), ("watch",),
)  # fmt: skip
INTERPRETERS: Final = frozenset(
    {"python", "python3", "py", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "deno", "bun"}
)
FEEDERS: Final = frozenset({"echo", "cat", "printf", "yes", "true", "ls", "find", "jq"})
BEFORE_COMMANDS: Final = frozenset(
    {"do", "then", "else", "if", "elif", "while", "until", "!", "{", "time", "begin", "and", "or", "not"}
)
NO_COMMANDS: Final = frozenset(
    {
        "for",
        "case",
        "select",
        "function",
        "done",
        "fi",
        "esac",
        "}",
        "[[",
        "[",
        "test",
        "end",
        "in",
        "((",
        "set",
        "export",
    }
)
SAYS_HOW_LOUD: Final = frozenset(
    {
        "-v",
        "-vv",
        "-vvv",
        "-q",
        "-qq",
        "--verbose",
        "--quiet",
        "--silent",
        "--color",
        "--no-color",
        "--colour",
        "--progress",
    }
)
SECRET_OPTION: Final = re.compile(
    r"(?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|credential|auth)\b|PASS|SECRET|TOKEN|_KEY\b",
    re.IGNORECASE,
)
COMMON_VALUES: Final[Mapping[str, str]] = {
    "--message": "<msg>",
    "--file": "<path>",
    "--output": "<path>",
    "--config": "<path>",
    "--cwd": "<path>",
    "--directory": "<path>",
    "--branch": "<branch>",
    "--title": "<text>",
    "--body": "<text>",
    "--name": "<name>",
    "--version": "<version>",
    "--port": "<n>",
    "--jobs": "<n>",
    "--timeout": "<n>",
}

_PACKAGES: Final = "<package>"
_VALUES_OF_CARGO: Final = dict.fromkeys(
    ("-p", "--package", "--test", "--bin", "--example", "--features", "--target"), "<name>"
)
_GIT_VALUES: Final = {"-C": "<path>", "-c": "<arg>", "--author": "<text>", "-n": "<n>", "--since": "<text>"}
_CURL_VALUES: Final = {"-u": "<secret>", "--user": "<secret>", "-H": "<header>", "-d": "<value>", "-X": ""}
_DOCKER_VALUES: Final = {
    "-t": "<name>", "--tag": "<name>", "-f": "<path>", "-p": "<port>", "-v": "<path>", "-e": "<value>", "-w": "<path>",
}  # fmt: skip
_KUBECTL_VALUES: Final = {
    "-n": "<name>", "--namespace": "<name>", "-f": "<path>", "--context": "<name>", "-l": "<expr>", "-o": "",
}  # fmt: skip
_SQL_VALUES: Final = {"-u": "<name>", "-h": "<host>", "-e": "<text>"}
# Conventions by program.
_KNOWN: Final[tuple[tuple[str, Tool], ...]] = (
    (
        "git",
        Tool(
            more=frozenset({"stash", "remote", "worktree", "submodule", "bisect", "lfs", "flow"}),
            branches=True,
            hole="<branch>",
            values=_GIT_VALUES,
            same_as={"-am": ("-a", "-m"), "-ma": ("-a", "-m")},
        ),
    ),
    ("gh glab", Tool(words=2, values={"-t": "<text>", "-b": "<text>", "-R": "<name>", "-r": "<name>"})),
    (
        "npm pnpm yarn bun deno",
        Tool(
            more=frozenset({"run", "run-script", "version", "workspaces", "workspace", "task"}),
            hole=_PACKAGES,
            values={"-w": "<name>", "--workspace": "<name>", "--filter": "<name>", "-C": "<path>"},
        ),
    ),
    ("cargo", Tool(hole="<name>", values={**_VALUES_OF_CARGO, "-j": "<n>", "--manifest-path": "<path>"})),
    (
        "go",
        Tool(
            more=frozenset({"mod", "work", "tool"}),
            values={"-run": "<expr>", "-bench": "<expr>", "-o": "<path>", "-tags": "<name>", "-C": "<path>"},
        ),
    ),
    (
        "pytest py.test",
        Tool(
            words=0,
            hole="<path>",
            values={"-k": "<expr>", "-m": "<expr>", "-n": "<n>", "-p": "", "-c": "<path>", "-W": ""},
        ),
    ),
    ("python python3 py", Tool(words=0, values={"-m": "", "-c": "<code>", "-X": "", "-W": ""})),
    ("pip pip3", Tool(hole=_PACKAGES, values={"-r": "<path>", "-e": "<path>", "-c": "<path>"})),
    (
        "uv",
        Tool(
            more=frozenset({"pip", "tool", "python", "cache"}),
            hole=_PACKAGES,
            values={"--group": "", "--extra": "", "-p": "<version>"},
        ),
    ),
    ("poetry pdm brew apt apt-get dnf composer", Tool(hole=_PACKAGES)),
    ("conda mamba", Tool(hole=_PACKAGES, values={"-n": "<name>"})),
    ("tox", Tool(values={"-e": "<env>", "-c": "<path>"})),
    ("nox", Tool(words=0, values={"-s": "", "-e": "", "--session": "", "-t": ""})),
    ("hatch flask", Tool(words=2)),
    ("twine", Tool(hole="<path>")),
    ("pre-commit lefthook", Tool(words=2, hole="<name>")),
    ("make gmake", Tool(words=0, targets=True, values={"-C": "<path>", "-f": "<path>", "-j": "<n>"})),
    ("gradle gradlew mvn mvnw ant", Tool(words=0, targets=True, values={"-pl": "<name>", "-f": "<path>"})),
    ("just", Tool(values={"-f": "<path>"})),
    ("task rake mage manage.py django-admin rails bundle mix", Tool()),
    (
        "docker podman",
        Tool(
            more=frozenset({"compose", "container", "image", "volume", "network", "system", "buildx"}),
            hole="<name>",
            values=_DOCKER_VALUES,
        ),
    ),
    ("docker-compose", Tool(hole="<name>", values=_DOCKER_VALUES)),
    (
        "kubectl",
        Tool(
            more=frozenset({"rollout", "config", "create", "get", "describe", "delete", "set", "top"}),
            hole="<name>",
            values=_KUBECTL_VALUES,
        ),
    ),
    ("helm", Tool(hole="<name>", values={"-n": "<name>", "-f": "<path>", "--set": "<value>"})),
    ("terraform tofu", Tool(hole="<name>", values={"-target": "<name>"})),
    ("aws", Tool(words=2)),
    ("gcloud", Tool(words=3)),
    ("systemctl", Tool(hole="<name>")),
    ("journalctl", Tool(words=0, values={"-u": "<name>", "-n": "<n>"})),
    ("service which", Tool(words=0, hole="<name>")),
    ("alembic", Tool(more=frozenset({"upgrade", "downgrade"}), values={"-m": "<msg>"})),
    ("ruff", Tool(hole="<path>", values={"--select": "<arg>"})),
    ("tsc", Tool(words=0, values={"-p": "<path>"})),
    (
        "cd ls ll la cat bat less more head tail vim vi nvim nano emacs code rm cp mv mkdir touch open tree diff chmod "
        "source . tar du pushd z stat wc sh bash zsh node scp rsync black isort mypy pyright prettier eslint gofmt "
        "goimports flake8 pylint rustfmt clang-format",
        Tool(words=0, hole="<path>"),
    ),
    ("grep rg ag man echo printf", Tool(words=0, hole="<text>")),
    ("find fd", Tool(words=0, hole="<path>", values={"-name": "<expr>", "-type": ""})),
    ("kill", Tool(words=0, hole="<n>")),
    ("ssh", Tool(words=0, hole="<host>", values={"-i": "<path>", "-p": "<port>"})),
    ("curl", Tool(words=0, hole="<url>", values={**_CURL_VALUES, "-o": "<path>"})),
    ("wget http", Tool(words=0, hole="<url>")),
    (
        "psql",
        Tool(
            words=0,
            hole="<name>",
            values={"-c": "<text>", "-d": "<name>", "-U": "<name>", "-h": "<host>", "-f": "<path>"},
        ),
    ),
    ("mysql mysqldump mariadb", Tool(words=0, hole="<name>", glued=("-p",), values=_SQL_VALUES)),
    ("sshpass", Tool(words=0, hole="<name>", glued=("-p",), values={"-p": "<secret>"})),
    ("redis-cli", Tool(values={"-a": "<secret>", "-h": "<host>", "-p": "<port>"})),
)
_TOOLS: Final = {name: tool for names, tool in _KNOWN for name in names.split()}
_OTHER: Final = Tool(words=2)
# Placeholders for the option values of single commands …
VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "git commit": {"-m": "<msg>", "-F": "<path>", "-C": "<id>"},
    "git tag": {"-m": "<msg>", "-a": "<version>", "-s": "<version>", "-d": "<version>"},
    "git stash": {"-m": "<msg>"},
    "git merge": {"-m": "<msg>"},
    "git checkout": {"-b": "<branch>", "-B": "<branch>"},
    "git switch": {"-c": "<branch>", "-C": "<branch>"},
    "git branch": {"-d": "<branch>", "-D": "<branch>", "-m": "<branch>"},
    "git worktree": {"-b": "<branch>"},
    "docker login": {"-p": "<secret>", "-u": "<name>"},
    "docker exec": {"-it": "<name>"},
}
# … and for their arguments.
OBJECTS: Final[Mapping[str, str]] = {
    "git add": "<path>",
    "git rm": "<path>",
    "git mv": "<path>",
    "git restore": "<path>",
    "git blame": "<path>",
    "git diff": "<path>",
    "git clone": "<url>",
    "git tag": "<version>",
    "git cherry-pick": "<id>",
    "git revert": "<id>",
    "git show": "<id>",
    "git stash": "<arg>",
    "git bisect": "<id>",
    "git checkout": "<branch>",
    "git switch": "<branch>",
    "git merge": "<branch>",
    "git rebase": "<branch>",
    "git branch": "<branch>",
    "git push": "<branch>",
    "git pull": "<branch>",
    "git fetch": "<branch>",
}


def tool(program: str) -> Tool:
    """Return the conventions of a program.

    Unknown ones have up to two subcommand words.
    """
    return _TOOLS.get(program.rsplit("/", 1)[-1], _OTHER)
