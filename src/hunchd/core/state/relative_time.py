"""Coarse relative times ("2 days ago"), so that an answer does not change merely because time has passed."""

from __future__ import annotations

from datetime import datetime, timedelta


def format_age(moment: datetime, now: datetime) -> str:
    """Format a past time in words, relative to `now`.

    Examples are "just now", "20 min ago", "5 h ago", "yesterday", "3 days ago" and "2025-05".
    """
    elapsed = max(now - moment, timedelta())
    if elapsed < timedelta(minutes=10):
        return "just now"
    if elapsed < timedelta(hours=1):
        return f"{int(elapsed.total_seconds() // 600) * 10} min ago"
    if elapsed < timedelta(days=1):
        return f"{int(elapsed.total_seconds() // 3600)} h ago"
    if elapsed < timedelta(days=2):
        return "yesterday"
    if elapsed < timedelta(days=60):
        return f"{elapsed.days} days ago"
    return f"{moment:%Y-%m}"
