"""Greedy selection of pieces and forms by value per token.

A piece falls back to a shorter form if it must.
"""

from __future__ import annotations

import heapq
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hunchd.domain.context import Level, Piece, Tier
from hunchd.domain.memory import Trust

# Less useful lines cost more trust than they help: fewer than one reader in twenty would use them.
MINIMUM_VALUE = 0.05
# Share of the full text's usefulness that each form keeps.
WORTH_OF: Mapping[Level, float] = {"full": 1.0, "summary": 0.85, "compressed": 0.6, "index": 0.35}
# Minimum usefulness per token: 250 more tokens of a skeleton need a file of probability .17. Of the functions that 44
# changes of four histories modified in other files, .51 were shown with 3e-4 (1,096 tokens on average), .71 with 1e-4
# (1,535), .80 with 5e-5 (1,802) and .80 with 2e-5 (2,265).
MINIMUM_GAIN = 1e-4
# Two texts that share four words in five are duplicates.
SAME_WORDS = 0.8
# … and two texts of one kind about the same paths if they share one in two.
SAME_WORDS_ABOUT_THE_SAME = 0.5
# Kinds of which a bundle has one piece per path.
ONE_A_PATH = frozenset({"file", "skeleton", "test"})
# Maximum share of one source, so that one commit message or page cannot crowd out the rest.
LARGEST_SHARE_OF_A_SOURCE = 0.3
# With fewer sources a third each is no flooding; the limit then applies to untrusted ones only.
SOURCES_FOR_THE_CAP = 4
# Never counts as a flood, however small the context: the eight lines of a trace.
HARMLESS = 128  # tokens
# The only text of a source in its shortest form stays up to this size: it may be the current error.
HARMLESS_ALONE = 400  # tokens


@dataclass(frozen=True, slots=True)
class Option:
    """Rendered form of a piece."""

    level: Level
    block: str
    tokens: int
    worth: float


@dataclass(slots=True)
class Choice:
    """Piece with its useful forms and the chosen one.

    Forms are sorted shortest first; -1 means that none is chosen.
    """

    piece: Piece
    options: tuple[Option, ...]
    chosen: int = -1

    @property
    def option(self) -> Option:
        return self.options[self.chosen]

    @property
    def tokens(self) -> int:
        return self.options[self.chosen].tokens if self.chosen >= 0 else 0

    @property
    def worth(self) -> float:
        return self.options[self.chosen].worth if self.chosen >= 0 else 0.0


Render = Callable[[Piece, Level, str], str]
Count = Callable[[str], int]


def choices(pieces: Iterable[Piece], render: Render, count: Count) -> list[Choice]:
    """Return the pieces worth serving without repeats.

    The order depends only on the pieces.
    """
    return [
        Choice(piece, options)
        for piece in without_repeats(piece for piece in pieces if piece.value >= MINIMUM_VALUE)
        if (options := options_of(piece, render, count))
    ]


def options_of(piece: Piece, render: Render, count: Count) -> tuple[Option, ...]:
    """Return the forms whose value grows with their length, shortest first."""
    found: list[Option] = []
    for level, text in sorted(piece.forms, key=lambda form: WORTH_OF[form[0]]):
        if not text.strip():
            continue
        block = render(piece, level, text)
        found.append(Option(level, block, count(block), piece.value * WORTH_OF[level]))
    found.sort(key=lambda option: (option.tokens, -option.worth))
    rising: list[Option] = []
    for option in found:
        if not rising or option.worth > rising[-1].worth:
            rising.append(option)
    return tuple(rising)


def fill(candidates: Sequence[Choice], capacity: int) -> int:
    """Raise `candidates` to better forms while a step fits and pays.

    Return the tokens used.
    """
    left = capacity
    queue = [step for index, choice in enumerate(candidates) if (step := _best_step(choice, index, left))]
    heapq.heapify(queue)
    while queue:
        _, _, _, index, target = heapq.heappop(queue)
        choice = candidates[index]
        cost = choice.options[target].tokens - choice.tokens
        if cost <= left:
            choice.chosen = target
            left -= cost
        if step := _best_step(choice, index, left):
            heapq.heappush(queue, step)
    return capacity - left


def _best_step(choice: Choice, index: int, left: int) -> tuple[float, float, str, int, int] | None:
    """Return the step with the best gain per token that fits.

    Its tuple sorts by gain, then value, then id.
    """
    best: tuple[float, int] | None = None
    for target in range(choice.chosen + 1, len(choice.options)):
        option = choice.options[target]
        cost = max(option.tokens - choice.tokens, 1)
        gain = (option.worth - choice.worth) / cost
        if cost <= left and gain >= MINIMUM_GAIN and (best is None or gain > best[0]):
            best = (gain, target)
    if best is None:
        return None
    return (-best[0], -choice.piece.value, choice.piece.id, index, best[1])


