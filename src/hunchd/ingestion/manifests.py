"""What manifests and tool settings say of how a project is worked on: each file's reader is pure text → statements.

Values are made of names we know and of versions and numbers, never of free text: a manifest may be a stranger's.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable, Iterator
from fnmatch import fnmatch

from hunchd.ingestion.manifest_tools import Statement, always
from hunchd.ingestion.manifests_checks import (
    read_editorconfig,
    read_pre_commit,
    read_targets,
    read_workflow,
    read_workflow_file,
)
from hunchd.ingestion.manifests_other import (
    read_cargo,
    read_composer,
    read_gemfile,
    read_gems,
    read_go_mod,
    read_gradle,
    read_maven,
    read_package_json,
    read_prettier,
    read_rustfmt,
    read_terraform,
)
from hunchd.ingestion.manifests_python import (
    read_conda,
    read_nox,
    read_pyproject,
    read_ruff_file,
    read_setup_cfg,
    read_setup_py,
    read_tox,
)


def statements(path: str, text: str) -> Iterator[Statement]:
    """What `text`, the content of the file at `path`, states. A file that cannot be read states nothing."""
    reader = reader_of(path)
    if reader is None:
        return
    try:
        yield from reader(text)
    except (ValueError, TypeError, AttributeError, KeyError, configparser.Error):
        return  # not what its name promises: a template, another version, a joke


def reader_of(path: str) -> Callable[[str], Iterator[Statement]] | None:
    """The reader for files of this name and place."""
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if fnmatch(path if "/" in pattern else name, pattern)), None)


# Earlier patterns win; those with "/" are for paths, the others for names.
_READERS: tuple[tuple[str, Callable[[str], Iterator[Statement]]], ...] = (
    ("pyproject.toml", read_pyproject),
    ("setup.cfg", read_setup_cfg),
    ("setup.py", read_setup_py),
    ("ruff.toml", read_ruff_file),
    (".ruff.toml", read_ruff_file),
    ("tox.ini", read_tox),
    ("pytest.ini", always("tests", "pytest")),
    ("mypy.ini", always("types", "mypy")),
    ("noxfile.py", read_nox),
    ("package.json", read_package_json),
    (".prettierrc*", read_prettier),
    ("prettier.config.*", read_prettier),
    ("eslint.config.*", always("lint", "eslint")),
    (".eslintrc*", always("lint", "eslint")),
    ("biome.json*", always("lint", "biome")),
    ("vitest.config.*", always("tests", "vitest")),
    ("jest.config.*", always("tests", "jest")),
    ("Cargo.toml", read_cargo),
    ("rustfmt.toml", read_rustfmt),
    (".rustfmt.toml", read_rustfmt),
    ("clippy.toml", always("lint", "clippy")),
    ("go.mod", read_go_mod),
    (".golangci.y*ml", always("lint", "golangci-lint")),
    ("build.gradle*", read_gradle),
    ("pom.xml", read_maven),
    ("composer.json", read_composer),
    ("phpunit.xml*", always("tests", "phpunit")),
    ("phpstan.neon*", always("lint", "phpstan")),
    (".php-cs-fixer*.php", always("format", "php-cs-fixer")),
    ("Gemfile", read_gemfile),
    ("*.gemspec", read_gems),
    (".rspec", always("tests", "rspec")),
    (".rubocop.yml", always("lint", "rubocop")),
    ("versions.tf", read_terraform),
    ("environment.yml", read_conda),
    (".editorconfig", read_editorconfig),
    (".pre-commit-config.yaml", read_pre_commit),
    ("Makefile", read_targets("make", r"^([A-Za-z][\w-]*)\s*:(?!=)")),
    ("justfile", read_targets("just", r"^@?([A-Za-z][\w-]*)[^:=\n]*:(?!=)")),
    ("Justfile", read_targets("just", r"^@?([A-Za-z][\w-]*)[^:=\n]*:(?!=)")),
    ("uv.lock", always("package manager", "uv")),
    ("poetry.lock", always("package manager", "poetry")),
    ("pnpm-lock.yaml", always("package manager", "pnpm")),
    ("yarn.lock", always("package manager", "yarn")),
    ("package-lock.json", always("package manager", "npm")),
    (".github/workflows/*.y*ml", read_workflow_file),
    (".gitlab-ci.yml", read_workflow),
)
