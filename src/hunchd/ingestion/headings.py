"""Outlines of files that no tree-sitter grammar covers.

An outline lists the headings of a document, the sections of a configuration file, the targets of a Makefile, or the
definitions in a source file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hunchd.domain.code import Symbol

MAX_SYMBOLS = 500  # per file; a changelog has a thousand uninformative headings
LONGEST_HEADING = 1_000  # characters read per heading; a whole file may be one line

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ATX = re.compile(r"(#{1,6})\s+(\S.*)$")
_MARKDOWN_UNDERLINE = re.compile(r"(=+|-{3,})\s*$")
_RST_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.<>_])\1{2,}\s*$")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ESCAPED_CHARACTER = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(
    r"</?(?:a|img|br|b|i|em|strong|code|sub|sup|p|h\d|div|span|kbd|font|center|picture|"
    r"source)\b[^<>]*>"
)
_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:[\w\"'-]+[ \t]*:|#).*?\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TOP = re.compile(r"^# \S", re.MULTILINE)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE)

_DOCUMENT = re.compile(r"(?:^(?!---).*\n?)+", re.MULTILINE)
_API_VERSION = re.compile(r"^apiVersion:[ \t]*\S", re.MULTILINE)
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
_LABELS = re.compile(r"\"\s+\"")  # between the labels of a block, which code refers to as `type.name`
_PATTERNS_BY_LANGUAGE: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
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
# Words before the keyword on its line are modifiers, and no prose follows the name.
_GENERIC_DEFINITION = re.compile(
    r"\s*(?:(?:public|private|protected|internal|fileprivate|static|final|abstract|open|override|async|export|"
    r"default|inline|"
    r"suspend|data|sealed|local|const|pub|unsafe|extern|virtual|implicit|lazy|case|mutating|nonisolated|global|"
    r"@\w+)\s+){0,5}?"
    r"(def|defp|defmodule|defn|defun|func|fun|fn|function|sub|proc|class|interface|trait|struct|enum|object|protocol|"
    r"extension|actor|module|record|mixin)\s+([A-Za-z_][\w.:]*)"
    r"(?![\w.:])(?!\s+(?!(?:do|extends|implements|with|where|is|of|for|as|on|when|derives|permits|throws|end|on)\b)[a-z]+\b)"
)
_DOC_MARK = '"""'  # encloses documentation, in which examples are not definitions
_KIND_BY_KEYWORD = {
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


def extract_headings(language: str, text: str) -> tuple[Symbol, ...]:
    """Extract the headings or definitions in `text`, at most MAX_SYMBOLS.

    Returns an empty tuple if the language is unknown.
    """
    reader = _find_reader(language)
    symbols: list[Symbol] = []
    for symbol in reader(text) if reader else ():
        symbols.append(symbol)
        if len(symbols) >= MAX_SYMBOLS:
            break
    return tuple(symbols)


def extract_kubernetes_resources(text: str) -> tuple[Symbol, ...]:
    """Extract the resources in Kubernetes manifests, named by their kind and name.

    The keys in manifests are not useful, because all manifests have the same ones.
    """
    symbols: list[Symbol] = []
    for document in _DOCUMENT.finditer(text):
        kind_match, name_match = _KIND_OF.search(document[0]), _NAME_OF.search(document[0])
        if kind_match and name_match and _API_VERSION.search(document[0]):
            start = document.start() + kind_match.start()
            line = text.count("\n", 0, start) + 1
            name = f"{kind_match[1]} {name_match[1]}"
            symbols.append(Symbol(name, "resource", line, line, name))
    return tuple(symbols[:MAX_SYMBOLS])


def split_front_matter(text: str) -> tuple[str, str]:
    """Split a page into its front matter and its text.

    The front matter is "" if the page has none.
    """
    match = _FRONT_MATTER.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def get_title(settings: str) -> str:
    """Return the `title` setting in front matter, or "" if there is none."""
    match = _TITLE.search(settings)
    return match[1].strip().strip("\"'") if match else ""


def strip_heading_marks(heading: str) -> str:
    """Strip trailing `#` marks from a heading, unless it has nothing else."""
    return heading.rstrip().rstrip("#").rstrip() or heading.strip()


def _find_reader(language: str) -> Callable[[str], Iterator[Symbol]] | None:
    if language == "markdown":
        return _read_markdown
    if language == "rst":
        return _read_rst
    if language in _PATTERNS_BY_LANGUAGE:
        return lambda text: _read_lines(text, _PATTERNS_BY_LANGUAGE[language])
    return _read_definitions if language in _CODE_WITHOUT_GRAMMAR else None


def _build_heading(title: str, line: int, level: int, above: list[tuple[int, str]]) -> Symbol:
    """Build a heading, contained in the nearest heading of a higher level.

    `above` is the stack of enclosing headings as (level, title); it is updated.
    """
    while above and above[-1][0] >= level:
        above.pop()
    container = above[-1][1] if above else ""
    above.append((level, title))
    return Symbol(title, "heading", line, line, f"{'#' * level} {title}", container)


def _read_markdown(text: str) -> Iterator[Symbol]:
    """Yield the headings in Markdown.

    If the page has no title heading, the title in its front matter is used. The rest of the front matter is skipped.
    """
    fence = ""
    before = ""
    above: list[tuple[int, str]] = []
    settings, page = split_front_matter(text)
    title = get_title(settings)
    if title and not _TOP.search(page):
        yield _build_heading(_strip_markup(title), 1, 1, above)
    front_matter_lines = text.count("\n") - page.count("\n")
    for number, line in enumerate(text.splitlines(), 1):
        if number <= front_matter_lines:
            continue
        fence_match = _FENCE.match(line)
        if fence_match:
            fence = "" if fence == fence_match[1] else fence or fence_match[1]
        elif not fence:
            atx = _ATX.match(line)
            is_underlined = before and _MARKDOWN_UNDERLINE.match(line) and "|" not in before
            if atx and (heading := _strip_markup(strip_heading_marks(atx[2]))):
                yield _build_heading(heading, number, len(atx[1]), above)
            elif is_underlined and (heading := _strip_markup(before)):
                yield _build_heading(heading, number - 1, 1 if line[0] == "=" else 2, above)
        before = "" if fence_match or fence or line.startswith(("#", " ", "-", "*", ">")) else line.strip()


def _read_rst(text: str) -> Iterator[Symbol]:
    levels: list[str] = []  # RST ranks underlines in order of first use
    above: list[tuple[int, str]] = []
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _RST_UNDERLINE.match(line)
        if mark and before and len(line.rstrip()) >= len(before) - 2 and not _RST_UNDERLINE.match(before):
            if mark[1] not in levels:
                levels.append(mark[1])
            yield _build_heading(before, number - 1, levels.index(mark[1]) + 1, above)
            before = ""
        else:
            before = line.rstrip() if line[:1].strip() else ""


def _read_lines(text: str, patterns: tuple[tuple[re.Pattern[str], str], ...]) -> Iterator[Symbol]:
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, kind in patterns:
            match = pattern.match(line)
            if match and not match[1].startswith("."):
                name = _LABELS.sub(".", match[1].strip().strip('"`'))
                yield Symbol(
                    name, kind, number, number, _collapse_line(line.rstrip(" {")) if kind != "section" else name
                )
                break


def _read_definitions(text: str) -> Iterator[Symbol]:
    in_doc = False
    for number, line in enumerate(text.splitlines(), 1):
        is_doc = in_doc
        in_doc ^= line.count(_DOC_MARK) % 2 == 1
        match = None if is_doc else _GENERIC_DEFINITION.match(line)
        if match:
            yield Symbol(
                match[2],
                _KIND_BY_KEYWORD.get(match[1], "function"),
                number,
                number,
                _collapse_line(line.rstrip(" {:=")),
            )


def _strip_markup(title: str) -> str:
    """Render a heading as plain text.

    Links are replaced by their text, and images are removed.
    """
    words = _ESCAPED_CHARACTER.sub(r"\1", _TAG.sub("", _LINK.sub(r"\1", _IMAGE.sub("", title[:LONGEST_HEADING]))))
    return " ".join(words.replace("`", "").split()).strip(" *#")[:120]


def _collapse_line(line: str) -> str:
    return " ".join(line.split())[:200]
