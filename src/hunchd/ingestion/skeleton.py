"""The lines of a file that matter to somebody who is about to need it: signatures, not bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hunchd.domain.code import FileOutline, FileView, Symbol

FULL_LINES, SUMMARY_LINES = 14, 5  # of the two skeletons that are kept of every file
MAX_LINE = 120  # characters of one line
MAX_NAMES = 8  # names on the line that tells what was left out

# How likely each kind is what the reader came for.
_WEIGHTS = {
    "class": 5.0, "interface": 5.0, "struct": 5.0, "trait": 5.0, "enum": 4.0, "union": 4.0, "type": 3.0,
    "function": 4.0, "method": 3.0, "macro": 2.5, "module": 2.0, "concept": 3.0, "heading": 3.0, "section": 3.0,
    "target": 3.0, "definition": 4.0, "constant": 1.5, "variable": 1.2, "field": 1.0, "key": 2.0,
}  # fmt: skip
_HIDDEN = 2.5  # what a name or a modifier says is nobody else's business
_EXPORTED = re.compile(r"^(?:export|pub(?:\s|\()|public|module\.exports|exports\.)")
_PRIVATE = re.compile(r"^(?:private\b|static\b(?=.*\()|internal\b|fileprivate\b)")
_SELF = re.compile(r"(?<=\()(?:self|cls|&(?:'\w+ )?(?:mut )?self|mut self)(?:, ?|(?=\)))")
_INDENT = "    "


def view(outline: FileOutline) -> FileView:
    """What a bundle shows of the file, at length and in short."""
    full, summary = (skeleton(outline, max_lines=lines) for lines in (FULL_LINES, SUMMARY_LINES))
    return FileView(outline.path, outline.blob, full, summary, outline.doc)


def skeleton(outline: FileOutline, *, max_lines: int) -> str:
    """At most `max_lines` lines: the most important signatures in file order, members below what contains them.

    When something had to be left out, the last line names the best of it.
    """
    symbols = _worth_showing(outline.symbols)
    main = _main_container(symbols, outline.lines)
    weights = [importance(symbol, outline.language) + (symbol.container in main) for symbol in symbols]
    if not symbols or max_lines < 1:
        return ""
    if outline.language in ("json", "yaml", "toml", "ini"):
        return _keys(symbols, max_lines)
    if all(symbol.kind == "heading" for symbol in symbols):
        return _headings(symbols)
    chosen = _chosen(symbols, weights, max_lines)
    left = len(symbols) > len(chosen)
    if left and max_lines > 1:
        chosen = _chosen(symbols, weights, max_lines - 1)
    lines = _lines(symbols, sorted(chosen))
    if left and max_lines > 1:
        lines.append(_rest([symbols[index] for index in _best(weights) if index not in chosen]))
    return "\n".join(lines[:max_lines])


def _main_container(symbols: Sequence[Symbol], lines: int) -> frozenset[str]:
    """The type that fills most of the file: its members are what the file is about."""
    return frozenset(
        symbol.name for symbol in symbols if symbol.end_line - symbol.line > lines / 2 and not symbol.container
    )


def importance(symbol: Symbol, language: str) -> float:
    """Exported before private, types and functions before constants, documented and long before the rest."""
    weight = _WEIGHTS.get(symbol.kind, 1.0)
    if symbol.kind == "heading":
        return weight - 0.5 * symbol.signature.count("#", 0, 6)
    if _is_private(symbol, language):
        weight -= _HIDDEN
    elif _EXPORTED.match(symbol.signature):
        weight += 1.0
    if symbol.doc:
        weight += 0.4
    return weight + min(symbol.end_line - symbol.line, 60) / 100


def _is_private(symbol: Symbol, language: str) -> bool:
    name = symbol.name
    if name in ("__init__", "constructor", "new"):
        return False
    if language == "go":
        return name[:1].islower()
    if language == "rust" and symbol.kind in ("function", "method"):
        return not symbol.signature.startswith(("pub", "async fn", "fn")) or (
            symbol.kind == "function" and not symbol.signature.startswith("pub")
        )
    if language in ("javascript", "typescript") and symbol.kind == "function":
        return not symbol.container and not _EXPORTED.match(symbol.signature)
    return name.startswith(("_", "#")) or bool(_PRIVATE.match(symbol.signature))


def _worth_showing(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Without overloads and repeated implementations: the first of each name in a container speaks for all."""
    first: dict[tuple[str, str], Symbol] = {}
    for symbol in symbols:
        first.setdefault((symbol.container, symbol.name), symbol)
    return list(first.values())


