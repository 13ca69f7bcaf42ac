"""Regression gate of a run.

Queries are made before it and must find the same memories after it. Pure functions.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from hunchd.consolidation.aging import FORGETTABLE, last_use
from hunchd.consolidation.chronicling import HISTORY, PART_OF
from hunchd.consolidation.condensing import Vocabulary
from hunchd.consolidation.plan import Entry
from hunchd.domain.facts import is_over
from hunchd.domain.memory import Memory, Status, Trust

WORDS: Final = 6  # of a query made from a memory
FOUND: Final = 5  # rank within which it is found before the run
FOUND_AFTER: Final = 10  # and after: the number of results that are shown by default, so that ties may change places
# A memory shown or used this recently is needed, whatever the settings say.
LATELY: Final = timedelta(days=14)

Touched = tuple[str, str]  # step and description


@dataclass(frozen=True, slots=True)
class Probe:
    """Query of the regression gate.

    `expected_ids` are the ids among its first results before the run. `expected_ids` are the ids among its first
    results before the run.
    """

    query: str
    project: str | None
    wanted: tuple[str, ...]
    asked: bool = False  # by a user; otherwise generated from a memory

    def json(self) -> dict[str, Any]:
        return {"query": self.query, "project": self.project, "wanted": list(self.wanted), "asked": self.asked}

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Probe:
        return cls(told["query"], told["project"], tuple(told["wanted"]), told["asked"])


@dataclass(frozen=True, slots=True)
class Trace:
    """Effects of a run on the expected memories.

    `last_changes`: the last change of each expected id. `replacements`: superseded id → the memory that replaces it.
    `created_ids`: new ids.
    """

    touched: Mapping[str, Touched]
    heirs: Mapping[str, str]
    made: frozenset[str]

    def heir(self, identifier: str) -> str:
        """Follow replacements from an id to the memory that says the same now."""
        seen = {identifier}
        while (following := self.heirs.get(identifier)) is not None and following not in seen:
            seen.add(following)
            identifier = following
        return identifier


@dataclass(frozen=True, slots=True)
class Loss:
    """Result that is no longer found.

    `step` is the one that changed it last, if one did.
    """

    query: str
    wanted: str
    step: str
    what: str

    def json(self) -> dict[str, Any]:
        return {"probe": self.query, "lost": self.wanted, "step": self.step, "change": self.what}


@dataclass(slots=True)
class Verdict:
    """Result of the gate: answers found before the run, and those lost."""

    answers: int = 0  # results found before the run
    losses: list[Loss] = field(default_factory=list)

    @property
    def share(self) -> float:
        return len(self.losses) / self.answers if self.answers else 0.0

    def json(self) -> dict[str, Any]:
        return {
            "answers": self.answers,
            "lost": len(self.losses),
            "share": round(self.share, 4),
            "losses": [loss.json() for loss in self.losses[:20]],
        }


def drawn(
    memories: Mapping[str, Memory], vocabulary: Vocabulary, *, most: int, seed: str, now: datetime
) -> list[tuple[str, str]]:
    """Draw queries from memories that must not be lost.

    Each comes with its memory's id.
    """
    needed = [memory for memory in memories.values() if must_stay(memory, now)]
    needed.sort(key=lambda memory: memory.id)
    chosen = random.Random(seed).sample(needed, min(most, len(needed)))
    made = [(question(memory, vocabulary), memory.id) for memory in chosen]
    return [(query, identifier) for query, identifier in made if query]


def must_stay(memory: Memory, now: datetime) -> bool:
    """Return True if a memory may be merged but never lost.

    Expired memories may go. Expired ones may go.
    """
    if memory.status is not Status.ACTIVE or "." in memory.id or memory.source.get("type") == "contradiction":
        return False
    if is_over(memory, now):
        return False
    return (
        memory.trust is Trust.USER
        or memory.kind not in FORGETTABLE
        or memory.usage.cited > 0
        or memory.category == HISTORY
        or now - last_use(memory) < LATELY
    )


def question(memory: Memory, vocabulary: Vocabulary) -> str:
    """Return the most distinctive words of a memory as a query."""
    text = " ".join(filter(None, (memory.title, memory.key, memory.value, memory.content[:2_000])))
    return " ".join(vocabulary.telling(text, WORDS))


def compared(
    probes: Sequence[Probe],
    found: Iterable[Sequence[str]],
    trace: Trace,
    changed: Container[str] = (),
    removed: Container[str] = (),
) -> Verdict:
    """Compare the `results` after the run with those before it.

    Does not count what others changed and the run did not touch, nor what they removed, which no run does. The same
    applies to the memory into which a result was merged.
    """
    verdict = Verdict()
    for probe, now in zip(probes, found, strict=True):
        there = set(now)
        for wanted in probe.wanted:
            heir = trace.heir(wanted)
            found_again = wanted in there or heir in there
            theirs = heir in changed and (heir != wanted or wanted not in trace.touched)
            if not found_again and (theirs or heir in removed):
                continue
            verdict.answers += 1
            if found_again:
                continue
            step, what = trace.touched.get(wanted, ("ranking", "others came before it"))
            verdict.losses.append(Loss(probe.query, wanted, step, what))
    return verdict


def traced(entries: Iterable[Entry], wanted: Container[str]) -> Trace:
    """Collect the effects of changes on the expected ids."""
    touched: dict[str, Touched] = {}
    heirs: dict[str, str] = {}
    made: set[str] = set()
    for entry in entries:
        for edit in entry.edits:
            if edit.id in wanted:
                touched[edit.id] = (str(entry.step), entry.what)
            if edit.was is None:
                made.add(edit.id)
            now = edit.now or {}
            if now.get("superseded_by"):
                heirs[edit.id] = str(now["superseded_by"])
            for link in now.get("links") or ():
                if link.get("type") == PART_OF:
                    heirs.setdefault(edit.id, str(link["ref"]))
    return Trace(touched, heirs, frozenset(made))
