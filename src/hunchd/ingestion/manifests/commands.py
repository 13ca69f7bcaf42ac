"""Commands that a developer types for each purpose, such as running the tests or building.

They are classified by their program or task name, and ranked by the files in which they were found. A command may
come from any page or workflow, so only commands of known programs with plain arguments are kept.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hunchd.ingestion.manifests.tools import TOOLS_BY_PURPOSE, Statement, count_files, find_languages

MAX_COMMAND: Final = 90  # characters
MAX_ARGUMENTS: Final = 12
MAX_BARE_WORDS: Final = 5  # arguments that are plain words; with more, the line is a sentence
MAX_LISTED: Final = 3  # commands for one purpose

# Weight of the evidence: a page for contributors, a task named exactly after the purpose, a CI workflow, and so on.
GUIDE_WEIGHT: Final = 3.0
TASK_WEIGHT: Final = 2.5
README_WEIGHT: Final = 2.2
CI_WEIGHT: Final = 2.0
VARIANT_PENALTY: Final = 0.4  # for a command that builds only one target or part
PART_WEIGHT: Final = 2.05  # a task such as `test:unit`
MIN_WEIGHT: Final = 1.0  # of a command that is kept
SIMILAR_TASK_WEIGHT: Final = 1.0  # a task whose name only contains the purpose
OTHER_WEIGHT: Final = 2.5  # from which a command without a known purpose is kept if it runs a project's task
PLACEHOLDER_PENALTY: Final = 1.5  # puts a command for one file after those for all

EVERYTHING: Final = "run everything"
ONE_TEST: Final = "one test"
OTHER: Final = "other commands"  # a task of the project that a page for contributors names
MAX_OTHER: Final = 6
_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TOOLS: Final = {purpose: {tool for tool in tools if " " not in tool} for purpose, tools in TOOLS_BY_PURPOSE}
_TASK_NAMES: Final[tuple[tuple[str, frozenset[str]], ...]] = tuple(
    (purpose, frozenset({*" ".join(names).split(), *_TOOLS.get(purpose, ())})) for purpose, *names in _TABLE["tasks"]
)
_RUNNERS: Final = re.compile("".join(_TABLE["runners"]))
_OTHER_PURPOSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (purpose, re.compile("".join(parts))) for purpose, *parts in _TABLE["patterns"]
)
_IGNORED_TASKS, _IGNORED_ENDS = (frozenset(_TABLE[key].split()) for key in ("ignored_tasks", "ignored_ends"))
_WRAPPER: Final = re.compile("".join(_TABLE["wrappers"]))
ASSIGNMENT: Final = re.compile(r"(?:[A-Z_][A-Z0-9_]*=[\w./:,@+=-]*\s+)+")
_ARGUMENT: Final = re.compile(r"[\w@%+=:,./*?\[\]{}'\"<>^~#-]+")
_BARE_WORD: Final = re.compile(r"[A-Za-z]+$")
_PLACEHOLDER: Final = re.compile("".join(_TABLE["placeholders"]))
_EXAMPLE_FILE: Final = re.compile("".join(_TABLE["example_files"]))
_OPTION_OF_FILE: Final = re.compile(r"--[\w-]*(?:manifest|config|project|path)[\w-]*[= ]<file>")  # not of a test
# A command that rewrites what the tests expect, that only an unstable compiler accepts, that tests one folder of Go, or
# of which a page leaves out a part.
_UNFIT: Final = re.compile(
    r"\b\w*(?:UPDATE|BLESS|OVERWRITE)\w*=|=overwrite\b|^(?!.*\+nightly).* -Z[ \w]|^go test(?: -\S+)*$| \.{3,}(?= |$)"
)
_PROJECT_TASK: Final = re.compile("".join(_TABLE["project_tasks"]))
# Script of the project whose name says what it is for.
_SCRIPT: Final = re.compile(
    r"(?:(?:\./)?(?:scripts?|bin|dev|ci|hack|tools?)/|\./)(?P<task>[\w-]+)(?:\.(?:sh|py|ps1))?$"
)
_SHELL: Final = re.compile(r"^(?:ba|z)?sh (?=\./)")
_VARIANT: Final = re.compile("".join(_TABLE["variants"]))
_PARTIAL: Final = re.compile(r"cargo test (?:--doc|--no-run)\b")
# Options without which cargo leaves out the code that depends on features.
FEATURES_PATTERN: Final = re.compile(
    r"(?<!--no-default-features) --(?:all-features|features[ =](?:\"[^\"]*\"|[^\s`]+))(?!.*--no-default)"
)
_RUN: Final = re.compile(r"^(npm|pnpm|yarn|composer|hatch|pdm) run ")  # `bun test` and `deno test` are not `… run test`
_PROPERTY: Final = re.compile(r" -[DP][\w.]+(?:=\S*)?")
_CHECK_FLAG: Final = re.compile("".join(_TABLE["check_flags"]))
_NO_OUTPUT: Final = re.compile(r"^(dart format) (?:--output|-o)[= ]none")
_COMMENT: Final = re.compile(r"\s+(?:#\s|\d?>>?\s).*$")  # or redirected output


@dataclass(frozen=True, slots=True)
class Command:
    """Command for a purpose, with the file that contains it.

    `weight` says how strong the evidence from that file is.
    """

    purpose: str
    line: str
    weight: float
    path: str
    part: str = ""  # folder in which it is run

    @property
    def language(self) -> str:
        """Return the programming language of the command's program.

        Returns "" if the program is not specific to a language.
        """
        return next(iter(find_languages(self.line)), "")


def make_commands(lines: Iterable[str], weight: float, path: str, part: str = "") -> Iterator[Command]:
    """Yield the commands among `lines` that have a known purpose.

    `weight` is the strength of the evidence from the file at `path`; a command that is only a variant gets a lower
    weight. If the evidence is strong, other tasks of the project are also yielded, with the purpose OTHER.
    """
    for line in lines:
        command = clean_command(line)
        purpose = classify_command(command) if command else ""
        if not purpose and weight >= OTHER_WEIGHT and _PROJECT_TASK.match(command):
            purpose = OTHER
        weight_here = weight - _rate_inexactness(command, purpose)
        if purpose and weight_here >= MIN_WEIGHT:
            penalty = VARIANT_PENALTY if _VARIANT.search(command) else 0.0
            penalty += PLACEHOLDER_PENALTY if _PARTIAL.search(command) else 0.0
            single = _EXAMPLE_FILE.sub("<file>", command)
            if _PLACEHOLDER.search(command) and purpose == "tests" and not _OPTION_OF_FILE.search(single):
                purpose, command = ONE_TEST, single
            elif _PLACEHOLDER.search(command):
                penalty += PLACEHOLDER_PENALTY
            yield Command(purpose, command, weight_here - penalty, path, part)


def _rate_inexactness(command: str, purpose: str) -> float:
    """Return a penalty for a task that is not named exactly after its purpose.

    The penalty is small for `test:unit` and `test:types`, and large for `fooTest`. It is 0 for commands that run no
    named task.
    """
    form = _WRAPPER.sub("", command, count=1) if _WRAPPER.match(command) else command
    runner = _RUNNERS.match(form)
    names = dict(_TASK_NAMES).get(purpose, frozenset())
    if runner is None or classify_task(runner["task"]) != purpose or runner["task"].lower() in names:
        return 0.0
    task = runner["task"].lower()
    parts = [*task.split(":"), re.split(r"[^a-z]+", runner["task"].lstrip(":"))[0]]  # `ktlintCheck` is ktlint's
    return 1.5 if names.isdisjoint(parts) else 0.3


def clean_command(line: str) -> str:
    """Return a command line without its prompt and comment.

    Returns "" if the arguments of the command are not plain, or if the command is too long.
    """
    command = " ".join(_COMMENT.sub("", re.sub(r"^\s*[$>%❯]\s+", "", line)).split()).rstrip("\\;").strip()
    command = _NO_OUTPUT.sub(r"\1", _CHECK_FLAG.sub(r"\1", _SHELL.sub("", command)))
    arguments = command.split(" ")
    is_plain = (
        0 < len(command) <= MAX_COMMAND
        and not (command.endswith((" --version", " --help", " -h", " -V")) or _UNFIT.search(command))
        and "://" not in command  # a link, such as those of reStructuredText
        and len(arguments) <= MAX_ARGUMENTS
        and all(map(_ARGUMENT.fullmatch, arguments))
        and sum(map(bool, map(_BARE_WORD.fullmatch, arguments[1:]))) <= MAX_BARE_WORDS
    )
    return command if is_plain else ""


def classify_command(command: str) -> str:
    """Return the purpose of a command, or "" if it is unknown."""
    rest = ASSIGNMENT.sub("", command, count=1) if ASSIGNMENT.match(command) else command
    for form in dict.fromkeys((rest, _WRAPPER.sub("", rest, count=1) if _WRAPPER.match(rest) else rest)):
        for purpose, pattern in _OTHER_PURPOSES:
            if pattern.match(form):
                return str(purpose)
        if (runner := _RUNNERS.match(form)) and (purpose := classify_task(runner["task"])):
            return purpose
        if (script := _SCRIPT.match(form.split(" ")[0])) and (purpose := classify_task(script["task"])):
            return purpose
        program = form.split(" ")[0].rpartition("/")[2]
        for purpose, names in (TOOLS_BY_PURPOSE[2], TOOLS_BY_PURPOSE[3], TOOLS_BY_PURPOSE[1], TOOLS_BY_PURPOSE[0]):
            if any(form == name or form.startswith(f"{name} ") or program == name for name in names):
                return purpose
    return ""


def classify_task(name: str) -> str:
    """Return the purpose that a task's name states.

    Returns "" if the name states no known purpose.
    """
    words = [word for word in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()) if word]
    if not words or words[0] in _IGNORED_TASKS or words[-1] in _IGNORED_ENDS:
        return ""
    whole = "".join(words)
    return next(
        (
            purpose
            for purpose, names in _TASK_NAMES
            if whole in names or name.lower() in names or not (purpose == EVERYTHING or names.isdisjoint(words))
        ),
        "",
    )


def rate_task(name: str) -> float:
    """Return the weight of a task.

    It is highest if the task is named exactly after a purpose. It is lower if only a part of the name is, as
    `types` in `test:types`.
    """
    names = {name for _, names in _TASK_NAMES for name in names}
    return (
        TASK_WEIGHT
        if name.lower() in names
        else SIMILAR_TASK_WEIGHT
        if names.isdisjoint(name.lower().split(":"))
        else PART_WEIGHT
    )


def choose_commands(
    commands: Iterable[Command], files_by_language: Mapping[str | None, int]
) -> Iterator[tuple[Statement, str, str, str]]:
    """Yield (statement, path, part, language) for each purpose, folder and language.

    The statement lists the best commands, and `path` is the file with the strongest evidence for the first of them.
    A command found in several files ranks a little higher. `language` is "" for the main language of the project;
    commands that are not specific to a language, such as those run by `make`, are listed with the main language.
    """
    groups: dict[tuple[str, str], list[Command]] = {}
    for command in commands:
        groups.setdefault((command.part, command.purpose), []).append(command)
    for (part, purpose), group in groups.items():
        weights, files = Counter[str](), Counter[str]()
        for one in group:
            if one.language:
                weights[one.language] += round(10 * one.weight)
                files[one.language] = count_files(one.line, files_by_language)
        languages = sorted(weights, key=lambda one: (-files[one], -weights[one]))
        main = next(iter(languages), "")
        for language in languages or ("",):
            own = [one for one in group if one.language == language or (language == main and not one.language)]
            value, best = _render_best(own, MAX_OTHER if purpose == OTHER else MAX_LISTED)
            origins = {one.path: None for one in sorted(own, key=lambda one: -one.weight) if f"`{one.line}`" in value}
            yield (
                Statement(purpose, value, min(1.0, 0.55 + best.weight / 8), tuple(origins)),
                best.path,
                part,
                "" if language == main else language,
            )


def _render_best(commands: Sequence[Command], limit: int) -> tuple[str, Command]:
    """Return the best commands, and the evidence for the first."""
    by_line: dict[str, list[Command]] = {}
    for command in commands:
        by_line.setdefault(_normalize(command.line), []).append(command)
    groups = sorted(by_line.values(), key=_rate)
    best = max(groups[0], key=lambda one: one.weight)
    least = (
        max(CI_WEIGHT + 0.1, best.weight - 1)
        if best.weight > CI_WEIGHT
        else CI_WEIGHT - (0.3 if best.weight < CI_WEIGHT else 0)
    )
    lines = [
        line
        for one in groups
        if (line := _get_line(one)) and (_is_strong(one, least) or f"{_get_line(groups[0])} ".startswith(f"{line} "))
    ]
    distinct = [line for at, line in enumerate(lines) if not any(_covers(one, line) for one in lines[:at])]
    chosen_lines = sorted(distinct[:limit], key=lambda line: _find_longer(line, distinct))
    return ", ".join(f"`{line}`" for line in chosen_lines), best


def _get_line(witnesses: Sequence[Command]) -> str:
    return max(witnesses, key=lambda each: (each.weight, -len(each.line))).line


def _is_strong(witnesses: Sequence[Command], least: float) -> bool:
    return max(each.weight for each in witnesses) >= least


def _covers(line: str, longer: str) -> bool:
    """Return True if `longer` adds arguments, but no features."""
    adds_features = FEATURES_PATTERN.search(longer) and not FEATURES_PATTERN.search(line)
    return longer.startswith(f"{line} ") and not adds_features


def _find_longer(line: str, lines: Sequence[str]) -> tuple[int, int]:
    """Return a key that sorts commands by rank.

    If `lines` contains a better command that only adds arguments to `line`, `line` takes its rank and comes before it.
    """
    return next(at for at, one in enumerate(lines) if f"{one} ".startswith(f"{line} ")), len(line)


def runs_other_tool(command: str, tools: str) -> bool:
    """Return True if a command neither runs a task of the project nor names one of `tools`."""
    names = re.findall(r"[\w-]+", tools)
    return not (_PROJECT_TASK.match(command.lstrip("`")) or any(name in command for name in names))


def merge_tools(command: str, tools: str) -> str:
    """Append the `tools` to a command, in parentheses.

    Nothing is appended if the command names a tool: `composer phpstan` does not run psalm.
    """
    names = re.sub(r" \([^)]*\)", "", tools)
    tool_names = {*names.split(", ")}.union(*(purpose_tools for _, purpose_tools in TOOLS_BY_PURPOSE))
    is_named = any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", command) for name in tool_names)
    return command if is_named else f"{command} ({names})"


def _rate(witnesses: list[Command]) -> tuple[float, int]:
    files = len({one.path for one in witnesses})
    line = witnesses[0].line
    return -max(one.weight for one in witnesses) - 0.2 * min(files - 1, 2), line.count(" -")


def _normalize(line: str) -> str:
    """Normalize a command for comparison with others.

    The wrapper of the command, its properties, the options after `--`, and the `run` of a script runner are removed.
    """
    form = _WRAPPER.sub("", line, count=1) if _WRAPPER.match(line) else line
    return _RUN.sub(r"\1 ", _PROPERTY.sub("", form).partition(" -- ")[0])
