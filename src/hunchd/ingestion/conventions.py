"""Facts about how to work on a project.

They are read from manifests, decision records and guides. A guide is a page of instructions for contributors or
coding agents. A statement is one convention that a manifest states: a key such as "tests", a value and a
confidence. A part is a folder whose conventions differ from those of the project.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hunchd.domain.facts import slot_of
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.ingestion.decisions import Decision, is_record, parse_decision
from hunchd.ingestion.guides import (
    LINKABLE_GUIDES,
    README,
    Guide,
    GuideCollection,
    GuideScope,
    find_guides,
    may_define_guides,
    resolve_link,
)
from hunchd.ingestion.instructions import (
    TOPIC_TAGS,
    Instruction,
    extract_instructions,
    extract_release_steps,
    is_release_page,
)
from hunchd.ingestion.languages import detect_language
from hunchd.ingestion.manifests.command_sources import (
    CI_FOLDERS,
    UNKNOWN_FOLDER,
    has_tasks,
    read_commands,
    read_page_commands,
)
from hunchd.ingestion.manifests.commands import ONE_TEST, OTHER, Command, choose_commands, merge_tools, runs_other_tool
from hunchd.ingestion.manifests.invocations import derive_single_test, state_invocation
from hunchd.ingestion.manifests.registry import read_statements, states_anything
from hunchd.ingestion.manifests.tools import (
    CI_PREFIX,
    MAX_VERSIONS,
    Statement,
    count_files,
    find_languages,
    version_sort_key,
)
from hunchd.ingestion.source_redaction import redact_source
from hunchd.protocol.shared_files import is_shared_path
from hunchd.repository.safe_reading import read_file, read_link
from hunchd.text.encodings import decode_text

MAX_BYTES = 128_000  # per manifest or record; longer files are lock files and books
MAX_RECORDS = 200  # only the newest are read; a project with a thousand RFCs has other tools
MAX_WORKFLOWS = 12
MAX_CI_COMMANDS = 6
MAX_PACKAGES = 12  # packages whose manifests are read if there is none at the root
_PACKAGE_MANIFESTS = frozenset(
    {"pubspec.yaml", "package.json", "pyproject.toml", "Cargo.toml", "go.mod", "composer.json"}
)
_PACKAGES = re.compile(r"(?:packages|pkgs|crates|libs|modules)/")
SHORT_INSTRUCTION = 60  # characters; shorter instructions are shown with their heading
MAX_DEPTH = 2  # folders below the root in which manifests are read

# Importance by key.
_IMPORTANCE = {
    "tests": 0.6,
    "run everything": 0.55,
    "lint": 0.5,
    "format": 0.5,
    "types": 0.5,
    "release": 0.5,
    "package manager": 0.5,
    "changelog": 0.5,
    "before a commit": 0.45,
    "line length": 0.4,
}
_DEFAULT_IMPORTANCE = 0.35
# Search terms by key.
_SEARCH_TAGS = {
    "tests": ("how to run the tests", "run a single test"),
    "one test": ("run a single test",),
    "run everything": ("how to run the tests",),
    "lint": ("linter", "code style", "how to lint"),
    "format": ("formatter", "coding style", "how to format the code"),
    "indent": ("coding style",),
    "line length": ("coding style",),
    "types": ("type checker", "how to check the types"),
    "build": ("how to build",),
    "docs": ("how to build the docs",),
    "benchmarks": ("how to run the benchmarks",),
    "package manager": ("install dependencies",),
    "install": ("install dependencies",),
    "release": ("how to release", "publish a new version"),
    "before a commit": ("hooks", "what runs before a commit"),
    "changelog": ("changelog entry needed",),
    "commit messages": ("commit message rule",),
    "ci": ("what CI runs",),
}
_VERSION_TAGS = ("supported language versions",)
_LANGUAGES = frozenset({"python", "node", "go", "java", "ruby", "php", "rust", "dotnet", "typescript", "terraform"})
_DEFAULT_CI_SYSTEM = "ubuntu"
_DEPLOYMENT_FOLDERS = frozenset({"docker", "deploy", "config"})  # folders with settings of the whole project
_PAGE_FOLDERS = frozenset(
    {"docs", "doc", "test", "tests"}
)  # folders in which some keys of manifests hold for the whole project
_KEYS_OF_WHOLE = frozenset({"changelog", "tests", "commit messages"})
_CHECKS = frozenset({"lint", "format", "types"})  # keys for which a tool with settings is preferred to another command
_WORKFLOWS_FOLDER = ".github/workflows/"
MAX_GLOBS = 100  # globs merged from all guides with the same instruction
MAX_SCOPE_DESCRIPTION = 600  # characters, merged likewise
SCOPE_FIELDS = ("path", "part", "globs", "on_demand", "topic")  # fields of `source`: file, scope, subject
AGENT_RULE_CONFIDENCE = 0.8  # for a rule on a page for agents; on a page for contributors it is .6
_WHOLE_PROJECT = GuideScope()
MIN_COMMAND_CONFIDENCE = 0.75  # below it, a tool from a manifest is preferred to a command that may be a variant
HINT_CONFIDENCE = 0.6  # confidence of a command in a workflow, which may have any purpose

_SourcedStatement = tuple[Statement, str]  # the statement and the file that makes it
_ConventionKey = tuple[str, str, str]  # part of the project, key, language ("" for the main one)

MAX_NESTED = 100  # packages within a package
_COMMAND_KEYS = frozenset({"tests", "lint", "format", "types", "build", "run everything"})
_MANIFESTS_BY_LANGUAGE = (
    ("go", "go.mod"), ("rust", "Cargo.toml"), ("python", "pyproject.toml"), ("php", "composer.json"),
    ("elixir", "mix.exs"), ("dart", "pubspec.yaml"), ("swift", "Package.swift"),
)  # fmt: skip
_ENTRY_FOLDER = re.compile(r"(?:changelog|changes|news)(?:\.d)?/\.git(?:keep|ignore)$")
_CHECK_WORKFLOW = re.compile(r"/(?:[\w-]*[-_])?(?:ci|tests?|main|build|check|lint|publish|release)\b[^/]*$")


def extract_conventions(root: Path, files: Iterable[str], *, project: str, now: datetime) -> Iterator[Memory]:
    """Yield a project's conventions, decisions and instructions as memories.

    For each convention, only the most certain value is yielded. `files` are the paths below `root` that may be read.
    """
    paths = sorted(files, key=lambda path: (path.count("/"), path))
    guides = collect_guides(root, paths).guides
    yield from _extract_convention_facts(root, paths, guides, project, now)
    path_set = frozenset(paths)
    for path in sorted(filter(is_record, paths), reverse=True)[:MAX_RECORDS]:
        decision = parse_decision(path, _read_text(root, path), path_set)
        if decision:
            yield _build_decision(decision, project, now)
    for instruction, guide, place in _collect_instructions(guides):
        yield _build_instruction(instruction, guide, place, project, now)


def collect_guides(root: Path, paths: Sequence[str]) -> GuideCollection:
    """Collect the pages for contributors and agents, with the files they import.

    A page that is a symbolic link to another page is included.
    """
    link_targets = ((link, read_link(root, link)) for link in LINKABLE_GUIDES if link not in paths)
    links = {link: path for link, target in link_targets if target and (path := resolve_link(link, target))}
    return find_guides(paths, lambda path: _read_text(root, path), links)


def may_state_conventions(path: str) -> bool:
    """Return True if the file at `path` may state conventions.

    This is the case for manifests, decision records, pages for contributors or agents, and memories shared by
    colleagues.
    """
    return is_manifest(path) or is_record(path) or may_define_guides(path) or is_shared_path(path)


def is_manifest(path: str) -> bool:
    """Return True if the file at `path` may state tools, versions or tasks."""
    return states_anything(path) or has_tasks(path)


def _extract_convention_facts(
    root: Path, paths: list[str], guides: Sequence[Guide], project: str, now: datetime
) -> Iterator[Memory]:
    """Yield the most certain statement for each key, as a memory.

    There are separate statements for the project, for each folder with conventions that differ from the project's,
    and for each further language of the project.
    """
    best: dict[_ConventionKey, _SourcedStatement] = {}
    tested_by_key: dict[str, list[_SourcedStatement]] = {}  # values that the workflows of a CI system test, by key
    workflows = [path for path in paths if path.startswith(CI_FOLDERS) and path.endswith((".yml", ".yaml"))]
    workflows = sorted(workflows, key=lambda path: not _CHECK_WORKFLOW.search(path))[:MAX_WORKFLOWS]
    shallow = [
        path for path in paths if path.count("/") <= MAX_DEPTH and not path.startswith(".github/") and is_manifest(path)
    ]
    nearest_paths = _keep_nearest(shallow)
    files_by_language: Mapping[str | None, int] = Counter(filter(None, map(detect_language, paths)))
    manifest_folders = {path.rpartition("/")[0] for path in shallow if not path.rpartition("/")[2].startswith(".")}
    commands = [command for guide in guides for command in _read_guide_commands(root, guide, paths)]
    for path in [*nearest_paths, *workflows]:
        folder, _, name = path.rpartition("/")
        if folder and name.startswith(".") and folder not in manifest_folders and path not in workflows:
            continue  # the settings of a tool for some files, not a part with commands of its own
        text = _read_text(root, path)
        commands += read_commands(path, text, paths)
        for statement in read_statements(path, text):
            if statement.key == "tests" and path.endswith("proj"):  # a test project tests the others
                best.setdefault(("", "tests", ""), (replace(statement, value=f"dotnet test ({statement.value})"), path))
            elif statement.key.startswith(CI_PREFIX) and path.startswith(_WORKFLOWS_FOLDER):
                tested_by_key.setdefault(statement.key, []).append((statement, path))
            else:
                _add_statement(statement, path, best, files_by_language)
    entries = next(filter(_ENTRY_FOLDER.match, paths), "")
    if entries and ("", "changelog", "") in best and best["", "changelog", ""][0].value.startswith("new entries"):
        value = f"a file per change, in {entries.partition('/')[0]}/"
        best["", "changelog", ""] = Statement("changelog", value, 0.9), entries
    most_files = max(files_by_language.values(), default=0)
    commands = [
        replace(one, part="") if one.part == UNKNOWN_FOLDER else one
        for one in commands
        if one.part != UNKNOWN_FOLDER or not one.language or 2 * count_files(one.line, files_by_language) >= most_files
    ]
    for key, statements_of_key in tested_by_key.items():
        best.setdefault(("", key, ""), _merge_ci_values(statements_of_key))
    if checks := _list_ci_commands(commands):
        best["", "ci", ""] = Statement("ci", checks, 0.9), _WORKFLOWS_FOLDER.rstrip("/")
    is_for_android = any(path.endswith("AndroidManifest.xml") for path in paths)  # it has a task for each variant
    commands += [
        replace(one, purpose=ONE_TEST, line=single)
        for one in commands
        if one.purpose == "tests"
        and (single := derive_single_test(one.line))
        and not (is_for_android and "gradlew" in single)
    ]
    _add_commands(commands, best, files_by_language)
    hooks = best.get(("", "before a commit", ""))
    singles = {  # by part and language; the commands for one file belong to those for all
        (part, language): _first_code(statement.value)
        for (part, key, language), (statement, _) in best.items()
        if key == ONE_TEST and re.search(r"<(?:file|folder|name)>", _first_code(statement.value))
    }
    best = {
        (part, key, language): (
            state_invocation(statement, hooks[0].value if hooks else "", singles.get((part, language), "")),
            path,
        )
        for (part, key, language), (statement, path) in best.items()
        if key != ONE_TEST or (part, language) not in singles
    }
    project_values = {key: statement.value for (part, key, _), (statement, _) in best.items() if not part}
    is_virtual = "Cargo.toml" in paths and "[package]" not in _read_text(root, "Cargo.toml")
    for (part, key, language), (statement, path) in best.items():
        packages = [] if is_virtual and "cargo " in statement.value else _list_nested_packages(statement, part, paths)
        is_new = (
            not part
            or project_values.get(key) != statement.value
            or part in _list_nested_packages(statement, "", paths)
        )
        if _is_informative(statement, project_values) and is_new:
            yield _build_convention(statement, path, part, language, project, now, packages)


def _list_nested_packages(statement: Statement, part: str, paths: Iterable[str]) -> list[str]:
    """Return the folders below `part` with a manifest of their own, which the commands of `part` do not reach."""
    languages = find_languages(statement.value) if statement.key in _COMMAND_KEYS and "`" in statement.value else ()
    manifest = next((name for language, name in _MANIFESTS_BY_LANGUAGE if language in languages), "")
    if not manifest or re.search(r" --(?:workspace|all)(?=[\s`])", statement.value):
        return []
    folders = (path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == manifest)
    return sorted(
        folder for folder in folders if folder != part and f"{folder}/".startswith(f"{part}/" if part else "")
    )[:MAX_NESTED]


def _list_ci_commands(commands: Iterable[Command]) -> str:
    """Return the commands that CI runs, on one line.

    Commands that only add arguments to an earlier command are left out. At most MAX_CI_COMMANDS are listed.
    """
    lines: list[str] = []
    for one in commands:
        if one.path.startswith(CI_FOLDERS) and not one.part and one.purpose not in ("install", OTHER):
            lines += [] if any(f"{one.line} ".startswith(f"{line} ") for line in lines) else [one.line]
    return ", ".join(f"`{line}`" for line in lines[:MAX_CI_COMMANDS])


def _first_code(value: str) -> str:
    return value.split("`")[1]


def _read_guide_commands(root: Path, guide: Guide, paths: Sequence[str]) -> Iterator[Command]:
    if guide.scope.is_unrestricted and not is_release_page(guide.path):
        is_readme = README.fullmatch(guide.path) is not None
        text = _read_text(root, guide.path) if is_readme else guide.text
        for command in read_page_commands(guide.path, text, paths, is_readme=is_readme):
            yield replace(command, part=command.part or guide.scope.part)


def _add_commands(
    commands: Sequence[Command],
    best: dict[_ConventionKey, _SourcedStatement],
    files_by_language: Mapping[str | None, int],
) -> None:
    """Replace the tools that manifests name with the commands that a developer types.

    The commands are added to `best`. If a command and the known tools belong to different languages, each gets its
    own entry.
    """
    for statement, path, part, language in choose_commands(commands, files_by_language):
        folder = _find_part(f"{part}/x", statement.key) if part else ""
        place: _ConventionKey = (folder, statement.key, language)
        tools = best.get((folder, statement.key, ""))
        languages = {*find_languages(tools[0].value)} if tools else set()
        if tools and languages and languages.isdisjoint(find_languages(statement.value) or languages):
            if not language:  # the known tools are for another language of the project
                best.setdefault((folder, statement.key, find_languages(tools[0].value)[0]), tools)
            tools = best.get(place) if language else None
        if tools and (statement.confidence < MIN_COMMAND_CONFIDENCE or statement.key == "release"):
            continue  # what a workflow publishes is not published by hand
        if tools and statement.key in _CHECKS and runs_other_tool(statement.value, tools[0].value):
            continue
        value = merge_tools(statement.value, tools[0].value) if tools else statement.value
        best[(folder, statement.key, "") if tools and not language else place] = (replace(statement, value=value), path)


def _add_statement(
    statement: Statement,
    path: str,
    best: dict[_ConventionKey, _SourcedStatement],
    files_by_language: Mapping[str | None, int],
) -> None:
    """Store a statement in `best`, unless a better one is already there.

    A statement about a different language gets its own entry. The statement about the language with the most files
    is stored without a language name.
    """
    part = _find_part(path, statement.key)
    place: _ConventionKey = (part, statement.key, "")
    if place in best and (language := _find_other_language(best[place][0], statement)):
        if count_files(statement.value, files_by_language) > count_files(best[place][0].value, files_by_language):
            first = best.pop(place)
            best[part, statement.key, find_languages(first[0].value)[0]] = first
        else:
            place = (part, statement.key, language)
    current = best.get(place)
    if current is None or _outranks(statement, current[0]):
        best[place] = (statement, path)
    elif statement.key == "build" and statement.value not in current[0].value.split(", "):
        best[place] = (replace(current[0], value=f"{current[0].value}, {statement.value}"), current[1])


def _find_other_language(current: Statement, statement: Statement) -> str:
    """Return the language of `statement` if `current` is for different languages.

    Returns "" if they share a language, or if the language of either is unknown.
    """
    languages, current_languages = find_languages(statement.value), find_languages(current.value)
    return languages[0] if languages and current_languages and not set(languages) & set(current_languages) else ""


def _outranks(statement: Statement, current: Statement) -> bool:
    """Return True if `statement` should replace `current`.

    The more certain statement wins, with one exception: a statement that names all tools in the other statement,
    and more, wins if its confidence is above HINT_CONFIDENCE.
    """
    values, current_values = {*statement.value.split(", ")}, {*current.value.split(", ")}
    if values > current_values and statement.confidence > HINT_CONFIDENCE:
        return True
    return statement.confidence > current.confidence and not (
        current_values > values and current.confidence > HINT_CONFIDENCE
    )


def _is_informative(statement: Statement, project_values: Mapping[str, str]) -> bool:
    """Return False for CI facts that add no information.

    Such facts are the operating system of the default runner, and a single tool version that the project itself also
    declares.
    """
    if not statement.key.startswith(CI_PREFIX) or ", " in statement.value:
        return True
    project_value = project_values.get(statement.key.removeprefix(CI_PREFIX), "")
    return statement.value != _DEFAULT_CI_SYSTEM and not re.search(
        rf"(?<![\d.]){re.escape(statement.value)}(?![\d.])", project_value
    )


def _merge_ci_values(sourced_statements: Sequence[_SourcedStatement]) -> _SourcedStatement:
    """Merge the values (such as versions) that a CI system's workflows test.

    The source of the result is the workflow that tests all of the values or, if no workflow does, the folder with
    the workflows.
    """
    values = sorted(
        {value for statement, _ in sourced_statements for value in statement.value.split(", ")}, key=version_sort_key
    )
    fullest, path = max(sourced_statements, key=lambda one: one[0].value.count(","))
    from_one = fullest.value.count(",") + 1 == len(values)
    return replace(fullest, value=", ".join(values[-MAX_VERSIONS:])), path if from_one else _WORKFLOWS_FOLDER.rstrip(
        "/"
    )


def get_part(fact: Memory) -> str:
    """Return the folder that a convention or instruction applies to.

    Returns "" if it applies to the whole project.
    """
    return str(fact.source.get("part") or "")


def reaches(fact: Memory, file: str) -> bool:
    """Return False if `file` belongs to a package below a convention's folder that its commands do not reach."""
    return not any(file.startswith(f"{folder}/") for folder in fact.source.get("without") or ())


