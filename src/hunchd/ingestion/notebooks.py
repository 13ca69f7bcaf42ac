"""Notebooks as the text they are made of: their cells, without what the cells gave out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hunchd.domain.code import Symbol
from hunchd.ingestion.headings import headings

_PROSE = "markdown"


@dataclass(frozen=True, slots=True)
class Notebook:
    """The text of the cells, each kind one below the other."""

    prose: str
    code: str


def notebook_of(text: str) -> Notebook | None:
    """The cells of a Jupyter notebook; None for what is none, whatever its name says."""
    try:
        cells = json.loads(text)["cells"]
        told = [(str(cell["cell_type"]), _source(cell["source"])) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Notebook(
        prose="\n\n".join(source for kind, source in told if kind == _PROSE),
        code="\n\n".join(source for kind, source in told if kind == "code"),
    )


def chapters(notebook: Notebook, text: str) -> tuple[Symbol, ...]:
    """The headings of the prose, each with the line at which `text`, the file itself, has it."""
    prose, at = notebook.prose.splitlines(), _lines_of(text)
    return tuple(
        replace(symbol, line=line, end_line=line)
        for symbol in headings(_PROSE, notebook.prose)
        for line in (at.get(_escaped(prose[symbol.line - 1]), 1),)
    )


def _source(source: str | Iterable[str]) -> str:
    """Written as one text or as a list of lines, either is allowed."""
    return source if isinstance(source, str) else "".join(source)


def _lines_of(text: str) -> dict[str, int]:
    """Where each line of a cell stands first, in a file that has them on lines of their own as all tools write it."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found.setdefault(line.strip().removesuffix(",").strip('"').removesuffix("\\n"), number)
    return found


def _escaped(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)[1:-1]
