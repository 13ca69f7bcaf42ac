"""Discovery of contributor and agent pages with scope and imports."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from hunchd.ingestion import globs
from hunchd.ingestion.front_matter import settings_in, value_of
from hunchd.ingestion.headings import parted

MOST: Final = 60  # guides read, those nearest to the root first
DEEPEST: Final = 4  # folders above a guide that applies to its own folder
MOST_IMPORTS: Final = 20  # per guide
DEEPEST_IMPORT: Final = 5  # from guide to guide
LONGEST_DESCRIPTION: Final = 300  # characters
AIDER: Final = ".aider.conf.yml"  # no guide itself: it lists guides

_CONTRIBUTORS = r"(?:\.github/|docs?/)?(?:AGENTS|CLAUDE|CONTRIBUTING|GEMINI)(?:\.(?:md|rst|txt))?"
_BELOW = r"(?:[^/]+/)*[^/]+"


class _Format(NamedTuple):
    """File format for agent rules."""

    path: str  # path pattern below the folder to which it applies
    globs: str = ""  # setting with the globs of the files to which it applies
    names_anywhere: bool = False  # a glob without a slash matches in all folders
    described: bool = False  # without globs, the description says when it applies


_FORMATS: Final = tuple(
    (re.compile(rf"((?:[^/]+/){{0,{DEEPEST}}}?)(?:{one.path})", re.IGNORECASE), one)
    for one in (
        _Format(rf"\.cursor/rules/{_BELOW}\.mdc", "globs", names_anywhere=True, described=True),
        _Format(rf"\.github/instructions/{_BELOW}\.instructions\.md", "applyTo", described=True),
        _Format(rf"\.windsurf/rules/{_BELOW}\.md", "globs", names_anywhere=True),
        _Format(rf"\.clinerules/(?!(?:workflows|hooks|skills)/){_BELOW}\.(?:md|txt)", "paths"),
        _Format(rf"\.claude/rules/{_BELOW}\.md", "paths"),
        _Format(r"\.kiro/steering/[^/]+\.md", "fileMatchPattern", names_anywhere=True),
        _Format(r"\.(?:cursor|windsurf|cline)rules|\.github/copilot-instructions\.md"),
        _Format(r"\.junie/(?:guidelines|AGENTS)\.md|\.claude/CLAUDE\.md"),
        _Format(r"(?:AGENTS|CLAUDE|GEMINI)\.md"),
    )
)
_PLAIN: Final = _Format("")
_AT_ROOT: Final = re.compile(rf"{_CONTRIBUTORS}|CONVENTIONS\.md", re.IGNORECASE)
_NAMES: Final = ("agents", "claude", "contributing", "gemini", "conventions")
# Guides that are often symbolic links to one page for all agents.
LINKED: Final = (
    "AGENTS.md", "CLAUDE.md", "GEMINI.md", "CONVENTIONS.md", ".cursorrules", ".windsurfrules", ".clinerules",
    ".github/copilot-instructions.md", ".junie/guidelines.md",
)  # fmt: skip
_IMPORTING: Final = re.compile(r"(?:^|/)(?:CLAUDE|GEMINI)\.md$", re.IGNORECASE)
_IMPORT: Final = re.compile(r"(?<!\S)@([\w.][^\s`]{0,200})")
_SPAN: Final = re.compile(r"`[^`]*`")
_READABLE: Final = re.compile(r"(?:^|/)(?:[^/.]+|[^/]+\.(?:md|mdc|markdown|txt|rst))$", re.IGNORECASE)
_FOR_NEWCOMERS: Final = re.compile(r"(?:^|/)(?:CONTRIBUTING|README|CHANGELOG)(?:\.[^/]*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Scope of a guide."""

    part: str = ""  # folder
    globs: tuple[str, ...] = ()  # files to which it applies; empty: all
    on_demand: bool = False  # shown only on request
    about: str = ""  # when it applies, in the author's words

    @property
    def whole(self) -> bool:
        """Return True if the guide always applies to the whole folder."""
        return not (self.globs or self.on_demand)


@dataclass(frozen=True, slots=True)
class Guide:
    """Contributor or agent page without its settings and comments."""

    path: str
    text: str
    place: Place

    @property
    def for_agents(self) -> bool:
        """Return True unless the page is for first contributions."""
        return not _FOR_NEWCOMERS.search(self.path)


def is_guide(path: str) -> bool:
    """Return True if a path is a contributor or agent page.

    Most paths are rejected by name or folder before a pattern is tried.
    """
    named = path.rpartition("/")[2].lower().startswith(_NAMES)
    return (named or path.startswith(".") or "/." in path) and _format(path) is not None


