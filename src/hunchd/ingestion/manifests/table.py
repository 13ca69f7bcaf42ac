"""Table of the statements that simple patterns find in manifests.

A row consists of file names, a key, a value and a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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


_GRADLE_JAVA = (
    r"(?:JavaLanguageVersion\.of\(|(?:source|target)Compatibility\s*=\s*(?:JavaVersion\.VERSION_)?[\"']?)(\d[\d._]*)"
)
_PIN = r"\A\s*(?:[a-z]+-)?v?(\d[\w.]{0,20})\s*(?:\n|\Z)"
_CONVENTIONAL = "conventional commits, checked by"

ROWS: Final = (
    Row("setup.cfg", "python", "{}", r"^python_requires\s*=\s*(.+)"),
    Row("setup.cfg", "tests", "pytest", r"^\[tool:pytest\]"),
    Row("setup.cfg", "lint", "flake8", r"^\[flake8\]"),
    Row("setup.cfg", "line length", "{}", r"^max-line-length\s*=\s*(\d+)"),
    Row("setup.cfg", "types", "mypy", r"^\[mypy\]"),
    Row("setup.py", "python", "{}", r"python_requires\s*=\s*[\"']([^\"']+)"),
    Row("tox.ini", "run everything", "tox", r"^\[tox\]"),
    Row("noxfile.py", "run everything", "nox"),
    Row("pytest.ini", "tests", "pytest"),
    Row("mypy.ini", "types", "mypy"),
    Row("eslint.config.* .eslintrc*", "lint", "eslint"),
    Row("biome.json*", "lint", "biome"),
    Row("vitest.config.*", "tests", "vitest"),
    Row("jest.config.*", "tests", "jest"),
    Row("rustfmt.toml .rustfmt.toml", "format", "cargo fmt"),
    Row("rustfmt.toml .rustfmt.toml", "line length", "{}", r"^max_width\s*=\s*(\d+)"),
    Row("clippy.toml .clippy.toml", "lint", "cargo clippy"),
    Row("go.mod", "go", "{} or newer", r"^go (\d[\w.]*)"),
    Row("go.mod", "module", "{}", r"^module ([@\w./-]{1,60})\s*$"),
    Row("go.mod", "tests", "go test", "", 0.8),
    Row(".golangci.y*ml", "lint", "golangci-lint"),
    Row("build.gradle*", "build", "gradle"),
    Row("build.gradle*", "java", "{}", _GRADLE_JAVA),
    Row("build.gradle*", "tests", "junit 5", r"useJUnitPlatform|junit-jupiter"),
    Row("pom.xml", "build", "maven"),
    Row("pom.xml", "java", "{}", r"<(?:maven\.compiler\.(?:release|source)|java\.version|release)>\s*([\d.]+)\s*<"),
    Row("pom.xml", "tests", "junit 5", r"<artifactId>junit-jupiter[\w-]*</artifactId>"),
    Row("pom.xml", "tests", "{}", r"<artifactId>(junit|testng)[\w-]*</artifactId>"),
    Row("build.gradle* pom.xml", "format", "spotless", r"spotless"),
    Row("build.gradle* pom.xml", "format", "spring-javaformat", r"io\.spring\.javaformat|spring-javaformat"),
    Row("build.gradle* pom.xml", "lint", "{*}", r"(?<![\w/])(?:maven-)?(checkstyle|spotbugs)(?![\w])", 0.9),
    Row("global.json", "dotnet sdk", "{}", r"\"version\"\s*:\s*\"(\d[^\"]*)\""),
    Row("*.[cf]sproj Directory.*.props", "c# language", "{}", r"<LangVersion>\s*(\d[\d.]*|latest|preview)\s*</"),
    Row("*.[cf]sproj Directory.*.props", "nullable references", "enabled", r"(?i)<Nullable>\s*enable\s*</"),
    Row("*.[cf]sproj Directory.*.props", "warnings", "errors", r"(?i)<TreatWarningsAsErrors>\s*true\s*</"),
    *(
        Row("*.[cf]sproj Directory.*.props", "tests", name, rf"(?i)Include=[\"']{name}\b", 0.9)
        for name in ("xunit", "nunit", "mstest", "tunit")
    ),
    Row("*.[cf]sproj Directory.*.props", "lint", "stylecop", r"(?i)Include=[\"']stylecop\b", 0.9),
    Row("phpunit.xml*", "tests", "phpunit"),
    Row("phpstan.neon*", "lint", "phpstan"),
    Row(".php-cs-fixer*.php", "format", "php-cs-fixer"),
    Row(".rspec", "tests", "rspec"),
    Row(".rubocop.yml", "lint", "rubocop"),
    Row("versions.tf", "terraform", "{}", r"^\s*required_version\s*=\s*\"([^\"]+)\""),
    Row("versions.tf", "providers", "{*}{} {}",
        r"^\s*([\w-]{1,40})\s*=\s*\{[^{}]*?\bversion\s*=\s*\"([\d.<>=!~ ,]+)\"[^{}]*\}"),
    Row("environment.yml", "package manager", "conda", r"^dependencies:", 0.9),
    Row("environment.yml", "python", "{}",
        r"^dependencies:(?:\n.*)*?\n\s*-\s*python\s*=*\s*([<>!~]?[\d.*<>=!~, ]*?)\s*(?:#.*)?$"),
    Row("CMakeLists.txt", "build", "cmake"),
    Row("CMakeLists.txt", "cmake", "{} or newer", r"(?i)cmake_minimum_required\s*\(\s*VERSION\s+(\d+(?:\.\d+)*)"),
    Row("CMakeLists.txt", "tests", "ctest (googletest)", r"(?i)\b(?:gtest|googletest)\b", 0.9),
    Row("CMakeLists.txt", "tests", "ctest (catch2)", r"(?i)\bcatch2\b", 0.9),
    Row("CMakeLists.txt", "tests", "ctest (doctest)", r"(?i)\bdoctest\b", 0.9),
    Row("meson.build", "build", "meson"),
    Row("meson.build", "c++ standard", "{}", r"['\"]cpp_std=(?:gnu|c)(?:\+\+)?(\w\w)['\"]"),
    Row("meson.build", "c standard", "{}", r"['\"]c_std=(?:gnu|c)(\w\w)['\"]"),
    Row(".clang-format", "format", "clang-format ({})",
        r"(?i)^BasedOnStyle:\s*[\"']?(LLVM|Google|Chromium|Mozilla|WebKit|Microsoft|GNU)\b"),
    Row(".clang-format", "format", "clang-format"),
    Row(".clang-format", "line length", "{}", r"^ColumnLimit:\s*(\d+)\s*$"),
    Row(".clang-tidy", "lint", "clang-tidy"),
    Row("Package.swift", "package manager", "swift package manager", "", 0.95),
    Row("Package.swift", "swift", "{} or newer", r"\A//\s*swift-tools-version:\s*([\d.]+)"),
    Row("Package.swift", "tests", "swift test", "", 0.8),
    Row(".swiftlint.yml", "lint", "swiftlint"),
    Row(".swift-format", "format", "swift-format"),
    Row(".swiftformat", "format", "swiftformat"),
    Row("pubspec.yaml", "dart", "{}", r"^environment:[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+sdk:[ \t]*[\"']?([^\"'\n#]+)"),
    Row("pubspec.yaml", "framework", "flutter", r"^[ \t]+sdk:[ \t]*flutter[ \t]*$"),
    Row("pubspec.yaml", "tests", "flutter test", r"^[ \t]+sdk:[ \t]*flutter[ \t]*$", 0.8),
    Row("pubspec.yaml", "tests", "dart test", "", 0.8),
    Row("mix.exs", "elixir", "{}", r"\belixir:\s*\"([^\"]+)\""),
    Row("mix.exs", "tests", "mix test", "", 0.8),
    Row("mix.exs", "lint", "credo", r"\{:credo,", 0.9),
    Row("mix.exs", "types", "dialyzer", r"\{:dialyxir,", 0.9),
    Row(".formatter.exs", "format", "mix format"),
    Row("build.sbt", "build", "sbt"),
    Row("build.sbt", "scala", "{}", r"\bscalaVersion\s*:=\s*\"([\d.]+)\""),
    Row("build.sbt", "tests", "sbt test ({})", r"\"(scalatest|munit|specs2|utest)\b", 0.9),
    Row(".scalafmt.conf", "format", "scalafmt"),
    Row(".scalafmt.conf", "line length", "{}", r"^maxColumn\s*=\s*(\d+)"),
    Row("detekt.y*ml", "lint", "detekt"),
    Row("committed.toml", "commit messages", f"{_CONVENTIONAL} committed", r"^style\s*=\s*[\"']conventional"),
    Row("commitlint.config.* .commitlintrc*", "commit messages", f"{_CONVENTIONAL} commitlint"),
    Row(".cz.toml", "commit messages", "conventional commits (commitizen)", "", 0.9),
    Row(".changeset/config.json", "changelog", "a changeset a change: `npx changeset`"),
    Row(".nvmrc .node-version", "node", "{}", _PIN, 0.6),
    Row(".python-version", "python", "{}", _PIN, 0.6),
    Row(".ruby-version", "ruby", "{}", _PIN, 0.6),
    Row(".java-version", "java", "{}", _PIN, 0.6),
    Row(".go-version", "go", "{}", _PIN, 0.6),
    Row("rust-toolchain*", "rust toolchain", "{}",
        r"^\s*(?:channel\s*=\s*[\"'])?((?:stable|beta|nightly|\d)[\w.-]{0,40})[\"']?\s*$"),
    *(Row(name, "build", f"`./{name}`", "", 0.9) for name in ("build.sh", "build.ps1", "Build.ps1")),
    Row("deno.json*", "runtime", "deno", "", 0.9),
    Row("bun.lock*", "package manager", "bun"),
    Row("uv.lock", "package manager", "uv"),
    Row("poetry.lock", "package manager", "poetry"),
    Row("pnpm-lock.yaml", "package manager", "pnpm"),
    Row("yarn.lock", "package manager", "yarn"),
    Row("package-lock.json", "package manager", "npm"),
)  # fmt: skip
