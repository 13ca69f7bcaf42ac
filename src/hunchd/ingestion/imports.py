"""Extraction of import strings from source code.

`prediction/file_contents.py` resolves them to files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_PY_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+import\s+(.*)", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_PHP_USE = re.compile(r"use\s+(?:function\s+|const\s+)?([^;]+)")
_JAVA = re.compile(r"import\s+(?:static\s+)?([\w.]+)")
_CSHARP = re.compile(r"using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)")
_QUOTED_PATH = re.compile(r"""['"]([^'"]+)['"]""")


def parse_imports(language: str, text: str) -> Iterator[str]:
    """Yield the modules or paths that `text` imports.

    `text` is one import statement or a quoted path; `language` is the language of the file.
    """
    reader = _READERS.get(language)
    return reader(text) if reader else iter((text.strip().strip("\"'`<>"),))


def _read_python(text: str) -> Iterator[str]:
    text = _COMMENT.sub("", text).replace("\\\n", " ")
    match = _PY_FROM.match(text)
    if not match:
        for part in text.removeprefix("import").split(","):
            yield part.split(" as ")[0].strip()
        return
    module = "".join(match[1].split())
    yield module
    for part in match[2].strip().strip("()").split(","):
        name = part.split(" as ")[0].strip()
        if name and name != "*":
            yield f"{module}{'' if module.endswith('.') else '.'}{name}"


def _read_rust(text: str) -> Iterator[str]:
    """Yield the paths in a Rust `use` declaration.

    `a::{b, c::{self, d}}` yields a::b, a::c and a::c::d. The function is iterative, because braces may be nested to
    any depth.
    """
    prefix: list[str] = []
    current: list[str] = []
    for token in re.findall(r"::|[{},*]|[\w#]+", re.sub(r"\bas\s+\w+", "", text)):
        if token == "{":
            prefix.append("::".join(current))
            current = []
        elif token in ",}":
            yield from _join_rust_path(prefix, current)
            current = []
            if token == "}" and prefix:
                prefix.pop()
        elif token not in ("::", "*"):
            current.append(token.removeprefix("r#"))
    yield from _join_rust_path(prefix, current)


def _join_rust_path(prefix: list[str], current: list[str]) -> Iterator[str]:
    parts = [part for part in (*prefix, *current) if part]
    if parts and current:
        yield "::".join(parts).removesuffix("::self")


def _read_php(text: str) -> Iterator[str]:
    match = _PHP_USE.match(text)
    if not match:
        yield text.strip("\"'")
        return
    head, brace, group = match[1].partition("{")
    for part in (group.rstrip("} \n") if brace else head).split(","):
        name = part.split(" as ")[0].strip()
        if name:
            yield (head.strip() if brace else "") + name


def _make_reader(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def read(text: str) -> Iterator[str]:
        match = pattern.match(text)
        if match:
            yield match[1].rstrip(".")

    return read


def _read_ruby(text: str) -> Iterator[str]:
    match = _QUOTED_PATH.search(text)
    if match:
        relative = text.startswith("require_relative") and not match[1].startswith(".")
        yield ("./" if relative else "") + match[1]


def _read_c(text: str) -> Iterator[str]:
    yield text.strip().strip('"<>')


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "python": _read_python,
    "rust": _read_rust,
    "php": _read_php,
    "java": _make_reader(_JAVA),
    "csharp": _make_reader(_CSHARP),
    "ruby": _read_ruby,
    "c": _read_c,
    "cpp": _read_c,
}
