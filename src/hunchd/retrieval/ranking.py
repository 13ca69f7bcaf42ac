"""Hits from memory and store as one ranking: relevance first, then bounded boosts, and nothing that does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hunchd.domain.filters import paths_of
from hunchd.domain.memory import Memory, Status
from hunchd.retrieval.fusion import DENSE, LEXICAL
from hunchd.retrieval.wording import said, snippet, terms
from hunchd.store.hits import Hit

Depth = Literal["specific", "shallow", "deep"]

# Unrelated texts have a cosine of about 0 with this kind of model, paraphrases 0.5 and more.
RELATED: Final = 0.35  # alone enough to be shown
VAGUE: Final = 0.15  # below, the meaning says nothing
# A text that says this share of what was asked answers it, whatever it means.
COVERED: Final = 0.5
HALF_COVERED: Final = 0.25  # enough beside a meaning between vague and related
FRESH: Final = timedelta(days=7)
FRESH_BOOST: Final = 1.2
# Boosts are bounded, so that they settle what is near and never lift what is irrelevant.
IMPORTANCE: Final = 0.2  # from 0.9 to 1.1
USAGE: Final = 0.1  # most that citations add or ignored showings take away
OUTDATED: Final = 0.6  # superseded and suspect memories stay findable, behind what is valid
SHALLOW_MOST: Final = 5
DEEP_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory with its place in the answer. `score` is between 0 and about 1.5."""

    memory: Memory
    score: float
    snippet: str
    reasons: tuple[str, ...]


def ranked(query: str, hits: Sequence[Hit], *, depth: Depth, k: int, now: datetime) -> list[dict[str, Any]]:
    """The contract's results for `query`, best first; at most `k`, and none if nothing answers it."""
    return [
        {
            "id": one.memory.id,
            "ref": one.memory.ref,
            "kind": str(one.memory.kind),
            "title": one.memory.title,
            "snippet": one.snippet,
            "score": round(one.score, 4),
            "reasons": list(one.reasons),
            "source": dict(one.memory.source),
        }
        for one in ranking(query, hits, depth=depth, k=k, now=now)
    ]


def ranking(query: str, hits: Sequence[Hit], *, depth: Depth, k: int, now: datetime) -> list[Ranked]:
    """The same as values."""
    asked = terms(query)
    highest = max((hit.lexical for hit in hits if hit.lexical is not None), default=0.0)
    found = [one for hit in hits if (one := _judged(query, asked, hit, highest, now)) is not None]
    found.sort(key=lambda one: (-one.score, one.memory.id))
    if depth == "specific" and any(_names(query, one.memory) for one in found):
        found = [one for one in found if _names(query, one.memory)]
    return found[: min(k, DEEP_MOST if depth == "deep" else max(k, SHALLOW_MOST))]


def _judged(query: str, asked: Sequence[str], hit: Hit, highest: float, now: datetime) -> Ranked | None:
    memory = hit.memory
    words = said(asked, _text(memory))
    covered = len(words) / len(asked) if asked else 0.0
    named = _names(query, memory)
    if not named and not hit.why and not _answers(covered, hit.similarity):
        return None
    relevance = 1.0 if named else _relevance(hit, covered, highest)
    return Ranked(
        memory,
        relevance * _boost(memory, now),
        snippet(memory.content, words),
        tuple(_reasons(hit, words, named, now)),
    )


def _answers(covered: float, similarity: float | None) -> bool:
    if similarity is not None and similarity >= RELATED:
        return True
    if similarity is not None and similarity >= VAGUE:
        return covered >= HALF_COVERED
    return covered >= COVERED


def _relevance(hit: Hit, covered: float, highest: float) -> float:
    """Between 0 and 1. Words count by how rare they are (their score) and by how many of them are said."""
    words = 0.0 if hit.lexical is None or highest <= 0.0 else hit.lexical / highest
    words = words * (0.5 + 0.5 * covered)
    if hit.similarity is None:  # not embedded yet, or too far away to be found: in favour of neither
        return words * LEXICAL / (LEXICAL + DENSE * 0.5)
    meaning = max(0.0, hit.similarity - VAGUE) / (1.0 - VAGUE)
    return (LEXICAL * words + DENSE * meaning) / (LEXICAL + DENSE)


def _boost(memory: Memory, now: datetime) -> float:
    fresh = FRESH_BOOST if timedelta(0) <= now - memory.at <= FRESH else 1.0
    important = 1.0 + IMPORTANCE * (min(max(memory.importance, 0.0), 1.0) - 0.5)
    balance = memory.usage.cited - max(0, memory.usage.ignored - memory.usage.cited) * 0.5
    used = 1.0 + USAGE * max(-1.0, min(1.0, balance / 5))
    outdated = OUTDATED if memory.status in (Status.SUPERSEDED, Status.SUSPECT) else 1.0
    return fresh * important * used * outdated


def _names(query: str, memory: Memory) -> bool:
    """Whether the question is a name of the memory: its id, ref, key, title or path."""
    name = query.strip().strip("`'\"").casefold()
    names = (memory.id, memory.ref, memory.key, memory.title, *paths_of(memory))
    return bool(name) and name in {one.casefold() for one in names if one}


def _reasons(hit: Hit, words: Sequence[str], named: bool, now: datetime) -> list[str]:
    memory = hit.memory
    reasons = ["is exactly what was asked for"] if named else []
    reasons += hit.why
    if words:
        reasons.append("says " + ", ".join(words[:5]))
    if hit.similarity is not None and hit.similarity >= RELATED:
        reasons.append(f"close in meaning ({hit.similarity:.2f})")
    age = now - memory.at
    if timedelta(0) <= age <= FRESH:
        reasons.append("from today" if age < timedelta(days=1) else f"{age.days} days old")
    if memory.usage.cited:
        reasons.append(f"was used {memory.usage.cited} times")
    if memory.status is not Status.ACTIVE:
        reasons.append(str(memory.status.value))
    return reasons


def _text(memory: Memory) -> str:
    return "\n".join(filter(None, (memory.title, memory.content, memory.key, memory.value, *memory.tags)))