def get_globs(fact: Memory) -> tuple[str, ...]:
    """Return the globs for the files that an instruction applies to.

    If there are none, the instruction applies to all files in the folder that `get_part` returns.
    """
    return tuple(map(str, fact.source.get("globs") or ()))


def is_on_demand(fact: Memory) -> bool:
    """Return True if an instruction is shown only on request."""
    return bool(fact.source.get("on_demand"))


def get_topic(fact: Memory) -> str:
    """Return the subject of an instruction, or "" if it is unknown."""
    return str(fact.source.get("topic") or "")


def applies_to_whole_project(fact: Memory) -> bool:
    """Return True unless the fact is an instruction that is limited in scope.

    Such an instruction applies only to a folder or to certain files, or is shown only on request. Limited
    instructions are not listed for the project.
    """
    return fact.category != "instruction" or not (get_part(fact) or get_globs(fact) or is_on_demand(fact))


def qualify_key(part: str, key: str) -> str:
    """Return `key` qualified with its folder or language.

    `part` is the name of that folder or language. If `part` is empty, returns `key` itself.
    """
    return f"{key} in {part}" if part else key


def _find_part(path: str, key: str = "") -> str:
    """Return the folder that the manifest at `path` applies to.

    Returns "" (the whole project) if the manifest is in a folder for CI, git hooks or deployment, or if it is in a
    folder of documentation pages and `key` always concerns the whole project.
    """
    part = path.rpartition("/")[0]
    is_whole = part.partition("/")[0] in _DEPLOYMENT_FOLDERS or (part in _PAGE_FOLDERS and key in _KEYS_OF_WHOLE)
    return "" if part.startswith(".") or is_whole else part


