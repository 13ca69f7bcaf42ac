"""Statements: memories that say that something holds now.

These pure functions extract the text of a statement and decide which pairs may contradict each other. Facts with
the same key and scope are not compared, because the newer claim replaces the older one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from hunchd.domain.facts import get_source_name, get_valid_from, normalize_key, slot_of
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.ingestion.conventions import get_globs, get_part
from hunchd.text.stemming import stem_statement
from hunchd.text.words import STATEMENT_STOP_WORDS

MAX_STATEMENT_CHARACTERS: Final = 500  # characters of a memory that are read as a statement
MIN_STATEMENT_CHARACTERS: Final = 6  # characters
# Sources that record one moment automatically; what they record does not claim to hold now.
_HISTORY_SOURCES: Final = frozenset({"git", "commit", "signal", "session", "consolidation"})
# Keys, read from files, whose values list what there is and state no decision.
_LIST_KEYS: Final = frozenset({"run everything", "before a commit", "commands", "ci systems"})
# The model reads sentences, so a value from a file is put into the sentence for its key.
_SENTENCES: Final[Mapping[str, str]] = {
    "tests": "Tests are run with {}.",
    "format": "Code is formatted with {}.",
    "lint": "Code is linted with {}.",
    "types": "Types are checked with {}.",
    "package manager": "The package manager is {}.",
    "build backend": "The build backend is {}.",
    "indent": "Code is indented with {}.",
    "line length": "Lines are at most {} characters long.",
} | {
    name.lower(): f"{name} {{}} is required."
    for name in ("Python", "Node", "PHP", "Ruby", "Go", "Java", "Rust", "Deno", "Bun")
}
# When a statement began to hold. The model reads "4 MiB since last week" as no contradiction to "1 MiB" (logit -8; 4
# without these words).
_BEGAN: Final = re.compile(
    r",? (?:now|these days|nowadays|currently|from now on"
    r"|(?:since|as of) (?:(?:last|this) \w+|v?\d+(?:\.\w+)*|yesterday|today|now|\w+day"
    r"|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)\w*))(?=[.;!]?\s*$)",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[\w./@+#-]*\w")
_DENIAL: Final = re.compile(r"\b(?:not?|never|without|none|nobody|nothing|only|cannot)\b|n't\b")
_ARTICLES: Final = frozenset({"a", "an", "the"})


def is_statement(memory: Memory) -> bool:
    """Return True if a memory states that something holds now."""
    if not describe(memory.kind).states_claims or memory.status is not Status.ACTIVE or "." in memory.id:
        return False
    if memory.key in _LIST_KEYS and memory.trust is not Trust.USER:
        return False
    if memory.kind is Kind.EPISODE and (
        memory.trust is not Trust.USER
        or str(memory.source.get("type")) in _HISTORY_SOURCES
        or any(artifact.type in ("commit", "pr") for artifact in memory.artifacts)
    ):
        return False
    return len(extract_statement(memory)) >= MIN_STATEMENT_CHARACTERS


def extract_statement(memory: Memory) -> str:
    """Return the text of a memory to compare with others.

    This is the beginning of the memory's content, at most MAX_STATEMENT_CHARACTERS, without the time from which it
    holds, or a text made from its key and value.
    """
    text = _BEGAN.sub("", memory.content[:MAX_STATEMENT_CHARACTERS])
    if memory.category == "instruction" or not (memory.key and memory.value):  # keys of instructions are generated
        return text
    entry = f"{memory.key}: {memory.value}"
    if normalize_key(memory.key) in text.casefold() and not text.casefold().startswith(f"{memory.key}:".casefold()):
        return text
    return _SENTENCES[memory.key].format(memory.value) if memory.key in _SENTENCES else entry


def _is_entry(memory: Memory) -> bool:
    """Return True if a memory consists only of a key and a value."""
    return bool(memory.key) and memory.content.casefold().startswith(f"{memory.key}:".casefold())


def _are_entries_of_two_keys(one: Memory, other: Memory) -> bool:
    """Return True if both memories are entries from files, with different keys.

    An example is "java: 8" and "ci java: 17, 21".
    """
    return (
        Trust.USER not in (one.trust, other.trust)
        and _is_entry(one)
        and _is_entry(other)
        and normalize_key(one.key or "") != normalize_key(other.key or "")
    )


def _differ_in_number_only(one: Memory, other: Memory) -> bool:
    """Return True if the keys of both memories differ only in a number.

    An example is "port of worker 1" and "port of worker 2".
    """
    mine, others = normalize_key(one.key or ""), normalize_key(other.key or "")
    return mine != others and _DIGITS.sub("#", mine) == _DIGITS.sub("#", others)


def _apply_to_different_files(one: Memory, other: Memory) -> bool:
    """Return True if both memories are instructions, but for different files.

    The instruction for fewer files is then an exception to the other.
    """
    if not one.category == other.category == "instruction":
        return False
    return (get_part(one), get_globs(one)) != (get_part(other), get_globs(other))


def may_contradict(one: Memory, other: Memory) -> bool:
    """Return True if two memories could contradict each other, judging by their origin.

    The memories must overlap in scope and time, and must not be linked, come from one source or apply to different
    files. Memories with the same key cannot contradict each other, because a key has only one value.
    """
    if one.id == other.id or one.project != other.project or one.scope is not other.scope:
        return False
    if one.branch != other.branch or not _overlap_in_time(one, other):
        return False
    place = slot_of(one)
    if place is not None and place == slot_of(other):
        return False
    return not (_have_one_source(one, other) or _apply_to_different_files(one, other) or _are_linked(one, other))


def _have_one_source(one: Memory, other: Memory) -> bool:
    """Return True if both memories come from the same file, session or history.

    A source does not contradict itself. This does not apply to people and agents: what one of them said in spring may
    contradict what they say today.
    """
    if one.trust is Trust.USER or get_source_name(one) != get_source_name(other):
        return False
    if one.source.get("path"):
        return True
    said_by = one.source.get("type") or "client"
    return said_by != "client" and not (said_by == "session" and one.source["session"] != other.source["session"])


def is_eligible_pair(memory: Memory, other: Memory) -> bool:
    """Return True if a contradiction of two memories is plausible."""
    if not is_statement(other) or not may_contradict(memory, other):
        return False
    return not _are_entries_of_two_keys(memory, other) and not _differ_in_number_only(memory, other)


def measure_overlap(one: Memory, other: Memory) -> float:
    """Return the share of their words that two statements have in common."""
    words, others = extract_words(one), extract_words(other)
    return len(words & others) / max(len(words | others), 1)


def score_relatedness(one: Memory, other: Memory, similarity: float | None) -> float:
    """Score how likely it is that two statements are about the same subject.

    The score is the cosine similarity of their vectors plus half the proportion of words they share. If `similarity`
    is None (no vector), the cosine is estimated from that proportion.
    """
    overlap = measure_overlap(one, other)
    return (0.25 + 0.9 * overlap if similarity is None else similarity) + 0.5 * overlap


def repeats(one: Memory, other: Memory) -> bool:
    """Return True if two statements differ at most in case, punctuation and articles."""
    words, others = (
        [word for word in _WORD.findall(extract_statement(memory).casefold()) if word not in _ARTICLES]
        for memory in (one, other)
    )
    return words == others


def nearly_repeats(one: Memory, other: Memory) -> bool:
    """Return True if one statement has the other's words and at most a few more, none of which changes its sense."""
    fewer, more = sorted((extract_words(one), extract_words(other)), key=len)
    extra = more - fewer
    return (
        fewer <= more
        and 3 * len(extra) <= len(fewer)
        and not any(map(_DIGITS.search, extra))
        and _find_denials(one) == _find_denials(other)
    )


