"""Outlines without a grammar: headings, sections and targets of small formats, definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hunchd.domain.code import Symbol

MAX_SYMBOLS = 500  # per file; a changelog has a thousand uninformative headings
LONGEST_HEADING = 1_000  # characters read per heading; a line may be a whole file

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ATX = re.compile(r"(#{1,6})\s+(\S.*)$")
_MARKDOWN_UNDERLINE = re.compile(r"(=+|-{3,})\s*$")
_RST_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.<>_])\1{2,}\s*$")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(r"</?(?:a|img|br|b|i|em|strong|code|sub|sup|p|h\d|div|span|kbd|font|center|picture|source)\b[^<>]*>")
_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:[\w\"'-]+[ \t]*:|#).*?\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TOP = re.compile(r"^# \S", re.MULTILINE)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE)

_DOCUMENT = re.compile(r"(?:^(?!---).*\n?)+", re.MULTILINE)
_API = re.compile(r"^apiVersion:[ \t]*\S", re.MULTILINE)
_KIND_OF = re.compile(r"^kind:[ \t]*[\"']?(\w+)", re.MULTILINE)
_NAME_OF = re.compile(r"^metadata:[ \t]*\n(?:[ \t]+\S.*\n|[ \t]*\n)*?[ \t]+name:[ \t]*[\"']?([\w.-]+)", re.MULTILINE)

# One-line definitions: patterns whose only group is the name, and the kind of symbol.
_CREATE = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+|UNIQUE\s+|MATERIALIZED\s+)*"
    r"(?:TABLE|VIEW|FUNCTION|PROCEDURE|INDEX|TRIGGER|TYPE)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_GRAPHQL = re.compile(r"(?:extend\s+)?(?:type|interface|input|enum|union|scalar|query|mutation|fragment)\s+(\w+)")
_CMAKE = re.compile(r"\s*(?:function|macro|add_executable|add_library|add_custom_target)\s*\(\s*(\w+)", re.IGNORECASE)
_TERRAFORM = re.compile(r"(?:resource|data|module|variable|output|provider)\s+(\"[^{\n]+?)\s*\{")
_LABELS = re.compile(r"\"\s+\"")  # between the labels of a block, whose name in code is `type.name`
_LINES: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "ini": ((re.compile(r"\[([^\]\n]+)\]\s*$"), "section"),),
    "make": ((re.compile(r"([A-Za-z0-9][\w./%-]*)\s*:(?!=)"), "target"),),
    "just": ((re.compile(r"@?([A-Za-z][\w-]*)(?:\s+[^:=\n]*)?:(?!=)"), "target"),),
    "docker": ((re.compile(r"FROM\s+\S+(?:\s+AS\s+(\S+))", re.IGNORECASE), "stage"),),
    "sql": ((_CREATE, "definition"),),
    "proto": ((re.compile(r"\s*(?:message|service|enum|rpc)\s+(\w+)"), "type"),),
    "graphql": ((_GRAPHQL, "type"),),
    "css": (
        (re.compile(r"([.#][\w-]+)[^;{}\n]*\{"), "rule"),
        (re.compile(r"@(?:mixin|function)\s+([\w-]+)"), "function"),
    ),
    "terraform": ((_TERRAFORM, "block"),),
    "cmake": ((_CMAKE, "target"),),
}
_GENERIC = re.compile(
    r"\s*(?:[a-z@]+\s+){0,5}?"
    r"(def|defp|defmodule|defn|defun|func|fun|fn|function|sub|proc|class|interface|trait|struct|enum|object|protocol|"
    r"extension|actor|module|record|mixin)\s+([A-Za-z_][\w.:]*)"
)
_KIND = {
    "interface": "interface",
    "protocol": "interface",
    "class": "class",
    "object": "class",
    "extension": "class",
    "actor": "class",
    "record": "class",
    "trait": "trait",
    "struct": "struct",
    "enum": "enum",
    "module": "module",
    "defmodule": "module",
}
_CODE_WITHOUT_GRAMMAR = frozenset(
    """kotlin swift scala lua perl elixir julia dart groovy powershell cython viml elisp zig objc r erlang
    clojure""".split()  # noqa: SIM905 - a word list reads better as words
)


def headings(language: str, text: str) -> tuple[Symbol, ...]:
    """Extract the headings or definitions of `text`; empty for unknown languages."""
    reader = _reader(language)
    found: list[Symbol] = []
    for symbol in reader(text) if reader else ():
        found.append(symbol)
        if len(found) >= MAX_SYMBOLS:
            break
    return tuple(found)


def resources(text: str) -> tuple[Symbol, ...]:
    """Extract the resources of Kubernetes manifests by kind and name.

    Their keys are the same in all manifests.
    """
    found: list[Symbol] = []
    for document in _DOCUMENT.finditer(text):
        kind, named = _KIND_OF.search(document[0]), _NAME_OF.search(document[0])
        if kind and named and _API.search(document[0]):
            begins = document.start() + kind.start()
            line = text.count("\n", 0, begins) + 1
            name = f"{kind[1]} {named[1]}"
            found.append(Symbol(name, "resource", line, line, name))
    return tuple(found[:MAX_SYMBOLS])


def parted(text: str) -> tuple[str, str]:
    """Split a page into its front matter and its text."""
    front = _FRONT_MATTER.match(text)
    return (front[1], text[front.end() :]) if front else ("", text)


def title_in(settings: str) -> str:
    """Return the `title` setting of front matter.

    Returns "" if there is none.
    """
    found = _TITLE.search(settings)
    return found[1].strip().strip("\"'") if found else ""


def unmarked(heading: str) -> str:
    """Strip trailing `#` marks from a heading."""
    return heading.rstrip().rstrip("#").rstrip() or heading.strip()


def _reader(language: str) -> Callable[[str], Iterator[Symbol]] | None:
    if language == "markdown":
        return _markdown
    if language == "rst":
        return _rst
    if language in _LINES:
        return lambda text: _lines(text, _LINES[language])
    return _definitions if language in _CODE_WITHOUT_GRAMMAR else None


def _heading(title: str, line: int, level: int, above: list[tuple[int, str]]) -> Symbol:
    """Build a heading nested in the last one of a higher level.

    `above` is the open chain.
    """
    while above and above[-1][0] >= level:
        above.pop()
    container = above[-1][1] if above else ""
    above.append((level, title))
    return Symbol(title, "heading", line, line, f"{'#' * level} {title}", container)


def _markdown(text: str) -> Iterator[Symbol]:
    """Yield the headings of Markdown.

    The front matter's title stands for a page without one; the rest of the front matter is skipped.
    """
    fence = ""
    before = ""
    above: list[tuple[int, str]] = []
    settings, page = parted(text)
    title = title_in(settings)
    if title and not _TOP.search(page):
        yield _heading(_plain(title), 1, 1, above)
    begins = text.count("\n") - page.count("\n")
    for number, line in enumerate(text.splitlines(), 1):
        if number <= begins:
            continue
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence:
            atx = _ATX.match(line)
            underlined = before and _MARKDOWN_UNDERLINE.match(line) and "|" not in before
            if atx and (told := _plain(unmarked(atx[2]))):
                yield _heading(told, number, len(atx[1]), above)
            elif underlined and (told := _plain(before)):
                yield _heading(told, number - 1, 1 if line[0] == "=" else 2, above)
        before = "" if mark or fence or line.startswith(("#", " ", "-", "*", ">")) else line.strip()


def _rst(text: str) -> Iterator[Symbol]:
    levels: list[str] = []  # RST gives underlines their rank by first use
    above: list[tuple[int, str]] = []
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _RST_UNDERLINE.match(line)
        if mark and before and len(line.rstrip()) >= len(before) - 2 and not _RST_UNDERLINE.match(before):
            if mark[1] not in levels:
                levels.append(mark[1])
            yield _heading(before, number - 1, levels.index(mark[1]) + 1, above)
            before = ""
        else:
            before = line.rstrip() if line[:1].strip() else ""


def _lines(text: str, patterns: tuple[tuple[re.Pattern[str], str], ...]) -> Iterator[Symbol]:
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, kind in patterns:
            found = pattern.match(line)
            if found and not found[1].startswith("."):
                name = _LABELS.sub(".", found[1].strip().strip('"`'))
                yield Symbol(name, kind, number, number, _one_line(line.rstrip(" {")) if kind != "section" else name)
                break


def _definitions(text: str) -> Iterator[Symbol]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _GENERIC.match(line)
        if found:
            yield Symbol(found[2], _KIND.get(found[1], "function"), number, number, _one_line(line.rstrip(" {:=")))


def _plain(title: str) -> str:
    """Render a heading as text: links by their words, images removed."""
    words = _ESCAPED.sub(r"\1", _TAG.sub("", _LINK.sub(r"\1", _IMAGE.sub("", title[:LONGEST_HEADING]))))
    return " ".join(words.replace("`", "").split()).strip(" *#")[:120]


def _one_line(line: str) -> str:
    return " ".join(line.split())[:200]