def _keep_nearest(paths: list[str]) -> list[str]:
    """Keep, for each file name, only the path nearest to the root.

    A manifest in a subfolder does not describe the whole project. If a package manifest occurs only in subfolders,
    up to MAX_PACKAGES paths are kept, those of packages first.
    """
    paths_by_name: dict[str, list[str]] = {}
    for path in paths:
        paths_by_name.setdefault(path.rpartition("/")[2], []).append(path)
    return [
        path
        for name, same_name in paths_by_name.items()
        for path in (
            same_name[:1]
            if "/" not in same_name[0] or name not in _PACKAGE_MANIFESTS
            else sorted(same_name, key=lambda path: (not _PACKAGES.match(path), path.count("/")))[:MAX_PACKAGES]
        )
    ]


def _build_convention(
    statement: Statement, path: str, part: str, language: str, project: str, now: datetime, packages: Sequence[str]
) -> Memory:
    key = qualify_key(part, qualify_key(language, statement.key))
    line = f"{key}: {statement.value}"
    return _build_memory(
        f"convention:{key}",
        project,
        now,
        title=line,
        content=line,
        path=path,
        place=GuideScope(part),
        category="convention",
        key=key,
        value=statement.value,
        confidence=statement.confidence,
        importance=_IMPORTANCE.get(statement.key, _DEFAULT_IMPORTANCE),
        trust=Trust.PROJECT,
        levels=Levels(summary=line, compressed=line, index=key),
        tags=_VERSION_TAGS
        if statement.key.removeprefix(CI_PREFIX) in _LANGUAGES
        else _SEARCH_TAGS.get(statement.key, ()),
        more={
            "without": list(packages),
            "origins": list(statement.origins) if len(statement.origins) > 1 else [],
        },
    )


