"""Extraction of a file's imports as strings.

`prediction/contents.py` resolves them to files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_PY_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+import\s+(.*)", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_PHP_USE = re.compile(r"use\s+(?:function\s+|const\s+)?([^;]+)")
_JAVA = re.compile(r"import\s+(?:static\s+)?([\w.]+)")
_CSHARP = re.compile(r"using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)")
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")


def written_imports(language: str, text: str) -> Iterator[str]:
    """Yield the import strings of one import statement or path."""
    reader = _READERS.get(language)
    return reader(text) if reader else iter((text.strip().strip("\"'`<>"),))


def _python(text: str) -> Iterator[str]:
    text = _COMMENT.sub("", text).replace("\\\n", " ")
    found = _PY_FROM.match(text)
    if not found:
        for part in text.removeprefix("import").split(","):
            yield part.split(" as ")[0].strip()
        return
    module = "".join(found[1].split())
    yield module
    for part in found[2].strip().strip("()").split(","):
        name = part.split(" as ")[0].strip()
        if name and name != "*":
            yield f"{module}{'' if module.endswith('.') else '.'}{name}"


def _rust(text: str) -> Iterator[str]:
    """Yield the paths of a Rust `use` declaration.

    `a::{b, c::{self, d}}` → a::b, a::c, a::c::d. Iterative, because braces may be nested to any depth.
    """
    prefix: list[str] = []
    current: list[str] = []
    for token in re.findall(r"::|[{},*]|[\w#]+", re.sub(r"\bas\s+\w+", "", text)):
        if token == "{":
            prefix.append("::".join(current))
            current = []
        elif token in ",}":
            yield from _rust_path(prefix, current)
            current = []
            if token == "}" and prefix:
                prefix.pop()
        elif token not in ("::", "*"):
            current.append(token.removeprefix("r#"))
    yield from _rust_path(prefix, current)


def _rust_path(prefix: list[str], current: list[str]) -> Iterator[str]:
    parts = [part for part in (*prefix, *current) if part]
    if parts and current:
        yield "::".join(parts).removesuffix("::self")


def _php(text: str) -> Iterator[str]:
    found = _PHP_USE.match(text)
    if not found:
        yield text.strip("\"'")
        return
    head, brace, group = found[1].partition("{")
    for part in (group.rstrip("} \n") if brace else head).split(","):
        name = part.split(" as ")[0].strip()
        if name:
            yield (head.strip() if brace else "") + name


def _first_group(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def read(text: str) -> Iterator[str]:
        found = pattern.match(text)
        if found:
            yield found[1].rstrip(".")

    return read


def _ruby(text: str) -> Iterator[str]:
    found = _QUOTED.search(text)
    if found:
        relative = text.startswith("require_relative") and not found[1].startswith(".")
        yield ("./" if relative else "") + found[1]


def _c(text: str) -> Iterator[str]:
    yield text.strip().strip('"<>')


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "python": _python,
    "rust": _rust,
    "php": _php,
    "java": _first_group(_JAVA),
    "csharp": _first_group(_CSHARP),
    "ruby": _ruby,
    "c": _c,
    "cpp": _c,
}
