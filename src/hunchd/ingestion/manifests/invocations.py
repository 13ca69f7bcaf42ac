"""Commands that test a single file, and commands that run the hooks of pre-commit.

A single-test command contains `<file>`, `<folder>` or `<name>` for the path, the folder and the stem of the file
with the tests.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from hunchd.ingestion.manifests.commands import FEATURES_PATTERN
from hunchd.ingestion.manifests.tools import Statement, mentions, split_names

# Test tools with the arguments that select one file; the first that a command names counts.
_SINGLE: Final = (
    *((tool, "<file>") for tool in split_names(
        "pytest, rspec, phpunit, pest, vitest run, jest, ava, mocha, bun test, deno test, node --test, "
        "hatch test, mix test, flutter test, dart test"
    )),
    ("vitest", "run <file>"),
    ("go test", "<folder>"),
    ("swift test", "--filter <name>"),
    ("dotnet test", "--filter <name>"),
    ("mvn test", "-Dtest=<name>"),
    ("mvnw test", "-Dtest=<name>"),
    ("gradlew test", "--tests '*<name>'"),
    ("cargo test", "--test <name>"),
)  # fmt: skip
# Task runners take further words for tasks or for their own options, and Android has a task for each variant.
_NO_FILE_ARGUMENT: Final = re.compile(
    r"(?:make|just|task|tox|nox|invoke|inv|poe|rake|npm (?:run|test)|hatch run|mise) "
)
_WORDS: Final = r"(?:[A-Z_][A-Z0-9_]*=\S+ )*(?:[\w./+:=-]+ )*?(?:[\w./-]+/)?"
_KEPT_OPTIONS: Final = r"(?: -(?:race|v|short)(?=\s|$))*"
SINGLE_PATTERN: Final = re.compile(r"; one: `([^`]+)`")
_CHECKS: Final = frozenset({"lint", "format", "types"})


def state_invocation(statement: Statement, hooks: str, single: str) -> Statement:
    """Replace tools that pre-commit runs with the commands that run them, and append the command for a single test.

    `hooks` names the hooks of pre-commit. A tool that only a manifest names stays a name, because nobody knows with
    which options the project runs it.
    """
    value = statement.value
    if value.startswith("pre-commit: "):
        return replace(statement, value=f"`pre-commit run --all-files`{value.removeprefix('pre-commit')}")
    if statement.key in _CHECKS and "`" not in value:
        names = (tool.replace(" ", "-") for tool in split_names(re.sub(r"(?: \(|, \w+ quotes).*", "", value)))
        commands = [f"`pre-commit run {name} --all-files`" for name in names if mentions(hooks, name)]
        value = ", ".join(commands) or value
    return replace(statement, value=f"{value}; one: `{single}`" if single and statement.key == "tests" else value)


def derive_single_test(line: str) -> str:
    """Return the command that tests a single file, given a command line that runs a test tool on all of them.

    Returns "" if the line does not name a tool that takes a file, or runs it through a task runner.
    """
    if _NO_FILE_ARGUMENT.match(line):
        return ""
    for tool, arguments in _SINGLE:
        if call := re.match(rf"({_WORDS}{re.escape(tool)}{_KEPT_OPTIONS})(?= |$)", line):
            features = FEATURES_PATTERN.search(line) if tool == "cargo test" else None
            return f"{call[1]}{features[0] if features else ''} {arguments}"
    return ""


def fill_single_test(command: str, file: str) -> str:
    """Insert `file` into a single-test command.

    Returns "" if such a command cannot select the tests in that file.
    """
    folder, _, name = file.rpartition("/")
    stem = name.partition(".")[0]
    if ("cargo" in command and folder != "tests") or ".test-d." in name:  # a compiler checks tests of types
        return ""
    if "gradlew" in command or "mvn" in command:  # the folder of a source set has the name of its task
        module, separator, below = f"/{file}".rpartition("/src/")
        if not separator or (task := below.partition("/")[0]) == "main":
            return ""
        module = module.strip("/")
        project = f":{module.replace('/', ':')}:" if module else ""
        command = command.replace("gradlew test", f"gradlew {project}{task}")
        command = command.replace(" test -D", f" test -pl {module} -D") if module else command
    return command.replace("<file>", file).replace("<folder>", f"./{folder}".rstrip("/")).replace("<name>", stem)