def _build_decision(decision: Decision, project: str, now: datetime) -> Memory:
    status = "" if decision.is_standing else f" [{decision.status}]"
    origin = ", ".join(part for part in (decision.path.rpartition(".")[0], decision.date) if part)
    detail = decision.decision if decision.decision.lower() != decision.title.lower() else ""
    line = f"decision ({origin}){status}: {decision.title}" + (f": {detail}" if detail else "")
    when = _parse_date(decision.date) or now
    return _build_memory(
        f"decision:{decision.path}",
        project,
        now,
        title=decision.title,
        content=line,
        path=decision.path,
        category="decision",
        key=f"decision/{decision.path.rpartition('/')[2].rpartition('.')[0]}",
        value=decision.title,
        at=when,
        valid_from=when if decision.date else None,
        confidence=0.9 if decision.status in ("accepted", "approved", "implemented") else 0.7,
        importance=0.6 if decision.is_standing else 0.2,
        trust=Trust.UNTRUSTED,
        status=Status.ACTIVE if decision.is_standing else Status.SUPERSEDED,
        levels=Levels(summary=line, compressed=f"{decision.title}{status}", index=decision.title[:60]),
        artifacts=(Artifact("adr", decision.path), *(Artifact("file", path) for path in decision.files)),
        tags=("decision", decision.status) if decision.status else ("decision",),
    )


