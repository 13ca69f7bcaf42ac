"""Request metrics of the HTTP server, in the format of Prometheus."""

from __future__ import annotations

from collections import Counter

from hunchd.serving.events import Listeners
from hunchd.serving.limits import Connections

Served = tuple[str, str, int]  # method, route, status


class Counts:
    """Counters of requests and seconds by route.

    Bounded: an unknown path counts as "other".
    """

    def __init__(self) -> None:
        self._requests: Counter[Served] = Counter()
        self._seconds: Counter[str] = Counter()

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        self._seconds[route] += seconds  # type: ignore[assignment] # a Counter adds floats as well

    def text(self, connections: Connections, listeners: Listeners) -> str:
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
                connections.closed,
            ),
            ("listeners", "Clients of GET /events.", "gauge", len(listeners)),
            ("listeners_dropped_total", "Clients of GET /events that did not read.", "counter", listeners.dropped),
        ):
            lines += [
                f"# HELP hunchd_http_{name} {help_}",
                f"# TYPE hunchd_http_{name} {kind}",
                f"hunchd_http_{name} {value}",
            ]
        return "\n".join(lines) + "\n"
