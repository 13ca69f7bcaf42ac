"""Facts stated in commit messages, valid from the date of the commit.

The text comes from commit authors and is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from hunchd.domain.facts import slot_of
from hunchd.domain.history import Unit, clamp_author_time
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.unit_classification import is_bot
from hunchd.ingestion.redaction import redact
from hunchd.ingestion.statements import ExtractedStatement, extract_statements
from hunchd.protocol.memories import derive_title

MAX_INDEX: Final = 60  # characters
_PARTS: Final = re.compile(r"[^\w-]+")


def extract_commit_facts(unit: Unit, project: str, *, now: datetime) -> list[Memory]:
    """Extract the facts that a commit message states.

    `unit` is a unit of history: a commit, or a merge with the commits that it brought in. Commits by bots yield no
    facts.
    """
    if is_bot(unit):
        return []
    at = datetime.fromtimestamp(clamp_author_time(unit.at), UTC)
    message = redact(f"{unit.subject}\n\n{unit.body}").text
    return [
        _build_fact(statement, unit.sha, min(at, now), project, now)
        for statement in extract_statements(message, "commit")
    ]


def is_obsolete_rename(fact: Memory, names: Container[str]) -> bool:
    """Return True if a fact about a renaming no longer matches the code.

    This is the case if the new name or its type no longer exists, or if the old name is in use again. `names` are
    all names that occur in the project. Returns False if the fact is not about a renaming.
    """
    if fact.source.get("rule") != "renamed" or not fact.key or not fact.value:
        return False
    *qualifiers, name = _split_name(fact.value)
    types = [part for part in qualifiers if part[0].isupper()]  # modules are not names in the code
    return any(part not in names for part in (*types, name)) or _split_name(fact.key)[-1] in names


def _split_name(name: str) -> list[str]:
    return [part for part in _PARTS.split(name) if part] or [""]


def build_levels(statement: ExtractedStatement) -> Levels:
    """Build a version of a statement for each display length.

    The longest version is a line such as `tests: pytest, not unittest (because …)`; the shortest is the key.
    """
    short = statement.line.partition(" (because ")[0]
    return Levels(summary=statement.line, compressed=short, index=statement.key[:MAX_INDEX])


def _build_fact(statement: ExtractedStatement, sha: str, at: datetime, project: str, now: datetime) -> Memory:
    details = {"instead_of": statement.instead_of, "reason": statement.reason}
    memory = Memory(
        id="",
        kind=Kind.FACT,
        title=derive_title(statement.line),
        content=statement.text,
        at=at,
        created=now,
        updated=now,
        project=project,
        levels=build_levels(statement),
        category=statement.category,
        key=statement.key,
        value=statement.value,
        scope=Scope.PROJECT,
        confidence=statement.confidence,
        importance=statement.importance,
        valid_from=at,
        artifacts=(Artifact("commit", sha),),
        trust=Trust.UNTRUSTED,
        source={"type": "commit", "sha": sha, "rule": statement.rule}
        | {name: details[name] for name in details if details[name]},
    )
    return replace(memory, id=slot_of(memory) or "")
