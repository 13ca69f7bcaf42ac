"""Table of the statements that simple patterns find in manifests.

A row consists of file names, a key, a value and a pattern.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from hunchd.ingestion.manifests.tools import Statement, is_line_length, is_version

MAX_VALUES: Final = 6  # values listed if a pattern matches several times


class Row(NamedTuple):
    """Rule that derives a statement from files with certain names.

    The value is formatted with the groups of the pattern's first match; a value without a placeholder is constant.
    With "{*}", the values of all matches are listed. If several rows have the same key, the first that applies to a
    file is used.
    """

    files: str  # patterns for names or, with "/", for paths, separated by blanks
    key: str
    value: str
    pattern: str = ""  # "" if the presence of the file is enough
    confidence: float = 1.0

    def read(self, text: str) -> Statement | None:
        """Return the statement that the row derives from the text of a file.

        Returns None if the pattern does not match, or if the value is not valid.
        """
        value = self.value
        if self.pattern:
            matches = _compile(self.pattern).findall(text)
            if not matches:
                return None
            groups = [match if isinstance(match, tuple) else (match,) for match in matches]
            if "{*}" in value:
                template = value.replace("{*}", "")
                values = [template.format(*each) if template else each[0] for each in groups]
                value = ", ".join(dict.fromkeys(values[:MAX_VALUES]))
            elif "{" in value:
                first = next(filter(None, groups[0]), "").strip().strip(";").replace(";", ", ")
                is_valid = is_line_length(first) if self.key == "line length" else is_version(first)
                if not is_valid and not first.isidentifier() and self.key != "module":
                    return None
                value = value.format(first)
        return Statement(self.key, value, self.confidence)


_COMPILED: dict[str, re.Pattern[str]] = {}


def _compile(pattern: str) -> re.Pattern[str]:
    return _COMPILED.setdefault(pattern, re.compile(pattern, re.MULTILINE))


def iterate_rows(text: str, rows: tuple[Row, ...]) -> Iterator[Statement]:
    """Yield the statements that the rows derive from a file, one for each key."""
    keys: set[str] = set()
    for row in rows:
        if row.key not in keys and (statement := row.read(text)) is not None:
            keys.add(row.key)
            yield statement


_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ROWS: Final = tuple(Row(*row) for row in _TABLE["rows"])
