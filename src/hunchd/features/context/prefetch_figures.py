"""Prefetch statistics, formatted for `GET /status` and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hunchd.features.context.bundle_cache import BundleCache
from hunchd.features.context.prefetch_metrics import DAY, WEEK, PrefetchMetrics
from hunchd.protocol.status_answers import LatencyAnswer, PrefetchAnswer

SPANS: Final = {"day": DAY, "week": WEEK}  # of the scoreboard, in hours
FORESIGHT: Final = {
    "opened": ("hunchd_foresight_opened", "Number of files opened while there were suggestions"),
    "hit_rate": (
        "hunchd_foresight_hit_ratio",
        "Share of the opened files that were among the ten files suggested just before",
    ),
    "precision": (
        "hunchd_foresight_precision_ratio",
        "Share of the files suggested with confidence that were opened within half an hour",
    ),
    "lead_seconds": (
        "hunchd_foresight_lead_seconds",
        "Mean time from the suggestion of a file to its opening, in seconds",
    ),
    "warm_rate": (
        "hunchd_foresight_warm_ratio",
        "Share of the requested bundles that were ready when they were requested",
    ),
    "ahead_bytes": ("hunchd_foresight_ahead_bytes", "Size of the bundles built before they were requested"),
    "wasted_bytes": (
        "hunchd_foresight_wasted_bytes",
        "Size of the bundles that were built ahead but dropped without a request",
    ),
}


def build_prefetch_status(bundles: BundleCache, scoreboard: PrefetchMetrics, now: float) -> PrefetchAnswer:
    """Return the `prefetch` field of the status.

    `now` is in seconds since the epoch.
    """
    tally = bundles.tally
    requests = tally.hits + tally.misses
    return PrefetchAnswer(
        answers=requests,
        warm=tally.hits,
        hit_rate=round(tally.hits / requests, 3) if requests else None,
        built_ahead=tally.built_ahead,
        wasted=tally.wasted,
        answer_ms=quantiles(bundles.latencies),
        depth=scoreboard.get_prefetch_depth(now),
        **{name: scoreboard.sum_hours(hours, now).to_answer() for name, hours in SPANS.items()},
    )


def render_prefetch_metrics(bundles: BundleCache, scoreboard: PrefetchMetrics, now: float) -> str:
    """Return the prefetch statistics as Prometheus text.

    Rates become gauges that are labelled with their time span. A rate that has no value for a time span is left out.
    """
    tally = bundles.tally
    counters = (
        ("hunchd_bundle_hits_total", "Requests answered with a bundle that was ready", tally.hits),
        ("hunchd_bundle_misses_total", "Requests for which a bundle had to be built", tally.misses),
        ("hunchd_bundles_ahead_total", "Bundles built before they were requested", tally.built_ahead),
        ("hunchd_bundles_wasted_total", "Bundles that were built ahead but dropped unused", tally.wasted),
    )
    lines = [f"# HELP {name} {text}\n# TYPE {name} counter\n{name} {value:g}" for name, text, value in counters]
    figures = {name: scoreboard.sum_hours(hours, now).to_answer() for name, hours in SPANS.items()}
    for figure, (metric, text) in FORESIGHT.items():
        figure_by_span = {span: getattr(of_span, figure) for span, of_span in figures.items()}
        values = [(span, value) for span, value in figure_by_span.items() if value is not None]
        if values:
            lines += [f"# HELP {metric} {text}", f"# TYPE {metric} gauge"]
            lines += [f'{metric}{{over="{span}"}} {value:g}' for span, value in values]
    return "".join(f"{line}\n" for line in lines)


def quantiles(seconds: Iterable[float]) -> LatencyAnswer:
    """Return the median and the 95th percentile of `seconds`, in milliseconds.

    Both are unset if `seconds` is empty.
    """
    sorted_seconds = sorted(seconds)
    if not sorted_seconds:
        return LatencyAnswer()
    return LatencyAnswer(
        **{
            name: round(sorted_seconds[min(len(sorted_seconds) - 1, int(len(sorted_seconds) * share))] * 1_000, 3)
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
    )
