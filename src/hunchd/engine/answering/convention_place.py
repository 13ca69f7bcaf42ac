"""Where the conventions of a project matter: below the folder that says them, in the language they are about."""

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

MOST_PARTS: Final = 4  # that are told of where nobody is in one of them: more are a list of the project's folders
_COMMAND: Final = re.compile(r"`([^`]+)`")
# What matters only to who builds and ships it, or changes how that is done.
_SELDOM: Final = re.compile(r"build backend|release|workspace|module|ci \w+")


def that_matter(facts: Iterable[Memory], file: str | None, open_files: Sequence[str] = ()) -> list[Memory]:
    """The facts without what is of no use to whoever is at `file`, or at none and has some open: conventions and
    instructions of another part of the project or for other files, conventions of the whole that a part above the file
    has its own of, and those about another language."""
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


def narrowness(fact: Memory) -> int:
    """How far down in the project all that a fact speaks of lies; 0 for what speaks of everything."""
    told = globs_of(fact)
    return len(part_of(fact)) + (1 + min(len(globs.folder_of(one)) for one in told) if told else 0)


def _is_instruction(fact: Memory) -> bool:
    return fact.category == "instruction"


def _speaking(at_hand: Sequence[str]) -> Callable[[Memory], bool]:
    """Tells whether an instruction speaks of a file at hand, or may be asked for. What a part or a rule for some files
    asks for is told there, and not of the project."""

    @cache  # most rules ask for several things
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
    """Whether it helps in this file; who opens a manifest or looks at no file may want all of it."""
    if file is None or reader_of(file) is not None:
        return True
    told = f"{fact.key}: {fact.value}"
    languages = languages_of(told)
    return not _SELDOM.match(told) and (not languages or language_of(file) in languages)