def _find_denials(memory: Memory) -> list[str]:
    return sorted(_DENIAL.findall(extract_statement(memory).casefold()))


def extract_words(memory: Memory) -> frozenset[str]:
    """Return the stems of the content words in a memory's statement and key."""
    return _extract_stems(f"{memory.key or ''} {extract_statement(memory)}")


@lru_cache(maxsize=4_096)
def _extract_stems(text: str) -> frozenset[str]:
    words = (match[0].lower() for match in _WORD.finditer(text))
    return frozenset(stem_statement(word) for word in words if word not in STATEMENT_STOP_WORDS)


def sort_by_age(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return both memories, the older one first."""
    older, newer = sorted((one, other), key=lambda memory: (get_valid_from(memory), memory.created, memory.id))
    return older, newer


def _overlap_in_time(one: Memory, other: Memory) -> bool:
    ends, others_end = one.valid_to, other.valid_to
    return (ends is None or ends > get_valid_from(other)) and (others_end is None or others_end > get_valid_from(one))


def _are_linked(one: Memory, other: Memory) -> bool:
    """Return True if one memory has replaced the other or is linked to it."""
    names = {one.supersedes, one.superseded_by, *(link.get("ref") for link in one.links)}
    others = {other.supersedes, other.superseded_by, *(link.get("ref") for link in other.links)}
    return other.id in names or one.id in others