def _collect_instructions(pages: Sequence[Guide]) -> Iterator[tuple[Instruction, Guide, GuideScope]]:
    """Yield each instruction once for each of its scopes.

    If several guides state the same instruction, the guide with the widest scope is yielded as its source.
    """
    by_sentence: dict[str, list[tuple[Instruction, Guide]]] = {}
    for guide in pages:
        if guide.path.rpartition("/")[2].lower().startswith("build"):
            continue  # it is read for its commands; its lists are requirements and licences
        if is_release_page(guide.path):
            steps = extract_release_steps(guide.text)
            if steps is not None:
                by_sentence[steps.sentence] = [(steps, guide)]
            continue
        for instruction in extract_instructions(guide.text, describe_readers(guide)):
            by_sentence.setdefault(_normalize_sentence(instruction.sentence), []).append((instruction, guide))
    for occurrences in by_sentence.values():
        yielded_scopes: list[GuideScope] = []
        for instruction, guide in sorted(occurrences, key=_scope_sort_key):
            if not any(_covers(place, guide.scope) for place in yielded_scopes):
                place = _merge_scopes(
                    [one.scope for _, one in occurrences if one.scope.part == guide.scope.part], guide.scope
                )
                yielded_scopes.append(place)
                yield instruction, guide, place


def describe_readers(guide: Guide) -> str:
    """Return the name of a page's audience, as the rule classifier expects it.

    It is "form" for a template, and otherwise "agents" or "people".
    """
    return "form" if guide.is_form else "agents" if guide.is_for_agents else "people"


