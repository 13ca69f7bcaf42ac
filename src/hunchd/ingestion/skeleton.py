"""Selection of a file's most important lines: signatures rather than bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hunchd.domain.code import FileOutline, FileView, Symbol, ViewLine

MAX_LINES = 60  # per file; nearly every file has fewer
MAX_LINE = 120  # characters of one line
MAX_NAMES = 8  # names on the line of omitted symbols

# Relevance of each kind of symbol to a reader.
_WEIGHTS = {
    "class": 5.0, "interface": 5.0, "struct": 5.0, "trait": 5.0, "enum": 4.0, "union": 4.0, "type": 3.0,
    "function": 4.0, "method": 3.0, "macro": 2.5, "module": 2.0, "concept": 3.0, "heading": 3.0, "section": 3.0,
    "target": 3.0, "test": 2.8, "definition": 4.0, "constant": 1.5, "variable": 1.2, "field": 1.0, "key": 2.0,
}  # fmt: skip
# Kinds of definitions that say more than their names; fields, constants and modules do not.
DEFINITION_KINDS = frozenset(
    {"class", "interface", "struct", "trait", "enum", "union", "type", "function", "method", "macro", "concept"}
)
_TEST_HELPER_PENALTY = 2.5  # penalty for helpers in test files
_PRIVATE_PENALTY = 2.5  # penalty for private symbols
_EXPORT_PREFIX = re.compile(r"^(?:export|pub(?:\s|\()|public|module\.exports|exports\.)")
_PRIVATE = re.compile(r"^(?:private\b|static\b(?=.*\()|internal\b|fileprivate\b)")
_TEST = re.compile(r"^(?:test|Test|Benchmark|Fuzz)(?![a-z])|(?:Tests?|TestCase|Spec)$")
_TEST_PATH = re.compile(r"(?:^|/)(?:tests?|testing|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$")
_CI_FOLDER = ".github/workflows/"
_CI_KEYS = frozenset({"on", "jobs"})  # other keys are the same in every workflow, or uninformative
_GENERIC_KEYS = frozenset(
    """$schema apiVersion kind metadata name version description author authors contributors license homepage keywords
    repository bugs funding""".split()  # noqa: SIM905 - a word list reads better as words
)
_SELF = re.compile(r"(?<=\()(?:self|cls)(?:, ?|(?=\)))")  # the receiver in Python; those in Rust say who may call
_TEST_CALL = re.compile(r"(?:RSpec\.)?(\w+)")  # call that declares a test or suite
_INDENT = "    "
_BARE_NAME_END = "= …"  # end of a line that shows only a name


def build_view(outline: FileOutline, *, max_lines: int = MAX_LINES) -> FileView:
    """Select the most important lines of a file, in file order.

    At most `max_lines` lines are selected. Members are placed below their container. A document is shown as one
    line with its headings, and a configuration file as its keys.
    """
    symbols = _drop_duplicates(outline.symbols)
    if outline.language in ("json", "yaml", "toml", "ini"):
        ci_symbols = (
            [one for one in symbols if {one.name, one.container} & _CI_KEYS]
            if outline.path.startswith(_CI_FOLDER)
            else symbols
        )
        lines = [ViewLine(text, "", 1.0) for text in _render_keys(ci_symbols or symbols)[:max_lines]]
        return FileView(outline.path, outline.blob, tuple(lines), 0, outline.doc)
    if symbols and all(symbol.kind == "heading" for symbol in symbols):
        return FileView(outline.path, outline.blob, (ViewLine(_render_headings(symbols), "", 1.0),), 0, outline.doc)
    main = _find_main_containers(symbols, outline.lines)
    helper_flags = _flag_test_helpers(symbols) if _TEST_PATH.search(outline.path) else [False] * len(symbols)
    weights = [
        rate_symbol(symbol, outline.language) + (symbol.container in main) - _TEST_HELPER_PENALTY * helps
        for symbol, helps in zip(symbols, helper_flags, strict=True)
    ]
    chosen_indexes = _choose_symbols(symbols, weights, max_lines)
    lines = _render_lines(symbols, weights, sorted(chosen_indexes))
    return FileView(outline.path, outline.blob, tuple(lines), len(symbols) - len(lines), outline.doc)


def render_skeleton(outline: FileOutline, *, max_lines: int) -> str:
    """Render the most important lines, up to `max_lines`.

    If lines are omitted, the last line gives their number and the names of the most important ones.
    """
    view = build_view(outline, max_lines=max(max_lines, MAX_LINES))
    lines, weights = view.lines, [line.weight for line in view.lines]
    best = sorted(range(len(weights)), key=lambda at: (-weights[at], at))
    bare_indexes = _find_bare_lines(lines, weights)
    full_indexes, name_indexes = (
        [at for at in best if at not in bare_indexes],
        [at for at in best if at in bare_indexes],
    )
    return _render_view(view, full_indexes, name_indexes, max_lines)


def _find_bare_lines(lines: Sequence[ViewLine], weights: Sequence[float]) -> set[int]:
    """Return the indexes of lines that show only a name, without a value.

    Such a line counts towards the limit of lines as much as a full signature does. Returns an empty set for files
    that consist largely of constants or data, where these lines matter most.
    """
    bare_indexes = {at for at, line in enumerate(lines) if line.text.endswith(_BARE_NAME_END)}
    others = [line.text for at, line in enumerate(lines) if at not in bare_indexes]
    return bare_indexes if 2 * sum(" = " in text for text in others) < len(others) else set()


def _render_view(view: FileView, best: Sequence[int], rest: Sequence[int], max_lines: int) -> str:
    """Render the most important lines, followed by the names of omitted ones.

    `best` contains the indexes of the lines to show if there is room. For the lines in `rest`, only the names may
    be shown. Both begin with the most important line.
    """
    lines = view.lines
    if len(best) <= max_lines and not rest and not view.more:
        return "\n".join(line.text for line in lines)
    if max_lines < 2:
        return "\n".join(lines[at].text for at in best[:max_lines])
    chosen_indexes: set[int] = set()
    for at in best:
        required_indexes = _list_with_containers(lines, at)
        if len(chosen_indexes.union(required_indexes)) < max_lines:
            chosen_indexes.update(required_indexes)
            if len(chosen_indexes) == max_lines - 1:
                break
    shown_names = {lines[at].name for at in chosen_indexes}
    omitted_names: dict[str, None] = {}
    for at in (*best, *rest):
        if lines[at].name not in shown_names:
            omitted_names[lines[at].name] = None
            if len(omitted_names) == MAX_NAMES:
                break
    text = "\n".join(lines[at].text for at in sorted(chosen_indexes))
    count = len(lines) - len(chosen_indexes) + view.more
    return f"{text}\n{_render_omitted(count, list(omitted_names))}" if omitted_names else text


def _list_with_containers(lines: Sequence[ViewLine], at: int) -> list[int]:
    indexes = []
    while at >= 0:
        indexes.append(at)
        at = lines[at].outer
    return indexes


def _find_main_containers(symbols: Sequence[Symbol], lines: int) -> frozenset[str]:
    """Return the name of the type that fills most of the file.

    The result is a set, which is empty if no type fills more than half of the file. The members of such a type are
    the main content of the file.
    """
    return frozenset(
        symbol.name for symbol in symbols if symbol.end_line - symbol.line > lines / 2 and not symbol.container
    )


def _flag_test_helpers(symbols: Sequence[Symbol]) -> list[bool]:
    """Return True for each symbol that only helps the tests."""
    tests = [symbol.kind == "test" or _TEST.search(symbol.name) is not None for symbol in symbols]
    if not any(tests):
        return tests
    test_containers = {symbol.container for symbol, test in zip(symbols, tests, strict=True) if test}
    return [not (test or symbol.name in test_containers) for symbol, test in zip(symbols, tests, strict=True)]


def rate_symbol(symbol: Symbol, language: str) -> float:
    """Rate how important a symbol is to a reader.

    Exported symbols are rated higher than private ones, types and functions higher than constants, and documented
    and long symbols higher than the rest.
    """
    weight = _WEIGHTS.get(symbol.kind, 1.0)
    if symbol.kind == "heading":
        return weight - 0.5 * symbol.signature.count("#", 0, 6)
    if _is_private(symbol, language):
        weight -= _PRIVATE_PENALTY
    elif _EXPORT_PREFIX.match(symbol.signature):
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
        return not symbol.container and not _EXPORT_PREFIX.match(symbol.signature)
    return name.startswith(("_", "#")) or bool(_PRIVATE.match(symbol.signature))


def _drop_duplicates(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Keep the first symbol of each name in each container."""
    first: dict[tuple[str, str], Symbol] = {}
    for symbol in symbols:
        first.setdefault((symbol.container, symbol.name), symbol)
    return list(first.values())


