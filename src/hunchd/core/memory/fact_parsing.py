"""Parsing of free-text statements into facts with category, key, value and reason.

The module does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hunchd.domain.facts import ABOUT_USER, normalize_key, slot_of
from hunchd.domain.memory import Kind, Levels, Memory, Trust
from hunchd.ingestion.commit_facts import MAX_INDEX, build_levels
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.ingestion.statements import ExtractedStatement, Voice, extract_statements
from hunchd.protocol.memories import MemoryDraft, MemoryFields, derive_title

_DECISION_WORDS = re.compile(r"\b(?:decid|decision|agree)", re.IGNORECASE)
_VOICE_BY_TRUST: dict[Trust, Voice] = {Trust.USER: "owner", Trust.PROJECT: "turn", Trust.DERIVED: "turn"}


def parse_draft(draft: MemoryDraft) -> MemoryDraft:
    """Fill in the fields of a fact draft that its text states.

    A missing category, key or value is added. If the draft already has a key, only the value is taken from the
    text. A draft without a key is returned unchanged if the rules find no statement in its text. A value given by
    the caller is kept as it is, because `redact_memory` looks for it in the text.
    """
    if draft.kind is not Kind.FACT:
        return draft
    if draft.key is not None:
        value = draft.value if draft.value is not None else _extract_value(draft.content, draft.key)
        key = redact(draft.key).text  # its beginning may contain part of a secret
        return replace(draft, key=key, value=value, levels=_build_levels(draft.levels, key, value))
    voice: Voice | None = "turn" if draft.source.get("type") == "session" else _VOICE_BY_TRUST.get(draft.trust)
    if voice is None or draft.value is not None:
        return draft
    statement = _select_statement(extract_statements(redact(draft.content).text, voice), draft.category)
    of_session = draft.source.get("type") == "session"
    if statement is None or (of_session and _differ_in_subject(statement.category, draft.category)):
        return draft  # the key would be that of a different statement in the text
    extracted_fields = {"rule": statement.rule, "instead_of": statement.instead_of, "reason": statement.reason}
    return replace(
        draft,
        category=_category_of(draft, statement),
        key=statement.key,
        value=statement.value,
        levels=draft.levels if draft.levels != Levels() else build_levels(statement),
        confidence=min(draft.confidence, statement.confidence),
        source={
            "type": "client",
            **draft.source,
            **{name: extracted_fields[name] for name in extracted_fields if extracted_fields[name]},
        },
    )


def _differ_in_subject(one: str | None, other: str | None) -> bool:
    """Return True if two categories differ, and one concerns the user or is "instruction"."""
    return one != other and not {one, other}.isdisjoint((*ABOUT_USER, "instruction"))


def complete_patch(memory: Memory, patch: MemoryFields) -> MemoryFields:
    """Complete `patch` to keep a fact's text, key and value consistent.

    A new text does not change the id of the fact; a new key, category, scope or branch does.
    """
    if memory.kind is not Kind.FACT or not memory.key:
        return patch
    if "content" in patch and not patch.keys() & {"key", "value"}:
        content = redact(patch["content"]).text
        value = _extract_value(content, memory.key)
        completed_fields = {
            "value": value,
            "title": derive_title(content),
            "levels": _build_levels(Levels(), memory.key, value),
        }
        return {**completed_fields, **patch}
    if patch.keys() & {"key", "value"}:
        key, new_value = _redact_pair(patch.get("key", memory.key) or "", patch.get("value", memory.value) or "")
        line = f"{key}: {new_value}"
        completed_fields = {
            "title": derive_title(line),
            "content": line,
            "levels": _build_levels(Levels(), key or "", new_value),
        }
        return {**(completed_fields if key and new_value else {}), **patch}
    return patch


def claims_from_merged(facts: Iterable[Memory], now: datetime, *, sha: str) -> list[Memory]:
    """Convert a merged branch's facts to claims that belong to no branch.

    `sha` is recorded in the source of each claim.
    """
    claims = []
    for fact in facts:
        claim = replace(fact, branch=None, ref=None, valid_from=now, created=now, updated=now, supersedes=None)
        source = {**fact.source, "merged": sha}
        claims.append(replace(claim, id=slot_of(claim) or claim.id, source=source))
    return claims


def _select_statement(statements: list[ExtractedStatement], category: str | None) -> ExtractedStatement | None:
    """Return the first statement in `category`, or else the first statement.

    Returns None if there are no statements.
    """
    return next((one for one in statements if one.category == category), statements[0] if statements else None)


def _category_of(draft: MemoryDraft, statement: ExtractedStatement) -> str:
    """Return the category for the statement found in a draft.

    The category that a session sends is only a guess, so every decision found in a session gets the category
    "decision". Two statements about the same subject thus get the same id, whichever categories were guessed.
    """
    is_decided = _DECISION_WORDS.search(draft.content) is not None
    if draft.source.get("type") == "session" and (is_decided or statement.instead_of):
        return "decision"
    return draft.category or ("decision" if is_decided else statement.category)


def _extract_value(content: str, key: str) -> str:
    """Extract the value of `key` from a text.

    The value is the text after "key:", or the value that a rule extracts, or else the first line. Secrets are
    redacted in the whole text first, because part of a secret may no longer be recognised as one.
    """
    content = redact(content).text
    name, _, value = content.partition(":")
    if normalize_key(name) == normalize_key(key) and value.strip():
        return value.strip()
    statements = extract_statements(content, "owner")
    return next(
        (one.value for one in statements if normalize_key(one.key) == normalize_key(key)), derive_title(content)
    )


def _redact_pair(key: str, value: str) -> tuple[str, str]:
    """Redact a key and its value.

    Whether the value is secret also depends on the key.
    """
    [(clean_key, clean_value)] = redact_values({key: value})[0].items()
    return str(clean_key), str(clean_value)


def _build_levels(draft_levels: Levels, key: str, value: str | None) -> Levels:
    if draft_levels != Levels():
        return draft_levels
    line = f"{key}: {value}" if value else key
    return Levels(summary=line, compressed=line, index=key[:MAX_INDEX])
