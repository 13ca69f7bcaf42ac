"""Session history for prompts: within its budget, lossless, and rarely rewritten.

The view of the history is computed from the log alone: the same messages in the same order yield the same bytes, in
any process. Between two compactions the view only grows at its end, so that a provider's prompt cache can still
serve what was sent before. A compaction first replaces large, older tool results with pointers; if that is not
enough, it condenses older turns. The first two turns stay, the most recent turns stay verbatim, and whatever is
left out can be read by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from hunchd.assembly.digest_text import render_digest
from hunchd.assembly.fencing import ELLIPSIS, to_single_line
from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.session import Digest, Message, MessageType, Turn, join_digests, starts_turn

Role = Literal["user", "assistant"]

MAX_TURNS: Final = 20  # as many as a person can still follow verbatim
VERBATIM_TURNS: Final = 4  # turns at the end whose tool results are never replaced
OPENING_TURNS: Final = 2  # turns at the beginning that stay: the subject of the session
MIN_KEPT_TURNS: Final = 3  # turns at the end that are never condensed
MAX_KEPT_TURNS: Final = 10
# A tool result that exceeds either limit is large: it is read once and rarely again.
LARGE_CHARACTERS: Final = 5_000
LARGE_TOKENS: Final = 1_000
ENTRY_TOKENS: Final = 4  # tokens that a message costs in addition to its text

# Parts of the history's budget.
COMPACTION_SHARE: Final = 0.5  # in recent turns: triggers a compaction
KEPT_SHARE: Final = 0.25  # for recent turns after a compaction
CONDENSED_SHARE: Final = 0.25  # for all condensed turns
MERGED_SHARE: Final = 0.125  # for merged condensed turns
STRETCH_SHARE: Final = 0.05  # for one condensed range
WHOLE_RESULT_SHARE: Final = 0.25  # larger tool results are never shown whole, even when new
OPENING_TURN_SHARE: Final = 0.05  # for an opening turn

CONDENSED_NOTE: Final = ", condensed; every word is kept and can be searched"

Condense = Callable[[Sequence[Turn]], Digest]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Message in a prompt that represents a session message or condensed turns.

    `message` and `turn` are the id and the turn of the session message shown; they are "" and 0 for condensed turns.
    """

    role: Role
    text: str
    tokens: int
    message: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class HistoryView:
    """State of the history at one point in time.

    The next compaction does not change the first `stable` entries.
    """

    entries: tuple[HistoryEntry, ...]
    stable: int
    tokens: int
    compactions: int
    condensed_until: int  # last turn that is not shown verbatim; 0: all are


