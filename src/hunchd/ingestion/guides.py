"""Discovery of guides, with their scopes and imports.

A guide is a page of instructions for contributors or for coding agents.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from hunchd.ingestion import globs
from hunchd.ingestion.front_matter import get_value, parse_settings
from hunchd.ingestion.headings import split_front_matter

MAX_GUIDES: Final = 60  # guides read, those nearest to the root first
MAX_DEPTH: Final = 4  # folders above a guide for agents, which applies to the folder it is in
MAX_IMPORTS: Final = 20  # per guide
MAX_IMPORT_DEPTH: Final = 5  # imports followed from guide to guide
MAX_LINK_DEPTH: Final = 2  # links followed from one page for contributors to the next
MAX_DESCRIPTION: Final = 300  # characters
AIDER_SETTINGS: Final = ".aider.conf.yml"  # not a guide itself; it lists guides

# Names of pages for contributors or agents that concern the whole project. They are at the root or in a folder for
# such pages.
_FOR_PEOPLE = (
    r"[\w.-]*CONTRIBUTING|DEVELOP(?:MENT|ING|ERS?)|HACKING|MAINTAIN(?:ING|ERS?)|RELEAS(?:E|ES|ING)(?:[-_](?:PROCESS|CHECKLIST|"
    r"GUIDE))?|(?:PULL|MERGE)_REQUEST_TEMPLATE|(?:CODING|CODE)[-_ ]?(?:STYLE|STANDARDS)(?:[-_ ]?GUIDE)?|"
    r"STYLE[-_ ]?GUIDE|"
    r"COMMIT[-_](?:CONVENTION|MESSAGE|STYLE)S?|AI[-_]POLICY|(?:BUILD(?:ING)?|TESTING)(?=\.)"
)
_CONTRIBUTORS = (
    rf"(?:\.github/|docs?/(?:[^/]+/)?|contributing/)?(?:AGENTS|CLAUDE|GEMINI|{_FOR_PEOPLE})(?:\.(?:md|rst|txt|adoc))?"
)
_BELOW = r"(?:[^/]+/)*[^/]+"


class _Format(NamedTuple):
    """Location and settings of one kind of rule file for agents."""

    path: str  # path pattern below the folder to which it applies
    globs_setting: str = ""  # setting with the globs of the files to which it applies
    names_anywhere: bool = False  # a glob without a slash matches in all folders
    has_description: bool = False  # without globs, the description says when it applies


_FORMATS: Final = tuple(
    (re.compile(rf"((?:[^/]+/){{0,{MAX_DEPTH}}}?)(?:{one.path})", re.IGNORECASE), one)
    for one in (
        _Format(rf"\.cursor/rules/{_BELOW}\.mdc", "globs", names_anywhere=True, has_description=True),
        _Format(rf"\.github/instructions/{_BELOW}\.instructions\.md", "applyTo", has_description=True),
        _Format(rf"\.windsurf/rules/{_BELOW}\.md", "globs", names_anywhere=True),
        _Format(rf"\.clinerules/(?!(?:workflows|hooks|skills)/){_BELOW}\.(?:md|txt)", "paths"),
        _Format(rf"\.claude/rules/{_BELOW}\.md", "paths"),
        _Format(r"\.kiro/steering/[^/]+\.md", "fileMatchPattern", names_anywhere=True),
        _Format(r"\.(?:cursor|windsurf|cline)rules|\.github/copilot-instructions\.md"),
        _Format(r"\.junie/(?:guidelines|AGENTS)\.md|\.claude/CLAUDE\.md"),
        _Format(r"(?:AGENTS|CLAUDE|GEMINI|CONTRIBUTING|DEVELOPMENT)\.md"),
    )
)
_PLAIN_FORMAT: Final = _Format("")
_ROOT_GUIDE: Final = re.compile(rf"{_CONTRIBUTORS}|CONVENTIONS\.md", re.IGNORECASE)
_GUIDE_NAME: Final = re.compile(
    r"agents|claude|.*contributing|gemini|conventions|develop|hacking|maintain|releas|pull_req|merge_req|cod(?:e|"
    r"ing)|"
    r"style|commit|ai[-_]|build|testing",
    re.IGNORECASE,
)
# Guides that are often symbolic links to a single page for all agents.
LINKABLE_GUIDES: Final = (
    "AGENTS.md", "CLAUDE.md", "GEMINI.md", "CONVENTIONS.md", ".cursorrules", ".windsurfrules", ".clinerules",
    ".github/copilot-instructions.md", ".junie/guidelines.md",
)  # fmt: skip
_IMPORTING_GUIDE: Final = re.compile(r"(?:^|/)(?:CLAUDE|GEMINI)\.md$", re.IGNORECASE)
_IMPORT: Final = re.compile(r"(?<!\S)@([\w.][^\s`]{0,200})")
_CODE_SPAN: Final = re.compile(r"`[^`]*`")
_READABLE: Final = re.compile(r"(?:^|/)(?:[^/.]+|[^/]+\.(?:md|mdc|markdown|txt|rst))$", re.IGNORECASE)
_FOR_NEWCOMERS: Final = re.compile(rf"(?:^|/)(?:{_FOR_PEOPLE}|README|CHANGELOG)(?:\.[^/]*)?$", re.IGNORECASE)
_TEMPLATE: Final = re.compile(r"(?:^|/)\w+_REQUEST_TEMPLATE[^/]*$", re.IGNORECASE)
README: Final = re.compile(r"readme(?:\.(?:md|rst|txt|adoc))?", re.IGNORECASE)
# A section in a readme with its subsections, up to the next heading of the same level.
_CONTRIBUTING_SECTION: Final = re.compile(
    r"^#{1,4} [^\n]{0,40}(?:contribut|develop(?!\w* status)|hacking)[^\n]*\n(?:(?!#{1,3} ).*\n?)*",
    re.IGNORECASE | re.MULTILINE,
)
# Links from a page for contributors, and names which say that a page is about work on the project.
_LINK: Final = re.compile(
    r"\]\((?:\./)?([\w./-]{2,120})(?:#[\w-]*)?\)|``([\w./-]+\.(?:rst|md))``|:doc:`(?:[^`<]*<)?([\w./-]+)>?`|"
    r"(?<!`)`([\w./-]+\.md)`(?!`)|^   +([\w./-]+)$",
    re.MULTILINE,
)
# A page on the project's site. Its source has the same name and folder: `…/latest/contributing/guide/` is made from
# `docs/contributing/guide.md`.
_SITE_PAGE: Final = re.compile(r"https?://[^\s()<>\"'`#]*/([\w-]+/[\w-]+)(?:\.html)?/?(?=[\s()<>\"'`#]|$)")
_ABOUT_WORK: Final = re.compile(
    r"contribut|develop|build|commit|pull|style|conventions?|testing|tests?\.|hacking|submit|patch|"
    r"getting[-_]started|"
    r"msrv|coding|guideline|"
    r"workflow",
    re.IGNORECASE,
)
_NOT_ABOUT_WORK: Final = re.compile(r"conduct|issues?|security|sponsor|governance|license|release", re.IGNORECASE)
_COMMENT_MARK: Final = re.compile(r"<!-{2,}|-{2,}>")


@dataclass(frozen=True, slots=True)
class GuideScope:
    """Files that a guide applies to, and whether it is shown only on request."""

    part: str = ""  # folder; "" for the whole project
    globs: tuple[str, ...] = ()  # files to which it applies; all if empty
    on_demand: bool = False  # shown only on request
    description: str = ""  # when it applies, in the author's words

    @property
    def is_unrestricted(self) -> bool:
        """Return True if the guide always applies to its whole folder."""
        return not (self.globs or self.on_demand)


@dataclass(frozen=True, slots=True)
class Guide:
    """Page of instructions for contributors or agents.

    `text` contains neither the settings nor the comments of the page.
    """

    path: str
    text: str
    scope: GuideScope
    is_linked: bool = False  # found through a link from a page for people

    @property
    def is_form(self) -> bool:
        """Return True for a template that the author of a change fills in."""
        return _TEMPLATE.search(self.path) is not None

    @property
    def is_for_agents(self) -> bool:
        """Return False for pages that are meant only for human contributors."""
        return not (self.is_linked or _FOR_NEWCOMERS.search(self.path))


def is_guide(path: str) -> bool:
    """Return True if `path` is the path of a page for contributors or agents.

    Most paths are rejected by name or folder, before a regular expression is tried.
    """
    has_guide_name = _GUIDE_NAME.match(path.rpartition("/")[2]) is not None
    return (has_guide_name or path.startswith(".") or "/." in path) and _detect_format(path) is not None


def may_define_guides(path: str) -> bool:
    """Return True for guides, readmes at the root, and aider's list of guides."""
    return path == AIDER_SETTINGS or is_guide(path) or README.fullmatch(path) is not None


