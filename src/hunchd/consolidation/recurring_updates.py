"""Recurring automated updates: one line for each dependency or chore.

However often an update is repeated, there is only one line, such as `2026-04-20 astral-sh/ruff-pre-commit v0.6.9 →
v0.15.11, 61 times since 2024-10-08 [f00dfeed 0badcafe …]`. The line consists of the day of the last update, the
subject, the first and the newest version, the number of updates and the day of the first, and the commits, newest
first. The line is the only record of a series: the next update is merged into the series that is parsed from the
line. These are pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from hunchd.domain.memory import Artifact, Memory
from hunchd.domain.unit_classification import is_forward_port_subject, strip_issue_numbers
from hunchd.ingestion.prose import shorten

# Tags of episodes: made by a bot; made for a release, which users search for as work; routine work by people.
BOT: Final = "bot"
RELEASE: Final = "release"
MAINTENANCE: Final = "maintenance"

MAX_NAME_CHARACTERS: Final = 80  # characters in the name of a dependency
MAX_DIGEST_CHARACTERS: Final = 12  # characters in a version that is a commit id
MAX_DEPENDENCIES: Final = 12  # dependencies listed for one commit; a commit with more is listed under its title
MAX_FILES: Final = 3  # an update that changed more files also changed something other than manifests
MAX_COMMITS: Final = 200  # commits listed in a line, newest first; nine characters each

_VERSION = r"[\^~<>=]{0,2}\s?[\w.+:-]{0,30}\d[\w.+:-]{0,30}"
_NAME = r"@?[\w.-]+(?:/[@\w.-]+)*(?:\[[\w,-]+\])?"
_KIND = r"(?:action|digest|docker tag|docker digest|orb|monorepo|hook|gem|crate)"
_PREFIX = re.compile(r"^[^\w\[(@]*(?:(?:\w+(?:\([^)]*\))?!?:|\[snyk\])\s+[^\w\[(@]*)*", re.IGNORECASE)
# "Bump X from A to B in /folder", "update dependency X to vN [security]", "Pin X to latest version N"
_TITLE = re.compile(
    r"(?:bumps?|updates?|upgrades?|security upgrade|pin)\s+"
    r"(?:(?:the|dependency|module|package|plugin|rust crate|terraform|helm release)\s+)*"
    rf"(?P<what>{_NAME})(?:\s+{_KIND})?(?:\s+from\s+(?P<old>{_VERSION}))?\s+to\s+(?:latest\s+)?(?:version\s+)?"
    rf"(?P<new>{_VERSION})(?:\s+in\s+\S+|\s+\[security\]|\s+\([^)]*\))*",
    re.IGNORECASE,
)
_BRANCH = re.compile(rf"Merge pull request .*/dependabot/[^/]+/(?P<what>{_NAME})-(?P<new>v?\d[\w.]*)")
# "Bumps [X](address) from A to B.", "Updates `X` from A to B", "- [host/X: A → B](address)", "| source | X | A | B |"
_BODY = re.compile(
    rf"\b(?:Bumps|Updates)\s+[`\[]?(?P<what>{_NAME})[`\]]?(?:\([^)\s]*\))?\s+from\s+(?P<old>{_VERSION})\s+to\s+"
    rf"(?P<new>{_VERSION})"
    rf"|^- \[(?:[\w-]+\.\w+/)?(?P<hook>{_NAME}): (?P<hook_old>{_VERSION}) → (?P<hook_new>{_VERSION})\]"
    rf"|^\| *[\w-]+ *\| *(?P<row>{_NAME}) *\| *`?(?P<row_old>{_VERSION})`? *\| *`?(?P<row_new>{_VERSION})`? *\|",
    re.MULTILINE,
)
_NO_DEPENDENCY = re.compile(r"(?:the\s+)?(?:versions?|release|changelog|copyright|year)", re.IGNORECASE)
_MANIFEST = re.compile(
    r"\.(?:json5?|ya?ml|toml|txt|lock|cfg|ini|in|xml|gradle|kts|mod|sum|props|csproj)$|(?:^|/)[A-Z]\w+file$"
)
_MAX_BODY_CHARACTERS: Final = 6_000  # characters of a commit message that are searched

_ENDS_IN_VERSION = re.compile(rf"^(?P<what>.{{4,}}?)(?:\s+to)?\s+(?P<new>v?\d{_VERSION})$")
_VARIES = re.compile(r"\([^)]*\)|`[^`]*`|#\d+|\S*\d\S*|→|,")
_CONTRIBUTOR = re.compile(r"^add \S+ as (?:a |an )?contributor\b.*", re.IGNORECASE)

_DAY: Final = r"\d{4}-\d\d-\d\d"
_LINE = re.compile(
    rf"^(?P<last>{_DAY}) (?P<what>.+?)(?:(?: (?P<first>[^\s→]+))? → (?P<newest>[^\s→,]+))?"
    rf"(?:, (?P<count>\d+) times since (?P<since>{_DAY}))?(?: \[(?P<commits>[0-9a-f]{{8}}(?: [0-9a-f]{{8}})*)\])?$"
)


@dataclass(frozen=True, slots=True)
class DependencyUpdate:
    """Single update of a dependency, or a single chore.

    `subject` is the name of the dependency or the title of the chore. A chore usually has no version.
    """

    subject: str
    old_version: str = ""
    new_version: str = ""


@dataclass(frozen=True, slots=True)
class UpdateSeries:
    """All updates of one dependency so far, or all repetitions of one chore.

    Days have the form `YYYY-MM-DD`. Commits are given by the first eight digits of their ids, newest first.
    """

    subject: str
    first_version: str
    newest_version: str
    first_day: str
    last_day: str
    count: int = 1
    commits: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.subject.casefold()

    @property
    def line(self) -> str:
        versions = f" → {self.newest_version}" if self.newest_version else ""
        if versions and self.first_version != self.newest_version:
            versions = f" {self.first_version}{versions}"
        times = f", {self.count} times since {self.first_day}" if self.count > 1 else ""
        commits = f" [{' '.join(self.commits)}]" if self.commits else ""
        return f"{self.last_day} {self.subject}{versions}{times}{commits}"

    def merge(self, later: UpdateSeries) -> UpdateSeries:
        """Return this series with `later` merged into it.

        Returns `self` if it already includes the commits of `later`.
        """
        if later.commits and set(later.commits) <= set(self.commits):
            return self
        latest, oldest = (self, later) if later.last_day < self.last_day else (later, self)
        earliest = later if later.first_day < self.first_day else self
        return replace(
            self,
            first_version=earliest.first_version or oldest.first_version,
            newest_version=latest.newest_version or oldest.newest_version,
            first_day=earliest.first_day,
            last_day=latest.last_day,
            count=self.count + later.count,
            commits=tuple(dict.fromkeys((*latest.commits, *oldest.commits)))[:MAX_COMMITS],
        )


def parse_updates(memory: Memory) -> tuple[DependencyUpdate, ...]:
    """Return the updates that an episode consists of.

    Returns () if the episode contains anything else. All commits by bots are updates, and so are commits by people
    that only update a dependency. A merge of one long-lived branch into another brings nothing new and counts as a
    chore. A release is not an update, because people ask for it by its own name.
    """
    if RELEASE in memory.tags:
        return ()
    if BOT in memory.tags:
        title = _read_full_title(memory)
        return _parse_body(memory.content) or _parse_title(title) or (_parse_chore(title),)
    if MAINTENANCE not in memory.tags:
        return ()
    title = _read_full_title(memory)
    return (
        (DependencyUpdate(shorten(title, MAX_NAME_CHARACTERS)),)
        if is_forward_port_subject(title)
        else _parse_title(title)
    )


def iter_series(memory: Memory) -> Iterator[UpdateSeries]:
    """Yield a series with a single update for each update in an episode."""
    day = f"{memory.at:%Y-%m-%d}"
    commits = tuple(one.ref[:8] for one in memory.artifacts if one.type == "commit" and _is_sha(one.ref))[:1]
    for update in parse_updates(memory):
        yield UpdateSeries(
            update.subject, update.old_version or update.new_version, update.new_version, day, day, commits=commits
        )


def list_manifests(memory: Memory) -> tuple[Artifact, ...]:
    """Return the package manifests that an episode changed.

    Returns () if the episode has more than MAX_FILES files.
    """
    files = [one for one in memory.artifacts if one.type == "file"]
    return tuple(one for one in files if _MANIFEST.search(one.ref)) if len(files) <= MAX_FILES else ()


def parse_series(line: str) -> UpdateSeries | None:
    """Parse a line that `UpdateSeries.line` produced; return None for any other line."""
    match = _LINE.match(line)
    if match is None:
        return None
    newest, last = match["newest"] or "", match["last"]
    commits = tuple((match["commits"] or "").split())
    count, since = int(match["count"] or 1), match["since"] or last
    return UpdateSeries(match["what"], match["first"] or newest, newest, since, last, count, commits)


def _read_full_title(memory: Memory) -> str:
    """Return the full title of an episode.

    The stored title may be cut off, for example if it contains two commit ids as versions. In that case the first line
    of the content is returned.
    """
    return strip_issue_numbers(memory.content.partition("\n")[0]) if memory.title.endswith("…") else memory.title


def _parse_title(title: str) -> tuple[DependencyUpdate, ...]:
    match = _TITLE.fullmatch(_PREFIX.sub("", title).strip()) or _BRANCH.fullmatch(title)
    if match is None or _NO_DEPENDENCY.fullmatch(match["what"]):
        return ()
    old = match.groupdict().get("old") or ""
    return (DependencyUpdate(_strip_extras(match["what"]), _normalize_version(old), _normalize_version(match["new"])),)


def _parse_body(text: str) -> tuple[DependencyUpdate, ...]:
    """Return the dependencies that a commit message lists with both versions.

    Returns () if there are more than MAX_DEPENDENCIES.
    """
    updates: dict[str, DependencyUpdate] = {}
    for match in _BODY.finditer(text[:_MAX_BODY_CHARACTERS]):
        subject, old, new = (
            next(filter(None, (match[name] for name in names)), "")
            for names in (("what", "hook", "row"), ("old", "hook_old", "row_old"), ("new", "hook_new", "row_new"))
        )
        updates.setdefault(
            subject.casefold(),
            DependencyUpdate(_strip_extras(subject), _normalize_version(old), _normalize_version(new)),
        )
    return tuple(updates.values()) if len(updates) <= MAX_DEPENDENCIES else ()


def _parse_chore(title: str) -> DependencyUpdate:
    """Convert the title of a chore to an update.

    The subject of the update is the part of the title that is the same every time.
    """
    plain = _PREFIX.sub("", title).strip() or title
    version_match = _ENDS_IN_VERSION.match(plain)
    subject = _CONTRIBUTOR.sub("add contributors", version_match["what"] if version_match else plain)
    subject = (
        shorten(" ".join(_VARIES.sub(" ", subject).split()).strip(" :-–"), MAX_NAME_CHARACTERS) or "updates by machines"
    )
    return DependencyUpdate(subject, "", _normalize_version(version_match["new"]) if version_match else "")


def _strip_extras(subject: str) -> str:
    """Remove the extras from the name of a dependency: `anyio[trio]` becomes `anyio`.

    Updates of one dependency sometimes name its extras and sometimes do not.
    """
    return shorten(subject.partition("[")[0], MAX_NAME_CHARACTERS)


def _normalize_version(text: str) -> str:
    version = "".join(text.split()).strip(".,:")
    return version[:MAX_DIGEST_CHARACTERS] if _is_sha(version) else version


def _is_sha(ref: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8,64}", ref) is not None
