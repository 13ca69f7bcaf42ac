"""Registry of manifest parsers: each turns a file's text into statements.

Values consist of known names, versions and numbers, never of free text, because a manifest may be untrusted.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch

from hunchd.ingestion.manifests.checks import (
    make_target_reader,
    read_editorconfig,
    read_pre_commit,
    read_workflow,
    read_workflow_file,
)
from hunchd.ingestion.manifests.environment import (
    make_git_hook_reader,
    make_version_reader,
    read_compose,
    read_pins,
    read_rust_toolchain,
)
from hunchd.ingestion.manifests.package_manifests import (
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
from hunchd.ingestion.manifests.platform_manifests import (
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
from hunchd.ingestion.manifests.tools import Statement, make_constant_reader


def read_statements(path: str, text: str) -> Iterator[Statement]:
    """Yield the statements of the file at `path`.

    An unreadable file yields none.
    """
    reader = find_reader(path)
    if reader is None:
        return
    try:
        yield from reader(_squeeze_blanks(text))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        return  # not what its name promises, such as a template or another version


def _squeeze_blanks(text: str) -> str:
    """Remove blank lines and long gaps.

    A pattern that begins with blanks retries at each of them, which takes minutes on a hostile file of blanks.
    """
    lines = (line.rstrip() for line in text.split("\n"))
    return _GAP.sub(" " * _MAX_BLANKS, "\n".join(filter(None, lines)))


def find_reader(path: str) -> Callable[[str], Iterator[Statement]] | None:
    """Return the parser for files of this name and place."""
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if fnmatch(path if "/" in pattern else name, pattern)), None)


_MAX_BLANKS = 40  # consecutive blanks passed to a parser
_GAP = re.compile(rf"[ \t]{{{_MAX_BLANKS},}}")

# Earlier patterns win; those with "/" are for paths, the others for names.
_READERS: tuple[tuple[str, Callable[[str], Iterator[Statement]]], ...] = (
    ("pyproject.toml", read_pyproject),
    ("setup.cfg", read_setup_cfg),
    ("setup.py", read_setup_py),
    ("ruff.toml", read_ruff_file),
    (".ruff.toml", read_ruff_file),
    ("tox.ini", read_tox),
    ("pytest.ini", make_constant_reader("tests", "pytest")),
    ("mypy.ini", make_constant_reader("types", "mypy")),
    ("noxfile.py", read_nox),
    ("package.json", read_package_json),
    (".prettierrc*", read_prettier),
    ("prettier.config.*", read_prettier),
    ("eslint.config.*", make_constant_reader("lint", "eslint")),
    (".eslintrc*", make_constant_reader("lint", "eslint")),
    ("biome.json*", make_constant_reader("lint", "biome")),
    ("vitest.config.*", make_constant_reader("tests", "vitest")),
    ("jest.config.*", make_constant_reader("tests", "jest")),
    ("Cargo.toml", read_cargo),
    ("rustfmt.toml", read_rustfmt),
    (".rustfmt.toml", read_rustfmt),
    ("clippy.toml", make_constant_reader("lint", "clippy")),
    ("go.mod", read_go_mod),
    (".golangci.y*ml", make_constant_reader("lint", "golangci-lint")),
    ("build.gradle*", read_gradle),
    ("pom.xml", read_maven),
    ("*.[cf]sproj", read_dotnet),
    ("Directory.*.props", read_dotnet),
    ("global.json", read_global_json),
    ("composer.json", read_composer),
    ("phpunit.xml*", make_constant_reader("tests", "phpunit")),
    ("phpstan.neon*", make_constant_reader("lint", "phpstan")),
    (".php-cs-fixer*.php", make_constant_reader("format", "php-cs-fixer")),
    ("Gemfile", read_gemfile),
    ("*.gemspec", read_gems),
    (".rspec", make_constant_reader("tests", "rspec")),
    (".rubocop.yml", make_constant_reader("lint", "rubocop")),
    ("versions.tf", read_terraform),
    ("environment.yml", read_conda),
    ("CMakeLists.txt", read_cmake),
    ("meson.build", read_meson),
    (".clang-format", read_clang_format),
    (".clang-tidy", make_constant_reader("lint", "clang-tidy")),
    ("Package.swift", read_swift_package),
    (".swiftlint.yml", make_constant_reader("lint", "swiftlint")),
    (".swiftformat", make_constant_reader("format", "swiftformat")),
    ("pubspec.yaml", read_pubspec),
    ("mix.exs", read_mix),
    (".formatter.exs", make_constant_reader("format", "mix format")),
    ("build.sbt", read_sbt),
    (".scalafmt.conf", read_scalafmt),
    ("detekt.y*ml", make_constant_reader("lint", "detekt")),
    (".editorconfig", read_editorconfig),
    (".pre-commit-config.yaml", read_pre_commit),
    ("Makefile", make_target_reader("make", r"^([A-Za-z][\w-]*)\s*:(?!=)")),
    ("justfile", make_target_reader("just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)")),
    ("Justfile", make_target_reader("just", r"^@?([A-Za-z][\w-]*)(?![\w-])[^:=\n]*:(?!=)")),
    ("Taskfile.y*ml", make_target_reader("task", r"^  ([A-Za-z][\w-]*):")),
    ("lefthook.y*ml", make_git_hook_reader("lefthook")),
    (".husky/pre-commit", make_git_hook_reader("husky")),
    ("compose*.y*ml", read_compose),
    ("docker-compose*.y*ml", read_compose),
    (".nvmrc", make_version_reader("node")),
    (".node-version", make_version_reader("node")),
    (".python-version", make_version_reader("python")),
    (".ruby-version", make_version_reader("ruby")),
    (".java-version", make_version_reader("java")),
    (".go-version", make_version_reader("go")),
    (".tool-versions", read_pins),
    ("mise.toml", read_pins),
    (".mise.toml", read_pins),
    ("rust-toolchain*", read_rust_toolchain),
    ("turbo.json*", make_constant_reader("workspace", "turborepo", 0.8)),
    ("nx.json", make_constant_reader("workspace", "nx", 0.8)),
    ("lerna.json", make_constant_reader("workspace", "lerna", 0.7)),
    ("deno.json*", make_constant_reader("runtime", "deno", 0.9)),
    ("bun.lock*", make_constant_reader("package manager", "bun")),
    ("uv.lock", make_constant_reader("package manager", "uv")),
    ("poetry.lock", make_constant_reader("package manager", "poetry")),
    ("pnpm-lock.yaml", make_constant_reader("package manager", "pnpm")),
    ("yarn.lock", make_constant_reader("package manager", "yarn")),
    ("package-lock.json", make_constant_reader("package manager", "npm")),
    (".github/workflows/*.y*ml", read_workflow_file),
    (".gitlab-ci.yml", read_workflow),
)
