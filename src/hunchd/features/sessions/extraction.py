"""Extraction of episodes and facts from a session, in the words of the session.

Nothing is invented: every episode names the turns and messages on which it is based, and every fact names its turn
and message.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hunchd.assembly.digest_text import render_digest
from hunchd.assembly.fencing import to_single_line
from hunchd.core.memory.drafts import draft_to_memory, memory_id, redact_memory
from hunchd.core.memory.fact_parsing import parse_draft
from hunchd.core.memory.session_log import SessionHead, session_head_id, session_tag
from hunchd.domain.facts import ABOUT_USER
from hunchd.domain.memory import Kind, Levels, Memory, Scope, Trust
from hunchd.domain.session import Digest, Outcome, Turn
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.introductions import iterate_introductions
from hunchd.ingestion.revisions import CHANGE_THRESHOLD, adds_value, find_done, find_revised, shares_words
from hunchd.ingestion.session_digest import digest_turns
from hunchd.ingestion.session_segments import SessionSegment, judge_outcome, segment_session
from hunchd.ingestion.session_statements import IMPORTANCE, LEAST_REVISION, REPORT_LABEL, SURE_REPORT, Statement
from hunchd.protocol.memories import MemoryDraft, derive_title
from hunchd.retrieval.outdated_messages import SAID_BEFORE

MOST_FACTS_A_HUNDRED = 60  # maximum facts in a hundred turns; dense sessions state nearly one in two turns
MIN_FACTS = 10
# The user's statements are deliberate; an assistant's may be mere considerations.
USER_CONFIDENCE = 0.9
ASSISTANT_CONFIDENCE = 0.6
# Compression is about 20:1: what prompts show from a session takes a twentieth of its tokens, with a minimum.
COMPRESSION_RATIO = 26  # for episodes; the facts take up the difference
MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS = 32, 480  # tokens
NARRATIVE_TOKENS = 2_000  # tokens of the longest form, which is stored but not put into prompts
MAX_COMPRESSED_LENGTH = 160  # characters


@dataclass(frozen=True, slots=True)
class Extract:
    """Episodes, summary and outcome extracted from a session."""

    episodes: tuple[Memory, ...]
    summary: str
    outcome: Outcome


def extract_episodes(head: SessionHead, turns: Sequence[Turn], now: datetime, *, is_ended: bool) -> Extract:
    """Extract the episodes, summary and outcome from a session with at least one turn.

    `is_ended` is True if no more turns are expected.
    """
    chapters = segment_session(turns, is_complete=is_ended)
    digests = [digest_turns(chapter.turns) for chapter in chapters]
    episodes = tuple(
        _build_episode(head, number, chapter, digest, now)
        for number, (chapter, digest) in enumerate(zip(chapters, digests, strict=True), start=1)
    )
    points = [point for digest in digests for point in digest.points]
    whole = Digest(turns[0].number, turns[-1].number, tuple(points), sum(digest.tokens for digest in digests))
    return Extract(
        episodes=episodes,
        summary=mask_contacts(render_digest(whole, budget=_get_summary_budget(whole.tokens))),
        outcome=judge_outcome(turns, is_complete=is_ended),
    )


def episode_id(session: str, project: str | None, number: int) -> str:
    return memory_id(project, _episode_ref(session, number))


def _episode_ref(session: str, number: int) -> str:
    return f"session:{session}:episode:{number}"


def _build_episode(head: SessionHead, number: int, chapter: SessionSegment, digest: Digest, now: datetime) -> Memory:
    title = derive_title(to_single_line(mask_contacts(chapter.title), 120))
    first, last = chapter.turns[0].messages[0], chapter.turns[-1].messages[-1]
    summary = mask_contacts(render_digest(digest, budget=_get_summary_budget(digest.tokens)))
    best = max(digest.points, key=lambda point: point.weight, default=None)
    compressed_text = mask_contacts(f"{title}: {best.text}") if best is not None and best.text != title else title
    return redact_memory(
        Memory(
            id=episode_id(head.session, head.project, number),
            kind=Kind.EPISODE,
            title=title,
            content=mask_contacts(render_digest(digest, budget=NARRATIVE_TOKENS)),
            at=last.at,
            created=now,
            updated=now,
            project=head.project,
            ref=_episode_ref(head.session, number),
            levels=Levels(summary, to_single_line(compressed_text, MAX_COMPRESSED_LENGTH), title),
            category=chapter.outcome,
            scope=Scope.USER,
            importance=0.5,
            tags=(session_tag(head.session), *chapter.topics),
            valid_from=first.at,
            links=({"type": "part_of", "ref": session_head_id(head.session, head.project)},),
            trust=Trust.DERIVED,
            source={
                "type": "session",
                "session": head.session,
                "turns": [chapter.first_turn, chapter.last_turn],
                "messages": [first.number, last.number],
                "outcome": chapter.outcome,
            },
        )
    )


def _get_summary_budget(tokens: int) -> int:
    return max(MIN_SUMMARY_TOKENS, min(MAX_SUMMARY_TOKENS, tokens // COMPRESSION_RATIO))


def build_facts(
    head: SessionHead,
    last_turn: int,
    statements: Sequence[Statement],
    known_facts: Sequence[Memory] = (),
    vectors: Mapping[str, bytes] | None = None,
) -> tuple[MemoryDraft, ...]:
    """Build the facts to store from the statements in a session, up to `last_turn`.

    A fact that changes or withdraws one of `known_facts`, or an earlier statement, supersedes it. A withdrawal that
    states no new value ends together with the fact that it withdraws; if it withdraws no known fact, it is dropped.
    `vectors` maps texts to their vectors from the embedding model. A session may yield about MOST_FACTS_A_HUNDRED
    facts per hundred turns; beyond that, the least important are left out.
    """
    most = max(MIN_FACTS, math.ceil(MOST_FACTS_A_HUNDRED * last_turn / 100)) - head.facts
    strong = [at for at, one in enumerate(statements) if not one.is_weak]
    best_indexes = sorted(strong, key=lambda at: (-IMPORTANCE[statements[at].category], -at))[: max(0, most)]
    selected_statements = [one for at, one in enumerate(statements) if one.is_weak or at in best_indexes]
    earlier = [
        (fact.id, fact.at, fact.category or "", fact.content) for fact in sorted(known_facts, key=lambda one: one.at)
    ]
    said_before = {fact.id: list_messages(fact.links) for fact in known_facts}
    drafts = []
    for one in selected_statements:
        older = [fact for fact in earlier if fact[1] < one.at or (fact[1] == one.at and not one.is_weak)]
        done_index = _find_done(one, older)
        ended_index = _find_ended(one, older, vectors or {}) if done_index is None else done_index
        if one.is_weak and ended_index is None:
            continue
        ended_text = "" if ended_index is None else older[ended_index][3]
        ends = done_index is not None or (one.withdraws and not adds_value(one.text, ended_text))
        if ended_text and not ends and not shares_words(one.text, ended_text):
            one = replace(one, text=f"{one.text} (instead of: {ended_text})")
        draft = parse_draft(_build_fact(head, one))
        if ended_index is not None:
            draft = replace(draft, supersedes=older[ended_index][0], valid_to=one.at if ends else None)
            earlier.remove(older[ended_index])
            outdated_ids = said_before.get(draft.supersedes or "", ())
            draft = replace(draft, links=(*draft.links, *({"type": SAID_BEFORE, "ref": one} for one in outdated_ids)))
        if ends:
            drafts += [draft] if ended_index is not None else []
            continue
        drafts.append(draft)
        if one.category == "identity" and one.by_user:
            drafts += _introductions(draft)
        identifier = draft_to_memory(draft, draft.project, one.at).id
        earlier.append((identifier, one.at, one.category, one.text))
        said_before[identifier] = list_messages(draft.links)
    return tuple(drafts)


def list_messages(links: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the ids of the messages that stated a fact or its predecessor."""
    return tuple(str(link["ref"]) for link in links if link.get("type") in ("said_in", SAID_BEFORE))


