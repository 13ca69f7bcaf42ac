"""Messages between the front process and the processes that read project files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from hunchd.domain.code import FileOutline
from hunchd.domain.history import Unit
from hunchd.domain.memory import Memory


class ProjectRequest(Struct, frozen=True, kw_only=True):
    """Request about the files of one project."""

    folder: str
    cache_file: str
    extra_ignore: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        return Path(self.folder)

    @property
    def cache(self) -> Path:
        return Path(self.cache_file)


MAX_FILE_BYTES: Final = 1_000_000  # larger files are generated or data; they are listed, not parsed


class IndexRequest(ProjectRequest, frozen=True, kw_only=True):
    """Request to index one project.

    A unit of work is a commit, or a merge with everything it brings in. The newest `newest_units` units are read
    first, and at most `max_units` units are read in total. Files larger than `max_file_bytes` bytes are listed but not
    parsed.
    """

    project: str
    model_file: str = ""
    newest_units: int = 2_000
    max_units: int = 100_000
    is_full: bool = True
    max_file_bytes: int = 0  # omitted by calls that read no file
    episodes_after: str = ""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


class IndexStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Progress of indexing.

    The stage determines which of the other fields are set.
    """

    stage: Literal["history", "files", "model", "episodes", "facts", "unread"]
    done: int = 0
    total: int = 0
    model: str = ""  # file of a new model
    learnt: str = ""  # newest commit in it
    episodes: list[Memory] = []
    last: str = ""  # commit of the last episode
    facts: list[Memory] = []
    why: str = ""  # reason why commits could not be read


class ParsedFiles(Struct, frozen=True, kw_only=True):
    outlines: list[FileOutline]
    removed: list[str]
    done: int
    total: int


class NewUnits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Units of work (commits or merges) that are new since the last check.

    `moved` lists commits of which only the id has changed, as (old id, new id); `gone` lists commits that no longer
    belong to any history. `rewritten` is True if the last known head no longer exists, or if the history must be
    indexed again. While a git operation is in progress, only `waits` is set.
    """

    units: list[Unit] = []
    episodes: list[Memory] = []
    facts: list[Memory] = []
    moved: list[tuple[str, str]] = []
    gone: list[str] = []
    head: str = ""
    rewritten: bool = False
    waits: bool = False


class StatedKnowledge(Struct, frozen=True, kw_only=True):
    """Knowledge stated in the project's own files."""

    facts: list[Memory]
    shared: list[Memory]
    workflows: list[Memory]
    topics: list[str]
    guides: list[str]