@dataclass(slots=True)
class SessionHistory:
    """History built from a session's log, message by message.

    `budget` is in tokens. `condense` returns the digest of a range of turns.
    """

    budget: int
    condense: Condense
    compactions: int = 0
    condensed_until: int = 0
    _opening_entries: list[HistoryEntry] = field(default_factory=list)
    _digests: list[Digest] = field(default_factory=list)
    _condensed_entries: list[HistoryEntry] = field(default_factory=list)
    _tail_turns: list[Turn] = field(default_factory=list)
    _entry_by_message: dict[str, HistoryEntry] = field(default_factory=dict)  # by message id, of the turns in the tail
    _turn_count: int = 0

    def add(self, message: Message) -> None:
        """Append a message.

        If the message starts a new turn, the history is compacted first if necessary.
        """
        before = self._tail_turns[-1].messages[-1] if self._tail_turns else None
        if starts_turn(before, message):
            if len(self._tail_turns) >= MAX_TURNS or self._count_tail_tokens() > COMPACTION_SHARE * self.budget:
                self.compact(force=False)
            self._turn_count += 1
            self._tail_turns.append(Turn(self._turn_count, (message,)))
        else:
            last = self._tail_turns[-1]
            self._tail_turns[-1] = Turn(last.number, (*last.messages, message))
        if message.text.strip() and message.event is not MessageType.SYSTEM:
            self._entry_by_message[message.id] = build_entry(
                message, self._turn_count, max_tokens=int(WHOLE_RESULT_SHARE * self.budget)
            )

    def compact(self, *, force: bool = True) -> None:
        """Replace large, older tool results with pointers, and condense older turns.

        Without `force`, turns are condensed only if the history is still too long after the replacement.
        """
        for turn in self._tail_turns[:-VERBATIM_TURNS]:
            for message in turn.messages:
                if is_large(message):
                    self._entry_by_message[message.id] = build_pointer(message, turn.number)
        has_room = len(self._tail_turns) < MAX_TURNS and self._count_tail_tokens() <= KEPT_SHARE * self.budget
        if force or not has_room:
            self._condense_older()
        self.compactions += 1

    def build_view(self) -> HistoryView:
        """Return the current view of the history."""
        tail = [
            self._entry_by_message[one.id]
            for turn in self._tail_turns
            for one in turn.messages
            if one.id in self._entry_by_message
        ]
        entries = (*self._opening_entries, *self._condensed_entries, *tail)
        return HistoryView(
            entries,
            len(self._opening_entries) + len(self._condensed_entries),
            sum(entry.tokens for entry in entries),
            self.compactions,
            self.condensed_until,
        )

    def _condense_older(self) -> None:
        opening = OPENING_TURNS if not self._condensed_entries else 0
        kept_turns = self._count_kept_turns()
        if len(self._tail_turns) - opening - kept_turns < 1:
            return
        for turn in self._tail_turns[:opening]:
            self._opening_entries += [
                self._shorten_entry(one) for one in turn.messages if one.id in self._entry_by_message
            ]
        older = self._tail_turns[opening : len(self._tail_turns) - kept_turns]
        self._digests.append(self.condense(older))
        self._condensed_entries.append(self._render_condensed(self._digests[-1], STRETCH_SHARE))
        self.condensed_until = older[-1].number
        for turn in self._tail_turns[: len(self._tail_turns) - kept_turns]:
            for message in turn.messages:
                self._entry_by_message.pop(message.id, None)
        del self._tail_turns[: len(self._tail_turns) - kept_turns]
        if sum(entry.tokens for entry in self._condensed_entries) > CONDENSED_SHARE * self.budget:
            self._digests = [join_digests(self._digests)]
            self._condensed_entries = [self._render_condensed(self._digests[0], MERGED_SHARE)]

    def _count_kept_turns(self) -> int:
        """Return how many of the last turns a compaction keeps.

        This is the number of turns that fit into their share of the budget, but at least MIN_KEPT_TURNS and at most
        MAX_KEPT_TURNS.
        """
        remaining, kept_turns = KEPT_SHARE * self.budget, 0
        for turn in reversed(self._tail_turns[-MAX_KEPT_TURNS:]):
            remaining -= self._count_turn_tokens(turn)
            if remaining < 0 and kept_turns >= MIN_KEPT_TURNS:
                break
            kept_turns += 1
        return kept_turns

    def _shorten_entry(self, message: Message) -> HistoryEntry:
        entry = self._entry_by_message[message.id]
        max_tokens = int(OPENING_TURN_SHARE * self.budget)
        return entry if entry.tokens <= max_tokens else build_entry(message, entry.turn, max_tokens=max_tokens)

    def _render_condensed(self, digest: Digest, share: float) -> HistoryEntry:
        text = render_digest(digest, budget=max(48, int(share * self.budget)), note=CONDENSED_NOTE)
        return HistoryEntry("user", text, count_tokens(text) + ENTRY_TOKENS)

    def _count_tail_tokens(self) -> int:
        return sum(self._count_turn_tokens(turn) for turn in self._tail_turns)

    def _count_turn_tokens(self, turn: Turn) -> int:
        return sum(self._entry_by_message[one.id].tokens for one in turn.messages if one.id in self._entry_by_message)


def is_large(message: Message) -> bool:
    return message.event is MessageType.RESULT and (
        len(message.text) > LARGE_CHARACTERS or message.tokens > LARGE_TOKENS
    )


def build_entry(message: Message, turn: int, *, max_tokens: int) -> HistoryEntry:
    """Render a message as an entry of the history.

    If the message exceeds `max_tokens` tokens, only its beginning and end are kept.
    """
    role, label = _role_and_label(message)
    text = label + message.text
    if message.tokens + ENTRY_TOKENS > max_tokens:
        text = label + _render_excerpt(message, max_tokens)
    return HistoryEntry(role, text, count_tokens(text) + ENTRY_TOKENS, message.id, turn)


def build_pointer(message: Message, turn: int) -> HistoryEntry:
    """Render a tool result as a pointer to it.

    The pointer includes the first and the last line of the result.
    """
    role, label = _role_and_label(message)
    first = next((line for line in message.text.splitlines() if line.strip()), "")
    last = next((line for line in reversed(message.text.splitlines()) if line.strip()), "")
    ends = to_single_line(first, 120) + (f" {ELLIPSIS} {to_single_line(last, 120)}" if last != first else "")
    text = f"{label}[{message.tokens:,} tokens kept as {message.id}; expand it to read them] {ends}"
    return HistoryEntry(role, text, count_tokens(text) + ENTRY_TOKENS, message.id, turn)


def _render_excerpt(message: Message, max_tokens: int) -> str:
    """Return the beginning and end of a message, within about `max_tokens` tokens.

    Both are kept because an error report names the failure at its end and the location at its beginning.
    """
    max_characters = max(16, max_tokens - 40) * len(message.text) // max(message.tokens, 1)
    half = max(20, max_characters // 2)
    note = f"\n[{ELLIPSIS} of {message.tokens:,} tokens; all of it is kept as {message.id}; expand it to read it]\n"
    return message.text[:half].rstrip() + note + message.text[-half:].lstrip()


def _role_and_label(message: Message) -> tuple[Role, str]:
    match message.event:
        case MessageType.ASSISTANT:
            return "assistant", ""
        case MessageType.CALL:
            return "assistant", f"[tool call: {message.name or 'tool'}] "
        case MessageType.RESULT:
            return "user", f"[tool result: {message.name or 'tool'}]\n"
        case _:
            return "user", f"{message.name}: " if message.name else ""
