"""One third-party library, one place: what import-linter cannot say in its contracts."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "hunchd"

# Where each library may be imported. numpy is a language of its own and stays out of the command line only.
PLACES = {
    "aiohttp": "serving/",
    "apscheduler": "daemon/nightly.py",
    "fastembed": "embedding/fast.py",
    "git": "repository/git.py",
    "lancedb": "store/database/lance.py",
    "numpy": "",
    "onnxruntime": "embedding/fast.py",
    "pathspec": "repository/ignore.py",
    "platformdirs": "config/places.py",
    "pyarrow": "store/database/lance.py",
    "rich": "cli/progress.py",
    "tokenizers": "embedding/fast.py",
    "tree_sitter": "ingestion/parsing.py",
    "watchdog": "signals/folders.py",
    "yaml": "ingestion/workflows/yaml_files.py",
}


def parsed(file: Path) -> ast.Module:
    """Python 3.11 may lose count of its depth once another test has met a limit, and says so one time."""
    try:
        return ast.parse(file.read_bytes())
    except SystemError:
        return ast.parse(file.read_bytes())


def imported() -> dict[str, set[str]]:
    """Library → the modules that import it, wherever in the module that is."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parsed(file)):
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


def test_each_library_is_imported_in_one_place() -> None:
    modules = imported()

    strays = {
        f"{library} in {module}"
        for library, place in PLACES.items()
        for module in modules[library]
        if not module.startswith(place)
    }

    assert strays == set()
    assert modules["aiohttp"], "the search itself works"


def test_the_command_line_and_the_domain_need_no_library_but_the_progress_line() -> None:
    modules = imported()

    for library in PLACES:
        for module in modules[library]:
            assert not module.startswith("domain/")
            assert not module.startswith("cli/") or library == "rich"


def test_the_domain_needs_only_the_standard_library() -> None:
    for library, modules in imported().items():
        if any(module.startswith("domain/") for module in modules):
            assert library in sys.stdlib_module_names or library in ("hunchd", "__future__")
