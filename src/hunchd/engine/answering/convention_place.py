"""Relevance of conventions by folder and language."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Final

from hunchd.domain.memory import Memory
from hunchd.ingestion import globs
from hunchd.ingestion.conventions import globs_of, is_on_demand, key_in, part_of
from hunchd.ingestion.languages import language_of
from hunchd.ingestion.manifests.reading import reader_of
from hunchd.ingestion.manifests.tools import languages_of

MOST_PARTS: Final = 4  # parts shown without a current file; more would be a list of the project's folders
_COMMAND: Final = re.compile(r"`([^`]+)`")
# Conventions that matter only for building and releasing.
_SELDOM: Final = re.compile(r"build backend|release|workspace|module|ci \w+")


def that_matter(facts: Iterable[Memory], file: str | None, open_files: Sequence[str] = ()) -> list[Memory]:
    """Return the facts that are relevant at `file`.

    None stands for the open files. Drops conventions and instructions of another part of the project or for
    other files, conventions of the whole that a part above the file overrides, and those about another
    language.
    """
    holds = _speaking((file,) if file is not None else open_files)
    here = [fact for fact in facts if (holds(fact) if _is_instruction(fact) else _is_above(part_of(fact), file))]
    parts = {part_of(fact) for fact in here if part_of(fact)}
    if file is None and len(parts) > MOST_PARTS:
        here, parts = [fact for fact in here if not part_of(fact)], set()
    own = {fact.key for fact in here if part_of(fact)} if file is not None else set()
    return [
        fact
        for fact in here
        if not _is_convention(fact)
        or (_serves(fact, file) and not any(key_in(part, fact.key or "") in own for part in parts))
    ]


def commands_told(facts: Iterable[Memory]) -> frozenset[str]:
    """Return the commands that conventions name, normalized: `make test`, `pnpm lint`."""
    values = (fact.value or "" for fact in facts if fact.category == "convention")
    return frozenset(plain_command(command) for value in values for command in _COMMAND.findall(value))


def says_again(sentence: str, told: Collection[str]) -> bool:
    """Return True if a sentence asks only for commands that are shown anyway."""
    commands = _COMMAND.findall(sentence)
    return bool(commands) and all(plain_command(command) in told for command in commands)


def plain_command(command: str) -> str:
    """Normalize a script call: `pnpm run lint` becomes `pnpm lint`."""
    return command.replace(" run ", " ", 1)


def _is_convention(fact: Memory) -> bool:
    return fact.category == "convention" and fact.source.get("type") == "convention"


def narrowness(fact: Memory) -> int:
    """Return how deep in the project a fact applies.

    0 if it applies everywhere.
    """
    told = globs_of(fact)
    return len(part_of(fact)) + (1 + min(len(globs.folder_of(one)) for one in told) if told else 0)


def _is_instruction(fact: Memory) -> bool:
    return fact.category == "instruction"


def _speaking(at_hand: Sequence[str]) -> Callable[[Memory], bool]:
    """Return a predicate: does an instruction apply to an open file, or on demand?

    Instructions of a part, or of a rule for some files, apply only there.
    """

    @cache  # most rules yield several facts
    def names(part: str, told: tuple[str, ...]) -> bool:
        below = [path for path in at_hand if _is_above(part, path)]
        inside = [path.removeprefix(f"{part}/") for path in below] if part else []
        return any(globs.name(told, path) for path in (*below, *inside)) if told else bool(below)

    def speaks(fact: Memory) -> bool:
        part, told = part_of(fact), globs_of(fact)
        return is_on_demand(fact) or not (part or told) or names(part, told)

    return speaks


def _is_above(part: str, file: str | None) -> bool:
    return not part or file is None or file.startswith(f"{part}/")


def _serves(fact: Memory, file: str | None) -> bool:
    """Return True if a fact helps in this file.

    For a manifest, or without a file, everything may help.
    """
    if file is None or reader_of(file) is not None:
        return True
    told = f"{fact.key}: {fact.value}"
    languages = languages_of(told)
    return not _SELDOM.match(told) and (not languages or language_of(file) in languages)
