"""Facts stated by commit messages, valid from the date of the commit.

The text comes from commit authors and is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from hunchd.domain.facts import place_of
from hunchd.domain.history import Unit, likely
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.work import is_bot
from hunchd.ingestion.redaction import redact
from hunchd.ingestion.statements import Stated, stated_in
from hunchd.protocol.memories import title_of

INDEX: Final = 60  # characters
_PARTS: Final = re.compile(r"[^\w-]+")


def facts_of_unit(unit: Unit, project: str, *, now: datetime) -> list[Memory]:
    """Extract the claims of a commit's message; bots' commits yield none."""
    if is_bot(unit):
        return []
    at = datetime.fromtimestamp(likely(unit.at), UTC)
    message = redact(f"{unit.subject}\n\n{unit.body}").text
    return [_fact(stated, unit.sha, min(at, now), project, now) for stated in stated_in(message, "commit")]


def is_outlived(fact: Memory, names: Container[str]) -> bool:
    """Return True if a rename fact no longer matches the code.

    That is so if the new name or its type is gone, or if the old name is in use again.

    `names`: every name that occurs in the project.
    """
    if fact.source.get("rule") != "renamed" or not fact.key or not fact.value:
        return False
    *within, name = _parts(fact.value)
    types = [part for part in within if part[0].isupper()]  # modules have no name in the code
    return any(part not in names for part in (*types, name)) or _parts(fact.key)[-1] in names


def _parts(name: str) -> list[str]:
    return [part for part in _PARTS.split(name) if part] or [""]


def levels_of(stated: Stated) -> Levels:
    """Build the display levels: `tests: pytest, not unittest (because …)`, then shorter."""
    short = stated.line.partition(" (because ")[0]
    return Levels(summary=stated.line, compressed=short, index=stated.key[:INDEX])


def _fact(stated: Stated, sha: str, at: datetime, project: str, now: datetime) -> Memory:
    told = {"instead_of": stated.instead_of, "reason": stated.reason}
    memory = Memory(
        id="",
        kind=Kind.FACT,
        title=title_of(stated.line),
        content=stated.text,
        at=at,
        created=now,
        updated=now,
        project=project,
        levels=levels_of(stated),
        category=stated.category,
        key=stated.key,
        value=stated.value,
        scope=Scope.PROJECT,
        confidence=stated.confidence,
        importance=stated.importance,
        valid_from=at,
        artifacts=(Artifact("commit", sha),),
        trust=Trust.UNTRUSTED,
        source={"type": "commit", "sha": sha, "rule": stated.rule} | {name: told[name] for name in told if told[name]},
    )
    return replace(memory, id=place_of(memory) or "")
