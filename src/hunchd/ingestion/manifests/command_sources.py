"""Extraction of commands from CI workflows, task files, and code in documentation pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch, translate
from typing import Final, NamedTuple

from hunchd.ingestion.manifests.commands import (
    ASSIGNMENT,
    CI_WEIGHT,
    DEFAULT_WEIGHT,
    GUIDE_WEIGHT,
    README_WEIGHT,
    Command,
    make_commands,
    rate_task,
)

_RUN: Final = re.compile(r"^([ \t]*)(?:-[ \t]+)?(?:run|script|cmd|test_script|build_script):[ \t]*(.*)$")
_QUOTED: Final = re.compile(r"^([\"'])(.*)\1$")
# Parameter of a checkout that fetches another repository than the project's own.
_OTHER_REPOSITORY: Final = re.compile(r"^\s*repository:\s*[\"']?[\w.-]+/[\w.-]+")
_FOLDER: Final = re.compile(r"^\s*(?:-\s+)?working-directory:\s*[\"']?(?:\./)?([\w./-]+?)/?[\"']?\s*$")
_STEP: Final = re.compile(r"^\s*-\s")
_EXPRESSION: Final = re.compile(r"\$\{\{.*?\}\}|\$\{?\w+\}?|%\w+%")
_TRAILING_EXPRESSIONS: Final = re.compile(r"(?:\s+[\"']?\$\{\{[^}]*\}\}[\"']?)+$")
_JOINT: Final = re.compile(r"\s*(?:&&|\|\||;|\|)\s*")
# Names of workflows that check nothing, but publish, deploy, label or answer.
_NO_CHECK: Final = re.compile(
    r"release|publish|deploy|stale|lock|label|nightly|canary|cron|backport|website|citgm|update|bench|size|"
    r"docker",
    re.I,
)
_DEVELOPING: Final = re.compile(
    r"develop|contribut|test|build|hack|compil|from source|lint|format|style|running|set.?up|documentation|workflow|"
    r"verify",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)\s*([\w+-]*)")
_SHELL: Final = frozenset(("", "sh", "bash", "shell", "console", "shell-session", "zsh", "text", "shellsession", "cmd"))
_SPAN: Final = re.compile(r"`([^`\n]{3,90})`")
_HEADING: Final = re.compile(r"^(?:#{1,6}|={1,6})\s+(.+?)\s*#*$")
_ITEM_START: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


class _TaskFile(NamedTuple):
    """Kind of file that defines named tasks, such as a Makefile.

    `task` is a pattern for a task definition, whose group is the name of the task; `program` runs the tasks.
    """

    name: str
    program: str
    task: re.Pattern[str]


_TASK_FILES: Final = tuple(
    _TaskFile(name, program, re.compile(pattern, re.MULTILINE))
    for name, program, pattern in (
        ("Makefile", "make", r"^([A-Za-z][\w.-]*)\s*:(?![=:])"),
        ("GNUmakefile", "make", r"^([A-Za-z][\w.-]*)\s*:(?![=:])"),
        ("[Jj]ustfile", "just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)"),
        ("Taskfile.y*ml", "task", r"^  ([A-Za-z][\w:-]*):"),
        ("tox.ini", "tox -e", r"^\[testenv:([\w-]+)\]"),
        ("pyproject.toml", "tox -e", r"^\[tool\.tox\.env\.([\w-]+)\]"),
        ("noxfile.py", "nox -s", r"@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)"),
        ("pyproject.toml", "poe", r"^\[tool\.poe\.tasks\.([\w-]+)"),
        ("Rakefile", "rake", r"^\s*(?:RSpec::Core::RakeTask\.new\(|task[ (]|RuboCop::RakeTask\.new\()?:(\w+)\b"),
        ("mix.exs", "mix", r"^\s+\"?([a-z][\w.]*)\"?:\s*\[\s*\""),
    )
)
# Commands that work in any project with such a manifest, unless its pages say otherwise.
_DEFAULTS: Final = {
    "Cargo.toml": ("cargo test", "cargo build"),
    "go.mod": ("go test ./...", "go build ./..."),
    "Package.swift": ("swift test", "swift build"),
    "mix.exs": ("mix test",),
    "build.sbt": ("sbt test",),
    "pom.xml": ("mvn test",),
    "gradlew": ("./gradlew test", "./gradlew build"),
}

_TASK_FILE_NAME: Final = re.compile("|".join(translate(one.name) for one in _TASK_FILES))


def has_tasks(path: str) -> bool:
    """Return True if a file defines named tasks or implies well-known commands.

    Its name alone decides: `Cargo.toml`, for example, implies the commands that are typed in every Rust project.
    """
    name = path.rpartition("/")[2]
    return name in _DEFAULTS or _TASK_FILE_NAME.match(name) is not None


def read_commands(path: str, text: str, tasks: Sequence[str] = ()) -> Iterator[Command]:
    """Yield the commands found in a manifest, task file or CI workflow.

    `tasks` are the paths of the project; a lock file among them tells which package manager is used.
    """
    folder, _, name = path.rpartition("/")
    if path.startswith(".github/workflows/") or name in (".gitlab-ci.yml", "appveyor.yml", ".travis.yml"):
        if not _NO_CHECK.search(name):
            yield from _read_workflow(path, text)
    elif name in ("package.json", "composer.json", "deno.json"):
        yield from _read_scripts(path, text, folder, tasks)
    else:
        yield from make_commands(_DEFAULTS.get(name, ()), DEFAULT_WEIGHT, path, folder)
        for one in _TASK_FILES:
            if fnmatch(name, one.name):
                for task in dict.fromkeys(one.task.findall(text)):
                    yield from make_commands([f"{one.program} {task}"], rate_task(task), path, folder)


def find_package_manager(paths: Sequence[str]) -> str:
    """Return the package manager that runs the scripts in `package.json`.

    The lock file among `paths` determines it; without one, it is npm.
    """
    names = frozenset(paths)
    lock_files = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
    return next((program for file, program in lock_files if file in names), "npm")


def _read_scripts(path: str, text: str, folder: str, tasks: Sequence[str]) -> Iterator[Command]:
    try:
        manifest = json.loads(text)
        scripts = [str(name) for name in manifest.get("scripts", {})]
        manager = str(manifest.get("packageManager", "")).partition("@")[0]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return
    if path.endswith("composer.json"):
        program = "composer"
    elif path.endswith("deno.json"):
        program = "deno task"
    else:
        program = manager or find_package_manager(tasks)
    for name in scripts:
        run = "" if program in ("yarn", "composer", "deno task") or (name == "test" and program != "bun") else "run "
        yield from make_commands([f"{program} {run}{name}"], rate_task(name), path, folder)


def _read_workflow(path: str, text: str) -> Iterator[Command]:
    """Yield the commands that the steps of a workflow run.

    Commands that depend on variables of the workflow are skipped, and so are jobs that check out another repository.
    """
    lines = text.splitlines()
    for at, line in enumerate(lines):
        match = _RUN.match(line)
        if match is None or _has_checked_out_other(lines, at):
            continue
        block = [_QUOTED.sub(r"\2", match[2].strip())]
        if match[2].strip()[:1] in ("|", ">", ""):
            block = list(_take_block(lines[at + 1 :], len(match[1])))
        folder = _find_folder(lines, at)
        for one in _join_continued(block):
            for part in _JOINT.split(one):
                plain = ASSIGNMENT.sub("", _TRAILING_EXPRESSIONS.sub("", part), count=1)
                if not _EXPRESSION.search(plain) and not folder.startswith("."):
                    yield from make_commands([plain], CI_WEIGHT, path, folder)


def _has_checked_out_other(lines: Sequence[str], at: int) -> bool:
    """Return True if an earlier step of the job that line `at` belongs to checks out another repository."""
    for line in reversed(lines[:at]):
        if line.strip() == "steps:":
            return False
        if _OTHER_REPOSITORY.match(line):
            return True
    return False


def _take_block(lines: Sequence[str], indent: int) -> Iterator[str]:
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return
        yield re.sub(r"^\s*-\s+", "", line).strip()


def _join_continued(lines: Sequence[str]) -> Iterator[str]:
    joined = ""
    for line in lines:
        joined = f"{joined} {line}".strip()
        if joined.endswith("\\"):
            joined = joined[:-1].strip()
        elif joined:
            yield joined
            joined = ""


def _find_folder(lines: Sequence[str], at: int) -> str:
    """Return the working directory of the workflow step at line index `at`.

    Returns "" if it is the root of the project.
    """
    begin = next((i for i in range(at, -1, -1) if _STEP.match(lines[i])), at)
    end = next((i for i in range(at + 1, len(lines)) if _STEP.match(lines[i])), len(lines))
    folders = [match[1] for line in lines[begin:end] if (match := _FOLDER.match(line))]
    return folders[0] if folders and folders[0] != "." else ""


def read_page_commands(path: str, text: str, *, is_readme: bool = False) -> Iterator[Command]:
    """Yield the commands on a page for contributors.

    Commands are lines of shell code, and code spans in sentences. In a readme, only the sections about development
    are read; the others are for users.
    """
    weight = README_WEIGHT if is_readme else GUIDE_WEIGHT
    heading, language, in_fence = "", "", False
    lines = text.splitlines()
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence:
            in_fence, language = not in_fence, fence[1].lower()
            continue
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if not in_fence and (_HEADING.match(line) or (line.strip() and re.fullmatch(r"([=~^-])\1{2,}\s*", following))):
            heading = line
        if is_readme and not _DEVELOPING.search(heading):
            continue
        if in_fence or (line.startswith(("    ", "\t")) and not _ITEM_START.match(line)):
            if not in_fence or language in _SHELL:
                yield from make_commands(_JOINT.split(line.strip()), weight, path)
        elif not is_readme or _SPAN.search(line):
            spans = _SPAN.findall(line.replace("``", "`"))
            yield from make_commands((span for span in spans if " " in span or "/" in span), weight - 0.2, path)
