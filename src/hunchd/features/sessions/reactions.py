"""Reactions to answers, inferred from the next steps of a session.

A memory in a prompt ranks differently for similar questions afterwards if the question was asked again, if the
answer was regenerated or called wrong or incomplete, or depending on whether the answer used the memory.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hunchd.consolidation.usage_feedback import estimate_attention
from hunchd.core.memory.question_preferences import MIN_SHARED, QuestionPreferences
from hunchd.domain.session import Message, MessageType
from hunchd.retrieval.question_words import stem_question

MAX_SESSIONS: Final = 64  # sessions whose last prompt is remembered
# Changes of a score; those for the worse are weaker at lower ranks, where fewer readers look.
NOT_MEANT, ASKED_AGAIN, REGENERATED_WEIGHT = -0.15, -0.1, -0.1
MISSED_WEIGHT, USED_WEIGHT, UNUSED_WEIGHT = 0.2, 0.05, -0.05
MIN_USED_WORDS: Final = 2  # words of a memory, not of the question, that an answer repeats if it used the memory

_NOT_MEANT: Final = re.compile(
    r"\bnot what i (?:meant|asked|wanted|was asking)\b|\bno,? i meant?\b"
    r"|\bnicht (?:das,? )?was ich (?:mein|woll|gefragt)|\bich meinte\b"
    r"|\bno (?:es|era) (?:eso )?lo que (?:quer|pregunt|ped)|\bme refer[ií]a\b"
    r"|\bpas ce que je (?:voul|demand)|\bje voulais dire\b"
    r"|\bnão (?:é|era|foi) (?:isso )?o que (?:eu )?(?:quer|quis|pergunt|ped)"
    r"|\bя имела? в виду\b|\bне то, что я\b|不是(?:我的?|这个)意思|我(?:问|说)的(?:是|不是)|我的意思是"
    r"|そういう意味ではな|聞きたいのは",
    re.IGNORECASE,
)
_MISSED_PATTERN: Final = re.compile(
    r"\byou(?:'ve| have)? (?:missed|forgot(?:ten)?|overlooked|left out|ignored)\b"
    r"|\bdu hast\b.{0,60}\b(?:übersehen|vergessen)\b"
    r"|\b(?:te )?(?:olvidaste|has olvidado|te falt[aó])\b|\b(?:tu as|vous avez) (?:oublié|raté|manqué)\b"
    r"|\b(?:você )?esqueceu\b|\bты (?:забыла?|упустила?|пропустила?)\b|你(?:漏|忘)了|漏掉|忘れて(?:い)?(?:る|ます)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """Record of the memories that a prompt contained for a question, in order of rank."""

    question: str
    memories: tuple[tuple[str, str], ...]  # ids and texts
    last_message: int  # number of the newest message in the log


class ReactionTracker:
    """Tracker that infers from each request how the previous answer was received.

    It remembers the last prompt of each session.
    """

    def __init__(self, preferences: QuestionPreferences, *, now: Callable[[], datetime]) -> None:
        self.preferences = preferences
        self._now = now
        self._prompts: OrderedDict[str, _Prompt] = OrderedDict()

    def observe(self, session: str, project: str | None, message: str, log: Sequence[Message]) -> None:
        """Record the reaction to the previous answer that is expressed by `message`."""
        before = self._prompts.get(session)
        if before is None or not message.strip():
            return
        later = [one for one in log if one.number > before.last_message]
        answer = "\n".join(one.text for one in later if one.event is MessageType.ASSISTANT)
        if change := _classify_request(before.question, message, later, answer):
            weight, reaction = change
            changes = {one: weight * estimate_attention(at) for at, (one, _) in enumerate(before.memories, start=1)}
            self._record(session, project, before.question, changes, reaction)
        elif answer and not _MISSED_PATTERN.search(message):
            answer_stems = set(stem_question(answer)) - set(stem_question(before.question))
            for identifier, text in before.memories:
                is_used = len(answer_stems.intersection(stem_question(text))) >= MIN_USED_WORDS
                weight, reaction = (
                    (USED_WEIGHT, "was used in the answer to")
                    if is_used
                    else (UNUSED_WEIGHT, "was not used in the answer to")
                )
                self._record(session, project, before.question, {identifier: weight}, reaction)

    def remember(
        self,
        session: str,
        project: str | None,
        message: str,
        memories: Sequence[tuple[str, str]],
        log: Sequence[Message],
    ) -> None:
        """Remember the memories that a prompt contains.

        If `message` complains that the previous answer lacked something, the memories that are new in this prompt
        are recorded as missed in that answer.
        """
        if not message.strip():
            return
        before = self._prompts.pop(session, None)
        if before is not None and before.question != message and _MISSED_PATTERN.search(message):
            shown_ids = {one for one, _ in before.memories}
            changes = {one: MISSED_WEIGHT for one, _ in memories if one not in shown_ids}
            self._record(session, project, before.question, changes, "was missed in the answer to")
        last = log[-1].number if log else 0
        self._prompts[session] = _Prompt(message, tuple(memories), last)
        while len(self._prompts) > MAX_SESSIONS:
            self._prompts.popitem(last=False)

    def forget(self, session: str) -> None:
        """Drop the reactions in a session that is being erased."""
        self._prompts.pop(session, None)
        self.preferences.forget_session(session)

    def _record(
        self, session: str, project: str | None, question: str, changes: Mapping[str, float], reaction: str
    ) -> None:
        self.preferences.record(question, changes, reaction, project=project, session=session, at=self._now())


def _classify_request(question: str, message: str, later: Sequence[Message], answer: str) -> tuple[float, str] | None:
    """Return the reaction to the previous answer that a request expresses, or None.

    The first value is the change in the memories' scores, the second describes the reaction.
    """
    if _NOT_MEANT.search(message):
        return NOT_MEANT, "was not what was meant by"
    if message == question and all(one.event is MessageType.USER for one in later):
        return REGENERATED_WEIGHT, "the answer was regenerated for"
    asked_stems, before_stems = set(stem_question(message)), set(stem_question(question))
    is_again = message == question or len(asked_stems & before_stems) > MIN_SHARED * len(asked_stems | before_stems)
    return (ASKED_AGAIN, "was asked again") if answer and is_again else None
