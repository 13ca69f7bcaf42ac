"""Check that each third-party library is imported in one place only.

import-linter contracts cannot express this.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "hunchd"

# Where each library may be imported. numpy is allowed everywhere but in the command line.
PLACES = {
    "aiohttp": "serving/",
    "apscheduler": "daemon/nightly_schedule.py",
    "cryptography": "features/team/signing.py",
    "fastembed": "embedding/fastembed_backend.py",
    "git": "repository/git.py",
    "lancedb": ("store/database/lance.py", "store/team_dataset.py"),  # embedded, and on object stores
    "numpy": "",
    "onnxruntime": "embedding/fastembed_backend.py",
    "pathspec": "repository/ignore.py",
    "platformdirs": "config/app_paths.py",
    "py_rust_stemmers": "text/stemming.py",
    # The second: its zstd only.
    "pyarrow": ("store/database/lance.py", "ingestion/transcripts/packed.py", "store/team_dataset.py"),
    "rich": "cli/progress.py",
    "tokenizers": "embedding/fastembed_backend.py",
    "tree_sitter": "ingestion/parsing.py",
    "watchdog": "signals/folder_watches.py",
    "yaml": "ingestion/workflows/yaml_loader.py",
}


def parse_file(file: Path) -> ast.Module:
    """Parse a file, retrying once on SystemError.

    Python 3.11 may lose count of its recursion depth after another test has hit a limit, and raises it once.
    """
    try:
        return ast.parse(file.read_bytes())
    except SystemError:
        return ast.parse(file.read_bytes())


@functools.cache
def collect_imports() -> dict[str, set[str]]:
    """Return library → modules that import it at any level of nesting."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse_file(file)):
            match node:
                case ast.Import(names=names):
                    libraries = [name.name for name in names]
                case ast.ImportFrom(module=str(module), level=0):
                    libraries = [module]
                case _:
                    continue
            for library in libraries:
                found[library.partition(".")[0]].add(file.relative_to(PACKAGE).as_posix())
    return found


def test_library_imported_in_one_place() -> None:
    modules = collect_imports()

    strays = {
        f"{library} in {module}"
        for library, place in PLACES.items()
        for module in modules[library]
        if not module.startswith(place)
    }

    assert strays == set()
    assert modules["aiohttp"], "the search itself works"


def test_cli_and_domain_import_only_rich() -> None:
    modules = collect_imports()

    for library in PLACES:
        for module in modules[library]:
            assert not module.startswith("domain/")
            assert not module.startswith("cli/") or library == "rich"


def test_domain_imports_only_standard_library() -> None:
    for library, modules in collect_imports().items():
        if any(module.startswith("domain/") for module in modules):
            assert library in sys.stdlib_module_names or library in ("hunchd", "__future__")
