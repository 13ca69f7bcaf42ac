"""Distribution of a token budget over the four tiers of a bundle."""

from __future__ import annotations

from hunchd.domain.context import Activity, Tier

TIERS: tuple[Tier, ...] = (1, 2, 3, 4)

# Shares by tier: critical, relevant, background, index. Unused tokens flow to the next tier.
DEFAULT_SHARES = (0.25, 0.375, 0.25, 0.125)
# Debugging: the error, its fixes and related code matter; project conventions do not.
DEBUGGING_SHARES = (0.375, 0.3125, 0.1875, 0.125)
# New features: decisions, open questions and patterns come before background.
NEW_FEATURE_SHARES = (0.3125, 0.40625, 0.15625, 0.125)

_SHARES_BY_ACTIVITY: dict[Activity, tuple[float, float, float, float]] = {
    "debugging": DEBUGGING_SHARES,
    "new_feature": NEW_FEATURE_SHARES,
}


def split_budget(budget: int, activity: Activity = "") -> dict[Tier, int]:
    """Return the number of tokens for each tier.

    The remainder from rounding goes to tier 1.
    """
    parts = _SHARES_BY_ACTIVITY.get(activity, DEFAULT_SHARES)
    tokens = {tier: int(budget * part) for tier, part in zip(TIERS, parts, strict=True)}
    tokens[1] += budget - sum(tokens.values())
    return tokens
