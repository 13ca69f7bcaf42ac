"""How a budget is shared between the four tiers."""

from __future__ import annotations

from hunchd.domain.context import Activity, Tier

TIERS: tuple[Tier, ...] = (1, 2, 3, 4)

# Parts of the whole by tier: critical, relevant, background, index. What a tier does not use flows on to the next.
EVEN_WORK = (0.25, 0.375, 0.25, 0.125)
# An error on the screen: the error, its fixes and what is near it matter; the project's customs do not.
DEBUGGING = (0.375, 0.3125, 0.1875, 0.125)
# Something new: decisions and open questions, and patterns to follow, before background.
NEW_FEATURE = (0.3125, 0.40625, 0.15625, 0.125)

_BY_ACTIVITY: dict[Activity, tuple[float, float, float, float]] = {
    "debugging": DEBUGGING,
    "new_feature": NEW_FEATURE,
}


def shares(budget: int, activity: Activity = "") -> dict[Tier, int]:
    """Tokens for each tier; together never more than `budget`, the rest of the rounding goes to tier 1."""
    parts = _BY_ACTIVITY.get(activity, EVEN_WORK)
    tokens = {tier: int(budget * part) for tier, part in zip(TIERS, parts, strict=True)}
    tokens[1] += budget - sum(tokens.values())
    return tokens