def may_guide(path: str) -> bool:
    """Return True for guides and aider's list of guides."""
    return path == AIDER or is_guide(path)


class Found(NamedTuple):
    """Guides of a project and their imports, existing or not."""

    guides: list[Guide]
    named: frozenset[str]


def guides(paths: Iterable[str], read: Callable[[str], str], links: Mapping[str, str]) -> Found:
    """Collect the guides and their imports, each once per scope.

    `links` maps guides that are symbolic links to their targets.
    """
    known = sorted(paths, key=lambda path: (path.count("/"), path))
    files = frozenset(known)
    others = {*links.values(), *(_listed(read(AIDER)) if AIDER in files else ())}
    waiting = deque[tuple[str, Place | None, int]]((path, None, 0) for path in known if is_guide(path))
    waiting += ((path, Place(), 1) for path in sorted(others))
    found: list[Guide] = []
    seen: set[tuple[str, Place]] = set()
    while waiting and len(found) < MOST:
        path, place, depth = waiting.popleft()
        if path not in files or (place is not None and (path, place) in seen):
            continue
        guide = _guide(path, read(path), place)
        seen.add((path, guide.place))
        found.append(guide)
        if depth < DEEPEST_IMPORT and (depth or _IMPORTING.search(path)):
            imports = _imports(guide)
            others |= {*imports}
            waiting.extendleft((one, guide.place, depth + 1) for one in reversed(imports))
    return Found(found, frozenset(others))


def _guide(path: str, text: str, place: Place | None) -> Guide:
    """Parse a page.

    `place` overrides its scope if another page imports it.
    """
    text = text.replace("\r\n", "\n")
    settings, page = parted(text)
    told = settings_in(settings)
    if told is None:  # it only looks like settings
        page, told = text, {}
    form, part = _format(path) or (_PLAIN, "")
    return Guide(path, "".join(_without_comments(page)), place or _place(form, part, told))


def _format(path: str) -> tuple[_Format, str] | None:
    """Return the format of a guide and its folder."""
    if _AT_ROOT.fullmatch(path):
        return _PLAIN, ""
    for pattern, form in _FORMATS:
        if found := pattern.fullmatch(path):
            return form, found[1].rstrip("/")
    return None


def _place(form: _Format, part: str, settings: Mapping[str, list[str]]) -> Place:
    """Read a rule's scope from its settings, in any of the formats."""
    if not form.globs or not settings:
        return Place(part)
    when = (value_of(settings, "trigger") or value_of(settings, "inclusion")).lower()
    applies = value_of(settings, "alwaysApply").lower()
    if applies == "true" or when in ("always", "always_on"):
        return Place(part)
    given = globs.listed(",".join(settings.get(form.globs, ())))
    about = value_of(settings, "description")[:LONGEST_DESCRIPTION]
    unasked = given or not (form.described and (about or applies == "false"))
    if when in ("manual", "model_decision", "auto") or not unasked:
        return Place(part, on_demand=True, about=about)
    return Place(part, globs.plain(given, names_anywhere=form.names_anywhere))


def _without_comments(page: str) -> Iterator[str]:
    at = 0
    while (begin := page.find("<!--", at)) >= 0 and (end := page.find("-->", begin)) >= 0:
        yield page[at:begin]
        at = end + len("-->")
    yield page[at:]


def _imports(guide: Guide) -> list[str]:
    """Return the paths that a guide imports with `@`, outside of code.

    Paths are relative to the guide's folder; those outside the project are dropped.
    """
    found: dict[str, None] = {}
    fenced = False
    for line in guide.text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and "@" in line:
            for named in _IMPORT.findall(_SPAN.sub(" ", line)):
                path = _inside(guide.path.rpartition("/")[0], named.rstrip(".,;:!?)"))
                if path and _READABLE.search(path):
                    found[path] = None
    return list(found)[:MOST_IMPORTS]


def _listed(settings: str) -> list[str]:
    """Return the files that aider's settings list to be read."""
    told = (settings_in(settings) or {}).get("read", ())
    found = (_inside("", path) for path in globs.listed(",".join(told)))
    return [path for path in found if path and _READABLE.search(path)][:MOST_IMPORTS]


def _inside(folder: str, named: str) -> str | None:
    """Resolve a path relative to a folder.

    Returns None if it is outside the project.
    """
    path = posixpath.normpath(posixpath.join(folder, named))
    return None if path.startswith(("../", "/", "~")) or path in ("..", ".") else path


def link_inside(link: str, target: str) -> str | None:
    """Return the target path of a guide that is a symbolic link.

    Returns None if outside the project.
    """
    return _inside(link.rpartition("/")[0], target)
