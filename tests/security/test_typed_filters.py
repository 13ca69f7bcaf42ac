"""No SQL condition is built from text except in one module; client input in a filter stays a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.running import RunningDaemon

SOURCES = Path(__file__).parents[2] / "src/hunchd"
WRITER = SOURCES / "store/database/sql_conditions.py"
CLIENT = SOURCES / "cli"  # its `delete` is a request; the import contracts keep it from every database
# What hands a condition to a database.
TAKERS = frozenset(
    {"where", "filter", "prefilter", "delete", "count_rows", "count", "select", "scan", "by_words", "by_vector"}
)
DATABASE = frozenset({"execute", "executemany"})


def text_made(node: ast.expr) -> bool:
    """Return True if the expression builds a text."""
    match node:
        case ast.JoinedStr():
            return any(isinstance(part, ast.FormattedValue) for part in node.values)
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return True
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "replace" | "format_map")):
            return True
        case ast.IfExp():
            return text_made(node.body) or text_made(node.orelse)
        case ast.BoolOp():
            return any(map(text_made, node.values))
    return False


def constants_of(tree: ast.Module) -> frozenset[str]:
    """Return the upper-case names that the module sets to a text, such as column lists."""
    return frozenset(
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.isupper()
    )


def only_constants(node: ast.expr, constants: frozenset[str]) -> bool:
    """Return True for an f-string of the module's own constants only."""
    return isinstance(node, ast.JoinedStr) and all(
        isinstance(part, ast.Constant)
        or (isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id in constants)
        for part in node.values
    )


def violations(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    constants = constants_of(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        asked = node.func.attr in TAKERS or node.func.attr in DATABASE
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if node.func.attr in DATABASE:
            given = node.args[:1]
        if asked and any(text_made(one) and not only_constants(one, constants) for one in given):
            yield f"line {node.lineno}: {ast.unparse(node)[:100]}"


def test_no_sql_text_outside_filter_module() -> None:
    found = {
        str(path.relative_to(SOURCES)): bad
        for path in SOURCES.rglob("*.py")
        if path != WRITER and CLIENT not in path.parents and (bad := list(violations(path.read_text())))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "table.where(f\"project = '{project}'\")",
        "table.delete('id = ' + identifier)",
        "table.count(condition or \"x = '%s'\" % name)",
        "table.select(' AND '.join(parts))",
        "query.where('x = {}'.format(name), prefilter=True)",
        "connection.execute(f'SELECT * FROM files WHERE path = {path}')",
    ],
)
def test_sql_text_check_detects_violations(source: str) -> None:
    assert list(violations(source)) != []


def test_lancedb_is_imported_by_one_module() -> None:
    knowing = [
        str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if '"lancedb' in path.read_text()
    ]  # loaded by name, so that no import statement tells
    assert set(knowing) <= {"store/database/lance.py", "store/database/lazy_import.py", "cli/checks.py"}


QUOTES = ("'", '"', "''", "\\'", "`", "\u2019", "\uff07", "%27", "\x1a'")
INJECTIONS = [
    text
    for quote in QUOTES
    for text in (
        f"x{quote} OR {quote}1{quote}={quote}1",
        f"{quote} OR 1=1 --",
        f"{quote}) OR (project IS NOT NULL",
        f"{quote}; DROP TABLE memories; --",
        f"{quote} UNION SELECT * FROM memories --",
        f"{quote}] OR true OR array_has_all(tags, [{quote}",
        f"a{quote}) > 0 OR strpos(paths, {quote}",
    )
] + ["%", "_", "*", "x' OR project LIKE '%", "1 OR 1=1", "null", "true", "' || project || '", "\n' OR '1'='1"]


@pytest.fixture(scope="module")
def two(shared_daemon: RunningDaemon, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, set[str]]:
    """Project to query, with the ids of its memories; another one and the user have memories of their own."""
    kept: dict[str, set[str]] = {}
    for name in ("asked", "other"):
        folder = tmp_path_factory.mktemp("plain") / name
        folder.mkdir()
        shared_daemon.add(folder)
        facts = [
            {
                "kind": "fact",
                "project": str(folder),
                "content": f"{name} {n}",
                "key": f"k{n}",
                "tags": ["t"],
                "category": "c",
            }
            for n in range(5)
        ]
        kept[str(folder)] = set(shared_daemon.post("/memories", {"memories": facts})["ids"])
    shared_daemon.post("/memories", {"kind": "fact", "content": "of the user", "key": "k0", "tags": ["t"]})
    asked = next(iter(kept))
    shared_daemon.wait_until(
        lambda: len(ids_of(shared_daemon.get("/memories", project=asked))) == 5, within=30, what="store them"
    )
    return asked, kept[asked]


def ids_of(page: Any) -> list[str]:
    return [item["id"] for item in page["items"]]


def test_filters_cannot_reach_other_projects(shared_daemon: RunningDaemon, two: tuple[str, set[str]]) -> None:
    project, own = two
    assert set(ids_of(shared_daemon.get("/memories", project=project, tag="t", category="c"))) == own

    for text in INJECTIONS:
        for name in ("tag", "category", "key", "path_prefix", "branch", "kind", "scope", "since", "cursor"):
            status, page = shared_daemon.request("GET", "/memories", query={"project": project, name: text})
            assert status < 500, (name, text, page)
            found = set(ids_of(page)) if status == 200 else set()
            assert found <= own, (name, text)
            if name in ("tag", "category", "key", "path_prefix"):
                assert found == set(), (name, text)
        assert shared_daemon.request("GET", "/memories", query={"project": text})[0] in (400, 404, 422)


def test_search_cannot_reach_other_projects(shared_daemon: RunningDaemon, two: tuple[str, set[str]]) -> None:
    project, own = two
    for number, text in enumerate(INJECTIONS):
        for asked in ({"query": text}, {"query": "other", "tags": [text]}, {"query": "asked", "path_prefix": text}):
            for depth in (("shallow",), ("specific",))[number % 2]:
                status, answer = shared_daemon.request("POST", "/search", {"project": project, "depth": depth, **asked})
                assert status in (200, 400), answer
                found = {result["id"] for result in answer["results"]} if status == 200 else set()
                assert found <= own, (asked, depth)
        status, _ = shared_daemon.request("POST", "/expand", {"project": project, "topic": text})
        assert status in (200, 400, 404)
    assert {result["id"] for result in shared_daemon.post("/search", {"project": project, "query": "asked"})["results"]}
