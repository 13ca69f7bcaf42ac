"""Relevance of conventions by folder and language."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Final

from hunchd.domain.memory import Memory
from hunchd.ingestion import globs
from hunchd.ingestion.conventions import get_globs, get_part, is_on_demand, qualify_key
from hunchd.ingestion.languages import detect_language
from hunchd.ingestion.manifests.registry import find_reader
from hunchd.ingestion.manifests.tools import find_languages

MAX_PARTS: Final = 4  # parts shown without a current file; more would be a list of the project's folders
_COMMAND_PATTERN: Final = re.compile(r"`([^`]+)`")
# Conventions that matter only for building and releasing.
_BUILD_ONLY_PATTERN: Final = re.compile(r"build backend|release|workspace|module|ci \w+")


def select_relevant_facts(facts: Iterable[Memory], file: str | None, open_files: Sequence[str] = ()) -> list[Memory]:
    """Return the facts that are relevant at `file`.

    None stands for the open files. Drops conventions and instructions of another part of the project or for other
    files, conventions of the whole that a part above the file overrides, and those about another language.
    """
    holds = _build_applies_predicate((file,) if file is not None else open_files)
    here = [
        fact for fact in facts if (holds(fact) if _is_instruction(fact) else _is_part_of_path(get_part(fact), file))
    ]
    part_names = {get_part(fact) for fact in here if get_part(fact)}
    if file is None and len(part_names) > MAX_PARTS:
        here, part_names = [fact for fact in here if not get_part(fact)], set()
    own = {fact.key for fact in here if get_part(fact)} if file is not None else set()
    return [
        fact
        for fact in here
        if not _is_convention(fact)
        or (
            _is_useful_for_file(fact, file) and not any(qualify_key(part, fact.key or "") in own for part in part_names)
        )
    ]


def list_convention_commands(facts: Iterable[Memory]) -> frozenset[str]:
    """Return the commands that conventions name, normalized: `make test`, `pnpm lint`."""
    values = (fact.value or "" for fact in facts if fact.category == "convention")
    return frozenset(normalize_command(command) for value in values for command in _COMMAND_PATTERN.findall(value))


def is_repeated_command(sentence: str, shown_commands: Collection[str]) -> bool:
    """Return True if a sentence asks only for commands that are shown anyway."""
    commands = _COMMAND_PATTERN.findall(sentence)
    return bool(commands) and all(normalize_command(command) in shown_commands for command in commands)


def normalize_command(command: str) -> str:
    """Normalize a script call: `pnpm run lint` becomes `pnpm lint`."""
    return command.replace(" run ", " ", 1)


def _is_convention(fact: Memory) -> bool:
    return fact.category == "convention" and fact.source.get("type") == "convention"


def get_depth(fact: Memory) -> int:
    """Return how deep in the project a fact applies.

    0 if it applies everywhere.
    """
    glob_patterns = get_globs(fact)
    return len(get_part(fact)) + (
        1 + min(len(globs.common_folder(one)) for one in glob_patterns) if glob_patterns else 0
    )


def _is_instruction(fact: Memory) -> bool:
    return fact.category == "instruction"


def _build_applies_predicate(at_hand: Sequence[str]) -> Callable[[Memory], bool]:
    """Return a predicate: does an instruction apply to an open file, or on demand?

    Instructions of a part, or of a rule for some files, apply only there.
    """

    @cache  # most rules yield several facts
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
    """Return True if a fact helps in this file.

    For a manifest, or without a file, everything may help.
    """
    if file is None or find_reader(file) is not None:
        return True
    text = f"{fact.key}: {fact.value}"
    languages = find_languages(text)
    return not _BUILD_ONLY_PATTERN.match(text) and (not languages or detect_language(file) in languages)
