"""Extraction of commands from CI workflows, task files, and code in documentation pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import Final

from hunchd.ingestion.manifests.commands import (
    ASSIGNMENT,
    CI_WEIGHT,
    GUIDE_WEIGHT,
    ONE_TEST,
    PART_WEIGHT,
    README_WEIGHT,
    TASK_WEIGHT,
    Command,
    classify_task,
    clean_command,
    make_commands,
    rate_task,
)
from hunchd.ingestion.manifests.invocations import derive_single_test
from hunchd.ingestion.workflows.yaml_loader import InvalidYaml, load_yaml

UNKNOWN_FOLDER: Final = "$"  # in which an action runs, as its caller decides
CI_FOLDERS: Final = (".github/workflows/", ".github/actions/")
_SCRIPT_KEYS: Final = frozenset({"run", "script", "cmd", "test_script", "build_script"})
_NO_SHELL: Final = frozenset({"python", "pwsh", "powershell", "cmd", "node"})
_CHANGE_FOLDER: Final = re.compile(r"(?:[$>%]\s+)?cd\s+(?:\./)?(\w[\w./-]*?)/?$")
_EXPRESSION: Final = re.compile(r"\$\{\{.*?\}\}|\$\{?\w+\}?|%\w+%")
# Arguments that the workflow fills in: the value of an option, collected options, and what comes last.
_FILLED_IN: Final = re.compile(
    r"\s+--?[\w.-]+[= ][\"']?\$\{\{[^}]*\}\}[\"']?(?=\s|$)|\s+\$\{?[A-Z_]*(?:ARGS|OPTS|FLAGS)\}?(?=\s|$)|"
    r"(?:\s+[\"']?\$\{\{[^}]*\}\}[\"']?)+$"
)
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
_DISCOURAGED: Final = re.compile(  # a command that is named because it is not to be typed
    r"\b(?:instead of|rather than|do(?: not|n't|n’t)|never|avoid)(?: \w+){0,2} `[^`\n]*`", re.IGNORECASE
)
_HEADING: Final = re.compile(r"^(?:#{1,6}|={1,6})\s+(.+?)\s*#*$")
_ITEM_START: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")


# Files that define named tasks: name, program that runs them, and pattern for a task, whose group is its name.
_TASK_FILES: Final = tuple(
    (re.compile(translate(name)), program, re.compile(pattern, re.MULTILINE))
    for name, program, pattern in (
        ("*[Mm]akefile", "make", r"^([A-Za-z][\w.-]*)\s*:(?![=:])"),
        ("[Jj]ustfile", "just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)"),
        ("Taskfile.y*ml", "task", r"^  ([A-Za-z][\w:-]*):"),
        ("tox.ini", "tox -e", r"^\[testenv:([\w-]+)\]"),
        ("tox.toml", "tox -e", r"^\[env\.([\w-]+)\]"),
        ("pyproject.toml", "tox -e", r"^\[tool\.tox\.env\.([\w-]+)\]"),
        ("noxfile.py", "nox -s", r"@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)"),
        ("pyproject.toml", "poe", r"^\[tool\.poe\.tasks\.([\w-]+)"),
        ("Rakefile", "rake", r"^\s*(?:RSpec::Core::RakeTask\.new\(|task[ (]|RuboCop::RakeTask\.new\()?:(\w+)\b"),
        ("mix.exs", "mix", r"^\s+\"?([a-z][\w.]*)\"?:\s*(?:\[\s*[\"&]|&)"),
    )
)
# How a task is given the file to test: file, pattern whose group is the task, and command. The lines that a task runs
# are commands themselves.
_SINGLE_TESTS: Final = (
    (r"Rakefile", r"Rake::TestTask\.new(?:\(\s*[:\"']{1,2}(\w+))?", "rake {} TEST=<file>"),
    (r"Rakefile", r"RSpec::Core::RakeTask\.new()", "rspec <file>"),
    (
        r"noxfile\.py",
        r"@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)(?:(?!@nox)[\s\S])*?\"pytest\"[^)]*posargs",
        "nox -s {} -- <file>",
    ),
    (r"tox\.ini", r"^\[testenv\]\n(?:[^\[\n][^\n]*\n|\n)*?.*pytest[^\n]*\{posargs()", "tox -e py -- <file>"),
    (r"tox\.toml|pyproject\.toml", r"\"pytest\"[^#]*?posargs()", "tox -e py -- <file>"),
    (r".*[Mm]akefile|[Jj]ustfile", r"^(?:\t| {4})[@-]?(\S[^\n]*)$", "{}"),
)
_GEM_TASKS: Final = re.compile(r"bundler/gem_tasks|GemHelper\.install_tasks")
# A script of package.json that calls a test runner which takes the path of a file; the groups are its environment and
# its call. The paths and options after it that a single test does not need are removed.
_TEST_RUNNER: Final = re.compile(
    r"((?:[A-Z_]\w*=\S+\s+)*)(?:.*\s)?((?:vitest|jest|mocha|ava|tap)(?!.*--typecheck)(?:\s.*)?)$"
)
_PHP_RUNNER: Final = re.compile(r"(?:^|[/'\" ])(phpunit|pest)(?= |$|['\"])")
_TEST_PATHS: Final = re.compile(
    r"\s(?:\S*\*\S*|[\"']?(?:\./)?(?:tests?|specs?|src|__tests__)(?:/\S*)?(?=\s|$)|--?(?:watch|coverage)\b)"
)
_REWRITES: Final = re.compile(r"\b(?:prettier|oxfmt|biome|dprint)\b[^&|;]*\s(?:-w|--write|--fix|fmt)\b")
_LOCK_FILES: Final = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
_SCRIPT_RUNNERS: Final = {"npm": "npx", "pnpm": "pnpm exec", "bun": "bunx"}


def has_tasks(path: str) -> bool:
    """Return True if a file may define named tasks, going by its name."""
    return any(pattern.match(path.rpartition("/")[2]) for pattern, _, _ in _TASK_FILES)


def read_commands(path: str, text: str, tasks: Sequence[str] = ()) -> Iterator[Command]:
    """Yield the commands found in a manifest, task file or CI workflow.

    `tasks` are the paths of the project; a lock file among them shows which package manager is used.
    """
    folder, _, name = path.rpartition("/")
    if path.startswith(CI_FOLDERS) or name in (".gitlab-ci.yml", "appveyor.yml", ".travis.yml"):
        if not _NO_CHECK.search(name):
            yield from _read_workflow(path, text, tasks)
    elif name in ("package.json", "composer.json", "deno.json"):
        yield from _read_scripts(path, text, folder, tasks)
    else:
        prefix = "bundle exec " if name == "Rakefile" and "Gemfile" in tasks else ""
        for file, program, pattern in _TASK_FILES:
            for task in dict.fromkeys(pattern.findall(text) if file.match(name) else ()):
                yield from make_commands([f"{prefix}{program} {task}"], rate_task(task), path, folder)
        for single in _find_single_tests(name, text, prefix):
            yield Command(ONE_TEST, single, TASK_WEIGHT, path, folder)
        if name == "Rakefile" and _GEM_TASKS.search(text):
            yield Command("release", "bundle exec rake release", TASK_WEIGHT, path, folder)


def _find_single_tests(name: str, text: str, prefix: str) -> Iterator[str]:
    """Yield the commands that test a single file, as far as the tasks in a file allow it."""
    for file, pattern, command in _SINGLE_TESTS:
        if re.fullmatch(file, name):
            for match in re.finditer(pattern, text, re.MULTILINE):
                task = next(filter(None, match.groups()), "test")
                single = derive_single_test(clean_command(task)) if command == "{}" else command.format(task)
                yield from [f"{prefix}{single}"] if single else []


def _read_scripts(path: str, text: str, folder: str, tasks: Sequence[str]) -> Iterator[Command]:
    try:
        manifest = json.loads(text)
        scripts = {str(name): str(line) for name, line in manifest.get("scripts", {}).items()}
        manager = str(manifest.get("packageManager", "")).partition("@")[0]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return
    if path.endswith("composer.json"):
        program = "composer"
    elif path.endswith("deno.json"):
        program = "deno task"
    else:
        program = manager or next((one for file, one in _LOCK_FILES if file in tasks), "npm")
    for name, script in scripts.items():
        if program == "composer" and classify_task(name) == "tests" and (tool := _PHP_RUNNER.search(script)):
            yield Command(ONE_TEST, f"vendor/bin/{tool[1]} <file>", rate_task(name), path, folder)
        run = "" if program in ("yarn", "composer", "deno task") or (name == "test" and program != "bun") else "run "
        yield from make_commands([f"{program} {run}{name}"], rate_task(name), path, folder)
        if classify_task(name) == "tests" and path.endswith("package.json"):
            for match in filter(None, map(_TEST_RUNNER.match, _JOINT.split(script))):
                single = f"{match[1]}{_SCRIPT_RUNNERS.get(program, program)} {_TEST_PATHS.sub('', match[2])} <file>"
                yield Command(ONE_TEST, single, rate_task(name), path, folder)
        if _REWRITES.search(script):
            yield Command("format", f"{program} {run}{name}", PART_WEIGHT, path, folder)
        if name == "release":
            yield Command("release", f"{program} {run}{name}", TASK_WEIGHT, path, folder)


def _read_workflow(path: str, text: str, paths: Sequence[str]) -> Iterator[Command]:
    """Yield the commands that the steps of a workflow run.

    Commands that depend on variables of the workflow are skipped, and so are jobs that check out another repository.
    """
    try:
        scripts = list(_find_scripts(load_yaml(text), ""))
    except InvalidYaml:
        return
    for start, script in scripts:
        for folder, part in _follow_folders(_join_continued(script.splitlines()), start, paths):
            plain = ASSIGNMENT.sub("", _FILLED_IN.sub("", part), count=1)
            if not _EXPRESSION.search(plain):
                yield from make_commands([plain], CI_WEIGHT, path, folder)


def _follow_folders(lines: Iterable[str], folder: str, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the commands in lines of shell code, each with its working folder.

    If the code changes to a folder that contains one of `paths`, the commands after that run in this folder.
    """
    for line in lines:
        for part in _JOINT.split(line.strip()):
            if (match := _CHANGE_FOLDER.match(part)) and any(path.startswith(f"{match[1]}/") for path in paths):
                folder = match[1]
            yield folder, part


