"""Measure the language and the weight of the source code over its syntax tree.

`python -m tests.code_figures` prints the figures; `test_code_figures.py` keeps them from getting worse.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LONG_FUNCTION: Final = 60  # lines
RELATIVE_OPENING: Final = re.compile(
    r"(What|Whether|Who|Whose|Which|Where|How|When|Of|As|Those|Than|For|Until|From|Since|Whatever|Whoever)\b"
)
IRREGULAR_PARTICIPLES: Final = frozenset(
    """told known gone kept shown found made meant said seen held taken given left built sent written chosen lost done
    begun broken drawn grown heard hidden thrown thought understood brought caught dealt felt fallen laid led met paid
    forgotten gotten become born bound spoken stood taught torn sold spent stuck sworn woken won wound""".split()  # noqa: SIM905
)
NOT_PARTICIPLES: Final = frozenset({"embed", "speed", "breed", "indeed", "exceed", "proceed", "succeed"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class CodeFigures:
    """The figures of one source tree; shares are between 0 and 1."""

    source_lines: int
    relative_docstrings: float
    docstring_words: float
    lone_participles: float
    repeated_class_names: float
    untyped_dicts: int
    long_functions: int
    test_name_words: float


def measure(root: Path = ROOT) -> CodeFigures:
    """Measure the checkout at `root`."""
    texts = [path.read_text("utf-8") for path in sorted((root / "src").rglob("*.py"))]
    trees = [ast.parse(text) for text in texts]
    docstrings = [text for tree in trees for text in iterate_docstrings(tree)]
    names = [name for tree in trees for name in iterate_names(tree)]
    classes = Counter(name for tree in trees for name in iterate_public_classes(tree))
    repeated = sum(count for count in classes.values() if count > 1)
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, Function)]
    tests = [
        name for path in (root / "tests").rglob("test_*.py") for name in iterate_tests(ast.parse(path.read_text()))
    ]
    return CodeFigures(
        source_lines=sum(text.count("\n") for text in texts),
        relative_docstrings=share(docstrings, lambda text: RELATIVE_OPENING.match(text) is not None),
        docstring_words=statistics.median(len(first_line(text).split()) for text in docstrings),
        lone_participles=share(names, is_lone_participle),
        repeated_class_names=repeated / sum(classes.values()),
        untyped_dicts=sum(text.count("dict[str, Any]") for text in texts),
        long_functions=sum(count_lines(node) > LONG_FUNCTION for node in functions),
        test_name_words=statistics.median(len(name.split("_")) - 1 for name in tests),
    )


def share(values: Sequence[str], holds: object) -> float:
    assert callable(holds)
    return sum(map(holds, values)) / max(len(values), 1)


def first_line(docstring: str) -> str:
    return docstring.split("\n\n", 1)[0]


def iterate_docstrings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef) and (text := ast.get_docstring(node)):
            yield text


def iterate_names(tree: ast.AST) -> Iterator[str]:
    """Yield each name that a scope defines, once a scope: functions, classes, arguments, variables, attributes."""
    yield from defined_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield from defined_in(node)


def defined_in(scope: ast.AST) -> set[str]:
    names: set[str] = set()
    if isinstance(scope, Function):
        given = scope.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        names |= {argument.arg for argument in every if argument is not None}
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        pending.extend(ast.iter_child_nodes(node))
    return names - {"self", "cls", "_"}


def is_lone_participle(name: str) -> bool:
    word = name.strip("_").lower()
    return word in IRREGULAR_PARTICIPLES or (
        len(word) > 4 and word.endswith("ed") and word.isalpha() and word not in NOT_PARTICIPLES
    )


def iterate_public_classes(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def iterate_tests(tree: ast.AST) -> Iterator[str]:
    return (node.name for node in ast.walk(tree) if isinstance(node, Function) and node.name.startswith("test_"))


def count_lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    figures = measure()
    for field in fields(figures):
        value = getattr(figures, field.name)
        print(f"{field.name:22}", f"{value:.3f}" if isinstance(value, float) else value)  # noqa: T201
