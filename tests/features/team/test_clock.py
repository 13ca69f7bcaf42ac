"""The hybrid logical clock: later than what was seen, near the machine's time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hunchd.features.team.clock import COUNTER_BITS, MAX_DRIFT_MS, observe, tick


@given(st.lists(st.tuples(st.booleans(), st.integers(-600_000, 600_000)), max_size=30))
def test_clock_under_skew_keeps_causal_order(steps: list[tuple[bool, int]]) -> None:
    clocks, times = [0, 0], []
    for sender, skew in steps:
        clocks[sender] = tick(clocks[sender], 10**12 + skew)
        times.append(clocks[sender])
        clocks[not sender] = observe(clocks[not sender], clocks[sender], 10**12)

    assert times == sorted(set(times))
    assert all(abs((time >> COUNTER_BITS) - 10**12) <= 600_001 for time in times)


def test_clock_far_ahead_is_ignored() -> None:
    now = 10**12

    assert observe(5, (now + MAX_DRIFT_MS + 1) << COUNTER_BITS, now) == 5
    assert observe(5, (now + 600_000) << COUNTER_BITS, now) == (now + 600_000) << COUNTER_BITS