def _scope_sort_key(occurrence: tuple[Instruction, Guide]) -> tuple[bool, bool, int]:
    """Return a sort key that puts guides with the widest scope first."""
    place = occurrence[1].scope
    return not place.is_unrestricted, place.on_demand, len(place.part)


def _normalize_sentence(sentence: str) -> str:
    """Remove markup and punctuation, and normalize case and spacing."""
    return " ".join(re.sub(r"[`*_\"'.!]", "", sentence).casefold().split())


def _covers(one: GuideScope, other: GuideScope) -> bool:
    """Return True if scope `one` includes scope `other`.

    An instruction with scope `one` then already applies wherever an instruction with scope `other` would.
    """
    if not one.is_unrestricted:
        return other.on_demand or (not other.is_unrestricted and one.part == other.part)
    return not one.part or f"{other.part}/".startswith(f"{one.part}/")


def _merge_scopes(places: Sequence[GuideScope], first: GuideScope) -> GuideScope:
    """Merge the scopes of one instruction within one folder.

    Only scopes of the same kind as `first` (unrestricted, limited to files, or shown on request) are merged.
    """
    similar = [
        place
        for place in places
        if (place.is_unrestricted, place.on_demand) == (first.is_unrestricted, first.on_demand)
    ]
    globs = dict.fromkeys(glob for place in similar for glob in place.globs)
    descriptions = dict.fromkeys(place.description for place in similar if place.description)
    return replace(first, globs=tuple(globs)[:MAX_GLOBS], description="; ".join(descriptions)[:MAX_SCOPE_DESCRIPTION])


