"""Registry of manifest parsers: each turns a file's text into statements.

Values consist of known names, versions and numbers, never of free text, because a manifest may be untrusted.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch

from hunchd.ingestion.manifests.checks import (
    read_editorconfig,
    read_pre_commit,
    read_targets,
    read_workflow,
    read_workflow_file,
)
from hunchd.ingestion.manifests.other import (
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
from hunchd.ingestion.manifests.platforms import (
    read_clang_format,
    read_cmake,
    read_dotnet,
    read_global_json,
    read_meson,
    read_mix,
    read_pubspec,
    read_sbt,
    read_scalafmt,
    read_swift_package,
)
from hunchd.ingestion.manifests.python import (
    read_conda,
    read_nox,
    read_pyproject,
    read_ruff_file,
    read_setup_cfg,
    read_setup_py,
    read_tox,
)
from hunchd.ingestion.manifests.surroundings import (
    pinned,
    read_compose,
    read_git_hook,
    read_pins,
    read_rust_toolchain,
)
from hunchd.ingestion.manifests.tools import Statement, always


def statements(path: str, text: str) -> Iterator[Statement]:
    """Yield the statements of the file at `path`.

    An unreadable file yields none.
    """
    reader = reader_of(path)
    if reader is None:
        return
    try:
        yield from reader(_squeezed(text))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        return  # not what its name promises, such as a template or another version


def _squeezed(text: str) -> str:
    """Remove blank lines and long gaps.

    A pattern that begins with blanks retries at each of them, which takes minutes on a hostile file of blanks.
    """
    lines = (line.rstrip() for line in text.split("\n"))
    return _GAP.sub(" " * _WIDEST, "\n".join(filter(None, lines)))


def reader_of(path: str) -> Callable[[str], Iterator[Statement]] | None:
    """Return the parser for files of this name and place."""
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if fnmatch(path if "/" in pattern else name, pattern)), None)


_WIDEST = 40  # consecutive blanks passed to a parser
_GAP = re.compile(rf"[ \t]{{{_WIDEST},}}")

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
    ("*.[cf]sproj", read_dotnet),
    ("Directory.*.props", read_dotnet),
    ("global.json", read_global_json),
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
    ("CMakeLists.txt", read_cmake),
    ("meson.build", read_meson),
    (".clang-format", read_clang_format),
    (".clang-tidy", always("lint", "clang-tidy")),
    ("Package.swift", read_swift_package),
    (".swiftlint.yml", always("lint", "swiftlint")),
    (".swiftformat", always("format", "swiftformat")),
    ("pubspec.yaml", read_pubspec),
    ("mix.exs", read_mix),
    (".formatter.exs", always("format", "mix format")),
    ("build.sbt", read_sbt),
    (".scalafmt.conf", read_scalafmt),
    ("detekt.y*ml", always("lint", "detekt")),
    (".editorconfig", read_editorconfig),
    (".pre-commit-config.yaml", read_pre_commit),
    ("Makefile", read_targets("make", r"^([A-Za-z][\w-]*)\s*:(?!=)")),
    ("justfile", read_targets("just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)")),
    ("Justfile", read_targets("just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)")),
    ("Taskfile.y*ml", read_targets("task", r"^  ([A-Za-z][\w-]*):")),
    ("lefthook.y*ml", read_git_hook("lefthook")),
    (".husky/pre-commit", read_git_hook("husky")),
    ("compose*.y*ml", read_compose),
    ("docker-compose*.y*ml", read_compose),
    (".nvmrc", pinned("node")),
    (".node-version", pinned("node")),
    (".python-version", pinned("python")),
    (".ruby-version", pinned("ruby")),
    (".java-version", pinned("java")),
    (".go-version", pinned("go")),
    (".tool-versions", read_pins),
    ("mise.toml", read_pins),
    (".mise.toml", read_pins),
    ("rust-toolchain*", read_rust_toolchain),
    ("turbo.json*", always("workspace", "turborepo", 0.8)),
    ("nx.json", always("workspace", "nx", 0.8)),
    ("lerna.json", always("workspace", "lerna", 0.7)),
    ("deno.json*", always("runtime", "deno", 0.9)),
    ("bun.lock*", always("package manager", "bun")),
    ("uv.lock", always("package manager", "uv")),
    ("poetry.lock", always("package manager", "poetry")),
    ("pnpm-lock.yaml", always("package manager", "pnpm")),
    ("yarn.lock", always("package manager", "yarn")),
    ("package-lock.json", always("package manager", "npm")),
    (".github/workflows/*.y*ml", read_workflow_file),
    (".gitlab-ci.yml", read_workflow),
)
