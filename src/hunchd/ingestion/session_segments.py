"""Segmentation of a session into episodes, based only on its words.

A segment is a series of turns with similar words, which usually concern one task. It has a title, topics and an
outcome.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hunchd.domain.session import MessageType, Outcome, Turn
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.ingestion.session_digest import split_sentences
from hunchd.text.words import SESSION_STOP_WORDS

SEGMENTS_PER_HUNDRED_TURNS: Final = 5
TURNS_PER_SEGMENT: Final = 20
MAX_MEAN_TURNS: Final = 50  # mean turns per segment, however similar the words
MIN_WORD_CHANGE: Final = 0.5  # minimum dissimilarity of the words before and after a cut
MIN_TURNS: Final = 4  # turns; fewer make no segment
WINDOW_TURNS: Final = 4  # turns compared on each side
MAX_TOPICS: Final = 6
MAX_MESSAGE_CHARACTERS: Final = 2_000  # characters read per message

_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")
_SUCCESS = re.compile(
    r"\b(?:thanks|thank you|great|perfect|works(?: now)?|lgtm|looks good|well done|nice|all tests pass|"
    r"tests pass(?:ed)?|all green|merged|committed|released|is fixed|fixed it|is done|done)\b"
    r"|\b\d+ passed\b(?!.*\bfailed\b)",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"\b(?:still (?:fails?|broken|failing)|does(?:n't| not) work|not fixed|failed|failing|gave up|revert(?:ed)?|stuck|"
    r"error:|traceback|abort(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SessionSegment:
    """Consecutive turns of a session that concern the same topics."""

    turns: tuple[Turn, ...]
    title: str
    outcome: Outcome
    topics: tuple[str, ...]

    @property
    def first_turn(self) -> int:
        return self.turns[0].number

    @property
    def last_turn(self) -> int:
        return self.turns[-1].number


def segment_session(turns: Sequence[Turn], *, is_complete: bool = True) -> tuple[SessionSegment, ...]:
    """Split a session into segments where its vocabulary changes most.

    There are at most five segments for each hundred turns, and each segment except the first begins with a turn by
    the user. `is_complete` is False if the session may go on.
    """
    if not turns:
        return ()
    bounds = [0, *_find_cuts(turns), len(turns)]
    parts = [tuple(turns[first:last]) for first, last in pairwise(bounds)]
    return tuple(
        SessionSegment(
            part,
            _make_title(part),
            judge_outcome(part, is_complete=is_complete or part is not parts[-1]),
            _find_topics(part),
        )
        for part in parts
    )


def judge_outcome(turns: Sequence[Turn], *, is_complete: bool = True) -> Outcome:
    """Judge from the last messages how the turns ended.

    The outcome is "success", "partial" or "interrupted".
    """
    last = turns[-1].messages[-1]
    recent_texts = [
        message.text[:MAX_MESSAGE_CHARACTERS]
        for turn in turns[-3:]
        for message in turn.messages
        if message.event is not MessageType.CALL
    ]
    verdicts = [_judge_text(text) for text in recent_texts]
    final = next((verdict for verdict in reversed(verdicts) if verdict is not None), None)
    if final is True:
        return "success"
    if last.event in (MessageType.CALL, MessageType.RESULT) or (last.event is MessageType.USER and not is_complete):
        return "interrupted"
    return "partial"


def _judge_text(text: str) -> bool | None:
    """Return True if a text reports success, or False if it reports failure.

    If it reports both, the last mention decides. Returns None if it reports neither.
    """
    successes, failures = list(_SUCCESS.finditer(text)), list(_FAILURE.finditer(text))
    if not successes and not failures:
        return None
    return bool(successes) and (not failures or successes[-1].start() > failures[-1].start())


def _find_cuts(turns: Sequence[Turn]) -> list[int]:
    """Return the index of the first turn of each segment except the first segment."""
    max_segments = max(
        1, min(SEGMENTS_PER_HUNDRED_TURNS * math.ceil(len(turns) / 100), math.ceil(len(turns) / TURNS_PER_SEGMENT))
    )
    if max_segments == 1:
        return []
    words = [_count_words(turn) for turn in turns]
    depths = [
        (
            1
            - _cosine_similarity(
                words[max(0, position - WINDOW_TURNS) : position], words[position : position + WINDOW_TURNS]
            ),
            -position,
        )
        for position in range(MIN_TURNS, len(turns) - MIN_TURNS + 1)
        if turns[position].by_user
    ]
    min_distance = max(MIN_TURNS, len(turns) // (2 * max_segments))
    cuts: list[int] = []
    min_cuts = math.ceil(len(turns) / MAX_MEAN_TURNS) - 1
    for depth, negative in sorted(depths, reverse=True):
        position = -negative
        if depth < MIN_WORD_CHANGE and len(cuts) >= min_cuts:
            break
        if all(abs(position - other) >= min_distance for other in (0, *cuts, len(turns))):
            cuts.append(position)
        if len(cuts) == max_segments - 1:
            break
    return sorted(cuts)


def _cosine_similarity(before_turns: Sequence[Counter[str]], after_turns: Sequence[Counter[str]]) -> float:
    """Return the cosine similarity of the word counts before and after a boundary."""
    before_counts, after_counts = sum(before_turns, Counter[str]()), sum(after_turns, Counter[str]())
    norm = math.sqrt(sum(n * n for n in before_counts.values()) * sum(n * n for n in after_counts.values()))
    return sum(times * after_counts[word] for word, times in before_counts.items()) / norm if norm else 0.0


def _count_words(turn: Turn) -> Counter[str]:
    """Count the words in a turn, except stop words.

    Only the first 200 characters of each tool output are read.
    """
    text = " ".join(
        message.text[: MAX_MESSAGE_CHARACTERS if message.event is not MessageType.RESULT else 200]
        for message in turn.messages
    ).lower()
    return Counter(word for word in _WORD.findall(text) if word not in SESSION_STOP_WORDS)


def _find_topics(turns: Sequence[Turn]) -> tuple[str, ...]:
    turn_counts: Counter[str] = Counter()
    for turn in turns:
        turn_counts.update(set(_count_words(turn)))
    frequent = [word for word, times in turn_counts.most_common() if times > 1]
    return tuple(sorted(frequent[: 4 * MAX_TOPICS], key=lambda word: (-turn_counts[word], word))[:MAX_TOPICS])


def _make_title(turns: Sequence[Turn]) -> str:
    """Return the user's first request in this segment.

    If there is none, returns the beginning of a message, or "a session". Text with contact data is never used.
    """
    for turn in turns:
        first_sentences = (
            [one for one in split_sentences(turn.messages[0].text) if not holds_contact_data(one)]
            if turn.by_user
            else []
        )
        if first_sentences:
            return first_sentences[0]
    texts = (" ".join(message.text.split())[:200] for turn in turns for message in turn.messages)
    return next((text for text in texts if text and not holds_contact_data(text)), "a session")
