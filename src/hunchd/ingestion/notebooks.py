"""Extraction of text from Jupyter notebooks: their cells, without the outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hunchd.domain.code import Symbol
from hunchd.ingestion.headings import extract_headings

_PROSE = "markdown"


@dataclass(frozen=True, slots=True)
class Notebook:
    """Text of a notebook's cells, joined separately for prose and code."""

    prose: str
    code: str


def parse_notebook(text: str) -> Notebook | None:
    """Parse a Jupyter notebook.

    Returns None if `text` is not a notebook.
    """
    try:
        cells = json.loads(text)["cells"]
        kinds_and_sources = [(str(cell["cell_type"]), _join_source(cell["source"])) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Notebook(
        prose="\n\n".join(source for kind, source in kinds_and_sources if kind == _PROSE),
        code="\n\n".join(source for kind, source in kinds_and_sources if kind == "code"),
    )


def extract_notebook_headings(notebook: Notebook, text: str) -> tuple[Symbol, ...]:
    """Return the notebook's headings, with their line numbers in the file.

    `text` is the raw content of the notebook file.
    """
    prose, at = notebook.prose.splitlines(), _map_lines(text)
    return tuple(
        replace(symbol, line=line, end_line=line)
        for symbol in extract_headings(_PROSE, notebook.prose)
        for line in (at.get(_escape_line(prose[symbol.line - 1]), 1),)
    )


def _join_source(source: str | Iterable[str]) -> str:
    """Join the source of a cell: a string or a list of lines."""
    return source if isinstance(source, str) else "".join(source)


def _map_lines(text: str) -> dict[str, int]:
    """Map each line of a cell to its line number in the file.

    This works because all tools write each line of a cell on a separate line of the file.
    """
    number_by_line: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        number_by_line.setdefault(line.strip().removesuffix(",").strip('"').removesuffix("\\n"), number)
    return number_by_line


def _escape_line(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)[1:-1]
