"""Parsing of free-text statements into facts: category, key, value, reason. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from hunchd.domain.facts import ABOUT_USER, normal_key, place_of
from hunchd.domain.memory import Kind, Levels, Memory, Trust
from hunchd.ingestion.commit_facts import INDEX, levels_of
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.ingestion.statements import Stated, Voice, stated_in
from hunchd.protocol.memories import MemoryDraft, title_of

_DECIDED = re.compile(r"\b(?:decid|decision|agree)", re.IGNORECASE)
_VOICES: dict[Trust, Voice] = {Trust.USER: "owner", Trust.PROJECT: "turn", Trust.DERIVED: "turn"}


def filed(draft: MemoryDraft) -> MemoryDraft:
    """Add category, key and value to a fact that came without a key.

    The draft is unchanged if the rules find no statement in its text. A value that the caller gave stays as it is:
    `redact_memory` looks for it in the text.
    """
    if draft.kind is not Kind.FACT:
        return draft
    if draft.key is not None:
        value = draft.value if draft.value is not None else _value_in(draft.content, draft.key)
        key = redact(draft.key).text  # its beginning may contain part of a secret
        return replace(draft, key=key, value=value, levels=_levels(draft.levels, key, value))
    voice: Voice | None = "turn" if draft.source.get("type") == "session" else _VOICES.get(draft.trust)
    if voice is None or draft.value is not None:
        return draft
    stated = _first(stated_in(redact(draft.content).text, voice), draft.category)
    of_session = draft.source.get("type") == "session"
    if stated is None or (of_session and _differ_in_subject(stated.category, draft.category)):
        return draft  # a key from another statement of the sentence would stand for this one
    told = {"rule": stated.rule, "instead_of": stated.instead_of, "reason": stated.reason}
    return replace(
        draft,
        category=_category_of(draft, stated),
        key=stated.key,
        value=stated.value,
        levels=draft.levels if draft.levels != Levels() else levels_of(stated),
        confidence=min(draft.confidence, stated.confidence),
        source={"type": "client", **draft.source, **{name: told[name] for name in told if told[name]}},
    )


def _differ_in_subject(one: str | None, other: str | None) -> bool:
    """Return True if two categories differ and one of them is about the user."""
    return one != other and (one in ABOUT_USER or other in ABOUT_USER)


def reread(memory: Memory, patch: dict[str, Any]) -> dict[str, Any]:
    """Complete `patch` so that text, key and value of a fact stay consistent.

    A new text leaves the fact in its slot; another key, category, scope or branch moves it to another one.
    """
    if memory.kind is not Kind.FACT or not memory.key:
        return patch
    if "content" in patch and not patch.keys() & {"key", "value"}:
        content = redact(patch["content"]).text
        value = _value_in(content, memory.key)
        told = {"value": value, "title": title_of(content), "levels": _levels(Levels(), memory.key, value)}
        return told | patch
    if patch.keys() & {"key", "value"}:
        key, said = _clean(patch.get("key", memory.key) or "", patch.get("value", memory.value) or "")
        line = f"{key}: {said}"
        told = {"title": title_of(line), "content": line, "levels": _levels(Levels(), key or "", said)}
        return (told if key and said else {}) | patch
    return patch


def merged_into(facts: Iterable[Memory], now: datetime, *, sha: str) -> list[Memory]:
    """Convert facts of a merged branch to claims without a branch."""
    claims = []
    for fact in facts:
        claim = replace(fact, branch=None, ref=None, valid_from=now, created=now, updated=now, supersedes=None)
        source = {**fact.source, "merged": sha}
        claims.append(replace(claim, id=place_of(claim) or claim.id, source=source))
    return claims


def _first(found: list[Stated], category: str | None) -> Stated | None:
    """Return the first statement, preferably of the category that the caller named."""
    return next((one for one in found if one.category == category), found[0] if found else None)


def _category_of(draft: MemoryDraft, stated: Stated) -> str:
    """Return the category of a statement: what "was decided" shares its slot with a decision in a session."""
    return draft.category or ("decision" if _DECIDED.search(draft.content) else stated.category)


def _value_in(content: str, key: str) -> str:
    """Extract the value of `key` from a text.

    What follows "key:", what a rule extracts, or else the first line. Secrets are redacted in the whole text first:
    a part
    of it may no longer look like one.
    """
    content = redact(content).text
    named, _, value = content.partition(":")
    if normal_key(named) == normal_key(key) and value.strip():
        return value.strip()
    stated = stated_in(content, "owner")
    return next((one.value for one in stated if normal_key(one.key) == normal_key(key)), title_of(content))


def _clean(key: str, value: str) -> tuple[str, str]:
    """Redact both; a value is judged by the key it is stored under."""
    [(clean_key, clean_value)] = redact_values({key: value})[0].items()
    return str(clean_key), str(clean_value)


def _levels(given: Levels, key: str, value: str | None) -> Levels:
    if given != Levels():
        return given
    line = f"{key}: {value}" if value else key
    return Levels(summary=line, compressed=line, index=key[:INDEX])