def _find_done(statement: Statement, older: Sequence[tuple[str, datetime, str, str]]) -> int | None:
    """Return the index of the action in `older` that a statement reports as done, or None."""
    before = [(category, text) for _, at, category, text in older if at < statement.at]
    if statement.reports < LEAST_REVISION or statement.category == "action":
        return None
    return find_done(statement.text, before, least=1 if statement.reports >= SURE_REPORT else 2)


def _find_ended(
    statement: Statement, older: Sequence[tuple[str, datetime, str, str]], vectors: Mapping[str, bytes]
) -> int | None:
    """Return the index of the fact (id, time, category, text) in `older` that a statement ends, or None.

    "Back to light" makes sense only with the sentence before it, the fact of which must not be taken for the one that
    ends.
    """
    facts = [(category, text) for _, _, category, text in older]
    before = [index for index, (_, at, *_) in enumerate(older) if at < statement.at]
    category, changes = statement.category, statement.changes
    if category == REPORT_LABEL:
        return None
    own = find_revised(statement.text, category, facts, vectors, changes=changes)
    if own is not None or changes < CHANGE_THRESHOLD:
        return own
    index = find_revised(statement.in_context, category, [facts[one] for one in before], vectors, changes=changes)
    return None if index is None else before[index]


def _introductions(draft: MemoryDraft) -> list[MemoryDraft]:
    """Return separate facts for a name and time zone in the user's statement."""
    return [
        replace(draft, ref=f"{draft.ref}:{key}", key=key, value=value, content=clause, title=derive_title(clause))
        for key, value, clause in iterate_introductions(draft.content)
    ]


def _build_fact(head: SessionHead, statement: Statement) -> MemoryDraft:
    """Convert a statement to a fact draft, for every project if it is about the user."""
    digest = hashlib.blake2b(" ".join(statement.text.lower().split()).encode(), digest_size=6).hexdigest()
    own = statement.category in ABOUT_USER and statement.by_user
    return MemoryDraft(
        kind=Kind.FACT,
        title=derive_title(statement.text),
        content=statement.text,
        at=statement.at,
        project=None if own else head.project,
        ref=f"session:{head.session}:fact:{digest}",
        category=statement.category,
        scope=Scope.USER if own or head.project is None else Scope.PROJECT,
        confidence=USER_CONFIDENCE if statement.by_user else ASSISTANT_CONFIDENCE,
        importance=IMPORTANCE[statement.category]
        if statement.by_user
        else min(ASSISTANT_CONFIDENCE, IMPORTANCE[statement.category]),
        tags=(session_tag(head.session),),
        links=(
            {"type": "said_in", "ref": statement.message},
            {"type": "part_of", "ref": session_head_id(head.session, head.project)},
        ),
        trust=Trust.USER if statement.by_user else Trust.DERIVED,
        source={"type": "session", "session": head.session, "turn": statement.turn, "message": statement.message},
    )


def finish_head(head: SessionHead, extract: Extract, *, at: datetime, outcome: str | None) -> SessionHead:
    """Return the metadata of a session, marked as ended at the time `at`.

    `outcome`, if given, takes precedence over the extracted outcome.
    """
    return replace(head, ended_at=at, outcome=outcome or extract.outcome, summary=extract.summary)
