"""Prompt lines from memories: profile, project background, search results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hunchd.assembly.fencing import fenced, nonce_for, quoted, single_line, visible
from hunchd.assembly.tokens import count
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.engine.keeping.session_log import Head
from hunchd.engine.state.ages import ago
from hunchd.ingestion.conventions import holds_everywhere
from hunchd.ingestion.introductions import NAME, ZONE
from hunchd.ingestion.statement_classifier import load_classifier

PROFILE_PREFIX: Final = "/profile/"
LEAST_IMPORTANCE: Final = 0.5  # minimum importance of a fact that is shown unasked
WHOLE: Final = 160  # tokens: search results up to this length are shown whole
SNIPPET: Final = 300  # characters shown of a longer one
SHORT: Final = 24  # characters of a message that may be a mere remark
REMARK: Final = 0.5  # probability of a remark; names and file names reach .4, questions .1
LINE: Final = 240  # characters of a fact

# Questions about the past get a deep search.
_LOOKING_BACK: Final = re.compile(
    r"\b(?:decid\w*|decision|agreed|settled|earlier|before|previous\w*|remember|recall|"
    r"last (?:time|session|week|month)|why (?:did|do|don't|is|are|was|were|not)|when did|what did we|what was|did we|"
    r"have we|again|history|originally)\b",
    re.IGNORECASE,
)


def looks_back(message: str) -> bool:
    """Return True if a message asks about the past, which deserves a deep search."""
    return _LOOKING_BACK.search(message) is not None


def asks_nothing(message: str) -> bool:
    """Return True for "ok", "danke" or "继续": a short remark for which no memory is searched."""
    said = message.strip()
    return not said or (len(said) <= SHORT and load_classifier().probabilities(said)["chatter"] >= REMARK)


def profile_lines(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Render the user's documents below /profile and important facts.

    The order is deterministic: documents by path, facts by importance.
    """
    known = list(memories)
    documents = sorted(
        (memory for memory in known if memory.kind is Kind.DOCUMENT and (memory.key or "").startswith(PROFILE_PREFIX)),
        key=lambda memory: memory.key or "",
    )
    lines = [f"## {single_line(memory.key or '', 80)}\n{visible(memory.content).strip()}" for memory in documents]
    return (*lines, *fact_lines(known))


def fact_lines(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Render the facts important enough to be shown unasked, most important first.

    Rules for certain files are left out, as no file is open here.
    """
    important = (one for one in memories if one.kind is Kind.FACT and one.importance >= LEAST_IMPORTANCE)
    facts = [fact for fact in important if holds_everywhere(fact)]
    facts.sort(key=lambda one: (-one.importance, one.category or "", one.key or "", one.id))
    return tuple(dict.fromkeys(fact_line(one) for one in facts))


def fact_line(memory: Memory) -> str:
    """Render a fact as `key: value`, an instruction verbatim.

    The key of an instruction may be merely a name.
    """
    in_short = memory.key and memory.value and memory.category != "instruction"
    return _line(memory, f"{memory.key}: {memory.value}" if in_short else memory.content)


def _line(memory: Memory, said: str) -> str:
    text = single_line(said, LINE) if memory.trust in (Trust.USER, Trust.DERIVED) else quoted(said, LINE)
    return f"- {memory.category}: {text}" if memory.category else f"- {text}"


def found_text(memory: Memory, snippet: str, *, now: datetime, secret: bytes) -> str:
    """Render a search result with its source.

    Short ones are shown whole; untrusted text is fenced.
    """
    when = ago(memory.at, now)
    provenance = f"{memory.kind}, {when}, {memory.id}"
    told = memory.content if memory.kind is not Kind.EPISODE else memory.levels.summary or memory.content
    if memory.kind is Kind.FACT:
        # Verbatim: the wording gives the reason and the alternative.
        return f"{_line(memory, memory.content)} ({when}, {memory.id})"
    if count(told) > WHOLE:
        told = snippet or told[:SNIPPET]
        if memory.kind is Kind.EPISODE and not told.startswith(memory.title):
            told = f"{memory.title}: {told}"
    if memory.trust is Trust.UNTRUSTED:
        return fenced(told, provenance=provenance, nonce=nonce_for(secret, memory.id))
    shown = single_line(told, 4 * SNIPPET) if memory.trust in (Trust.USER, Trust.DERIVED) else quoted(told, 4 * SNIPPET)
    speaker, _, begins = memory.title.partition(": ") if memory.kind is Kind.MESSAGE else ("", "", memory.title)
    named = speaker if told.startswith(begins[:40]) else memory.title
    title = f"{single_line(named, 100)}: " if named else ""
    return f"- {title}{shown} ({provenance})"


def volatile_lines(now: datetime, name: str | None, last: Head | None, degraded: Sequence[str] = ()) -> tuple[str, ...]:
    """Render what changes with every prompt.

    `now` is in the user's own time zone.
    """
    zone = now.tzname() or now.strftime("%z")
    lines = [f"Now: {now:%A %Y-%m-%d %H:%M} {zone}"]
    if name:
        lines.append(f"User: {single_line(name, 80)}")
    if last is not None and last.last is not None:
        how = f", {last.outcome}" if last.outcome else ""
        lines.append(f"Last session: {ago(last.last, now)}, “{single_line(last.title, 100)}”{how}")
    return (*lines, *(f"Memory is incomplete: {single_line(why, 120)}" for why in degraded))


def name_of(memories: Iterable[Memory]) -> str | None:
    """Return the user's name, if they have stated it."""
    return _identity(memories, NAME)


def zone_of(memories: Iterable[Memory]) -> tzinfo | None:
    """Return the user's time zone, if they have stated one that is known here."""
    try:
        return ZoneInfo(_identity(memories, ZONE) or "")
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def _identity(memories: Iterable[Memory], key: str) -> str | None:
    for memory in memories:
        if memory.kind is Kind.FACT and memory.category == "identity" and (memory.key or "").lower() == key:
            return memory.value
    return None


def worth_showing(
    results: Sequence[Mapping[str, Any]], visible_messages: Collection[str], heads: Collection[str]
) -> list[Mapping[str, Any]]:
    """Return the results that the prompt does not show anyway, each once."""
    seen: set[str] = set()
    kept = []
    for result in results:
        # Compare episodes by title too: snippets such as "README.md" are common to many commits.
        title = f"{result['title']} " if result["kind"] == Kind.EPISODE else ""
        identifier, wording = str(result["id"]), " ".join(f"{title}{result['snippet']}".lower().split())
        if identifier not in visible_messages and identifier not in heads and wording not in seen:
            seen.add(wording)
            kept.append(result)
    return kept