class GuideCollection(NamedTuple):
    """Guides of a project, and the paths that they import or link to.

    An imported path is included even if there is no such file.
    """

    guides: list[Guide]
    imported_paths: frozenset[str]


def find_guides(paths: Iterable[str], read: Callable[[str], str], links: Mapping[str, str]) -> GuideCollection:
    """Collect the guides among `paths` and those they import, each once per scope.

    `read` returns the text of a file. `links` maps each guide that is a symbolic link to its target.
    """
    sorted_paths = sorted(paths, key=lambda path: (path.count("/"), path))
    files = frozenset(sorted_paths)
    others = {*links.values(), *(_read_aider_list(read(AIDER_SETTINGS)) if AIDER_SETTINGS in files else ())}
    queue = deque[tuple[str, GuideScope | None, int]]((path, None, 0) for path in sorted_paths if is_guide(path))
    queue += ((path, None, 0) for path in sorted_paths if README.fullmatch(path))
    queue += ((path, GuideScope(), 1) for path in sorted(others))
    link_depths: dict[str, int] = {}  # page → number of links followed to find it
    for_people: set[str] = set()  # pages linked from pages for people
    guides: list[Guide] = []
    visited_guides: set[tuple[str, GuideScope]] = set()
    while queue and len(guides) < MAX_GUIDES:
        path, place, depth = queue.popleft()
        if path not in files or (place is not None and (path, place) in visited_guides):
            continue
        guide = replace(_parse_guide(path, read(path), place), is_linked=path in for_people)
        if (path, guide.scope) in visited_guides:
            continue
        visited_guides.add((path, guide.scope))
        guides.append(guide)
        if depth < MAX_IMPORT_DEPTH and (depth or _IMPORTING_GUIDE.search(path)):
            imports = _find_imports(guide)
            others |= {*imports}
            queue.extendleft((one, guide.scope, depth + 1) for one in reversed(imports))
        if not depth and link_depths.get(path, 0) < MAX_LINK_DEPTH:
            pages = [one for one in _find_links(guide, files) if one not in others and not is_guide(one)]
            others |= {*pages}
            link_depths |= dict.fromkeys(pages, link_depths.get(path, 0) + 1)
            for_people |= set() if guide.is_for_agents else {*pages}
            queue += ((one, guide.scope, 0) for one in pages)
    return GuideCollection(guides, frozenset(others))


