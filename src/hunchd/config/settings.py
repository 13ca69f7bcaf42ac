"""All settings with their defaults.

The comment behind a setting is its documentation (see config.example.toml).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """Addresses on which the daemon listens."""

    host: str = "127.0.0.1"  # loopback only; another address is refused
    port: int = 0  # 0: let the system choose; the rendezvous file says which
    socket: bool = True  # also answer on a Unix socket, which other users cannot even reach
    max_body_bytes: int = 8_388_608  # larger requests are refused (8 MiB: a thousand long memories)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Limits of a context bundle."""

    budget: int = 8_000  # tokens, when the client names none
    max_budget: int = 200_000  # tokens; a larger wish is refused
    likely_files: int = 10  # files shown at most under "Likely next"
    past_units: int = 4  # past episodes shown at most
    silence: float = 0.0  # predicted files below this confidence are left out (0: the shipped threshold)


@dataclass(frozen=True, slots=True)
class SignalSettings:
    """Observation of files and logs."""

    watch_files: bool = True  # saves, creations, deletions, renames
    watch_opens: bool = False  # opens seen by inotify are mostly grep and test runs; editor plugins know better
    max_watched_directories: int = 40_000  # beyond this the tree is polled instead
    burst_ms: int = 100  # changes of one file within this time are one signal
    bulk_files: int = 200  # this many different files in a second are a tool, not a person
    error_logs: tuple[str, ...] = ()  # log files of projects whose new errors are told: patterns, relative or absolute
    queue: int = 20_000  # signals that may wait for the store before clients are asked to slow down


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """Commands reported by shells (`hunch shell-init`)."""

    private_folders: tuple[str, ...] = ()  # commands given in or below these are never told; new shells know it


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Indexing of history and code."""

    newest_units: int = 2_000  # read first, for an answer within a second or two
    max_units: int = 100_000  # older history is not read
    max_file_bytes: int = 1_000_000  # of larger files it is only known that they are there; a million at most
    ignore: tuple[str, ...] = ()  # more patterns, in gitignore syntax
    patterns: bool = True  # look for code shapes that the project repeats
    patterns_idle_seconds: float = 20.0  # … when nobody worked in it for this long


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Storage of memories."""

    commit_ms: int = 250  # accepted records are written in batches this far apart, streams of them four times as far
    batch: int = 256  # records written at once at most
    idle_seconds: float = 60.0  # the store process ends after this time without work, and gives its memory back
    reserve_mib: int = 16  # kept aside so that a full disk can be mended
    min_free_mib: int = 64  # less free space than this is reported as degraded
    snapshots: int = 7  # nightly snapshots kept
    signals_days: int = 90  # older signals are dropped at night: what they taught is kept in memories and the model


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The model that turns text into vectors."""

    model: str = "minilm-int8"  # the one that ships with the package; any other fastembed model may download itself
    enabled: bool = True  # false: search by words only
    idle_seconds: float = 600.0  # the model is dropped after this time without use
    contradictions: bool = True  # false: what contradicts what is judged by rules alone, which miss most free wording

    @property
    def reads_pairs(self) -> bool:
        """True if a model judges pairs of statements that the rules cannot decide."""
        return self.enabled and self.contradictions


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """A language model that reads sessions for facts that the rules miss. Off: nothing is sent anywhere."""

    enabled: bool = False  # true: what was said in sessions goes to base_url, without secrets, and costs money
    model: str = "claude-haiku-4-5"  # small and quick: it points at sentences, it does not write them
    base_url: str = "https://api.anthropic.com"  # any server that speaks Anthropic's Messages API
    key_file: str = ""  # a file of yours alone (0600) that holds the key; "": the variable ANTHROPIC_API_KEY
    daily_limit_usd: float = 0.25  # never more on one day, what a broken answer may have cost included
    input_usd_per_million: float = 1.0  # price of the model's input tokens; 0 for a model of your own
    output_usd_per_million: float = 5.0  # price of its output tokens
    timeout_seconds: float = 60.0  # for a whole answer; nobody waits for it
    contradictions: bool = False  # true: statements that may contradict each other are sent too; its verdict decides
    rest_seconds: float = 30.0  # a session rests this long before it is read: what is taken back at once is no fact


@dataclass(frozen=True, slots=True)
class ConsolidationSettings:
    """Condensing, judging and forgetting of memories (docs/consolidation.md)."""

    nightly: bool = True  # false: only when asked (`hunch consolidate`)
    hour: int = 3  # local time: when machines that run at night are quiet
    idle_minutes: float = 5.0  # a nightly run begins when nothing was asked for this long
    duplicate_similarity: float = 0.92  # cosine from which two texts of one subject may be one
    summarise_days: float = 7.0  # after a week details are looked up, not remembered
    compress_days: float = 30.0  # after a month one line tells whether to look
    forget_days: float = 90.0  # a quarter: what a release cycle did not need once is archived
    restore_days: float = 30.0  # archived memories come back within this time, then they are erased
    forget_share: float = 0.1  # of a project's memories archived in one run at most: a wrong clock empties no store
    importance_step: float = 0.05  # most that one night of use moves importance
    importance_range: float = 0.2  # … and all nights together, from where it began
    probes: int = 200  # questions that must be answered after a run as before; more see smaller losses and take longer
    probe_loss: float = 0.01  # a run that loses more of what they found is taken back
    history_from: int = 5  # episodes of a module from which its history is worth a summary
    keep_runs: int = 30  # runs that can be taken back; older ones are forgotten


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """Lifetime and log of the daemon."""

    idle_exit_minutes: float = 0.0  # end after this time without requests; 0: never
    log_level: Literal["debug", "info", "warning", "error"] = "info"  # what the log file tells
    log_mib: int = 5  # size at which the log file is rotated; three old ones are kept


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections of the settings."""

    serving: ServingSettings = field(default_factory=ServingSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    signals: SignalSettings = field(default_factory=SignalSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    language: LanguageSettings = field(default_factory=LanguageSettings)
    consolidation: ConsolidationSettings = field(default_factory=ConsolidationSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
