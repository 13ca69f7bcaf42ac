"""Recurring automated updates, one line for each dependency or chore.

The line stays one, however often the update was done. Pure functions. `2026-04-20 astral-sh/ruff-pre-commit v0.6.9 →
v0.15.11, 61 times since 2024-10-08 [f00dfeed 0badcafe …]`: the day of the last update, its subject, its first and its
newest version, and the commits, the newest first. The line is the only record of a series: the next update is merged
into what is parsed from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from hunchd.domain.memory import Artifact, Memory
from hunchd.domain.work import is_forward_port_subject, plain_title
from hunchd.ingestion.prose import cut

# Tags of an episode: made by a bot; made for a release, which users search for as work; routine work of people.
BOT: Final = "bot"
RELEASE: Final = "release"
MAINTENANCE: Final = "maintenance"

NAME: Final = 80  # characters of the name of a dependency
DIGEST: Final = 12  # characters of a version that is a commit
MOST_AT_ONCE: Final = 12  # dependencies listed for one commit; a commit with more is listed under its title
FEW_FILES: Final = 3  # an update of more files also changed something other than manifests
MOST_COMMITS: Final = 200  # listed in a line, newest first; nine characters each

_VERSION = r"[\^~<>=]{0,2}\s?[\w.+:-]{0,30}\d[\w.+:-]{0,30}"
_NAME = r"@?[\w.-]+(?:/[@\w.-]+)*(?:\[[\w,-]+\])?"
_KIND = r"(?:action|digest|docker tag|docker digest|orb|monorepo|hook|gem|crate)"
_PREFIX = re.compile(r"^[^\w\[(@]*(?:(?:\w+(?:\([^)]*\))?!?:|\[snyk\])\s+[^\w\[(@]*)*", re.IGNORECASE)
# "Bump X from A to B in /folder", "update dependency X to vN [security]", "Pin X to latest version N"
_OF_TITLE = re.compile(
    r"(?:bumps?|updates?|upgrades?|security upgrade|pin)\s+"
    r"(?:(?:the|dependency|module|package|plugin|rust crate|terraform|helm release)\s+)*"
    rf"(?P<what>{_NAME})(?:\s+{_KIND})?(?:\s+from\s+(?P<old>{_VERSION}))?\s+to\s+(?:latest\s+)?(?:version\s+)?"
    rf"(?P<new>{_VERSION})(?:\s+in\s+\S+|\s+\[security\]|\s+\([^)]*\))*",
    re.IGNORECASE,
)
_OF_BRANCH = re.compile(rf"Merge pull request .*/dependabot/[^/]+/(?P<what>{_NAME})-(?P<new>v?\d[\w.]*)")
# "Bumps [X](address) from A to B.", "Updates `X` from A to B", "- [host/X: A → B](address)", "| source | X | A | B |"
_OF_BODY = re.compile(
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
_LOOKED_AT: Final = 6_000  # characters of a message

_ENDS_IN_VERSION = re.compile(rf"^(?P<what>.{{4,}}?)(?:\s+to)?\s+(?P<new>v?\d{_VERSION})$")
_VARIES = re.compile(r"\([^)]*\)|`[^`]*`|#\d+|\S*\d\S*|→|,")
_CONTRIBUTOR = re.compile(r"^add \S+ as (?:a |an )?contributor\b.*", re.IGNORECASE)

_DAY: Final = r"\d{4}-\d\d-\d\d"
_LINE = re.compile(
    rf"^(?P<last>{_DAY}) (?P<what>.+?)(?:(?: (?P<first>[^\s→]+))? → (?P<newest>[^\s→,]+))?"
    rf"(?:, (?P<count>\d+) times since (?P<since>{_DAY}))?(?: \[(?P<commits>[0-9a-f]{{8}}(?: [0-9a-f]{{8}})*)\])?$"
)


@dataclass(frozen=True, slots=True)
class Bump:
    """Update of one dependency, or a chore, which has no version."""

    what: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """All updates of one dependency so far.

    Days are `YYYY-MM-DD`, commits their first eight digits, the newest first.
    """

    what: str
    first: str
    newest: str
    since: str
    last: str
    count: int = 1
    commits: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.what.casefold()

    @property
    def line(self) -> str:
        versions = f" → {self.newest}" if self.newest else ""
        if versions and self.first != self.newest:
            versions = f" {self.first}{versions}"
        times = f", {self.count} times since {self.since}" if self.count > 1 else ""
        commits = f" [{' '.join(self.commits)}]" if self.commits else ""
        return f"{self.last} {self.what}{versions}{times}{commits}"

    def followed_by(self, later: Series) -> Series:
        """Merge `later` into this series; return self if it is included already."""
        if later.commits and set(later.commits) <= set(self.commits):
            return self
        newest, oldest = (self, later) if later.last < self.last else (later, self)
        begin = later if later.since < self.since else self
        return replace(
            self,
            first=begin.first or oldest.first,
            newest=newest.newest or oldest.newest,
            since=begin.since,
            last=newest.last,
            count=self.count + later.count,
            commits=tuple(dict.fromkeys((*newest.commits, *oldest.commits)))[:MOST_COMMITS],
        )


def bumps_of(memory: Memory) -> tuple[Bump, ...]:
    """Return the updates that an episode consists of.

    Returns () if it did anything else. Updates are all commits of bots, and commits of people that only do the same. ()
    if it did anything else. These are all commits of bots, and commits of people that only do the same. A merge of one
    long-lived branch into another brings nothing new and counts as a chore. A release is no update: people ask for it
    by its own name.
    """
    if RELEASE in memory.tags:
        return ()
    if BOT in memory.tags:
        title = _title(memory)
        return _of_body(memory.content) or _of_title(title) or (_chore(title),)
    if MAINTENANCE not in memory.tags:
        return ()
    title = _title(memory)
    return (Bump(cut(title, NAME)),) if is_forward_port_subject(title) else _of_title(title)


def series_of(memory: Memory) -> Iterator[Series]:
    """Yield an episode as a step of each of its series."""
    day = f"{memory.at:%Y-%m-%d}"
    commits = tuple(one.ref[:8] for one in memory.artifacts if one.type == "commit" and _is_sha(one.ref))[:1]
    for bump in bumps_of(memory):
        yield Series(bump.what, bump.old or bump.new, bump.new, day, day, commits=commits)


def manifests_of(memory: Memory) -> tuple[Artifact, ...]:
    """Return the manifests of an episode with at most MAX_FILES files."""
    files = [one for one in memory.artifacts if one.type == "file"]
    return tuple(one for one in files if _MANIFEST.search(one.ref)) if len(files) <= FEW_FILES else ()


def series_in(line: str) -> Series | None:
    """Parse a line of `UpdateSeries.line`; None for any other line."""
    found = _LINE.match(line)
    if found is None:
        return None
    newest, last = found["newest"] or "", found["last"]
    commits = tuple((found["commits"] or "").split())
    count, since = int(found["count"] or 1), found["since"] or last
    return Series(found["what"], found["first"] or newest, newest, since, last, count, commits)


def _title(memory: Memory) -> str:
    """Return the whole title of an episode.

    Two versions that are commits do not fit into a stored one.
    """
    return plain_title(memory.content.partition("\n")[0]) if memory.title.endswith("…") else memory.title


def _of_title(title: str) -> tuple[Bump, ...]:
    found = _OF_TITLE.fullmatch(_PREFIX.sub("", title).strip()) or _OF_BRANCH.fullmatch(title)
    if found is None or _NO_DEPENDENCY.fullmatch(found["what"]):
        return ()
    old = found.groupdict().get("old") or ""
    return (Bump(_named(found["what"]), _version(old), _version(found["new"])),)


def _of_body(text: str) -> tuple[Bump, ...]:
    """Return each dependency that a message lists with both versions.

    Returns () for more than MAX_DEPENDENCIES.
    """
    bumps: dict[str, Bump] = {}
    for found in _OF_BODY.finditer(text[:_LOOKED_AT]):
        what, old, new = (
            next(filter(None, (found[name] for name in names)), "")
            for names in (("what", "hook", "row"), ("old", "hook_old", "row_old"), ("new", "hook_new", "row_new"))
        )
        bumps.setdefault(what.casefold(), Bump(_named(what), _version(old), _version(new)))
    return tuple(bumps.values()) if len(bumps) <= MOST_AT_ONCE else ()


def _chore(title: str) -> Bump:
    """Return the part of a title that is the same each time."""
    plain = _PREFIX.sub("", title).strip() or title
    told = _ENDS_IN_VERSION.match(plain)
    stem = _CONTRIBUTOR.sub("add contributors", told["what"] if told else plain)
    stem = cut(" ".join(_VARIES.sub(" ", stem).split()).strip(" :-–"), NAME) or "updates by machines"
    return Bump(stem, "", _version(told["new"]) if told else "")


def _named(what: str) -> str:
    """Drop extras, which come and go: `anyio[trio]` is anyio."""
    return cut(what.partition("[")[0], NAME)


def _version(told: str) -> str:
    plain = "".join(told.split()).strip(".,:")
    return plain[:DIGEST] if _is_sha(plain) else plain


def _is_sha(ref: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8,64}", ref) is not None
