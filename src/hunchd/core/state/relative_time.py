"""Coarse relative times ("2 days ago"), so that an answer does not change merely because time has passed."""

from __future__ import annotations

from datetime import datetime, timedelta


def format_age(on_durable: datetime, now: datetime) -> str:
    """Format a past time in words, relative to `now`.

    Examples are "just now", "20 min ago", "5 h ago", "yesterday", "3 days ago" and "2025-05".
    """
    elapsed_units = max(now - on_durable, timedelta())
    if elapsed_units < timedelta(minutes=10):
        return "just now"
    if elapsed_units < timedelta(hours=1):
        return f"{int(elapsed_units.total_seconds() // 600) * 10} min ago"
    if elapsed_units < timedelta(days=1):
        return f"{int(elapsed_units.total_seconds() // 3600)} h ago"
    if elapsed_units < timedelta(days=2):
        return "yesterday"
    if elapsed_units < timedelta(days=60):
        return f"{elapsed_units.days} days ago"
    return f"{on_durable:%Y-%m}"
