"""Lines of a prompt, rendered from memories.

They contain the user's profile, the project's facts, and search results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hunchd.assembly.fencing import fence, make_nonce, quote, to_single_line
from hunchd.assembly.token_counter import count_tokens
from hunchd.core.memory.session_log import SessionHead
from hunchd.core.state.relative_time import format_age
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.domain.session import MessageType
from hunchd.ingestion.conventions import applies_to_whole_project
from hunchd.ingestion.introductions import NAME, ZONE
from hunchd.ingestion.statement_classifier import compute_probabilities
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.question_kinds import rate_kinds
from hunchd.retrieval.question_words import count_stems
from hunchd.text.invisible import remove_invisible
from hunchd.text.stemming import stem_prefix
from hunchd.text.words import extract_terms

PROFILE_PREFIX: Final = "/profile/"
MIN_IMPORTANCE: Final = 0.5  # minimum importance of a fact that is shown unprompted
MAX_WHOLE_TOKENS: Final = 160  # tokens; search results up to this length are shown in full
MAX_SNIPPET_LENGTH: Final = 300  # characters shown of a longer search result
SHORT: Final = 24  # maximum length of a message, in characters, that may be a mere remark
REMARK: Final = 0.85  # minimum probability of a remark; most names and file names have a lower one
LIKELY_REMARK: Final = 0.3  # the same for a message that surely asks for no statement; it must share half its words
LEAST_WORD: Final = 4  # minimum letters of a word that is significant in any language
OFF_TOPIC: Final = 0.8  # probability that a question asks for no statement, from which only shared words count
MOST_UNSUPPORTED: Final = 3  # maximum memories shown for a question that share no word with it
TOOL_EVENTS: Final = (str(MessageType.CALL), str(MessageType.RESULT))
MAX_FACT_LENGTH: Final = 240  # characters of a fact


def is_about_past(message: str) -> bool:
    """Return True if a message asks for a decision or insight, which requires a deep search."""
    kinds = rate_kinds(message)
    return kinds["decision"] + kinds["insight"] > kinds["other"]


def asks_nothing(message: str) -> bool:
    """Return True if a message is a short remark that requires no search.

    Examples are "ok", "danke" and "继续". An empty message requires no search either.
    """
    message_text = message.strip()
    return not message_text or (
        not message_text.endswith(("?", "？"))
        and len(message_text) <= SHORT
        and compute_probabilities(message_text)["chatter"] >= REMARK
    )


def select_supported(message: str, memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories related to a message, in the given order.

    A memory is related if it shares a significant word with the message. If the message is a question, at most
    MOST_UNSUPPORTED other memories are returned as well, because they may answer the question in other words.
    """
    words = {stem_prefix(word) for word in extract_terms(message) if len(word) >= LEAST_WORD or not word.isascii()}
    texts = [f"{one.title} {one.content}" for one in memories]
    words = {word for word in words if not word.isdigit()}
    asks_none = (other := rate_kinds(message)["other"]) >= REMARK and len(message) <= SHORT
    is_remark = asks_none and compute_probabilities(message)["chatter"] >= LIKELY_REMARK
    shared = [2 * len(counts) >= (len(words) if is_remark else 1) > 0 for counts, _ in count_stems(words, texts)]
    left = MOST_UNSUPPORTED if message.rstrip().endswith(("?", "？")) and other < OFF_TOPIC else 0
    selected = []
    for memory, shares in zip(memories, shared, strict=True):
        is_close = not shares and left > 0 and memory.source.get("event") not in TOOL_EVENTS
        left -= is_close
        if shares or is_close:
            selected.append(memory)
    return selected


