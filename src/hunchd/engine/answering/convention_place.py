"""Where the conventions of a project matter: below the folder that says them, in the language they are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from hunchd.domain.memory import Memory
from hunchd.ingestion.conventions import key_in, part_of
from hunchd.ingestion.languages import language_of
from hunchd.ingestion.manifests.reading import reader_of
from hunchd.ingestion.manifests.tools import languages_of

MOST_PARTS: Final = 4  # that are told of where nobody is in one of them: more are a list of the project's folders
_COMMAND: Final = re.compile(r"`([^`]+)`")
# What matters only to who builds and ships it, or changes how that is done.
_SELDOM: Final = re.compile(r"build backend|release|workspace|module|ci \w+")


def that_matter(facts: Iterable[Memory], file: str | None) -> list[Memory]:
    """The facts without what is of no use to whoever is at `file`: conventions and instructions of another part of the
    project, conventions of the whole that a part above the file has its own of, and those about another language."""
    here = [fact for fact in facts if _holds(fact, file)]
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
    """The commands that conventions name, as `plain_command` writes them: `make test`, `pnpm lint`."""
    values = (fact.value or "" for fact in facts if fact.category == "convention")
    return frozenset(plain_command(command) for value in values for command in _COMMAND.findall(value))


def says_again(sentence: str, told: Collection[str]) -> bool:
    """Whether a sentence asks for a command that is told anyway, and for nothing else."""
    commands = _COMMAND.findall(sentence)
    return bool(commands) and all(plain_command(command) in told for command in commands)


def plain_command(command: str) -> str:
    """Two ways to call a script are one: `pnpm run lint`, `pnpm lint`."""
    return command.replace(" run ", " ", 1)


def _is_convention(fact: Memory) -> bool:
    return fact.category == "convention" and fact.source.get("type") == "convention"


def _holds(fact: Memory, file: str | None) -> bool:
    """Whether it speaks for the place of `file`. What a part asks for is told in that part, and not of the project."""
    part = part_of(fact)
    return _is_above(part, file) and (file is not None or not part or fact.category != "instruction")


def _is_above(part: str, file: str | None) -> bool:
    return not part or file is None or file.startswith(f"{part}/")


def _serves(fact: Memory, file: str | None) -> bool:
    """Whether it helps in this file; who opens a manifest or looks at no file may want all of it."""
    if file is None or reader_of(file) is not None:
        return True
    told = f"{fact.key}: {fact.value}"
    languages = languages_of(told)
    return not _SELDOM.match(told) and (not languages or language_of(file) in languages)
