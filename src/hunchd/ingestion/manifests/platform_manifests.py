"""Parsers of C, C++, .NET, Swift, Dart, Elixir and Scala manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from hunchd.ingestion.manifests.tools import Statement, mentions, parse_number, state_line_length, state_version

_CPP_TESTS = (("googletest", r"\b(?:gtest|googletest)\b"), ("catch2", r"\bcatch2\b"), ("doctest", r"\bdoctest\b"))
_SCALA_TESTS = ("scalatest", "munit", "specs2", "utest", "zio-test")


def read_cmake(text: str) -> Iterator[Statement]:
    yield Statement("build", "cmake")
    version_match = re.search(r"cmake_minimum_required\s*\(\s*VERSION\s+(\d+(?:\.\d+)*)", text, re.IGNORECASE)
    yield from state_version("cmake", f"{version_match[1]} or newer" if version_match else None)
    for key, name in (("c++ standard", "CXX"), ("c standard", "C")):
        match = re.search(rf"\bCMAKE_{name}_STANDARD\s+(\d\d)\b|\b{name.lower()}_std_(\d\d)\b", text)
        yield from state_version(key, (match[1] or match[2]) if match else None)
    tests = next((name for name, pattern in _CPP_TESTS if re.search(pattern, text, re.IGNORECASE)), None)
    if tests:
        yield Statement("tests", f"ctest ({tests})", 0.9)


def read_meson(text: str) -> Iterator[Statement]:
    yield Statement("build", "meson")
    for key, name in (("c++ standard", "cpp"), ("c standard", "c")):
        match = re.search(rf"['\"]{name}_std=(?:gnu|c)(?:\+\+)?(\w\w)['\"]", text)
        yield from state_version(key, match[1] if match else None)


def read_clang_format(text: str) -> Iterator[Statement]:
    style = re.search(
        r"^BasedOnStyle:\s*[\"']?(LLVM|Google|Chromium|Mozilla|WebKit|Microsoft|GNU)\b", text, re.M | re.I
    )
    yield Statement("format", f"clang-format ({style[1]})" if style else "clang-format")
    width = re.search(r"^ColumnLimit:\s*(\d+)\s*$", text, re.MULTILINE)
    yield from state_line_length(parse_number(width[1]) if width else None)


def read_dotnet(text: str) -> Iterator[Statement]:
    """Parse a .NET project or shared properties (`Directory.Build.props`, `Directory.Packages.props`)."""
    frameworks = re.search(r"<TargetFrameworks?>\s*([\w.;-]{1,80})\s*<", text)
    yield from state_version("dotnet", frameworks[1].strip(";").replace(";", ", ") if frameworks else None)
    language = re.search(r"<LangVersion>\s*(\d[\d.]*|latest|preview)\s*</", text)
    if language:
        yield Statement("c# language", language[1])
    if re.search(r"<Nullable>\s*enable\s*</", text, re.IGNORECASE):
        yield Statement("nullable references", "enabled")
    if re.search(r"<TreatWarningsAsErrors>\s*true\s*</", text, re.IGNORECASE):
        yield Statement("warnings", "errors")
    packages = re.findall(r"""<(?:Global)?Package(?:Reference|Version)\s[^>]*?Include=["']([\w.-]+)""", text)
    package_names = {package.lower().partition(".")[0] for package in packages}
    tests = [name for name in ("xunit", "nunit", "mstest", "tunit") if name in package_names]
    if tests:
        yield Statement("tests", ", ".join(tests), 0.9)
    if "stylecop" in package_names:
        yield Statement("lint", "stylecop", 0.9)


def read_global_json(text: str) -> Iterator[Statement]:
    yield from state_version("dotnet sdk", json.loads(text).get("sdk", {}).get("version"))


def read_swift_package(text: str) -> Iterator[Statement]:
    yield Statement("package manager", "swift package manager", 0.95)
    match = re.match(r"//\s*swift-tools-version:\s*([\d.]+)", text)
    yield from state_version("swift", f"{match[1]} or newer" if match else None)
    yield Statement("tests", "swift test", 0.8)


def read_pubspec(text: str) -> Iterator[Statement]:
    match = re.search(r"^environment:[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+sdk:[ \t]*[\"']?([^\"'\n#]+)", text, re.MULTILINE)
    yield from state_version("dart", match[1] if match else None)
    flutter = re.search(r"^[ \t]+sdk:[ \t]*flutter[ \t]*$", text, re.MULTILINE) is not None
    if flutter:
        yield Statement("framework", "flutter")
    yield Statement("tests", "flutter test" if flutter else "dart test", 0.8)
    yield Statement("format", "dart format", 0.8)


def read_mix(text: str) -> Iterator[Statement]:
    match = re.search(r"\belixir:\s*\"([^\"]+)\"", text)
    yield from state_version("elixir", match[1] if match else None)
    yield Statement("tests", "mix test", 0.8)
    if "{:credo," in text:
        yield Statement("lint", "credo", 0.9)
    if "{:dialyxir," in text:
        yield Statement("types", "dialyzer", 0.9)


def read_sbt(text: str) -> Iterator[Statement]:
    yield Statement("build", "sbt")
    match = re.search(r"\bscalaVersion\s*:=\s*\"([\d.]+)\"", text)
    yield from state_version("scala", match[1] if match else None)
    tests = [name for name in _SCALA_TESTS if mentions(text, name)]
    if tests:
        yield Statement("tests", f"sbt test ({tests[0]})", 0.9)


def read_scalafmt(text: str) -> Iterator[Statement]:
    yield Statement("format", "scalafmt")
    width = re.search(r"^maxColumn\s*=\s*(\d+)", text, re.MULTILINE)
    yield from state_line_length(parse_number(width[1]) if width else None)
