"""Changes to the ranking of memories, learned from reactions to earlier answers.

A reaction takes effect at once, for questions that share most of their words with the question that was asked. The
change in a memory's score is bounded, so that no reaction hides a memory or lifts an irrelevant one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hunchd.assembly.fencing import to_single_line
from hunchd.ingestion.contact_masking import mask_contacts
from hunchd.ingestion.redaction import redact
from hunchd.protocol.knowledge_answers import UsageEvent
from hunchd.protocol.responses import format_iso
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.question_words import stem_question

logger = logging.getLogger(__name__)

MAX_QUESTIONS: Final = 200  # the oldest are dropped
MAX_EVENTS: Final = 12  # reactions to one memory and question
MAX_CHANGE: Final = 0.3  # of a score, however many reactions there were
MIN_SHARED: Final = 0.5  # share of the words that questions of one kind have in common


@dataclass(slots=True)
class _Question:
    stems: list[str]
    project: str | None
    sessions: list[str] = field(default_factory=list)  # in which it was asked
    changes: dict[str, float] = field(default_factory=dict)  # by memory id
    events: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by memory id: (time, reaction)


class QuestionPreferences:
    """Reactions to the answers to recent questions, and their effect on the ranking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._questions: list[_Question] = []  # the most recent last
        self._is_changed = False
        try:
            self._questions = [_Question(**one) for one in json.loads(path.read_text("utf-8"))]
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError):
            logger.warning("could not read %s; starting without the saved feedback on answers", path, exc_info=True)

    def record(
        self,
        question: str,
        changes: Mapping[str, float],
        reaction: str,
        *,
        project: str | None,
        session: str,
        at: datetime,
    ) -> None:
        """Change the scores of memories for questions like this one.

        `changes` maps memory ids to the change in score.
        """
        question = mask_contacts(redact(question).text)
        stems = sorted(set(stem_question(question)))
        if not stems or not changes:
            return
        question_record = next((one for one in self._questions if one.project == project and one.stems == stems), None)
        if question_record is None:
            question_record = _Question(stems, project)
        else:
            self._questions.remove(question_record)
        self._questions = [*self._questions, question_record][-MAX_QUESTIONS:]
        question_record.sessions = list(dict.fromkeys((*question_record.sessions, session)))
        for identifier, change in changes.items():
            total = question_record.changes.get(identifier, 0.0) + change
            question_record.changes[identifier] = round(max(-MAX_CHANGE, min(MAX_CHANGE, total)), 3)
            events = question_record.events.setdefault(identifier, [])
            events.append((at.isoformat(timespec="seconds"), f"{reaction}: “{to_single_line(question, 60)}”"))
            del events[:-MAX_EVENTS]
        self._is_changed = True

    def rerank(self, question: str, project: str | None, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results in the order that earlier reactions suggest.

        A result that moved says so in its reasons. Code results keep their places.
        """
        stems = set(stem_question(question))
        similar = [
            one
            for one in self._questions
            if one.project == project and len(stems.intersection(one.stems)) >= MIN_SHARED * len(stems.union(one.stems))
        ]
        if not stems or not similar:
            return list(results)
        reranked_results = [_apply_changes(one, similar) for one in results if one.kind != "code"]
        reranked_results.sort(key=lambda one: -one.score)
        memories = iter(reranked_results)
        return [one if one.kind == "code" else next(memories) for one in results]  # code has scores of its own

    def list_events(self, identifier: str) -> list[UsageEvent]:
        """Return the reactions that changed a memory's rank, newest first."""
        events = [event for one in self._questions for event in one.events.get(identifier, ())]
        return [
            UsageEvent(at=format_iso(datetime.fromisoformat(at)), what=what)
            for at, what in sorted(events, reverse=True)
        ]

    def forget(self, identifiers: Iterable[str]) -> None:
        """Drop the questions whose answers contained one of these memories.

        The words of such a question may repeat the memory.
        """
        forgotten_ids = set(identifiers)
        self._keep([one for one in self._questions if forgotten_ids.isdisjoint(one.changes)])

    def forget_session(self, session: str) -> None:
        self._keep([one for one in self._questions if session not in one.sessions])

    def forget_project(self, project: str) -> None:
        self._keep([one for one in self._questions if one.project != project])

    def _keep(self, questions: list[_Question]) -> None:
        self._is_changed |= len(questions) < len(self._questions)
        self._questions = questions

    def dump(self) -> str | None:
        """Serialize the reactions as JSON; return None if nothing has changed since the last call."""
        if not self._is_changed:
            return None
        self._is_changed = False
        return json.dumps([asdict(one) for one in self._questions], ensure_ascii=False)


def _apply_changes(result: SearchResult, questions: Sequence[_Question]) -> SearchResult:
    change = sum(one.changes.get(result.id, 0.0) for one in questions)
    if not change:
        return result
    change = max(-MAX_CHANGE, min(MAX_CHANGE, change))
    reason = "helped with such a question" if change > 0 else "did not help with such a question"
    return replace(result, score=round(result.score * (1.0 + change), 4), reasons=[*result.reasons, reason])
