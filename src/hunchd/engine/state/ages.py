"""Relative times in coarse words, so that an unchanged answer keeps its text."""

from __future__ import annotations

from datetime import datetime, timedelta


def ago(then: datetime, now: datetime) -> str:
    """Format a past time in words.

    Such as "just now", "20 min ago", "5 h ago", "yesterday", "3 days ago" or "2025-05".
    """
    passed = max(now - then, timedelta())
    if passed < timedelta(minutes=10):
        return "just now"
    if passed < timedelta(hours=1):
        return f"{int(passed.total_seconds() // 600) * 10} min ago"
    if passed < timedelta(days=1):
        return f"{int(passed.total_seconds() // 3600)} h ago"
    if passed < timedelta(days=2):
        return "yesterday"
    if passed < timedelta(days=60):
        return f"{passed.days} days ago"
    return f"{then:%Y-%m}"