def _parse_guide(path: str, text: str, place: GuideScope | None) -> Guide:
    """Parse a page for contributors or agents.

    If another page imports the page, `place` is the scope of the importing page and replaces the page's own scope.
    Of a readme, only the sections about contributing are kept.
    """
    text = text.replace("\r\n", "\n")
    settings, page = split_front_matter(text)
    values = parse_settings(settings)
    if values is None:  # the text only looks like settings
        page, values = text, {}
    guide_format, part = _detect_format(path) or (_PLAIN_FORMAT, "")
    if README.fullmatch(path):
        page = "\n".join(_CONTRIBUTING_SECTION.findall(page))
    page = _COMMENT_MARK.sub("", page) if _TEMPLATE.search(path) else "".join(_strip_comments(page))
    return Guide(path, page, place or _read_scope(guide_format, part, values))


def _detect_format(path: str) -> tuple[_Format, str] | None:
    """Return a guide's format and the folder that it applies to.

    Returns None if `path` is not the path of a guide.
    """
    if _ROOT_GUIDE.fullmatch(path):
        return _PLAIN_FORMAT, ""
    for pattern, guide_format in _FORMATS:
        if match := pattern.fullmatch(path):
            return guide_format, match[1].rstrip("/")
    return None


def _read_scope(guide_format: _Format, part: str, settings: Mapping[str, list[str]]) -> GuideScope:
    """Read the scope of a guide from its settings.

    The settings may be those of any supported agent. Without settings, the guide applies to the whole folder `part`.
    """
    if not guide_format.globs_setting or not settings:
        return GuideScope(part)
    trigger = (get_value(settings, "trigger") or get_value(settings, "inclusion")).lower()
    applies = get_value(settings, "alwaysApply").lower()
    if applies == "true" or trigger in ("always", "always_on"):
        return GuideScope(part)
    patterns = globs.split_list(",".join(settings.get(guide_format.globs_setting, ())))
    about = get_value(settings, "description")[:MAX_DESCRIPTION]
    is_automatic = patterns or not (guide_format.has_description and (about or applies == "false"))
    if trigger in ("manual", "model_decision", "auto") or not is_automatic:
        return GuideScope(part, on_demand=True, description=about)
    return GuideScope(part, globs.normalize_globs(patterns, names_anywhere=guide_format.names_anywhere))