def _find_scripts(node: object, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the shell code in a CI document, each with its working folder."""
    if isinstance(node, list):
        for one in node:
            settings = one.get("with") if isinstance(one, dict) else None
            if isinstance(settings, dict) and "/" in str(settings.get("repository", "")):
                return  # the job works on another repository
            yield from _find_scripts(one, folder)
    if not isinstance(node, dict) or node.get("shell") in _NO_SHELL:
        return
    defaults = node.get("defaults")
    step = defaults.get("run") if isinstance(defaults, dict) else node
    own = step.get("working-directory") if isinstance(step, dict) else None
    folder = str(own).removeprefix("./").strip("/") if own else folder
    folder = "" if folder == "." else folder
    for key, value in node.items():
        lines = value if isinstance(value, list) else [value]
        if key in _SCRIPT_KEYS and all(isinstance(line, str) for line in lines):
            place = UNKNOWN_FOLDER if "$" in folder else folder
            yield from [] if folder.startswith(".") else [(place, "\n".join(lines))]
        else:
            yield from _find_scripts(value, folder)


def _join_continued(lines: Sequence[str]) -> Iterator[str]:
    whole = ""
    for line in lines:
        whole = f"{whole} {line}".strip()
        if whole.endswith("\\"):
            whole = whole[:-1].strip()
        elif whole:
            yield whole
            whole = ""


def read_page_commands(
    path: str, text: str, paths: Sequence[str] = (), *, is_readme: bool = False
) -> Iterator[Command]:
    """Yield the commands on a page for contributors.

    Commands are lines of shell code, and code spans in sentences. In a readme, only the sections about development
    are read; the other sections are for users. `paths` are the paths of the project.
    """
    weight = README_WEIGHT if is_readme else GUIDE_WEIGHT
    heading, language, in_fence, folder = "", "", False, ""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence:
            in_fence, language, folder = not in_fence, fence[1].lower(), ""
            continue
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if not in_fence and (_HEADING.match(line) or (line.strip() and re.fullmatch(r"([=~^-])\1{2,}\s*", following))):
            heading = line
        if is_readme and not _DEVELOPING.search(heading):
            continue
        if in_fence or (line.startswith(("    ", "\t")) and not _ITEM_START.match(line)):
            if not in_fence or language in _SHELL:
                for part_folder, part in _follow_folders([line], folder, paths):
                    folder = part_folder
                    yield from make_commands([part], weight, path, folder)
        elif not is_readme or _SPAN.search(line):
            spans = _SPAN.findall(_DISCOURAGED.sub("", line.replace("``", "`")))
            yield from make_commands((span for span in spans if " " in span or "/" in span), weight - 0.2, path)
