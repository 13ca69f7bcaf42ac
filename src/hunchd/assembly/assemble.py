"""Assembly of a context bundle with exact token counts.

A bundle has one section for each tier: now, likely next, background, and ask for more. Invariant: `token_count ==
count(context) == heading lines + sum(tiers.values())`, where the tokens of a tier are the tokens in its section,
including the section's title. `token_count` never exceeds `budget`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hunchd.assembly import rendering
from hunchd.assembly.budget import TIERS, split_budget
from hunchd.assembly.selection import Choice, group_by_tier, limit_source_shares, make_choices, raise_forms
from hunchd.assembly.token_counter import count_tokens
from hunchd.domain.context import Activity, Bundle, ContextCandidate, ContextItem, Level, Tier
from hunchd.domain.memory import Trust

# Smaller differences in value are noise and must not affect the order, or every update would shuffle the lines.
VALUE_STEP = 0.05
# Volatile kinds come after stable ones, so that the earlier text stays a prefix.
VOLATILE_KINDS = frozenset({"error", "session"})
# Readers do not read more names than this.
MAX_TOPICS = 24


@dataclass(frozen=True, slots=True)
class _Section:
    tier: Tier
    choices: tuple[Choice, ...]
    topics: str = ""

    @property
    def heading(self) -> str:
        return rendering.render_section_heading(self.tier)

    @property
    def text(self) -> str:
        blocks = [choice.option.block for choice in self.choices]
        return "".join((self.heading, *blocks, self.topics)) if blocks or self.topics else ""

    @property
    def tokens(self) -> int:
        if not (self.choices or self.topics):
            return 0
        return _count_block(self.heading) + sum(choice.tokens for choice in self.choices) + _count_block(self.topics)


def _count_block(block: str) -> int:
    """Count the tokens of a block.

    The first line, which contains the reasons, is counted separately. The rest is the same in most bundles of a day,
    so its count is cached.
    """
    end = block.find("\n", 1)
    if end < 1 or block[end - 1].isspace():
        return _count_cached(block)
    return _count_cached(block[:end]) + _count_cached(block[end:])


@lru_cache(maxsize=4096)
def _count_cached(text: str) -> int:
    return count_tokens(text)


def assemble(
    header: str,
    pieces: Sequence[ContextCandidate],
    budget: int,
    activity: Activity = "",
    *,
    degradations: Sequence[str] = (),
    topics: Sequence[str] = (),
    secret: bytes = b"",
) -> Bundle:
    """Assemble the most useful bundle of at most `budget` tokens.

    `pieces` are the candidates to choose from. The status is `empty` if nothing is relevant or nothing fits.
    `secret` is the secret key of this installation, which determines the marks around untrusted text: the marks are
    the same in all bundles, but the author of the text cannot guess them.
    """

    def render(piece: ContextCandidate, level: Level, text: str) -> str:
        return rendering.render_block(piece, level, text, secret=secret)

    candidates = make_choices(pieces, render, _count_block)
    top = _render_top_lines(candidates, degradations)
    overhead = _count_block(top) + max(map(_count_block, rendering.render_headings(header, budget, budget)))
    if overhead < budget:
        _spend_budget(candidates, budget - overhead, activity)
        limit_source_shares(candidates, overhead)
    while any(choice.chosen_index >= 0 and choice.piece.tier < 4 for choice in candidates):
        sections = _build_sections(candidates, topics, budget - overhead, activity)
        rest = _count_block(top) + sum(section.tokens for section in sections)
        heading = _find_exact_heading(header, rest, budget)
        if heading is not None:
            context = "".join((heading, top, *(section.text for section in sections), "\n"))
            return _build_bundle(
                context, rest + _count_block(heading) + _count_block("\n"), sections, budget, degradations
            )
        _drop_weakest(candidates)
    return _build_bundle("", 0, (), budget, degradations)


def _render_top_lines(candidates: Sequence[Choice], degradations: Sequence[str]) -> str:
    """Return the lines between the heading and the first section."""
    fences = any(rendering.needs_fence(choice.piece, text) for choice in candidates for _, text in choice.piece.forms)
    quotes = any(
        choice.piece.trust is not Trust.USER and "«" in text for choice in candidates for _, text in choice.piece.forms
    )
    return rendering.render_degraded(degradations) + (rendering.LEGEND if fences or quotes else "")


def _spend_budget(candidates: Sequence[Choice], tokens: int, activity: Activity) -> None:
    """Fill the tiers, each within its share of `tokens`.

    Tokens that a tier does not use are passed on to the next tier. Tokens that remain at the end are offered to all
    tiers again.
    """
    tiers = group_by_tier(candidates)
    remaining = tokens
    available = 0
    for tier, share in split_budget(tokens, activity).items():
        available += share
        used_tokens = _fill_section(tier, tiers[tier], available)
        available -= used_tokens
        remaining -= used_tokens
    for tier in TIERS:
        remaining -= _fill_section(tier, tiers[tier], remaining)


def _fill_section(tier: Tier, candidates: Sequence[Choice], capacity: int) -> int:
    title = (
        0
        if any(choice.chosen_index >= 0 for choice in candidates)
        else _count_block(rendering.render_section_heading(tier))
    )
    used_tokens = raise_forms(candidates, capacity - title)
    return used_tokens + title if used_tokens else 0


def _build_sections(
    candidates: Sequence[Choice], topics: Sequence[str], tokens: int, activity: Activity
) -> tuple[_Section, ...]:
    served_choices = [choice for choice in candidates if choice.chosen_index >= 0]
    tiers = group_by_tier(served_choices)
    sections = [_Section(tier, tuple(sorted(tiers[tier], key=_sort_key))) for tier in TIERS]
    spent_tokens = sum(section.tokens for section in sections)
    index = sections[-1]
    max_tokens = min(tokens - spent_tokens, split_budget(tokens, activity)[4] - index.tokens)
    sections[-1] = _Section(4, index.choices, _fit_topics(topics, max_tokens, has_title=bool(index.choices)))
    return tuple(section for section in sections if section.text)


def _sort_key(choice: Choice) -> tuple[bool, bool, float, int, str]:
    piece = choice.piece
    is_list = piece.kind in rendering.LISTS  # below detailed pieces, whatever its total value
    value = 0.0 if is_list else piece.value
    return piece.kind in VOLATILE_KINDS, is_list, -round(value / VALUE_STEP), piece.rank, piece.id


def _fit_topics(topics: Sequence[str], max_tokens: int, *, has_title: bool) -> str:
    """Return the line of topics, shortened to fit into `max_tokens`.

    Topics are dropped from the end. Returns "" if not even the first topic fits.
    """
    title = 0 if has_title else _count_block(rendering.render_section_heading(4))
    names = list(dict.fromkeys(topics))[:MAX_TOPICS]
    while names:
        block = rendering.render_topics(names)
        if _count_block(block) + title <= max_tokens:
            return block
        names.pop()
    return ""


def _find_exact_heading(header: str, rest: int, budget: int) -> str | None:
    """Return the first line, which states the exact number of tokens.

    The number includes the line itself. Returns None if the text would exceed the budget.
    """
    end = _count_block("\n")
    for spelling in range(len(rendering.render_headings(header, 0, budget))):
        total = rest + end
        for _ in range(8):
            heading = rendering.render_headings(header, total, budget)[spelling]
            actual = rest + end + _count_block(heading)
            if actual == total:
                return heading if total <= budget else None
            total = max(actual, total + 1) if actual > total else actual
    return None


def _drop_weakest(candidates: Sequence[Choice]) -> None:
    served_choices = [choice for choice in candidates if choice.chosen_index >= 0]
    weakest = min(served_choices, key=lambda choice: (choice.worth / max(choice.tokens, 1), choice.piece.id))
    weakest.chosen_index -= 1


def _build_bundle(
    context: str, tokens: int, sections: Sequence[_Section], budget: int, degradations: Sequence[str]
) -> Bundle:
    status: Literal["ok", "empty", "degraded"] = "degraded" if degradations else "ok" if context else "empty"
    sizes = {int(tier): 0 for tier in TIERS} | {int(section.tier): section.tokens for section in sections}
    etag_source = "\x00".join((status, *degradations, context)).encode("utf-8")
    return Bundle(
        status=status,
        context=context,
        token_count=tokens,
        budget=budget,
        tiers=sizes,
        items=tuple(_build_item(choice) for section in sections for choice in section.choices),
        degraded=tuple(degradations),
        etag=hashlib.blake2b(etag_source, digest_size=12).hexdigest(),
    )


def _build_item(choice: Choice) -> ContextItem:
    piece, option = choice.piece, choice.option
    return ContextItem(
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
        title=rendering.render_title(piece, dict(piece.forms)[option.level]),
    )