def render_profile(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Render the user's documents below /profile, and the important facts.

    The order is deterministic: documents by path, then facts by importance.
    """
    known_memories = list(memories)
    documents = sorted(
        (
            memory
            for memory in known_memories
            if memory.kind is Kind.DOCUMENT and (memory.key or "").startswith(PROFILE_PREFIX)
        ),
        key=lambda memory: memory.key or "",
    )
    lines = [
        f"## {to_single_line(memory.key or '', 80)}\n{remove_invisible(memory.content).strip()}" for memory in documents
    ]
    return (*lines, *render_facts(known_memories))


def render_facts(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Render the facts important enough to show unprompted, most important first.

    Rules that apply only to certain files are left out, because a prompt is not about a particular file.
    """
    important = (one for one in memories if one.kind is Kind.FACT and one.importance >= MIN_IMPORTANCE)
    facts = [fact for fact in important if applies_to_whole_project(fact)]
    facts.sort(key=lambda one: (-one.importance, one.category or "", one.key or "", one.id))
    return tuple(dict.fromkeys(render_fact(one) for one in facts))


def render_fact(memory: Memory) -> str:
    """Render a fact as `key: value`, but an instruction verbatim.

    An instruction is not reduced to its key and value, because its key may be nothing but a name.
    """
    in_short = memory.key and memory.value and memory.category != "instruction"
    return _render_line(memory, f"{memory.key}: {memory.value}" if in_short else memory.content)


def _render_line(memory: Memory, statement: str) -> str:
    text = (
        to_single_line(statement, MAX_FACT_LENGTH)
        if memory.trust in (Trust.USER, Trust.DERIVED)
        else quote(statement, MAX_FACT_LENGTH)
    )
    by = f" ({memory.source.get('by')} said so)" if memory.trust is Trust.TEAM else ""
    return f"- {memory.category}: {text}{by}" if memory.category else f"- {text}{by}"


def render_search_result(memory: Memory, snippet: str, *, now: datetime, secret: bytes) -> str:
    """Render a search result with its source.

    Short texts are shown in full, and longer ones as a snippet. Untrusted text and text from colleagues is fenced.
    """
    when = format_age(memory.at, now)
    provenance = f"{memory.kind}, {when}, {memory.id}"
    text = memory.content if memory.kind is not Kind.EPISODE else memory.levels.summary or memory.content
    if memory.kind is Kind.FACT:
        # Facts are shown verbatim, because the wording gives the reason and the alternative.
        return f"{_render_line(memory, memory.content)} ({when}, {memory.id})"
    if count_tokens(text) > MAX_WHOLE_TOKENS:
        text = snippet or text[:MAX_SNIPPET_LENGTH]
        if memory.kind is Kind.EPISODE and not text.startswith(memory.title):
            text = f"{memory.title}: {text}"
    if memory.trust in (Trust.UNTRUSTED, Trust.TEAM):
        return fence(text, provenance=provenance, nonce=make_nonce(secret, memory.id))
    rendered_result = (
        to_single_line(text, 4 * MAX_SNIPPET_LENGTH)
        if memory.trust in (Trust.USER, Trust.DERIVED)
        else quote(text, 4 * MAX_SNIPPET_LENGTH)
    )
    speaker, _, begins = memory.title.partition(": ") if memory.kind is Kind.MESSAGE else ("", "", memory.title)
    speaker_or_title = speaker if text.startswith(begins[:40]) else memory.title
    title = f"{to_single_line(speaker_or_title, 100)}: " if speaker_or_title else ""
    return f"- {title}{rendered_result} ({provenance})"


def render_volatile_lines(
    now: datetime, name: str | None, last: SessionHead | None, degradations: Sequence[str] = ()
) -> tuple[str, ...]:
    """Render the lines that change with every prompt, such as the current time.

    `now` must be in the user's time zone, and `last` is the user's previous session, if any. `degradations` are the
    reasons why the search for memories was incomplete.
    """
    zone = now.tzname() or now.strftime("%z")
    lines = [f"Now: {now:%A %Y-%m-%d %H:%M} {zone}"]
    if name:
        lines.append(f"User: {to_single_line(name, 80)}")
    if last is not None and last.last_message_at is not None:
        how = f", {last.outcome}" if last.outcome else ""
        lines.append(f"Last session: {format_age(last.last_message_at, now)}, “{to_single_line(last.title, 100)}”{how}")
    return (*lines, *(f"Memory is incomplete: {to_single_line(why, 120)}" for why in degradations))


def find_user_name(memories: Iterable[Memory]) -> str | None:
    """Return the user's name, or None if the user has not stated it."""
    return _identity(memories, NAME)


def zone_of(memories: Iterable[Memory]) -> tzinfo | None:
    """Return the user's time zone.

    Returns None if the user has not stated a time zone, or if this machine does not know it.
    """
    try:
        return ZoneInfo(_identity(memories, ZONE) or "")
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def _identity(memories: Iterable[Memory], key: str) -> str | None:
    for memory in memories:
        if memory.kind is Kind.FACT and memory.category == "identity" and (memory.key or "").lower() == key:
            return memory.value
    return None


def filter_new_results(
    results: Sequence[SearchResult], visible_messages: Collection[str], heads: Collection[str]
) -> list[SearchResult]:
    """Return the results that the prompt does not already contain, without duplicates.

    `visible_messages` are the ids of the messages in the prompt. `heads` are the ids of session metadata, which is
    never part of the result.
    """
    seen_texts: set[str] = set()
    new_results = []
    for result in results:
        # Compare episodes by title too: snippets such as "README.md" are common to many commits.
        title = f"{result.title} " if result.kind == Kind.EPISODE else ""
        wording = " ".join(f"{title}{result.snippet}".lower().split())
        if result.id not in visible_messages and result.id not in heads and wording not in seen_texts:
            seen_texts.add(wording)
            new_results.append(result)
    return new_results
