"""Parsers for manifests that are too complex for one regular expression."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from hunchd.ingestion.manifests.commands import EVERYTHING, classify_task
from hunchd.ingestion.manifests.tools import (
    TOOLS_BY_PURPOSE,
    Statement,
    find_needed_tools,
    mentions,
    parse_number,
    state_line_length,
    state_version,
)


def read_package_json(text: str) -> Iterator[Statement]:
    manifest = json.loads(text)
    yield from state_version("node", manifest.get("engines", {}).get("node"))
    manager = str(manifest.get("packageManager", ""))
    if re.fullmatch(r"(npm|pnpm|yarn|bun)@[\w.+-]{1,40}", manager):
        yield Statement("package manager", manager.partition("+")[0].replace("@", " "))
    scripts = {str(name): str(line) for name, line in manifest.get("scripts", {}).items()}
    dependencies = {**manifest.get("dependencies", {}), **manifest.get("devDependencies", {})}
    yield from _read_scripts(scripts, dependencies)
    if "typescript" in dependencies and re.fullmatch(r"[\^~]?\d[\w.-]*", str(dependencies["typescript"])):
        yield Statement("typescript", str(dependencies["typescript"]))
    if manifest.get("type") == "module":
        yield Statement("modules", "ES modules")
    if "@changesets/cli" in dependencies:
        yield Statement("release", "changesets")


def _read_scripts(scripts: Mapping[str, str], dependencies: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield a statement for each purpose that names the known tools that the scripts in `package.json` call for it."""
    for key, names in TOOLS_BY_PURPOSE:
        lines = " ; ".join(line for name, line in scripts.items() if classify_task(name) in (key, "tests", EVERYTHING))
        tools = [name for name in names if mentions(lines, name) or (name in dependencies and key == "tests")]
        if tools:
            yield Statement(key, ", ".join(tools[:4]))


def read_prettier(text: str) -> Iterator[Statement]:
    settings = {name: match[1] for name in ("semi", "singleQuote", "printWidth", "tabWidth", "useTabs", "trailingComma")
             if (match := re.search(rf"[\"']?\b{name}[\"']?\s*:\s*[\"']?(\w+)", text))}  # fmt: skip
    style = [
        {"false": "no semicolons", "true": "semicolons"}.get(settings.get("semi", ""), ""),
        {"true": "single quotes", "false": "double quotes"}.get(settings.get("singleQuote", ""), ""),
        f"trailing commas: {settings['trailingComma']}"
        if settings.get("trailingComma") in ("none", "es5", "all")
        else "",
    ]
    style_text = ", ".join(part for part in style if part)
    yield Statement("format", "prettier" + (f" ({style_text})" if style_text else ""))
    yield from state_line_length(parse_number(settings.get("printWidth", "")))


def read_cargo(text: str) -> Iterator[Statement]:
    manifest = tomllib.loads(text)
    own = {name: value for name, value in manifest.get("package", {}).items() if isinstance(value, str)}
    package = {**manifest.get("workspace", {}).get("package", {}), **own}
    edition, minimum_version = package.get("edition"), package.get("rust-version")
    if isinstance(edition, str) or isinstance(minimum_version, str):
        versions = [
            f"{minimum_version} or newer" if isinstance(minimum_version, str) else "",
            f"edition {edition}" if isinstance(edition, str) else "",
        ]
        yield from state_version("rust", ", ".join(part for part in versions if part))
    yield Statement("tests", "cargo test", 0.8)
    lints = {**manifest.get("lints", {}), **manifest.get("workspace", {}).get("lints", {})}
    if "clippy" in lints:
        yield Statement("lint", "clippy")


def read_composer(text: str) -> Iterator[Statement]:
    manifest = json.loads(text)
    yield from state_version("php", manifest.get("require", {}).get("php"))
    yield Statement("package manager", "composer", 0.9)
    packages = {name.rpartition("/")[2] for name in (*manifest.get("require-dev", {}), *manifest.get("require", {}))}
    yield from find_needed_tools(packages, "php")


def read_gems(text: str) -> Iterator[Statement]:
    """Yield the Ruby version and the known tools in a Gemfile or gemspec."""
    match = re.search(
        r"""(?:required_ruby_version\s*=(?:\s*Gem::Requirement\.new\()?|^ruby)\s*["']([\d.<>=!~ ]+)["']""",
        text,
        re.MULTILINE,
    )
    yield from state_version("ruby", match[1] if match else None)
    gems = re.findall(r"""(?:^\s*gem|dependency)[\s(]+["']([\w-]+)["']""", text, re.MULTILINE)
    yield from find_needed_tools({"rspec" if gem.startswith("rspec-") else gem for gem in gems}, "ruby")


def read_gemfile(text: str) -> Iterator[Statement]:
    yield Statement("package manager", "bundler", 0.9)
    yield from read_gems(text)


def read_cpp_standards(text: str) -> Iterator[Statement]:
    """Yield the oldest C++ and C standards that a CMake project supports."""
    for key, name in (("c++ standard", "CXX"), ("c standard", "C")):
        standards = re.findall(rf"\b(?:CMAKE_{name}_STANDARD\s+|{name.lower()}_std_)(\d\d)\b", text)
        oldest = min(standards, key=lambda one: int(one) - 100 * (int(one) > 80), default=None)  # 98 is older than 11
        yield from state_version(key, f"{oldest} or newer" if oldest and len(set(standards)) > 1 else oldest)


def read_target_frameworks(text: str) -> Iterator[Statement]:
    """Yield the target frameworks of a .NET project."""
    lists = re.findall(r"<TargetFrameworks?(?: [^>]{0,99})?>\s*(?:\$\(TargetFrameworks\);)?([\w.;-]{1,80})\s*<", text)
    yield from state_version("dotnet", ", ".join(dict.fromkeys(filter(None, ";".join(lists).split(";")))))