def _build_instruction(
    instruction: Instruction, guide: Guide, place: GuideScope, project: str, now: datetime
) -> Memory:
    sentence = instruction.sentence
    # Short sentences often need their heading as context.
    line = (
        f"{instruction.section} › {sentence}" if instruction.section and len(sentence) < SHORT_INSTRUCTION else sentence
    )
    return _build_memory(
        f"instruction:{guide.path}:{sentence}",
        project,
        now,
        title=sentence,
        content=sentence,
        path=guide.path,
        category="instruction",
        key=qualify_key(place.part, f"instruction/{blake2b(sentence.encode(), digest_size=5).hexdigest()}"),
        place=place,
        value=sentence,
        confidence=AGENT_RULE_CONFIDENCE if guide.is_for_agents else 0.6,
        importance=round(0.2 + 0.4 * instruction.value, 3),
        trust=Trust.UNTRUSTED,
        levels=Levels(summary=line, compressed=line[:120], index=sentence[:60]),
        tags=(place.description,) if place.description else TOPIC_TAGS.get(instruction.topic, ()),  # search terms
        topic=instruction.topic,
    )


def _build_memory(
    ref: str,
    project: str,
    now: datetime,
    *,
    path: str,
    place: GuideScope = _WHOLE_PROJECT,
    topic: str = "",
    more: Mapping[str, Any] = MappingProxyType({}),
    **values: Any,
) -> Memory:
    fields: dict[str, Any] = {"at": now, "artifacts": (Artifact("file", path),), **values}
    scope_fields = {
        "part": place.part,
        "globs": list(place.globs),
        "on_demand": place.on_demand,
        "topic": topic,
        **more,
    }
    memory = Memory(
        id="",
        kind=Kind.FACT,
        created=now,
        updated=now,
        project=project,
        ref=ref[:200],
        scope=Scope.PROJECT,
        source={"type": "convention", "path": path} | {name: value for name, value in scope_fields.items() if value},
        **fields,
    )
    return replace(memory, id=slot_of(memory) or "")


def _read_text(root: Path, path: str) -> str:
    text = decode_text(read_file(root, path, limit=MAX_BYTES) or b"")
    return redact_source(text)


def _parse_date(date: str) -> datetime | None:
    try:
        return datetime.strptime(date if len(date) > 7 else f"{date}-01", "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
