"""JSON response to GET /status: projects, queues, store, resources and feature statistics."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hunchd.protocol.consolidation_answers import RunAnswer
from hunchd.protocol.responses import Count, ProjectAnswer, StageAnswer
from hunchd.protocol.team_answers import TeamProgress

WatchMode = Literal["watching", "mixed", "polling"]


class FileWatchAnswer(Struct, frozen=True, kw_only=True):
    state: str
    mode: WatchMode
    reason: str
    folders: Count
    watched: Count
    polled: Count
    files: Count
    truncated: str
    overflows: Count
    rescans: Count
    waiting: Count
    thread: str
    failures: Count


class GitWatchAnswer(Struct, frozen=True, kw_only=True):
    state: Literal["stopped", "missing", "watching"]
    mode: Literal["polling", "watching"]
    reason: str
    watched: Count
    trees: list[str]
    operation: str
    waiting: Count
    thread: str


class WatchingAnswer(Struct, frozen=True, kw_only=True):
    files: FileWatchAnswer | None
    git: GitWatchAnswer | None


class ProjectStatusAnswer(ProjectAnswer, frozen=True, kw_only=True, omit_defaults=True):
    watching: WatchingAnswer | None = None
    cards: Annotated[StageAnswer | None, Meta(description="files whose signatures were embedded")] = None
    team: Annotated[TeamProgress | None, Meta(description="only if the project has a team")] = None


class QueuesAnswer(Struct, frozen=True, kw_only=True):
    """Number of accepted records that are not yet searchable in the store."""

    journal: Count
    writer: Count
    embedding: Count


class StoreAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    bytes: Count
    running: bool
    rows: Count | None = None
    embedded: Count | None = None
    versions: Count | None = None


class LanguageAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Use and cost of the language model today."""

    model: str
    spent_today_usd: float
    limit_usd: float
    questions: Count
    failed: Count
    waiting: Count
    trouble: str | None = None


class CalibrationAnswer(Struct, frozen=True, kw_only=True):
    """Number of suggestions in one range of confidence, and how many proved right.

    A suggested file counts as opened if it was opened within half an hour.
    """

    above: Annotated[float, Meta(description="lower end of the range, which has a width of 0.1")]
    shown: Count
    opened: Count


class BaselineAnswer(Struct, frozen=True, kw_only=True):
    """Number of opened files that simple rules would have predicted.

    Each rule may name ten files. `foreseen` is the number for hunchd's own suggestions on the same files.
    """

    opened: Count
    foreseen: Annotated[int, Meta(description="opened files that were among the first ten suggested")]
    recent: Annotated[int, Meta(description="opened files that were among the ten opened last")]
    frequent: Annotated[int, Meta(description="opened files that were among the ten opened most often")]


class ForesightAnswer(Struct, frozen=True, kw_only=True):
    """Quality of the predictions made in one period.

    A rate is null if there was nothing to count.
    """

    opened: Count
    hit_rate: float | None
    precision: float | None
    lead_seconds: float | None
    warm_rate: float | None
    ahead_bytes: Count
    wasted_bytes: Count
    calibration: list[CalibrationAnswer]
    baselines: BaselineAnswer


class LatencyAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    p50: float | None = None
    p95: float | None = None


class PrefetchAnswer(Struct, frozen=True, kw_only=True):
    """Statistics on prefetched context bundles."""

    answers: Count
    warm: Count
    hit_rate: float | None
    built_ahead: Count
    wasted: Count
    answer_ms: LatencyAnswer
    depth: Count
    day: ForesightAnswer
    week: ForesightAnswer


class ContradictionSearchAnswer(Struct, frozen=True, kw_only=True):
    waiting: Annotated[Count, Meta(description="memories that have not been compared with the others yet")]


class ResourcesAnswer(Struct, frozen=True, kw_only=True):
    pid: int
    memory_bytes: Count
    front_memory_bytes: Count
    cpu_seconds: float
    threads: Count
    processes: Count


class TaskAnswer(Struct, frozen=True, kw_only=True):
    name: str
    state: Literal["restarting", "running"]
    failures: Count
    last_error: str | None


class StatusAnswer(Struct, frozen=True, kw_only=True):
    status: Literal["ok", "degraded"]
    degraded: Annotated[list[str], Meta(description="what is broken or still loading")]
    projects: list[ProjectStatusAnswer]
    queues: QueuesAnswer
    store: StoreAnswer
    language: LanguageAnswer | None = None
    prefetch: PrefetchAnswer | UnsetType = UNSET
    contradictions: ContradictionSearchAnswer | UnsetType = UNSET
    consolidation: Annotated[RunAnswer | UnsetType | None, Meta(description="the current or the last run")] = UNSET
    resources: ResourcesAnswer
    tasks: list[TaskAnswer]
    uptime_seconds: Count