def _rank_by_weight(weights: Sequence[float]) -> list[int]:
    return sorted(range(len(weights)), key=lambda at: (-weights[at], at))


def _choose_symbols(symbols: Sequence[Symbol], weights: Sequence[float], max_lines: int) -> set[int]:
    """Return the indexes of the best symbols, with their containers."""
    containers = {symbol.name: index for index, symbol in reversed(list(enumerate(symbols))) if symbol.kind != "method"}
    chosen_indexes: set[int] = set()
    for index in _rank_by_weight(weights):
        required_indexes = {index}
        at = index
        while (outer := containers.get(symbols[at].container)) is not None and outer not in required_indexes:
            required_indexes.add(outer)
            at = outer
        if len(chosen_indexes | required_indexes) <= max_lines:
            chosen_indexes |= required_indexes
        if len(chosen_indexes) >= max_lines:
            break
    return chosen_indexes


def _render_lines(symbols: Sequence[Symbol], weights: Sequence[float], chosen_indexes: Sequence[int]) -> list[ViewLine]:
    """Render the chosen symbols in file order, members directly below their container."""
    names = {symbols[at].name for at in chosen_indexes if symbols[at].kind != "method"}
    members: dict[str, list[int]] = {}
    for at in chosen_indexes:
        symbol = symbols[at]
        itself = symbol.kind != "method" and symbol.container == symbol.name
        members.setdefault(symbol.container if symbol.container in names and not itself else "", []).append(at)
    lines: list[ViewLine] = []
    expanded_names: set[str] = set()
    stack = [(at, 0, -1) for at in reversed(members.get("", []))]
    while stack:
        at, depth, outer = stack.pop()
        symbol = symbols[at]
        indent = "" if symbol.kind == "heading" else _INDENT * depth
        lines.append(
            ViewLine(
                _shorten(indent + _simplify_signature(symbol)), symbol.name, round(weights[at], 2), outer, symbol.kind
            )
        )
        if symbol.name not in expanded_names and symbol.kind != "method":
            expanded_names.add(symbol.name)
            below = len(lines) - 1
            stack.extend((member, depth + 1, below) for member in reversed(members.get(symbol.name, [])))
    return lines