def without_repeats(pieces: Iterable[Piece]) -> list[Piece]:
    """Drop duplicates: the most critical, then the most valuable version stays."""
    kept: list[Piece] = []
    ids: set[str] = set()
    paths: set[str] = set()
    told: list[_Telling] = []
    for piece in sorted(pieces, key=lambda piece: (piece.tier, -piece.value, piece.id)):
        path = piece.about[0] if piece.kind in ONE_A_PATH and piece.about else None
        if piece.id in ids or (path is not None and path in paths):
            continue
        if path is not None:
            paths.add(path)
        else:
            telling = _telling(piece)
            if any(_the_same(telling, other) for other in _near(telling, told)):
                continue
            told.append(telling)
        kept.append(piece)
        ids.add(piece.id)
    return kept


@dataclass(frozen=True, slots=True)
class _Telling:
    subject: tuple[str, ...]  # kind and paths
    words: frozenset[str]
    sketch: int  # 256-bit word sketch for quick rejection


_WORD = re.compile(r"\w+")


def _telling(piece: Piece) -> _Telling:
    words, sketch = _words(piece.forms[0][1] if piece.forms else "")
    return _Telling((piece.kind, *sorted(piece.about)), words, sketch)


@lru_cache(maxsize=2048)
def _words(text: str) -> tuple[frozenset[str], int]:
    found = frozenset(_WORD.findall(text[:4000].casefold()))
    sketch = 0
    for word in found:
        sketch |= 1 << (zlib.crc32(word.encode("utf-8", "replace")) & 255)
    return found, sketch


def _near(one: _Telling, told: Sequence[_Telling]) -> list[_Telling]:
    """Return candidates that may share half of their words.

    They share a third of their sketch bits. Most pairs are rejected here.
    """
    sketch = one.sketch
    return [other for other in told if 3 * (sketch & other.sketch).bit_count() >= (sketch | other.sketch).bit_count()]


def _the_same(one: _Telling, other: _Telling) -> bool:
    needed = SAME_WORDS_ABOUT_THE_SAME if len(one.subject) > 1 and one.subject == other.subject else SAME_WORDS
    shared = len(one.words & other.words)
    return shared >= needed * (len(one.words) + len(other.words) - shared)


def source_of(piece: Piece) -> str:
    """Return the key of a piece's source.

    Everything from one commit, file, page or command counts together.
    """
    for name in ("origin", "sha", "path", "url", "command", "ref"):
        if piece.source.get(name):
            return f"{name}:{piece.source[name]}"
    return f"id:{piece.id}"


def hold_back_floods(chosen: Sequence[Choice], overhead: int) -> None:
    """Shorten or drop pieces of sources that exceed their share."""
    while True:
        served = [choice for choice in chosen if choice.chosen >= 0]
        by_source: dict[str, list[Choice]] = {}
        for choice in served:
            if choice.piece.source.get("type") == "files":
                continue  # a list of names has as many sources as names
            by_source.setdefault(source_of(choice.piece), []).append(choice)
        if len(by_source) < 2:
            return
        total = overhead + sum(choice.tokens for choice in served)
        strict = len(by_source) >= SOURCES_FOR_THE_CAP
        floods = [
            victim
            for source, theirs in by_source.items()
            if sum(choice.tokens for choice in theirs) > max(LARGEST_SHARE_OF_A_SOURCE * total, HARMLESS)
            and (victim := _victim(theirs, strict=strict))
        ]
        if not floods:
            return
        worst = max(floods, key=lambda choice: (choice.tokens, choice.piece.id))
        worst.chosen -= 1


def _victim(theirs: Sequence[Choice], *, strict: bool) -> Choice | None:
    """Return the longest text of a source that may be shortened.

    The user's words never are.
    """
    able = [
        choice
        for choice in theirs
        if choice.piece.trust is not Trust.USER
        and (strict or choice.piece.trust is Trust.UNTRUSTED)
        and (choice.chosen > 0 or len(theirs) > 1 or choice.tokens > HARMLESS_ALONE)
    ]
    return max(able, key=lambda choice: (choice.tokens, -choice.piece.value, choice.piece.id), default=None)


def by_tier(candidates: Sequence[Choice]) -> dict[Tier, list[Choice]]:
    tiers: dict[Tier, list[Choice]] = {1: [], 2: [], 3: [], 4: []}
    for choice in candidates:
        tiers[choice.piece.tier].append(choice)
    return tiers
