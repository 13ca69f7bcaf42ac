"""Session history for prompts: append-only between compactions, within its budget, lossless.

The view is a fold over the log: the same messages in the same order give the same bytes, in this process or the
next. Between two compactions it only grows at its end, so a provider's prompt cache keeps serving what was sent
before. A compaction first replaces large stale tool results with pointers; if that is not enough, it condenses
older turns. The first two turns stay, the last ones stay verbatim, and what is left out can be read back by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from hunchd.assembly.digest_text import digest_text
from hunchd.assembly.fencing import ELLIPSIS, single_line
from hunchd.assembly.tokens import count
from hunchd.domain.session import Digest, Event, Message, Turn, begins_turn, joined

Role = Literal["user", "assistant"]

MOST_TURNS: Final = 20  # as many as a person can still follow verbatim
VERBATIM: Final = 4  # turns at the end whose tool results are never replaced
OPENING: Final = 2  # turns at the beginning that stay: the subject of the session
LEAST_KEPT: Final = 3  # turns at the end that are never condensed
MOST_KEPT: Final = 10
# A tool result beyond either is large: it is read once and rarely again.
LARGE_CHARACTERS: Final = 5_000
LARGE_TOKENS: Final = 1_000
ENTRY_TOKENS: Final = 4  # what a message costs beside its text

# Parts of the history's budget.
FULL: Final = 0.5  # in recent turns: triggers a compaction
KEPT: Final = 0.25  # for recent turns after a compaction
CONDENSED: Final = 0.25  # for all condensed turns
MERGED: Final = 0.125  # for merged condensed turns
STRETCH: Final = 0.05  # for one condensed range
WHOLE_RESULT: Final = 0.25  # larger tool results are never shown whole, even when new
OPENING_TURN: Final = 0.05  # for an opening turn

CONDENSED_NOTE: Final = ", condensed; every word is kept and can be searched"

Condense = Callable[[Sequence[Turn]], Digest]


@dataclass(frozen=True, slots=True)
class Entry:
    """Message of the prompt with the id and turn that it shows.

    Returns "" and 0 for condensed turns.
    """

    role: Role
    text: str
    tokens: int
    message: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """Current state of the history.

    Its first `stable` entries survive the next compaction.
    """

    entries: tuple[Entry, ...]
    stable: int
    tokens: int
    compactions: int
    condensed_until: int  # last turn that is not shown verbatim; 0: all are


@dataclass(slots=True)
class History:
    """Accumulator of a session's log that yields the view at any time.

    `budget` is in tokens.
    """

    budget: int
    condense: Condense
    compactions: int = 0
    condensed_until: int = 0
    _opening: list[Entry] = field(default_factory=list)
    _digests: list[Digest] = field(default_factory=list)
    _condensed: list[Entry] = field(default_factory=list)
    _tail: list[Turn] = field(default_factory=list)
    _shown: dict[str, Entry] = field(default_factory=dict)  # by message id, of the turns in the tail
    _turns: int = 0

    def add(self, message: Message) -> None:
        """Append a message, compacting if necessary before a new turn begins."""
        before = self._tail[-1].messages[-1] if self._tail else None
        if begins_turn(before, message):
            if len(self._tail) >= MOST_TURNS or self._tail_tokens() > FULL * self.budget:
                self.compact(forced=False)
            self._turns += 1
            self._tail.append(Turn(self._turns, (message,)))
        else:
            last = self._tail[-1]
            self._tail[-1] = Turn(last.number, (*last.messages, message))
        if message.text.strip() and message.event is not Event.SYSTEM:
            self._shown[message.id] = entry_of(message, self._turns, most=int(WHOLE_RESULT * self.budget))

    def compact(self, *, forced: bool = True) -> None:
        """Replace large stale tool results.

        Condense older turns if that is not enough.
        """
        for turn in self._tail[:-VERBATIM]:
            for message in turn.messages:
                if is_large(message):
                    self._shown[message.id] = pointer_to(message, turn.number)
        roomy = len(self._tail) < MOST_TURNS and self._tail_tokens() <= KEPT * self.budget
        if forced or not roomy:
            self._condense_older()
        self.compactions += 1

    def view(self) -> View:
        """Return the current view."""
        tail = [self._shown[one.id] for turn in self._tail for one in turn.messages if one.id in self._shown]
        entries = (*self._opening, *self._condensed, *tail)
        return View(
            entries,
            len(self._opening) + len(self._condensed),
            sum(entry.tokens for entry in entries),
            self.compactions,
            self.condensed_until,
        )

    def _condense_older(self) -> None:
        opening = OPENING if not self._condensed else 0
        kept = self._keepable()
        if len(self._tail) - opening - kept < 1:
            return
        for turn in self._tail[:opening]:
            self._opening += [self._brief(one) for one in turn.messages if one.id in self._shown]
        older = self._tail[opening : len(self._tail) - kept]
        self._digests.append(self.condense(older))
        self._condensed.append(self._told(self._digests[-1], STRETCH))
        self.condensed_until = older[-1].number
        for turn in self._tail[: len(self._tail) - kept]:
            for message in turn.messages:
                self._shown.pop(message.id, None)
        del self._tail[: len(self._tail) - kept]
        if sum(entry.tokens for entry in self._condensed) > CONDENSED * self.budget:
            self._digests = [joined(self._digests)]
            self._condensed = [self._told(self._digests[0], MERGED)]

    def _keepable(self) -> int:
        """Return how many turns at the end stay.

        As many as fit, within limits.
        """
        room, kept = KEPT * self.budget, 0
        for turn in reversed(self._tail[-MOST_KEPT:]):
            room -= self._turn_tokens(turn)
            if room < 0 and kept >= LEAST_KEPT:
                break
            kept += 1
        return kept

    def _brief(self, message: Message) -> Entry:
        shown = self._shown[message.id]
        most = int(OPENING_TURN * self.budget)
        return shown if shown.tokens <= most else entry_of(message, shown.turn, most=most)

    def _told(self, digest: Digest, share: float) -> Entry:
        text = digest_text(digest, budget=max(48, int(share * self.budget)), note=CONDENSED_NOTE)
        return Entry("user", text, count(text) + ENTRY_TOKENS)

    def _tail_tokens(self) -> int:
        return sum(self._turn_tokens(turn) for turn in self._tail)

    def _turn_tokens(self, turn: Turn) -> int:
        return sum(self._shown[one.id].tokens for one in turn.messages if one.id in self._shown)


def is_large(message: Message) -> bool:
    return message.event is Event.RESULT and (len(message.text) > LARGE_CHARACTERS or message.tokens > LARGE_TOKENS)


def entry_of(message: Message, turn: int, *, most: int) -> Entry:
    """Render a message, shortened if it exceeds `most` tokens.

    Beginning and end are kept.
    """
    role, label = _role_and_label(message)
    text = label + message.text
    if message.tokens + ENTRY_TOKENS > most:
        text = label + _excerpt(message, most)
    return Entry(role, text, count(text) + ENTRY_TOKENS, message.id, turn)


def pointer_to(message: Message, turn: int) -> Entry:
    """Replace a tool result with a pointer to it."""
    role, label = _role_and_label(message)
    first = next((line for line in message.text.splitlines() if line.strip()), "")
    last = next((line for line in reversed(message.text.splitlines()) if line.strip()), "")
    ends = single_line(first, 120) + (f" {ELLIPSIS} {single_line(last, 120)}" if last != first else "")
    text = f"{label}[{message.tokens:,} tokens kept as {message.id}; expand it to read them] {ends}"
    return Entry(role, text, count(text) + ENTRY_TOKENS, message.id, turn)


def _excerpt(message: Message, most: int) -> str:
    """Return beginning and end within about `most` tokens.

    Errors name the failure at the end and the place at the beginning.
    """
    room = max(16, most - 40) * len(message.text) // max(message.tokens, 1)
    half = max(20, room // 2)
    note = f"\n[{ELLIPSIS} of {message.tokens:,} tokens; all of it is kept as {message.id}; expand it to read it]\n"
    return message.text[:half].rstrip() + note + message.text[-half:].lstrip()


def _role_and_label(message: Message) -> tuple[Role, str]:
    match message.event:
        case Event.ASSISTANT:
            return "assistant", ""
        case Event.CALL:
            return "assistant", f"[tool call: {message.name or 'tool'}] "
        case Event.RESULT:
            return "user", f"[tool result: {message.name or 'tool'}]\n"
        case _:
            return "user", f"{message.name}: " if message.name else ""
