"""Hybrid logical clock packed into one integer.

The upper bits are milliseconds since 1970, and the lower bits are a counter (Kulkarni et al. 2014, "Logical
Physical Clocks"). The time of a record is later than that of every record that its author had seen, even if the
machine's clock is wrong. It also stays close to the time at which the record was created. All functions are pure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

COUNTER_BITS: Final = 16  # 65,536 records within a millisecond; further ones use the next millisecond
# Clocks of machines in use differ by minutes. One that is further ahead would advance all others, so it is ignored.
MAX_DRIFT_MS: Final = 3_600_000  # milliseconds


def to_milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)


def tick(last: int, now_ms: int) -> int:
    """Return a new record's clock value, never behind the machine's."""
    return max(last + 1, now_ms << COUNTER_BITS)


def observe(last: int, seen: int, now_ms: int) -> int:
    """Return the clock value after receiving a plausible `seen`."""
    if (seen >> COUNTER_BITS) - now_ms > MAX_DRIFT_MS:
        return last
    return max(last, seen)


def to_datetime(clock: int) -> datetime:
    """Convert a clock value to a datetime within its range."""
    try:
        return datetime.fromtimestamp((clock >> COUNTER_BITS) / 1_000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)
