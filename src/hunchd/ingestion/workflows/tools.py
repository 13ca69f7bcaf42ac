"""Table of common tools: number of subcommand words, and placeholders for option values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConventions:
    """Command-line conventions of a tool.

    `subcommand_words` is the number of words after the program that name the action; `placeholder` replaces the other
    words that are not options.
    """

    subcommand_words: int = 1
    subcommand_groups: frozenset[str] = frozenset()  # first words that take a further subcommand
    placeholder: str = "<arg>"
    option_placeholders: Mapping[str, str] = field(
        default_factory=dict
    )  # option → placeholder for its value; "" keeps the value
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    literal_options: frozenset[str] = frozenset()  # options whose short values are kept
    takes_targets: bool = False  # every bare word is a target
    takes_branches: bool = False
    glued_secret_options: tuple[str, ...] = ()  # options directly followed by a secret


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
SHELL_KEYWORDS: Final = frozenset(
    {"do", "then", "else", "if", "elif", "while", "until", "!", "{", "time", "begin", "and", "or", "not"}
)
NON_COMMANDS: Final = frozenset(
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
VERBOSITY_OPTIONS: Final = frozenset(
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
COMMON_PLACEHOLDERS: Final[Mapping[str, str]] = {
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

_PACKAGE_PLACEHOLDER: Final = "<package>"
_CARGO_VALUES: Final = dict.fromkeys(
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
_KNOWN_TOOLS: Final[tuple[tuple[str, ToolConventions], ...]] = (
    (
        "git",
        ToolConventions(
            subcommand_groups=frozenset({"stash", "remote", "worktree", "submodule", "bisect", "lfs", "flow"}),
            takes_branches=True,
            placeholder="<branch>",
            option_placeholders=_GIT_VALUES,
            aliases={"-am": ("-a", "-m"), "-ma": ("-a", "-m")},
        ),
    ),
    (
        "gh glab",
        ToolConventions(
            subcommand_words=2, option_placeholders={"-t": "<text>", "-b": "<text>", "-R": "<name>", "-r": "<name>"}
        ),
    ),
    (
        "npm pnpm yarn bun deno",
        ToolConventions(
            subcommand_groups=frozenset({"run", "run-script", "version", "workspaces", "workspace", "task"}),
            placeholder=_PACKAGE_PLACEHOLDER,
            option_placeholders={"-w": "<name>", "--workspace": "<name>", "--filter": "<name>", "-C": "<path>"},
        ),
    ),
    (
        "cargo",
        ToolConventions(
            placeholder="<name>", option_placeholders={**_CARGO_VALUES, "-j": "<n>", "--manifest-path": "<path>"}
        ),
    ),
    (
        "go",
        ToolConventions(
            subcommand_groups=frozenset({"mod", "work", "tool"}),
            option_placeholders={
                "-run": "<expr>",
                "-bench": "<expr>",
                "-o": "<path>",
                "-tags": "<name>",
                "-C": "<path>",
            },
        ),
    ),
    (
        "pytest py.test",
        ToolConventions(
            subcommand_words=0,
            placeholder="<path>",
            option_placeholders={"-k": "<expr>", "-m": "<expr>", "-n": "<n>", "-p": "", "-c": "<path>", "-W": ""},
        ),
    ),
    (
        "python python3 py",
        ToolConventions(subcommand_words=0, option_placeholders={"-m": "", "-c": "<code>", "-X": "", "-W": ""}),
    ),
    (
        "pip pip3",
        ToolConventions(
            placeholder=_PACKAGE_PLACEHOLDER, option_placeholders={"-r": "<path>", "-e": "<path>", "-c": "<path>"}
        ),
    ),
    (
        "uv",
        ToolConventions(
            subcommand_groups=frozenset({"pip", "tool", "python", "cache"}),
            placeholder=_PACKAGE_PLACEHOLDER,
            option_placeholders={"--group": "", "--extra": "", "-p": "<version>"},
        ),
    ),
    ("poetry pdm brew apt apt-get dnf composer", ToolConventions(placeholder=_PACKAGE_PLACEHOLDER)),
    ("conda mamba", ToolConventions(placeholder=_PACKAGE_PLACEHOLDER, option_placeholders={"-n": "<name>"})),
    ("tox", ToolConventions(option_placeholders={"-e": "<env>", "-c": "<path>"})),
    ("nox", ToolConventions(subcommand_words=0, option_placeholders={"-s": "", "-e": "", "--session": "", "-t": ""})),
    ("hatch flask", ToolConventions(subcommand_words=2)),
    ("twine", ToolConventions(placeholder="<path>")),
    ("pre-commit lefthook", ToolConventions(subcommand_words=2, placeholder="<name>")),
    (
        "make gmake",
        ToolConventions(
            subcommand_words=0, takes_targets=True, option_placeholders={"-C": "<path>", "-f": "<path>", "-j": "<n>"}
        ),
    ),
    (
        "gradle gradlew mvn mvnw ant",
        ToolConventions(subcommand_words=0, takes_targets=True, option_placeholders={"-pl": "<name>", "-f": "<path>"}),
    ),
    ("just", ToolConventions(option_placeholders={"-f": "<path>"})),
    ("task rake mage manage.py django-admin rails bundle mix", ToolConventions()),
    (
        "docker podman",
        ToolConventions(
            subcommand_groups=frozenset({"compose", "container", "image", "volume", "network", "system", "buildx"}),
            placeholder="<name>",
            option_placeholders=_DOCKER_VALUES,
        ),
    ),
    ("docker-compose", ToolConventions(placeholder="<name>", option_placeholders=_DOCKER_VALUES)),
    (
        "kubectl",
        ToolConventions(
            subcommand_groups=frozenset({"rollout", "config", "create", "get", "describe", "delete", "set", "top"}),
            placeholder="<name>",
            option_placeholders=_KUBECTL_VALUES,
        ),
    ),
    (
        "helm",
        ToolConventions(placeholder="<name>", option_placeholders={"-n": "<name>", "-f": "<path>", "--set": "<value>"}),
    ),
    ("terraform tofu", ToolConventions(placeholder="<name>", option_placeholders={"-target": "<name>"})),
    ("aws", ToolConventions(subcommand_words=2)),
    ("gcloud", ToolConventions(subcommand_words=3)),
    ("systemctl", ToolConventions(placeholder="<name>")),
    ("journalctl", ToolConventions(subcommand_words=0, option_placeholders={"-u": "<name>", "-n": "<n>"})),
    ("service which", ToolConventions(subcommand_words=0, placeholder="<name>")),
    (
        "alembic",
        ToolConventions(subcommand_groups=frozenset({"upgrade", "downgrade"}), option_placeholders={"-m": "<msg>"}),
    ),
    ("ruff", ToolConventions(placeholder="<path>", option_placeholders={"--select": "<arg>"})),
    ("tsc", ToolConventions(subcommand_words=0, option_placeholders={"-p": "<path>"})),
    (
        "cd ls ll la cat bat less more head tail vim vi nvim nano emacs code rm cp mv mkdir touch open tree diff chmod "
        "source . tar du pushd z stat wc sh bash zsh node scp rsync black isort mypy pyright prettier eslint gofmt "
        "goimports flake8 pylint rustfmt clang-format",
        ToolConventions(subcommand_words=0, placeholder="<path>"),
    ),
    ("grep rg ag man echo printf", ToolConventions(subcommand_words=0, placeholder="<text>")),
    (
        "find fd",
        ToolConventions(subcommand_words=0, placeholder="<path>", option_placeholders={"-name": "<expr>", "-type": ""}),
    ),
    ("kill", ToolConventions(subcommand_words=0, placeholder="<n>")),
    (
        "ssh",
        ToolConventions(subcommand_words=0, placeholder="<host>", option_placeholders={"-i": "<path>", "-p": "<port>"}),
    ),
    (
        "curl",
        ToolConventions(subcommand_words=0, placeholder="<url>", option_placeholders={**_CURL_VALUES, "-o": "<path>"}),
    ),
    ("wget http", ToolConventions(subcommand_words=0, placeholder="<url>")),
    (
        "psql",
        ToolConventions(
            subcommand_words=0,
            placeholder="<name>",
            option_placeholders={"-c": "<text>", "-d": "<name>", "-U": "<name>", "-h": "<host>", "-f": "<path>"},
        ),
    ),
    (
        "mysql mysqldump mariadb",
        ToolConventions(
            subcommand_words=0, placeholder="<name>", glued_secret_options=("-p",), option_placeholders=_SQL_VALUES
        ),
    ),
    (
        "sshpass",
        ToolConventions(
            subcommand_words=0,
            placeholder="<name>",
            glued_secret_options=("-p",),
            option_placeholders={"-p": "<secret>"},
        ),
    ),
    ("redis-cli", ToolConventions(option_placeholders={"-a": "<secret>", "-h": "<host>", "-p": "<port>"})),
)
_TOOLS: Final = {name: tool for names, tool in _KNOWN_TOOLS for name in names.split()}
_UNKNOWN_TOOL: Final = ToolConventions(subcommand_words=2)
# Placeholders for the option values of single commands …
OPTION_PLACEHOLDERS: Final[Mapping[str, Mapping[str, str]]] = {
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
ARGUMENT_PLACEHOLDERS: Final[Mapping[str, str]] = {
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


def find_tool(program: str) -> ToolConventions:
    """Return the conventions of a program.

    An unknown program is assumed to have up to two subcommand words.
    """
    return _TOOLS.get(program.rsplit("/", 1)[-1], _UNKNOWN_TOOL)
