"""Request metrics of the HTTP server, in the Prometheus text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Final

from hunchd.serving.event_stream import EventListeners
from hunchd.serving.limits import ConnectionPool

TIMED_ROUTES: Final = frozenset({"/context", "/context/assemble", "/context/predict", "/search", "/signals"})
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)  # seconds

RequestLabels = tuple[str, str, int]  # method, route, status


class RequestMetrics:
    """Number and duration of requests, for each route.

    The number of routes is bounded, because unknown paths are counted as "other".
    """

    def __init__(self) -> None:
        self._requests: Counter[RequestLabels] = Counter()
        self._seconds: Counter[str] = Counter()
        self._histograms: dict[str, list[int]] = {}  # by route: requests in each bucket, the last one unbounded

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        self._seconds[route] += seconds  # type: ignore[assignment] # a Counter adds floats as well
        if route in TIMED_ROUTES:
            self._histograms.setdefault(route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1

    def render(self, connections: ConnectionPool, listeners: EventListeners) -> str:
        """Render the metrics as text for Prometheus."""
        lines = ["# HELP hunchd_http_requests_total Requests answered.", "# TYPE hunchd_http_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'hunchd_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}')
        lines += [
            "# HELP hunchd_http_seconds_total Time spent answering, in seconds.",
            "# TYPE hunchd_http_seconds_total counter",
        ]
        for route, seconds in sorted(self._seconds.items()):
            lines.append(f'hunchd_http_seconds_total{{route="{route}"}} {seconds:.6f}')
        lines += self._render_histograms()
        for name, help_, kind, value in (
            ("connections", "Open connections.", "gauge", len(connections)),
            (
                "connections_closed_total",
                "Connections closed because there were too many.",
                "counter",
                connections.closed_count,
            ),
            ("listeners", "Clients of GET /events.", "gauge", len(listeners)),
            (
                "listeners_dropped_total",
                "Clients of GET /events that did not read.",
                "counter",
                listeners.dropped_count,
            ),
        ):
            lines += [
                f"# HELP hunchd_http_{name} {help_}",
                f"# TYPE hunchd_http_{name} {kind}",
                f"hunchd_http_{name} {value}",
            ]
        return "\n".join(lines) + "\n"

    def _render_histograms(self) -> list[str]:
        lines = [
            "# HELP hunchd_http_duration_seconds Time to answer the routes that people and agents wait for.",
            "# TYPE hunchd_http_duration_seconds histogram",
        ]
        for route, buckets in sorted(self._histograms.items()):
            for bound, number in zip((*map(str, BOUNDS), "+Inf"), accumulate(buckets), strict=True):
                lines.append(f'hunchd_http_duration_seconds_bucket{{route="{route}",le="{bound}"}} {number}')
            lines.append(f'hunchd_http_duration_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'hunchd_http_duration_seconds_count{{route="{route}"}} {sum(buckets)}')
        return lines
