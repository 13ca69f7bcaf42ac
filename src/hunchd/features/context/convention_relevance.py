"""Selection of the conventions and instructions that apply to a file.

A part is a folder of the project that has its own conventions. A role is a type of file, such as code, test or
manifest, for which a convention is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from hunchd.domain.memory import Memory
from hunchd.ingestion import globs
from hunchd.ingestion.conventions import (
    AGENT_RULE_CONFIDENCE,
    get_globs,
    get_part,
    get_topic,
    is_manifest,
    is_on_demand,
    qualify_key,
    reaches,
)
from hunchd.ingestion.languages import detect_language
from hunchd.ingestion.manifests.invocations import SINGLE_PATTERN, fill_single_test
from hunchd.ingestion.manifests.tools import find_languages
from hunchd.prediction.file_table import CODE, DOCUMENT, TEST, classify_path
from hunchd.prediction.words import has_test_name

MAX_PARTS: Final = 4  # parts shown without a current file; with more, the bundle would be a list of folders
_RUNNER: Final = re.compile(r"^(?:bundle exec|npx|poetry run|uv run|pipenv run|python3? -m) ")
_COMMAND_PATTERN: Final = re.compile(r"`([^`]+)`")
# Roles of the files for which each convention, and each topic of a rule, is meant. "change" stands for work without a
# file: the uncommitted change, or a review; "project" stands for a question about the project. Versions, systems and
# options have no file roles: they were the same text for every file, and no reader used it (442 graded lines of five
# repositories).
_ROLES_BY_KEY: Final[Mapping[str, frozenset[str]]] = {
    key: frozenset(roles.split())
    for keys, roles in (
        ("tests, lint, format, types", "code test"),
        ("one test", "test"),
        ("indent", ""),  # editors read this setting themselves
        ("run everything", "code test change"),
        ("build, install, package manager", "manifest"),
        ("docs", "site"),
        ("benchmarks", "benchmark"),
        ("before a commit, commit messages, other commands", "change"),
        ("ci", "ci change"),
        ("release", "manifest changelog"),
        ("changelog", "code changelog change"),
    )
    for key in keys.split(", ")
}
_ROLES_BY_TOPIC: Final[Mapping[str, frozenset[str]]] = {
    topic: frozenset(roles.split())
    for topics, roles in (
        ("release", "manifest changelog"),
        ("changelog", "code changelog change"),
        ("commits, command", "change"),
        ("tests", "code test"),
        ("documentation", "docs change"),
        ("code, ", "code test"),
    )
    for topic in topics.split(", ")
}
_OTHER_ROLES: Final = frozenset({"project"})
_ALL_ROLES: Final = frozenset().union(*_ROLES_BY_KEY.values(), *_ROLES_BY_TOPIC.values(), _OTHER_ROLES)
_ABOUT_CODE_DOCS: Final = re.compile(
    r"docstring|versionchanged|versionadded|doc comment|javadoc|public|behaviou?r", re.I
)
_CI_FILE: Final = re.compile(r"^\.github/workflows/|(?:^|/)\.(?:gitlab-ci|travis|circleci)\b")
_CHANGELOG_FILE: Final = re.compile(r"(?:^|/)(?:changelog|changes|news|history|releas)[^/]*$", re.IGNORECASE)
_DEPENDENCY_LIST: Final = re.compile(r"(?:^|/)(?:requirements|constraints)(?:[^/]*|/[^/]*)\.(?:txt|in)$")
_DOCS_FOLDER: Final = re.compile(r"(?:^|/)docs?/")
_TEST_FOLDER: Final = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__)/")
_TESTS_OF_ANY_NAME: Final = (".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", ".mts", ".rs")  # other runners go by names
_BENCHMARK: Final = re.compile(r"bench", re.IGNORECASE)


# Language to which a line length applies, by the name of the file that states it.
_LANGUAGE_BY_MANIFEST: Final = {
    "pyproject.toml": "python",
    "setup.cfg": "python",
    "ruff.toml": "python",
    "rustfmt.toml": "rust",
    ".rustfmt.toml": "rust",
    ".prettierrc": "node",
    ".clang-format": "clang-format",
    ".scalafmt.conf": "scala",
}


@dataclass(frozen=True, slots=True)
class FileTests:
    """Tests of the current file: the file with them, if it is another one, and whether its folder has any."""

    own: str | None = None
    has_package: bool = False


NO_TESTS: Final = FileTests()


def find_roles(file: str | None, activity: str = "", open_files: Sequence[str] = ()) -> frozenset[str]:
    """Return the roles of `file`, which decide the conventions that apply to it.

    If `file` is None, the result contains the role "change" and the roles of the open files; without open files, it
    contains the roles project, change, code, test and manifest. If `activity` is "reviewing", the role "change" is
    added.
    """
    if file is None and open_files:
        return frozenset({"change"}).union(*map(find_roles, open_files))
    if file is None:
        return frozenset({"project", "change", "code", "test", "manifest"})
    traits = classify_path(file)
    is_dependency_list = bool(_DEPENDENCY_LIST.search(file))
    is_changelog = bool(_CHANGELOG_FILE.search(file))
    is_hidden = file.rpartition("/")[2].startswith(".")  # the settings of one tool
    found = {
        "changelog": is_changelog,
        # A document that is read only for its commands is not a manifest.
        "manifest": is_dependency_list
        or (is_manifest(file) and not (is_changelog or is_hidden or traits & DOCUMENT or _CI_FILE.search(file))),
        "docs": bool(traits & DOCUMENT) and not (is_changelog or is_dependency_list),
        "site": bool(_DOCS_FOLDER.search(file)),
        "test": bool(traits & TEST and traits & CODE),
        "benchmark": bool(_BENCHMARK.search(file)),
        "change": activity == "reviewing",
    }
    roles = {role for role, holds in found.items() if holds}
    return frozenset(roles | ({"code"} if traits & CODE and not roles & {"test", "docs"} else set()))


def _list_roles(fact: Memory) -> frozenset[str]:
    """Return the file roles that make a convention apply."""
    if _is_instruction(fact):
        topic = get_topic(fact)
        if not topic and is_for_agents(fact):
            return _ALL_ROLES  # such as how to answer
        roles = _ROLES_BY_TOPIC.get(topic, frozenset())
        if topic == "documentation" and _ABOUT_CODE_DOCS.search(fact.content):
            return frozenset({"code", "change"})
        return roles | {"code"} if topic == "documentation" and fact.confidence >= AGENT_RULE_CONFIDENCE else roles
    return _ROLES_BY_KEY.get(get_subject(fact), _OTHER_ROLES)


def is_for_agents(fact: Memory) -> bool:
    """Return True for a rule written for agents."""
    return _is_instruction(fact) and fact.confidence >= AGENT_RULE_CONFIDENCE


def says_where(fact: Memory) -> bool:
    """Return True if the page of a rule names the files that it applies to."""
    return _is_instruction(fact) and bool(get_part(fact) or get_globs(fact) or is_on_demand(fact))


def names_file(fact: Memory, file: str | None) -> bool:
    """Return True for a rule that mentions the name of `file`."""
    name = (file or "").rpartition("/")[2]
    return bool(name and _is_instruction(fact) and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", fact.content))


def _configures(file: str | None, fact: Memory) -> bool:
    """Return True if `file` is named after a tool that a command runs, as `.rubocop.yml` and `jest.config.js` are."""
    name = (file or "").rpartition("/")[2].lower().lstrip(".")
    tool = re.sub(r"rc$|[-_]config$", "", name.partition(".")[0])
    if len(tool) < 3 or (classify_path(file or "") & (CODE | DOCUMENT) and ".config." not in name):
        return False
    if not is_convention(fact) or get_subject(fact) == "ci":
        return False
    return bool(re.search(rf"`[^`]*\b{re.escape(tool)}\b[^`]*`", fact.value or ""))


def select_relevant_facts(
    facts: Iterable[Memory], file: str | None, open_files: Sequence[str] = (), activity: str = ""
) -> list[Memory]:
    """Return the facts that are relevant for `file`.

    If `file` is None, the facts for the open files are returned. The result contains no conventions or instructions
    for other parts or files, no conventions of the whole project that are overridden by a part containing the file,
    and no conventions for a different language.
    """
    roles = find_roles(file, activity, open_files)
    holds = _build_applies_predicate((file,) if file is not None else open_files)
    here = [
        fact
        for fact in facts
        if (
            holds(fact)
            if _is_instruction(fact)
            else _is_part_of_path(get_part(fact), file) and (file is None or reaches(fact, file))
        )
        and (
            not is_from_project(fact)
            or (
                fact.source.get("path") != file
                and (says_where(fact) or names_file(fact, file) or _configures(file, fact) or roles & _list_roles(fact))
            )
        )
    ]
    part_names = {get_part(fact) for fact in here if get_part(fact)}
    if file is None and len(part_names) > MAX_PARTS:
        here, part_names = [fact for fact in here if not get_part(fact)], set()
    own = {fact.key for fact in here if get_part(fact)} if file is not None else set()
    return [
        fact
        for fact in here
        if not is_convention(fact)
        or (
            _is_useful_for_file(fact, file) and not any(qualify_key(part, fact.key or "") in own for part in part_names)
        )
    ]


def narrow_tests(text: str, fact: Memory, file: str | None, tests: FileTests = NO_TESTS) -> str:
    """Put a command that tests only `file` before the command for all tests.

    Returns `text` without its command for a single file if it is not known how the test tool runs that file.
    """
    single = SINGLE_PATTERN.search(fact.value or "") if is_from_project(fact) else None
    if single is None or file is None:
        return text
    subject, file, is_package = ("its tests" if tests.own else "this file"), tests.own or file, "<folder>" in single[1]
    part = f"{get_part(fact)}/" if get_part(fact) else ""
    is_testable = file.startswith(part) and (tests.has_package if is_package else _is_runnable_test(file))
    command = fill_single_test(single[1], file.removeprefix(part)) if is_testable else ""
    everything = SINGLE_PATTERN.sub("", fact.value or "")
    if not command:
        return f"{fact.key}: {everything}"
    where = f"{f' in {part}' if part else ''} for {'this package' if is_package else subject}"
    return f"{fact.key}: `{command}`{where}" + (f"; all: {everything}" if "`" in everything else "")


def _is_runnable_test(file: str) -> bool:
    """Return True unless a runner finds no test in `file`."""
    if file.endswith("_helper.rb"):  # `spec_helper.rb` is loaded by tests
        return False
    return has_test_name(file) or bool(_TEST_FOLDER.search(file) and file.endswith(_TESTS_OF_ANY_NAME))


def tells_enough(fact: Memory, text: str) -> bool:
    """Return True if `text`, shown for a file, says more than a tool's name.

    It has a command to type, the steps of a release, or the place of an entry in the change log.
    """
    return not is_convention(fact) or "`" in text or "→" in text or get_subject(fact) == "changelog"


def get_subject(fact: Memory) -> str:
    """Return the key of a convention without the name of its part."""
    return (fact.key or "").partition(" in ")[0]


def list_convention_commands(facts: Iterable[Memory]) -> frozenset[str]:
    """Return the commands that conventions name, normalized: `make test`, `pnpm lint`."""
    values = (fact.value or "" for fact in facts if fact.category == "convention")
    return frozenset(normalize_command(command) for value in values for command in _COMMAND_PATTERN.findall(value))


def is_repeated_command(sentence: str, shown_commands: Collection[str]) -> bool:
    """Return True if a sentence only repeats commands that are already shown."""
    commands = _COMMAND_PATTERN.findall(sentence)
    return bool(commands) and all(normalize_command(command) in shown_commands for command in commands)


def normalize_command(command: str) -> str:
    """Remove the runner from a command, so that equal commands compare equal.

    `pnpm run lint` becomes `pnpm lint`, `bundle exec rake test` becomes `rake test`.
    """
    return _RUNNER.sub("", command).replace(" run ", " ", 1)


def is_from_project(fact: Memory) -> bool:
    """Return True for conventions and instructions from the project's files."""
    return fact.source.get("type") == "convention" and fact.category in ("convention", "instruction")


