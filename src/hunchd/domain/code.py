"""Result of parsing one source file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Symbol:
    """Definition in a source file.

    Line numbers start at 1; `container` is the enclosing class, module or impl, if any.
    """

    name: str
    kind: str  # function, method, class, interface, type, constant, module, section, key, …
    line: int
    end_line: int
    signature: str  # one line, no body
    container: str = ""
    doc: str = ""  # first line of its documentation


@dataclass(frozen=True, slots=True)
class FileOutline:
    """Outline of a parsed source file.

    `imports` are module names or paths as written. `words` counts each identifier (and, in prose, each word) as
    written, for the content index. `references` are names that are used but not defined in the file.
    """

    path: str
    blob: str  # git blob id of the bytes that were parsed
    language: str  # "" if there is no grammar for it
    size: int  # bytes
    lines: int
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    doc: str = ""  # the first line of the file's own documentation


class ViewLine(NamedTuple):  # NamedTuple: many are created for every answer, faster than a dataclass
    """Line of a file that may be shown to a reader."""

    text: str
    name: str  # name of the definition
    weight: float  # probability that the reader needs it
    outer: int = -1  # index of the enclosing line, which must be shown too; -1: none
    kind: str = ""  # of the symbol


@dataclass(frozen=True, slots=True)
class FileView:
    """Lines of a file that can be shown: signatures in file order.

    The view is built once, when the file is parsed.
    """

    path: str
    blob: str
    lines: tuple[ViewLine, ...] = ()
    more: int = 0  # number of definitions left out
    doc: str = ""
