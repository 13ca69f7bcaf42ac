"""All settings with their defaults.

The comment after each setting is its documentation (see config.example.toml).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Addresses on which the daemon listens."""

    host: str = "127.0.0.1"  # loopback only; any other address is rejected
    port: int = 0  # 0: let the system choose; the rendezvous file states the port
    socket: bool = True  # also listen on a Unix socket, which other users cannot reach


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Limits for the bundles that answer context requests."""

    budget: int = 8_000  # tokens, if the client does not set a budget


@dataclass(frozen=True, slots=True)
class SignalSettings:
    """Settings for observing files and logs."""

    watch_files: bool = True  # saves, creations, deletions, renames
    watch_opens: bool = False  # inotify mostly sees opens by grep and test runs; editor plugins are more reliable
    error_logs: tuple[str, ...] = ()  # log files to search for errors, as relative or absolute patterns
    queue: int = 20_000  # signals that may wait for the store before clients are asked to slow down


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """Settings for the commands that shells report (`hunch shell-init`)."""

    private_folders: tuple[str, ...] = ()  # commands run below these are never reported; affects new shells


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Settings for indexing history and code."""

    ignore: tuple[str, ...] = ()  # additional patterns, in gitignore syntax
    patterns: bool = True  # search for patterns: code structures that the project repeats
    patterns_idle_seconds: float = 20.0  # … after nobody has worked in it for this long


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings for storing memories."""

    commit_ms: int = 250  # interval between batches of accepted records; four times as long for continuous streams
    reserve_mib: int = 16  # reserved on disk so that the store can recover from a full disk
    min_free_mib: int = 64  # less free space than this is reported as degraded
    snapshots: int = 7  # number of nightly snapshots kept
    signals_days: int = 90  # older signals are deleted at night; memories and the model stay


SHIPPED_MODEL: Final = "minilm-int8"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Settings for the model that turns text into vectors."""

    model: str = SHIPPED_MODEL  # ships with the package; any other fastembed model may have to be downloaded
    enabled: bool = True  # false: lexical search only
    contradictions: bool = True  # false: contradictions are found by rules alone, which miss most freely worded ones

    @property
    def judges_pairs(self) -> bool:
        """True if a model judges those pairs of statements that rules cannot decide."""
        return self.enabled and self.contradictions


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """Language model that finds facts in sessions that the rules miss. While it is off, nothing is sent anywhere."""

    enabled: bool = False  # true: session texts are sent to base_url, without secrets, and cost money
    provider: Literal["anthropic", "openai"] = "anthropic"  # openai: any server that speaks its chat completions
    model: str = "claude-haiku-4-5"  # small and fast: it selects sentences, it does not write them
    base_url: str = "https://api.anthropic.com"  # for openai, with the version: http://127.0.0.1:11434/v1
    key_file: str = ""  # private file (0600) with the key; "": environment variable ANTHROPIC_API_KEY
    daily_limit_usd: float = 0.25  # daily limit, including what malformed answers may cost
    input_usd_per_million: float = 1.0  # price of the model's input tokens; 0 for a self-hosted model
    output_usd_per_million: float = 5.0  # price of its output tokens
    contradictions: bool = False  # true: possibly contradicting statements are sent too; the verdict decides
    rest_seconds: float = 30.0  # delay before a session is read, as statements may be retracted at once


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings for agents' sessions and for the memories made from them (docs/sessions.md)."""

    personal: Literal["keep", "log", "mask"] = "log"  # mail and postal addresses, phone numbers: see docs/sessions.md


@dataclass(frozen=True, slots=True)
class ConsolidationSettings:
    """Settings for condensing, assessing and forgetting memories (docs/consolidation.md)."""

    nightly: bool = True  # false: only on request (`hunch consolidate`)
    hour: int = 3  # local time: when machines that run at night are quiet
    idle_minutes: float = 5.0  # a nightly run begins after this time without requests
    summarise_days: float = 7.0  # after this time memories are shown as summaries
    compress_days: float = 30.0  # after this time memories are shown as one line
    forget_days: float = 90.0  # memories unused for this long (a quarter, about a release cycle) are archived
    restore_days: float = 30.0  # archived memories can be restored for this time, then they are erased
    forget_share: float = 0.1  # maximum share of a project's memories archived in one run, in case the clock is wrong


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """Settings for exchanging memories with a team's dataset (docs/team.md)."""

    poll_seconds: float = 15.0  # interval between two checks of the dataset; if nothing is new, a check is one request
    care_minutes: float = 60.0  # interval at which a member compacts the dataset and removes old and erased data


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """Settings for the daemon's lifetime and log."""

    idle_exit_minutes: float = 0.0  # exit after this time without requests; 0: never
    log_level: Literal["debug", "info", "warning", "error"] = "info"  # level of the log file


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, one field for each section of the file."""

    serving: ServingSettings = field(default_factory=ServingSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    signals: SignalSettings = field(default_factory=SignalSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    language: LanguageSettings = field(default_factory=LanguageSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    consolidation: ConsolidationSettings = field(default_factory=ConsolidationSettings)
    team: TeamSettings = field(default_factory=TeamSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
