"""Registry of the parsers that read statements from each kind of manifest.

A statement gives a value for a key, such as the test runner. It comes from a row of the table or, for formats that
are too complex for a regular expression, from a parser function. Values consist of known names, versions and
numbers, never of free text, because a manifest may be untrusted.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import cache, lru_cache

from hunchd.ingestion.manifests import checks, environment, package_manifests, python
from hunchd.ingestion.manifests.table import ROWS, Row, iterate_rows
from hunchd.ingestion.manifests.tools import Statement

_MAX_BLANKS = 40  # consecutive blanks passed to a parser
_GAP = re.compile(rf"[ \t]{{{_MAX_BLANKS},}}")

# Earlier patterns take precedence; those with "/" match paths, the others file names.
_PARSERS: tuple[tuple[str, Callable[[str], Iterator[Statement]]], ...] = (
    ("pyproject.toml", python.read_pyproject),
    ("ruff.toml .ruff.toml", python.read_ruff_file),
    ("package.json", package_manifests.read_package_json),
    (".prettierrc* prettier.config.*", package_manifests.read_prettier),
    ("Cargo.toml", package_manifests.read_cargo),
    ("CMakeLists.txt", package_manifests.read_cpp_standards),
    ("*.[cf]sproj Directory.*.props", package_manifests.read_target_frameworks),
    ("composer.json", package_manifests.read_composer),
    ("Gemfile", package_manifests.read_gemfile),
    ("*.gemspec", package_manifests.read_gems),
    (".editorconfig", checks.read_editorconfig),
    (".pre-commit-config.yaml", checks.read_pre_commit),
    ("CHANGE* NEWS* HISTORY*", checks.read_changelog),
    ("lefthook.y*ml", environment.make_git_hook_reader("lefthook")),
    (".husky/pre-commit", environment.make_git_hook_reader("husky")),
    ("compose*.y*ml docker-compose*.y*ml", environment.read_compose),
    (".tool-versions mise.toml .mise.toml", environment.read_pins),
    (".github/workflows/*.y*ml", checks.read_workflow_file),
    (".gitlab-ci.yml", checks.read_workflow),
)


def read_statements(path: str, text: str) -> Iterator[Statement]:
    """Yield the statements that the file at `path` makes.

    A file that cannot be parsed yields no statements.
    """
    rows, parser = _find_readers(path)
    if not rows and parser is None:
        return
    text = _squeeze_blanks(text)
    try:
        yield from iterate_rows(text, rows)
        yield from parser(text) if parser is not None else ()
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        return  # not what its name says, such as a template or a different version of the format


def states_anything(path: str) -> bool:
    """Return True if a file with this path can make statements."""
    rows, parser = _find_readers(path)
    return bool(rows) or parser is not None


@lru_cache(maxsize=1024)
def _find_readers(path: str) -> tuple[tuple[Row, ...], Callable[[str], Iterator[Statement]] | None]:
    """Return the table rows and the parser function for a file with this path.

    The parser is None if the file's format needs none.
    """
    if not any(map(_compile_patterns(_ALL_FILES), (path, path.rpartition("/")[2]))):  # most files
        return (), None
    parser = next((parser for files, parser in _PARSERS if _matches(files, path)), None)
    return tuple(row for row in ROWS if _matches(row.files, path)), parser


def _matches(files: str, path: str) -> bool:
    match = _compile_patterns(files)
    return match(path if "/" in files else path.rpartition("/")[2]) is not None


@cache
def _compile_patterns(files: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(translate, files.split(" ")))).match


_ALL_FILES = " ".join((*(files for files, _ in _PARSERS), *dict.fromkeys(row.files for row in ROWS)))


def _squeeze_blanks(text: str) -> str:
    """Remove empty lines and shorten long gaps within lines.

    A pattern that begins with blanks is retried at each blank, which takes minutes on a malicious file full of blanks.
    """
    lines = (line.rstrip() for line in text.split("\n"))
    return _GAP.sub(" " * _MAX_BLANKS, "\n".join(filter(None, lines)))
