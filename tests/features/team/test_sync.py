"""Delays between the attempts of a synchroniser."""

from __future__ import annotations

import pytest

from hunchd.features.team.sync import compute_delay


@pytest.mark.parametrize(
    ("poll", "failures", "delay"), [(15, 0, 15), (15, 1, 30), (15, 50, 30), (0.5, 2, 2), (60, 9, 60)]
)
def test_delay_grows_to_half_minute(poll: float, failures: int, delay: float) -> None:
    assert compute_delay(poll, failures) == delay