def is_convention(fact: Memory) -> bool:
    """Return True for a statement from a manifest, such as the test command."""
    return fact.category == "convention" and fact.source.get("type") == "convention"


def get_depth(fact: Memory) -> int:
    """Return a measure of how deep in the folder tree a fact applies.

    Returns 0 if the fact applies everywhere.
    """
    glob_patterns = get_globs(fact)
    return len(get_part(fact)) + (
        1 + min(len(globs.common_folder(one)) for one in glob_patterns) if glob_patterns else 0
    )


def _is_instruction(fact: Memory) -> bool:
    return fact.category == "instruction"


def _build_applies_predicate(at_hand: Sequence[str]) -> Callable[[Memory], bool]:
    """Return a predicate that is True for instructions that apply to `at_hand`.

    An instruction for a part of the project, or for files that match glob patterns, applies only there. An
    on-demand instruction always passes, because its words decide later whether it is shown.
    """

    @cache  # most rules yield several facts with the same patterns
    def matches_globs(part: str, glob_patterns: tuple[str, ...]) -> bool:
        below = [path for path in at_hand if _is_part_of_path(part, path)]
        inside = [path.removeprefix(f"{part}/") for path in below] if part else []
        return (
            any(globs.matches_any(glob_patterns, path) for path in (*below, *inside)) if glob_patterns else bool(below)
        )

    def applies(fact: Memory) -> bool:
        part, glob_patterns = get_part(fact), get_globs(fact)
        return is_on_demand(fact) or not (part or glob_patterns) or matches_globs(part, glob_patterns)

    return applies


def _is_part_of_path(part: str, file: str | None) -> bool:
    return not part or file is None or file.startswith(f"{part}/")


def _is_useful_for_file(fact: Memory, file: str | None) -> bool:
    """Return False if a fact is about a different language than `file`.

    Only code files have a language in this sense. In a manifest, facts about any language may be useful.
    """
    if file is None or is_manifest(file) or get_subject(fact) == "changelog":  # entries "go below" a heading
        return True
    languages = find_languages(f"{fact.key}: {fact.value}") or find_languages(
        _find_manifest_language(str(fact.source.get("path")).rpartition("/")[2])
    )
    return not languages or detect_language(file) in languages or not classify_path(file) & CODE


def _find_manifest_language(name: str) -> str:
    return next((language for start, language in _LANGUAGE_BY_MANIFEST.items() if name.startswith(start)), "")