def _strip_comments(page: str) -> Iterator[str]:
    at = 0
    while (begin := page.find("<!--", at)) >= 0 and (end := page.find("-->", begin)) >= 0:
        yield page[at:begin]
        at = end + len("-->")
    yield page[at:]


def _find_imports(guide: Guide) -> list[str]:
    """Return the paths that a guide imports with `@`, except those in code.

    In the guide, the paths are relative to its folder. Paths outside the project are dropped.
    """
    import_paths: dict[str, None] = {}
    in_fence = False
    for line in guide.text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_fence = not in_fence
        elif not in_fence and "@" in line:
            for name in _IMPORT.findall(_CODE_SPAN.sub(" ", line)):
                path = _resolve_inside(guide.path.rpartition("/")[0], name.rstrip(".,;:!?)"))
                if path and _READABLE.search(path):
                    import_paths[path] = None
    return list(import_paths)[:MAX_IMPORTS]


def _find_links(guide: Guide, files: Collection[str]) -> list[str]:
    """Return the pages about project work that a page for contributors links to."""
    pages: dict[str, None] = {}
    for names in _LINK.findall(guide.text):
        name = next(filter(None, names))
        for folder in (guide.path.rpartition("/")[0], ""):
            for path in (_resolve_inside(folder, name.lstrip("/")), _resolve_inside(folder, f"{name}.rst")):
                if path and path in files and _READABLE.search(path) and not _is_about_people(path):
                    pages[path] = None
    tails = {one.lower() for one in _SITE_PAGE.findall(guide.text) if not _is_about_people(one)}
    for path in sorted(files) if tails else ():
        tail = "/".join(path.lower().rpartition(".")[0].split("/")[-2:])
        if tail in tails and _READABLE.search(path) and not _is_about_people(path):
            tails.remove(tail)  # of the pages of several releases, only the first is read
            pages[path] = None
    return list(pages)[:MAX_IMPORTS]


def _is_about_people(path: str) -> bool:
    name = path.rpartition("/")[2]
    return bool(_NOT_ABOUT_WORK.search(name)) or not _ABOUT_WORK.search(path)


def _read_aider_list(settings: str) -> list[str]:
    """Return the files that aider reads according to its settings."""
    read_setting = (parse_settings(settings) or {}).get("read", ())
    resolved_paths = (_resolve_inside("", path) for path in globs.split_list(",".join(read_setting)))
    return [path for path in resolved_paths if path and _READABLE.search(path)][:MAX_IMPORTS]


def _resolve_inside(folder: str, name: str) -> str | None:
    """Resolve the path `name` relative to `folder`.

    Returns None if the result is outside the project.
    """
    path = posixpath.normpath(posixpath.join(folder, name))
    return None if path.startswith(("../", "/", "~")) or path in ("..", ".") else path


def resolve_link(link: str, target: str) -> str | None:
    """Return the path that a symbolic link points to.

    `link` is the path of the link itself, `target` its content. Returns None if the result is outside the project.
    """
    return _resolve_inside(link.rpartition("/")[0], target)
