"""Segmentation of a session into episodes, by words alone.

Each segment has a title, topics and an outcome.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from hunchd.domain.session import Event, Outcome, Turn
from hunchd.ingestion.digesting import sentences
from hunchd.ingestion.personal_data import holds_contact_data
from hunchd.text.words import SESSION_STOP_WORDS

EPISODES_A_HUNDRED: Final = 5
TURNS_AN_EPISODE: Final = 20
LONGEST: Final = 50  # mean turns per segment, whatever the words
CHANGED: Final = 0.5  # minimum dissimilarity of the words before and after a cut
SHORTEST: Final = 4  # turns; fewer make no segment
AROUND: Final = 4  # turns compared on each side
TOPICS: Final = 6
SAID: Final = 2_000  # characters read per message

_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")
_GOOD = re.compile(
    r"\b(?:thanks|thank you|great|perfect|works(?: now)?|lgtm|looks good|well done|nice|all tests pass|"
    r"tests pass(?:ed)?|all green|merged|committed|released|is fixed|fixed it|is done|done)\b"
    r"|\b\d+ passed\b(?!.*\bfailed\b)",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:still (?:fails?|broken|failing)|does(?:n't| not) work|not fixed|failed|failing|gave up|revert(?:ed)?|stuck|"
    r"error:|traceback|abort(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Chapter:
    """Consecutive turns of a session that belong together."""

    turns: tuple[Turn, ...]
    title: str
    outcome: Outcome
    topics: tuple[str, ...]

    @property
    def first(self) -> int:
        return self.turns[0].number

    @property
    def last(self) -> int:
        return self.turns[-1].number


def chapters_of(turns: Sequence[Turn], *, ended: bool = True) -> tuple[Chapter, ...]:
    """Split a session into segments where its vocabulary changes most.

    At most five segments per hundred turns; every cut is before a user's turn.
    """
    if not turns:
        return ()
    bounds = [0, *_cuts(turns), len(turns)]
    parts = [tuple(turns[first:last]) for first, last in pairwise(bounds)]
    return tuple(
        Chapter(part, _title(part), outcome_of(part, closed=ended or part is not parts[-1]), _topics(part))
        for part in parts
    )


def outcome_of(turns: Sequence[Turn], *, closed: bool = True) -> Outcome:
    """Judge the outcome from the last messages: success, partial or interrupted."""
    last = turns[-1].messages[-1]
    said = [message.text[:SAID] for turn in turns[-3:] for message in turn.messages if message.event is not Event.CALL]
    verdicts = [_verdict(text) for text in said]
    final = next((verdict for verdict in reversed(verdicts) if verdict is not None), None)
    if final is True:
        return "success"
    if last.event in (Event.CALL, Event.RESULT) or (last.event is Event.USER and not closed):
        return "interrupted"
    return "partial"


def _verdict(text: str) -> bool | None:
    """Return True for success, False for failure.

    Returns None if the text says neither.
    """
    good, bad = list(_GOOD.finditer(text)), list(_BAD.finditer(text))
    if not good and not bad:
        return None
    return bool(good) and (not bad or good[-1].start() > bad[-1].start())


def _cuts(turns: Sequence[Turn]) -> list[int]:
    """Return the first turn of every segment but the first."""
    most = max(1, min(EPISODES_A_HUNDRED * math.ceil(len(turns) / 100), math.ceil(len(turns) / TURNS_AN_EPISODE)))
    if most == 1:
        return []
    words = [_words(turn) for turn in turns]
    depths = [
        (1 - _alike(words[max(0, at - AROUND) : at], words[at : at + AROUND]), -at)
        for at in range(SHORTEST, len(turns) - SHORTEST + 1)
        if turns[at].by_user
    ]
    apart = max(SHORTEST, len(turns) // (2 * most))
    chosen: list[int] = []
    needed = math.ceil(len(turns) / LONGEST) - 1
    for depth, negative in sorted(depths, reverse=True):
        at = -negative
        if depth < CHANGED and len(chosen) >= needed:
            break
        if all(abs(at - other) >= apart for other in (0, *chosen, len(turns))):
            chosen.append(at)
        if len(chosen) == most - 1:
            break
    return sorted(chosen)


def _alike(before: Sequence[Counter[str]], after: Sequence[Counter[str]]) -> float:
    """Return the cosine similarity of the words on both sides."""
    left, right = sum(before, Counter[str]()), sum(after, Counter[str]())
    norm = math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
    return sum(times * right[word] for word, times in left.items()) / norm if norm else 0.0


def _words(turn: Turn) -> Counter[str]:
    """Count the words of a turn.

    Of tool output only the first 200 characters count.
    """
    text = " ".join(
        message.text[: SAID if message.event is not Event.RESULT else 200] for message in turn.messages
    ).lower()
    return Counter(word for word in _WORD.findall(text) if word not in SESSION_STOP_WORDS)


def _topics(turns: Sequence[Turn]) -> tuple[str, ...]:
    spread: Counter[str] = Counter()
    for turn in turns:
        spread.update(set(_words(turn)))
    frequent = [word for word, times in spread.most_common() if times > 1]
    return tuple(sorted(frequent[: 4 * TOPICS], key=lambda word: (-spread[word], word))[:TOPICS])


def _title(turns: Sequence[Turn]) -> str:
    """Return the first request of the user in this segment."""
    for turn in turns:
        said = [one for one in sentences(turn.messages[0].text) if not holds_contact_data(one)] if turn.by_user else []
        if said:
            return said[0]
    texts = (" ".join(message.text.split())[:200] for turn in turns for message in turn.messages)
    return next((text for text in texts if text and not holds_contact_data(text)), "a session")
