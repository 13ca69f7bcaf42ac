"""What parsing finds in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines count from 1; `container` is the enclosing class, module or impl, if any."""

    name: str
    kind: str  # function, method, class, interface, type, constant, module, section, key, …
    line: int
    end_line: int
    signature: str  # one line, no body
    container: str = ""
    doc: str = ""  # first line of its documentation


@dataclass(frozen=True, slots=True)
class FileOutline:
    """One file as the parser saw it.

    `imports` are module or path strings as written; `words` counts every identifier (and, in prose, every word)
    as written, for the content index; `references` are names used that are not defined here.
    """

    path: str
    blob: str  # git blob id of the bytes that were parsed
    language: str  # "" when no grammar knows it
    size: int  # bytes
    lines: int
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    doc: str = ""  # the first line of the file's own documentation


@dataclass(frozen=True, slots=True)
class FileView:
    """What a reader is shown of one file: made once when it is parsed, asked for many times."""

    path: str
    blob: str
    full: str  # its skeleton, at length; "" when it has none
    summary: str  # … and in a few lines
    doc: str = ""
