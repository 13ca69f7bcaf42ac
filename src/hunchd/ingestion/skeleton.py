"""The lines of a file that matter to somebody who is about to need it: signatures, not bodies."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hunchd.domain.code import FileOutline, FileView, Symbol, ViewLine

MOST_LINES = 60  # kept of one file: all of nearly every one
WANTED = 4.0  # what somebody at work uses comes before the largest class
MAX_LINE = 120  # characters of one line
MAX_NAMES = 8  # names on the line that tells what was left out

# How likely each kind is what the reader came for.
_WEIGHTS = {
    "class": 5.0, "interface": 5.0, "struct": 5.0, "trait": 5.0, "enum": 4.0, "union": 4.0, "type": 3.0,
    "function": 4.0, "method": 3.0, "macro": 2.5, "module": 2.0, "concept": 3.0, "heading": 3.0, "section": 3.0,
    "target": 3.0, "test": 2.8, "definition": 4.0, "constant": 1.5, "variable": 1.2, "field": 1.0, "key": 2.0,
}  # fmt: skip
_HELPING = 2.5  # of tests, what is no test
_HIDDEN = 2.5  # what a name or a modifier says is nobody else's business
_EXPORTED = re.compile(r"^(?:export|pub(?:\s|\()|public|module\.exports|exports\.)")
_PRIVATE = re.compile(r"^(?:private\b|static\b(?=.*\()|internal\b|fileprivate\b)")
_TEST = re.compile(r"^(?:test|Test|Benchmark|Fuzz)(?![a-z])|(?:Tests?|TestCase|Spec)$")
_OF_TESTS = re.compile(r"(?:^|/)(?:tests?|testing|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$")
_CI = ".github/workflows/"
_OF_CI = frozenset({"on", "jobs"})  # its other keys are the same in every workflow, or tell nothing alone
_EVERYWHERE = frozenset(
    """$schema apiVersion kind metadata name version description author authors contributors license homepage keywords
    repository bugs funding""".split()  # noqa: SIM905 - a word list reads better as words
)
_SELF = re.compile(r"(?<=\()(?:self|cls|&(?:'\w+ )?(?:mut )?self|mut self)(?:, ?|(?=\)))")
_CALLED = re.compile(r"(?:RSpec\.)?(\w+)")  # what declares a test or a suite of them
_INDENT = "    "
_BARE = "= …"  # ends a line that tells nothing but a name
# Names that half of all files define or use.
_COMMON = frozenset(
    """__init__ __new__ __call__ __repr__ build clear clone close config context copy create data default delete drop
    error find handle index init insert iter items join keys kind length list load main name next open options path
    peek poll push read remove request reset response result self send setup start state stop test type update value
    values with write""".split()  # noqa: SIM905 - a word list reads better as words
)


def view(outline: FileOutline, *, most: int = MOST_LINES) -> FileView:
    """The `most` important lines of a file, in its order, members below what contains them."""
    symbols = _worth_showing(outline.symbols)
    if outline.language in ("json", "yaml", "toml", "ini"):
        told = (
            [one for one in symbols if {one.name, one.container} & _OF_CI] if outline.path.startswith(_CI) else symbols
        )
        lines = [ViewLine(text, "", 1.0) for text in _keys(told or symbols)[:most]]
        return FileView(outline.path, outline.blob, tuple(lines), 0, outline.doc)
    if symbols and all(symbol.kind == "heading" for symbol in symbols):
        return FileView(outline.path, outline.blob, (ViewLine(_headings(symbols), "", 1.0),), 0, outline.doc)
    main = _main_container(symbols, outline.lines)
    helping = _helping(symbols) if _OF_TESTS.search(outline.path) else [False] * len(symbols)
    weights = [
        importance(symbol, outline.language) + (symbol.container in main) - _HELPING * helps
        for symbol, helps in zip(symbols, helping, strict=True)
    ]
    chosen = _chosen(symbols, weights, most)
    lines = _lines(symbols, weights, sorted(chosen))
    return FileView(outline.path, outline.blob, tuple(lines), len(symbols) - len(lines), outline.doc)


def shown(
    view: FileView, lengths: Sequence[int], *, wanted: Collection[str] = frozenset(), about: str = ""
) -> list[str]:
    """The view in at most as many lines as each of `lengths` says: the most important ones; first those that define a
    `wanted` name or have the word `about` in theirs, as the tests of it do. When something had to be left out, the
    last line names the best of it.
    """
    lines, word = view.lines, about.casefold().strip("_").removesuffix("s")
    word = word if _telling(word) else "\0"
    weights = [
        line.weight + WANTED * ((line.name in wanted and _telling(line.name)) or word in line.name.casefold())
        for line in lines
    ]
    best = sorted(range(len(weights)), key=lambda at: (-weights[at], at))
    bare = _bare(lines, weights)
    told, named = [at for at in best if at not in bare], [at for at in best if at in bare]
    return [_shown(view, told, named, most) for most in lengths]


def _bare(lines: Sequence[ViewLine], weights: Sequence[float]) -> set[int]:
    """The lines that tell a name and nothing else, which cost as much as one that tells how it is called; none where
    a file is there to hold values, and its longest are its most important."""
    bare = {at for at, line in enumerate(lines) if line.text.endswith(_BARE) and weights[at] < WANTED}
    others = [line.text for at, line in enumerate(lines) if at not in bare]
    return bare if 2 * sum(" = " in text for text in others) < len(others) else set()


def _shown(view: FileView, best: Sequence[int], rest: Sequence[int], most: int) -> str:
    """The `best` lines; of the `rest`, and of what was left out, the names."""
    lines = view.lines
    if len(best) <= most and not rest and not view.more:
        return "\n".join(line.text for line in lines)
    if most < 2:
        return "\n".join(lines[at].text for at in best[:most])
    chosen: set[int] = set()
    for at in best:
        needed = _with_outer(lines, at)
        if len(chosen.union(needed)) < most:
            chosen.update(needed)
            if len(chosen) == most - 1:
                break
    there = {lines[at].name for at in chosen}
    left: dict[str, None] = {}
    for at in (*best, *rest):
        if lines[at].name not in there:
            left[lines[at].name] = None
            if len(left) == MAX_NAMES:
                break
    text = "\n".join(lines[at].text for at in sorted(chosen))
    count = len(lines) - len(chosen) + view.more
    return f"{text}\n{_rest(count, list(left))}" if left else text


def skeleton(outline: FileOutline, *, max_lines: int) -> str:
    """The lines of a file that matter when nothing is known of the reader."""
    return shown(view(outline, most=max(max_lines, MOST_LINES)), [max_lines])[0]


def _with_outer(lines: Sequence[ViewLine], at: int) -> list[int]:
    needed = []
    while at >= 0:
        needed.append(at)
        at = lines[at].outer
    return needed


def _telling(name: str) -> bool:
    """A name that many things have says nothing about which of them is meant."""
    return len(name) > 3 and name not in _COMMON


def _main_container(symbols: Sequence[Symbol], lines: int) -> frozenset[str]:
    """The type that fills most of the file: its members are what the file is about."""
    return frozenset(
        symbol.name for symbol in symbols if symbol.end_line - symbol.line > lines / 2 and not symbol.container
    )


def _helping(symbols: Sequence[Symbol]) -> list[bool]:
    """Whether each is there for the tests beside it, in a file that has tests: its own classes, commands, fixtures."""
    tests = [symbol.kind == "test" or _TEST.search(symbol.name) is not None for symbol in symbols]
    if not any(tests):
        return tests
    around = {symbol.container for symbol, test in zip(symbols, tests, strict=True) if test}
    return [not (test or symbol.name in around) for symbol, test in zip(symbols, tests, strict=True)]


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


def _lines(symbols: Sequence[Symbol], weights: Sequence[float], chosen: Sequence[int]) -> list[ViewLine]:
    """In file order; members right below their container even where the file has them elsewhere."""
    names = {symbols[at].name for at in chosen if symbols[at].kind != "method"}
    members: dict[str, list[int]] = {}
    for at in chosen:
        symbol = symbols[at]
        itself = symbol.kind != "method" and symbol.container == symbol.name
        members.setdefault(symbol.container if symbol.container in names and not itself else "", []).append(at)
    lines: list[ViewLine] = []
    seen: set[str] = set()
    waiting = [(at, 0, -1) for at in reversed(members.get("", []))]
    while waiting:
        at, depth, outer = waiting.pop()
        symbol = symbols[at]
        indent = "" if symbol.kind == "heading" else _INDENT * depth
        lines.append(ViewLine(_short(indent + _plain(symbol)), symbol.name, round(weights[at], 2), outer))
        if symbol.name not in seen and symbol.kind != "method":
            seen.add(symbol.name)
            below = len(lines) - 1
            waiting.extend((member, depth + 1, below) for member in reversed(members.get(symbol.name, [])))
    return lines


def _plain(symbol: Symbol) -> str:
    """The signature without what every method of the language has, and without bounds that fill lines."""
    if symbol.kind == "test":
        called = _CALLED.match(symbol.signature)
        return f"{called[1] if called else symbol.kind} '{symbol.name}'"
    line = _SELF.sub("", symbol.signature or symbol.name).replace("(/, ", "(")
    line = line.partition(" where ")[0]
    return line.partition(" extends ")[0] if len(line) > MAX_LINE and symbol.kind != "type" else line


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1].rstrip(" ,") + "…"


def _rest(count: int, left: Sequence[str]) -> str:
    """`… 12 more: a, b, c`: names cost little and tell that there is something to ask for. `left` is best first."""
    line = f"… {count} more"
    for number, name in enumerate(left):
        longer = f"{line}{', ' if number else ': '}{name}"
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


def _keys(symbols: Sequence[Symbol]) -> list[str]:
    """Configuration: one line a top-level key, with the keys below it. A key that every such file has tells nothing
    without its value, nor does a lone one."""
    below: dict[str, list[str]] = {}
    top: list[str] = []
    for symbol in symbols:
        if symbol.container:
            below.setdefault(symbol.container, []).append(symbol.name)
        else:
            top.append(symbol.name)
    plain = [name for name in top if name not in below and name not in _EVERYWHERE]
    lines = [", ".join(plain)] if len(plain) > 1 else []
    lines += [f"{name}: {', '.join(below[name])}" for name in top if name in below and name not in _EVERYWHERE]
    return [_short(line) for line in lines]
