"""Report of the silence task."""

from __future__ import annotations

from hunchd.bench.report import compute_silence
from hunchd.bench.results import ReplayResults


def test_half_coverage_precision_keeps_tie_order() -> None:
    wrong_and_right = [(0.5, False, True), (0.5, True, True)] * 10
    asked = {"silence": [*wrong_and_right, (0.9, False, False), (0.1, False, False)]}

    told = compute_silence(ReplayResults("one", confidences=asked))

    assert told["precision@1 at half coverage"] == 0.5
    assert told["single-file units with a suggestion"] == 0.5
    assert told["coverage"] == 1.0