def _simplify_signature(symbol: Symbol) -> str:
    """Return the signature without implicit parameters and long type bounds."""
    if symbol.kind == "test":
        call_match = _TEST_CALL.match(symbol.signature)
        return f"{call_match[1] if call_match else symbol.kind} '{symbol.name}'"
    line = _SELF.sub("", symbol.signature or symbol.name).replace("(/, ", "(")
    line = line.partition(" where ")[0]
    return line.partition(" extends ")[0] if len(line) > MAX_LINE and symbol.kind != "type" else line


def _shorten(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1].rstrip(" ,") + "…"


def _render_omitted(count: int, omitted_names: Sequence[str]) -> str:
    """Render the number and names of omitted lines: `… 12 more: a, b, c`.

    `omitted_names` begins with the most important name. Names take little space, and tell the reader what else to
    ask for.
    """
    line = f"… {count} more"
    for number, name in enumerate(omitted_names):
        longer = f"{line}{', ' if number else ': '}{name}"
        if len(longer) > MAX_LINE:
            break
        line = longer
    return line


def _render_headings(symbols: Sequence[Symbol]) -> str:
    """Render the names of a document's main sections on one line."""
    depths = [symbol.signature.count("#", 0, 6) for symbol in symbols]
    levels = sorted(set(depths))
    parts = levels[1] if len(levels) > 1 and depths.count(levels[0]) == 1 else levels[0]
    names = [symbol.name for symbol, depth in zip(symbols, depths, strict=True) if depth <= parts]
    return _shorten("sections: " + " · ".join(names))


def _render_keys(symbols: Sequence[Symbol]) -> list[str]:
    """Render a configuration file: one line for each top-level key, with its subkeys.

    Keys that every file of this kind has are omitted, and so is a single key without subkeys: without their values
    they say nothing.
    """
    below: dict[str, list[str]] = {}
    top: list[str] = []
    for symbol in symbols:
        if symbol.container:
            below.setdefault(symbol.container, []).append(symbol.name)
        else:
            top.append(symbol.name)
    keys_without_children = [name for name in top if name not in below and name not in _GENERIC_KEYS]
    lines = [", ".join(keys_without_children)] if len(keys_without_children) > 1 else []
    lines += [f"{name}: {', '.join(below[name])}" for name in top if name in below and name not in _GENERIC_KEYS]
    return [_shorten(line) for line in lines]
