"""Histogram of answer times."""

from __future__ import annotations

from hunchd.serving.event_stream import EventListeners
from hunchd.serving.limits import ConnectionPool, ServerLimits
from hunchd.serving.request_metrics import RequestMetrics


def test_histogram_adds_up_buckets() -> None:
    metrics = RequestMetrics()
    for seconds in (0.0005, 0.004, 0.004, 7.0):
        metrics.record("GET", "/context", 200, seconds)
    metrics.record("GET", "/health", 200, 0.1)

    text = metrics.render(ConnectionPool(1), EventListeners(ServerLimits()))
    lines = [line for line in text.splitlines() if "duration" in line]

    bucket = 'hunchd_http_duration_seconds_bucket{route="/context",le="%s"} %d'
    assert {bucket % ("0.001", 1), bucket % ("0.005", 3), bucket % ("1.0", 3), bucket % ("+Inf", 4)} <= set(lines)
    assert not [line for line in lines if "/health" in line]
