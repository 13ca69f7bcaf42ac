"""Assembly of a bundle with exact token counts.

Invariant: `token_count == count(context) == heading lines + sum(tiers.values())`, where a tier's tokens are those
of its section, title included. It never exceeds `budget`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hunchd.assembly import rendering
from hunchd.assembly.budget import TIERS, shares
from hunchd.assembly.selection import Choice, by_tier, choices, fill, hold_back_floods
from hunchd.assembly.tokens import count
from hunchd.domain.context import Activity, Bundle, Item, Level, Piece, Tier
from hunchd.domain.memory import Trust

# Smaller differences in value are noise and must not affect the order, or every update would shuffle the lines.
GRAIN = 0.05
# Volatile kinds come after stable ones, so that the earlier text stays a prefix.
VOLATILE = frozenset({"error", "session"})
# Lists of names come below detailed pieces, whatever their total value.
LISTS = frozenset({"files"})
# Readers do not read more names than this.
MOST_TOPICS = 24


@dataclass(frozen=True, slots=True)
class _Section:
    tier: Tier
    choices: tuple[Choice, ...]
    topics: str = ""

    @property
    def text(self) -> str:
        blocks = [choice.option.block for choice in self.choices]
        return "".join((rendering.section_heading(self.tier), *blocks, self.topics)) if blocks or self.topics else ""

    @property
    def tokens(self) -> int:
        if not (self.choices or self.topics):
            return 0
        title = _count(rendering.section_heading(self.tier))
        return title + sum(choice.tokens for choice in self.choices) + _count(self.topics)


def _count(block: str) -> int:
    """Count the first line, which has the reasons, and the rest separately.

    The rest is the same in most bundles of a day, so its count is cached.
    """
    end = block.find("\n", 1)
    if end < 1 or block[end - 1].isspace():
        return _counted(block)
    return _counted(block[:end]) + _counted(block[end:])


@lru_cache(maxsize=4096)
def _counted(text: str) -> int:
    return count(text)


def assemble(
    header: str,
    pieces: Sequence[Piece],
    budget: int,
    activity: Activity = "",
    *,
    degraded: Sequence[str] = (),
    topics: Sequence[str] = (),
    secret: bytes = b"",
) -> Bundle:
    """Assemble the most useful bundle of at most `budget` tokens.

    The status is `empty` if nothing is worth saying or nothing fits. `secret` is the installation's own key: it
    determines the marks around untrusted text, so that they are the same in all answers but cannot be guessed by
    the text's author.
    """

    def render(piece: Piece, level: Level, text: str) -> str:
        return rendering.block_of(piece, level, text, secret=secret)

    candidates = choices(pieces, render, _count)
    top = _top_lines(candidates, degraded)
    overhead = _count(top) + max(map(_count, rendering.headings(header, budget, budget)))
    if overhead < budget:
        _spend(candidates, budget - overhead, activity)
        hold_back_floods(candidates, overhead)
    while any(choice.chosen >= 0 and choice.piece.tier < 4 for choice in candidates):
        sections = _sections(candidates, topics, budget - overhead, activity)
        rest = _count(top) + sum(section.tokens for section in sections)
        heading = _true_heading(header, rest, budget)
        if heading is not None:
            context = "".join((heading, top, *(section.text for section in sections), "\n"))
            return _bundle(context, rest + _count(heading) + _count("\n"), sections, budget, degraded)
        _drop_weakest(candidates)
    return _bundle("", 0, (), budget, degraded)


def _top_lines(candidates: Sequence[Choice], degraded: Sequence[str]) -> str:
    """Return the lines between the heading and the first section."""
    fences = any(rendering.needs_fence(choice.piece, text) for choice in candidates for _, text in choice.piece.forms)
    quotes = any(
        choice.piece.trust is not Trust.USER and "«" in text for choice in candidates for _, text in choice.piece.forms
    )
    return rendering.degraded_block(degraded) + (rendering.LEGEND if fences or quotes else "")


def _spend(candidates: Sequence[Choice], tokens: int, activity: Activity) -> None:
    """Fill the tiers within their shares.

    Unused tokens flow to the next tier. What remains at the end is offered to all tiers again.
    """
    tiers = by_tier(candidates)
    left = tokens
    flowing = 0
    for tier, share in shares(tokens, activity).items():
        flowing += share
        used = _fill_section(tier, tiers[tier], flowing)
        flowing -= used
        left -= used
    for tier in TIERS:
        left -= _fill_section(tier, tiers[tier], left)


def _fill_section(tier: Tier, candidates: Sequence[Choice], capacity: int) -> int:
    title = 0 if any(choice.chosen >= 0 for choice in candidates) else _count(rendering.section_heading(tier))
    used = fill(candidates, capacity - title)
    return used + title if used else 0


def _sections(
    candidates: Sequence[Choice], topics: Sequence[str], tokens: int, activity: Activity
) -> tuple[_Section, ...]:
    served = [choice for choice in candidates if choice.chosen >= 0]
    tiers = by_tier(served)
    sections = [_Section(tier, tuple(sorted(tiers[tier], key=_place))) for tier in TIERS]
    spent = sum(section.tokens for section in sections)
    index = sections[-1]
    allowed = min(tokens - spent, shares(tokens, activity)[4] - index.tokens)
    sections[-1] = _Section(4, index.choices, _fitting_topics(topics, allowed, titled=bool(index.choices)))
    return tuple(section for section in sections if section.text)


def _place(choice: Choice) -> tuple[bool, bool, float, int, str]:
    piece = choice.piece
    value = 0.0 if piece.kind in LISTS else piece.value
    return piece.kind in VOLATILE, piece.kind in LISTS, -round(value / GRAIN), piece.rank, piece.id


def _fitting_topics(topics: Sequence[str], allowed: int, *, titled: bool) -> str:
    """Return as many topics, from the first, as fit into `allowed` tokens."""
    title = 0 if titled else _count(rendering.section_heading(4))
    names = list(dict.fromkeys(topics))[:MOST_TOPICS]
    while names:
        block = rendering.topics_block(names)
        if _count(block) + title <= allowed:
            return block
        names.pop()
    return ""


def _true_heading(header: str, rest: int, budget: int) -> str | None:
    """Return the first line with the exact token count.

    The count includes the line itself. None if that text would exceed the budget.
    """
    end = _count("\n")
    for spelling in range(len(rendering.headings(header, 0, budget))):
        total = rest + end
        for _ in range(8):
            heading = rendering.headings(header, total, budget)[spelling]
            actual = rest + end + _count(heading)
            if actual == total:
                return heading if total <= budget else None
            total = max(actual, total + 1) if actual > total else actual
    return None


def _drop_weakest(candidates: Sequence[Choice]) -> None:
    served = [choice for choice in candidates if choice.chosen >= 0]
    weakest = min(served, key=lambda choice: (choice.worth / max(choice.tokens, 1), choice.piece.id))
    weakest.chosen -= 1


def _bundle(context: str, tokens: int, sections: Sequence[_Section], budget: int, degraded: Sequence[str]) -> Bundle:
    status: Literal["ok", "empty", "degraded"] = "degraded" if degraded else "ok" if context else "empty"
    sizes = {int(tier): 0 for tier in TIERS} | {int(section.tier): section.tokens for section in sections}
    seal = "\x00".join((status, *degraded, context)).encode("utf-8")
    return Bundle(
        status=status,
        context=context,
        token_count=tokens,
        budget=budget,
        tiers=sizes,
        items=tuple(_item(choice) for section in sections for choice in section.choices),
        degraded=tuple(degraded),
        etag=hashlib.blake2b(seal, digest_size=12).hexdigest(),
    )


def _item(choice: Choice) -> Item:
    piece, option = choice.piece, choice.option
    return Item(
        id=piece.id,
        kind=piece.kind,
        tier=piece.tier,
        level=option.level,
        tokens=option.tokens,
        score=piece.value,
        reasons=piece.reasons,
        source=piece.source,
        trust=piece.trust,
        text=option.block.lstrip("\n"),
        title=rendering.title_of(piece, dict(piece.forms)[option.level]),
    )
