"""Commands that run the tools which manifests name, and commands that test a single file.

A manifest names a tool, such as rspec, but the command to type also depends on the lock file. A single-test command
contains `<file>`, `<folder>` or `<name>` for the path, the folder and the stem of the file with the tests.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from hunchd.ingestion.manifests.commands import FEATURES_PATTERN
from hunchd.ingestion.manifests.tools import Statement, mentions, split_names

# What is typed before a tool, by the first file that the project has; tools of other languages are typed alone.
_PREFIXES: Final = tuple(
    (tuple(tools.split()), tuple(tuple(pair.split("=")) for pair in pairs.split(", ")))
    for tools, pairs in (
        (
            "pytest ruff black isort flake8 mypy pyright basedpyright pyrefly pre-commit",
            "uv.lock=uv run , poetry.lock=poetry run , pdm.lock=pdm run , Pipfile.lock=pipenv run ",
        ),
        (
            "eslint oxlint biome xo prettier oxfmt dprint vitest jest mocha ava tsc vue-tsc",
            "pnpm-lock.yaml=pnpm exec , yarn.lock=yarn , bun.lock=bunx , bun.lockb=bunx , package.json=npx ",
        ),
        ("rspec ruby", "Appraisals=bundle exec appraisal , Gemfile=bundle exec "),
        ("rubocop", "Gemfile=bundle exec "),
        ("spotlessApply detekt", "gradlew=./gradlew "),
        ("phpunit pest phpstan psalm php-cs-fixer pint", "composer.json=vendor/bin/"),
    )
)
_GRADLE_TASKS: Final = frozenset({"spotlessApply", "detekt"})
_INSTALLERS: Final = frozenset({"npx ", "bunx ", "./gradlew "})  # run also what the project does not depend on
# What is typed for the whole project; a tool that is not listed needs arguments that only its users know.
_WHOLE: Final = (
    "pytest", "vitest run", "jest", "mocha", "ava", "rspec", "phpunit", "pest", "go test ./...", "cargo test",
    "mix test", "swift test", "flutter test", "dart test", "dotnet test", "sbt test",
    "ruff check", "flake8", "eslint .", "oxlint", "biome check", "xo", "cargo clippy", "golangci-lint run", "rubocop",
    "phpstan analyse", "psalm", "swiftlint", "mix credo",
    "ruff format", "black .", "isort .", "prettier --write .", "cargo fmt", "gofmt -w .", "php-cs-fixer fix", "pint",
    "mix format", "dart format .", "terraform fmt -recursive", "swiftformat .", "dotnet format",
    "spotlessApply", "detekt", "tox", "nox",
    "pyright", "basedpyright", "pyrefly check", "ty check", "tsc --noEmit", "mix dialyzer",
)  # fmt: skip
_OTHER_NAMES: Final = {
    "clippy": "cargo clippy", "rustfmt": "cargo fmt", "ruff-format": "ruff format", "credo": "mix credo",
    "dialyzer": "mix dialyzer", "spotless": "spotlessApply", "ty": "ty check",
}  # fmt: skip
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
_PURPOSES: Final = frozenset({"tests", "lint", "format", "types", "run everything"})


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Files and dependencies that decide which commands run a project's tools.

    `dependencies` is the text of the manifests that list the dependencies, and `hooks` contains the names of the
    pre-commit hooks.
    """

    files: Collection[str]
    dependencies: str = ""
    hooks: str = ""

    def state_invocation(self, statement: Statement, part: str = "", single: str = "") -> Statement:
        """Replace the tools in a statement with the commands that run them.

        A statement about tests also gets `single`, the command that tests one file, if the project shows one. The
        statement is returned unchanged if no command is known. A command that only a tool's name suggests is a guess,
        unless a hook runs the tool.
        """
        value, is_guess = statement.value, statement.is_guess
        if value.startswith("pre-commit: "):
            return replace(statement, value=f"`pre-commit run --all-files`{value.removeprefix('pre-commit')}")
        if statement.key in _PURPOSES and "`" not in value:
            tools = split_names(re.sub(r"(?: \(|, \w+ quotes).*", "", value))
            commands = ", ".join(dict.fromkeys(self._get_invocation(tool, part) for tool in tools))
            detail = re.search(r" \([^)]*\)$", value)
            value, is_guess = f"{commands}{detail[0] if detail else ''}", "`pre-commit run " not in commands
        value = f"{value}; one: `{single}`" if single and statement.key == "tests" else value
        return replace(statement, value=value, is_guess=is_guess)

    def _get_invocation(self, tool: str, part: str) -> str:
        """Return the command that runs a tool, in backticks.

        Returns the name of the tool if the command is unknown.
        """
        hook = tool.replace(" ", "-")
        if mentions(self.hooks, tool) or mentions(self.hooks, hook):
            return f"`pre-commit run {hook} --all-files`"
        name = _OTHER_NAMES.get(tool, tool)
        command = next((one for one in _WHOLE if one == name or one.startswith(f"{name} ")), "")
        prefix = self._find_prefix(command, part)
        return tool if not command or (command in _GRADLE_TASKS and not prefix) else f"`{prefix}{command}`"

    def _find_prefix(self, command: str, part: str) -> str:
        program = command.split(" ")[0]
        pairs = next((pairs for tools, pairs in _PREFIXES if program in tools), ())
        prefix = next((prefix for file, prefix in pairs if file in self.files or f"{part}/{file}" in self.files), "")
        return prefix if prefix in _INSTALLERS or program in self.dependencies else ""


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