def _best(weights: Sequence[float]) -> list[int]:
    return sorted(range(len(weights)), key=lambda at: (-weights[at], at))


def _chosen(symbols: Sequence[Symbol], weights: Sequence[float], room: int) -> set[int]:
    """Indices of the best that fit, each with the containers it needs to be understood."""
    containers = {symbol.name: index for index, symbol in reversed(list(enumerate(symbols))) if symbol.kind != "method"}
    chosen: set[int] = set()
    for index in _best(weights):
        needed = {index}
        at = index
        while (outer := containers.get(symbols[at].container)) is not None and outer not in needed:
            needed.add(outer)
            at = outer
        if len(chosen | needed) <= room:
            chosen |= needed
        if len(chosen) >= room:
            break
    return chosen


def _lines(symbols: Sequence[Symbol], chosen: Sequence[int]) -> list[str]:
    """In file order; members right below their container even where the file has them elsewhere."""
    shown = [symbols[index] for index in chosen]
    names = {symbol.name for symbol in shown if symbol.kind != "method"}
    members: dict[str, list[Symbol]] = {}
    for symbol in shown:
        itself = symbol.kind != "method" and symbol.container == symbol.name
        outer = symbol.container if symbol.container in names and not itself else ""
        members.setdefault(outer, []).append(symbol)
    lines: list[str] = []
    seen: set[str] = set()
    waiting = [(symbol, 0) for symbol in reversed(members.get("", []))]
    while waiting:
        symbol, depth = waiting.pop()
        indent = "" if symbol.kind == "heading" else _INDENT * depth
        lines.append(_short(indent + _plain(symbol)))
        if symbol.name not in seen and symbol.kind != "method":
            seen.add(symbol.name)
            waiting.extend((member, depth + 1) for member in reversed(members.get(symbol.name, [])))
    return lines


def _plain(symbol: Symbol) -> str:
    """The signature without what every method of the language has, and without bounds that fill lines."""
    line = _SELF.sub("", symbol.signature or symbol.name).replace("(/, ", "(")
    line = line.partition(" where ")[0]
    return line.partition(" extends ")[0] if len(line) > MAX_LINE and symbol.kind != "type" else line


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1].rstrip(" ,") + "…"


def _rest(left: Sequence[Symbol]) -> str:
    """`… 12 more: a, b, c`: names cost little and tell that there is something to ask for. `left` is best first."""
    line = f"… {len(left)} more"
    for count, symbol in enumerate(left[:MAX_NAMES]):
        longer = f"{line}{', ' if count else ': '}{symbol.name}"
        if len(longer) > MAX_LINE:
            break
        line = longer
    return line


def _headings(symbols: Sequence[Symbol]) -> str:
    """The title of a text and the names of its parts, on one line."""
    depths = [symbol.signature.count("#", 0, 6) for symbol in symbols]
    levels = sorted(set(depths))
    parts = levels[1] if len(levels) > 1 and depths.count(levels[0]) == 1 else levels[0]
    names = [symbol.name for symbol, depth in zip(symbols, depths, strict=True) if depth <= parts]
    return _short("sections: " + " · ".join(names))


def _keys(symbols: Sequence[Symbol], room: int) -> str:
    """Configuration: one line a top-level key, with the keys below it."""
    below: dict[str, list[str]] = {}
    top: list[str] = []
    for symbol in symbols:
        if symbol.container:
            below.setdefault(symbol.container, []).append(symbol.name)
        else:
            top.append(symbol.name)
    plain = [name for name in top if name not in below]
    lines = [", ".join(plain)] if plain else []
    lines += [f"{name}: {', '.join(below[name])}" for name in top if name in below]
    return "\n".join(_short(line) for line in lines[:room])
