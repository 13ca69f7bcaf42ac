"""Request metrics of the HTTP server, in the format of Prometheus."""

from __future__ import annotations

from collections import Counter

from hunchd.serving.event_stream import EventListeners
from hunchd.serving.limits import ConnectionPool

RequestLabels = tuple[str, str, int]  # method, route, status


class RequestMetrics:
    """Counters of requests and seconds by route.

    Bounded: an unknown path counts as "other".
    """

    def __init__(self) -> None:
        self._requests: Counter[RequestLabels] = Counter()
        self._seconds: Counter[str] = Counter()

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        self._seconds[route] += seconds  # type: ignore[assignment] # a Counter adds floats as well

    def render(self, connections: ConnectionPool, listeners: EventListeners) -> str:
        """Render the metrics as text."""
        lines = ["# HELP hunchd_http_requests_total Requests answered.", "# TYPE hunchd_http_requests_total counter"]
        for (method, route, status), number in sorted(self._requests.items()):
            lines.append(f'hunchd_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}')
        lines += [
            "# HELP hunchd_http_seconds_total Time spent answering, in seconds.",
            "# TYPE hunchd_http_seconds_total counter",
        ]
        for route, seconds in sorted(self._seconds.items()):
            lines.append(f'hunchd_http_seconds_total{{route="{route}"}} {seconds:.6f}')
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
