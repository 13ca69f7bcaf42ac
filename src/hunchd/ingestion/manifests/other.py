"""Parsers of JavaScript, Rust, Go, Java, PHP, Ruby and Terraform manifests."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from hunchd.ingestion.manifests.tools import (
    BY_PURPOSE,
    Statement,
    line_length,
    mentions,
    name_of,
    number_of,
    tools_needed,
    version_of,
)


def read_package_json(text: str) -> Iterator[Statement]:
    told = json.loads(text)
    yield from version_of("node", told.get("engines", {}).get("node"))
    manager = str(told.get("packageManager", ""))
    if re.fullmatch(r"(npm|pnpm|yarn|bun)@[\w.+-]{1,40}", manager):
        yield Statement("package manager", manager.partition("+")[0].replace("@", " "))
    scripts = {str(name): str(line) for name, line in told.get("scripts", {}).items()}
    needed = {**told.get("dependencies", {}), **told.get("devDependencies", {})}
    yield from _scripts(scripts, needed, manager.partition("@")[0] or "npm")
    if "typescript" in needed and re.fullmatch(r"[\^~]?\d[\w.-]*", str(needed["typescript"])):
        yield Statement("typescript", str(needed["typescript"]))
    if told.get("type") == "module":
        yield Statement("modules", "ES modules")
    if "@changesets/cli" in needed:
        yield Statement("release", "changesets")


def _scripts(scripts: Mapping[str, str], needed: Mapping[str, Any], program: str) -> Iterator[Statement]:
    """Yield the known tools that the scripts call.

    Each with the command that runs them.
    """
    for (key, names), script in zip(BY_PURPOSE, ("test", "lint", "format", "typecheck"), strict=True):
        lines = " ; ".join(line for name, line in scripts.items() if name.startswith(script) or name == "check")
        found = [name for name in names if mentions(lines, name) or (name in needed and key == "tests")]
        tools = ", ".join(found[:4])
        run = "" if program == "yarn" or script == "test" else "run "
        command = f"`{program} {run}{script}`" if script in scripts else ""
        if tools or command:
            yield Statement(key, f"{tools} ({command})" if tools and command else tools or command)


def read_prettier(text: str) -> Iterator[Statement]:
    found = {name: match[1] for name in ("semi", "singleQuote", "printWidth", "tabWidth", "useTabs", "trailingComma")
             if (match := re.search(rf"[\"']?\b{name}[\"']?\s*:\s*[\"']?(\w+)", text))}  # fmt: skip
    style = [
        {"false": "no semicolons", "true": "semicolons"}.get(found.get("semi", ""), ""),
        {"true": "single quotes", "false": "double quotes"}.get(found.get("singleQuote", ""), ""),
        f"trailing commas: {found['trailingComma']}" if found.get("trailingComma") in ("none", "es5", "all") else "",
    ]
    shown = ", ".join(part for part in style if part)
    yield Statement("format", "prettier" + (f" ({shown})" if shown else ""))
    yield from line_length(number_of(found.get("printWidth", "")))


def read_cargo(text: str) -> Iterator[Statement]:
    told = tomllib.loads(text)
    package = {**told.get("workspace", {}).get("package", {}), **told.get("package", {})}
    edition, oldest = package.get("edition"), package.get("rust-version")
    if isinstance(edition, str) or isinstance(oldest, str):
        shown = [
            f"{oldest} or newer" if isinstance(oldest, str) else "",
            f"edition {edition}" if isinstance(edition, str) else "",
        ]
        yield from version_of("rust", ", ".join(part for part in shown if part))
    members = told.get("workspace", {}).get("members")
    if isinstance(members, list) and members:
        yield Statement("workspace", f"cargo, {len(members)} members")
    yield Statement("tests", "cargo test", 0.8)
    lints = {**told.get("lints", {}), **told.get("workspace", {}).get("lints", {})}
    if "clippy" in lints:
        yield Statement("lint", "clippy")


def read_rustfmt(text: str) -> Iterator[Statement]:
    yield Statement("format", "cargo fmt")
    yield from line_length(tomllib.loads(text).get("max_width"))


def read_go_mod(text: str) -> Iterator[Statement]:
    found = re.search(r"^go (\d[\w.]*)", text, re.MULTILINE)
    yield from version_of("go", f"{found[1]} or newer" if found else None)
    module = re.search(r"^module (\S+)", text, re.MULTILINE)
    yield from name_of("module", module[1] if module else None)
    yield Statement("tests", "go test" + (" with testify" if "stretchr/testify" in text else ""), 0.8)
    yield Statement("format", "gofmt", 0.8)


def read_gradle(text: str) -> Iterator[Statement]:
    yield Statement("build", "gradle")
    found = re.search(
        r"(?:JavaLanguageVersion\.of\(|(?:source|target)Compatibility\s*=\s*(?:JavaVersion\.VERSION_)?[\"']?)(\d[\d._]*)",
        text,
    )
    yield from version_of("java", found[1].replace("_", ".") if found else None)
    if re.search(r"useJUnitPlatform|junit-jupiter", text):
        yield Statement("tests", "junit 5")
    yield from _java_tools(text)


def _java_tools(text: str) -> Iterator[Statement]:
    """Yield the style plugins of a Java build in any build language."""
    if "spotless" in text:
        yield Statement("format", "spotless")
    elif re.search(r"io\.spring\.javaformat|spring-javaformat", text):
        yield Statement("format", "spring-javaformat")
    found = [name for name in ("checkstyle", "spotbugs") if mentions(text, name) or f"maven-{name}-plugin" in text]
    if found:
        yield Statement("lint", ", ".join(found), 0.9)


def read_maven(text: str) -> Iterator[Statement]:
    yield Statement("build", "maven")
    found = re.search(
        r"<(?:maven\.compiler\.release|maven\.compiler\.source|java\.version|release)>\s*([\d.]+)\s*<", text
    )
    yield from version_of("java", found[1] if found else None)
    name = re.search(r"<artifactId>(junit(?:-jupiter)?|testng)[\w-]*</artifactId>", text)
    if name:
        yield Statement("tests", "junit 5" if "jupiter" in name[1] else name[1])
    yield from _java_tools(text)


def read_composer(text: str) -> Iterator[Statement]:
    told = json.loads(text)
    yield from version_of("php", told.get("require", {}).get("php"))
    yield Statement("package manager", "composer", 0.9)
    needed = {name.rpartition("/")[2] for name in (*told.get("require-dev", {}), *told.get("require", {}))}
    yield from tools_needed(needed)


def read_gems(text: str) -> Iterator[Statement]:
    """Parse a Gemfile or gemspec."""
    found = re.search(r"""(?:required_ruby_version\s*=|^ruby)\s*["']([\d.<>=!~ ]+)["']""", text, re.MULTILINE)
    yield from version_of("ruby", found[1] if found else None)
    gems = re.findall(r"""(?:^\s*gem|dependency)[\s(]+["']([\w-]+)["']""", text, re.MULTILINE)
    yield from tools_needed({"rspec" if gem.startswith("rspec-") else gem for gem in gems})


def read_gemfile(text: str) -> Iterator[Statement]:
    yield Statement("package manager", "bundler", 0.9)
    yield from read_gems(text)


def read_terraform(text: str) -> Iterator[Statement]:
    found = re.search(r'^\s*required_version\s*=\s*"([^"]+)"', text, re.MULTILINE)
    yield from version_of("terraform", found[1] if found else None)
    providers = re.findall(
        r'^\s*([\w-]{1,40})\s*=\s*\{[^{}]*?\bversion\s*=\s*"([\d.<>=!~ ,]+)"[^{}]*\}', text, re.MULTILINE
    )
    if providers:
        yield Statement("providers", ", ".join(f"{name} {version}" for name, version in providers[:6]))
