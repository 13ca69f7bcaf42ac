"""Parsers of JavaScript, Rust, Go, Java, PHP, Ruby and Terraform manifests."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from hunchd.ingestion.manifests.tools import (
    TOOLS_BY_PURPOSE,
    Statement,
    find_needed_tools,
    mentions,
    parse_number,
    state_line_length,
    state_name,
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
    yield from _read_scripts(scripts, dependencies, manager.partition("@")[0] or "npm")
    if "typescript" in dependencies and re.fullmatch(r"[\^~]?\d[\w.-]*", str(dependencies["typescript"])):
        yield Statement("typescript", str(dependencies["typescript"]))
    if manifest.get("type") == "module":
        yield Statement("modules", "ES modules")
    if "@changesets/cli" in dependencies:
        yield Statement("release", "changesets")


def _read_scripts(scripts: Mapping[str, str], dependencies: Mapping[str, Any], program: str) -> Iterator[Statement]:
    """Yield the known tools that the scripts call.

    Each with the command that runs them.
    """
    for (key, names), script in zip(TOOLS_BY_PURPOSE, ("test", "lint", "format", "typecheck"), strict=True):
        lines = " ; ".join(line for name, line in scripts.items() if name.startswith(script) or name == "check")
        used_tools = [name for name in names if mentions(lines, name) or (name in dependencies and key == "tests")]
        tools = ", ".join(used_tools[:4])
        run = "" if program == "yarn" or script == "test" else "run "
        command = f"`{program} {run}{script}`" if script in scripts else ""
        if tools or command:
            yield Statement(key, f"{tools} ({command})" if tools and command else tools or command)


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
    package = {**manifest.get("workspace", {}).get("package", {}), **manifest.get("package", {})}
    edition, minimum_version = package.get("edition"), package.get("rust-version")
    if isinstance(edition, str) or isinstance(minimum_version, str):
        versions = [
            f"{minimum_version} or newer" if isinstance(minimum_version, str) else "",
            f"edition {edition}" if isinstance(edition, str) else "",
        ]
        yield from state_version("rust", ", ".join(part for part in versions if part))
    members = manifest.get("workspace", {}).get("members")
    if isinstance(members, list) and members:
        yield Statement("workspace", f"cargo, {len(members)} members")
    yield Statement("tests", "cargo test", 0.8)
    lints = {**manifest.get("lints", {}), **manifest.get("workspace", {}).get("lints", {})}
    if "clippy" in lints:
        yield Statement("lint", "clippy")


def read_rustfmt(text: str) -> Iterator[Statement]:
    yield Statement("format", "cargo fmt")
    yield from state_line_length(tomllib.loads(text).get("max_width"))


def read_go_mod(text: str) -> Iterator[Statement]:
    match = re.search(r"^go (\d[\w.]*)", text, re.MULTILINE)
    yield from state_version("go", f"{match[1]} or newer" if match else None)
    module = re.search(r"^module (\S+)", text, re.MULTILINE)
    yield from state_name("module", module[1] if module else None)
    yield Statement("tests", "go test" + (" with testify" if "stretchr/testify" in text else ""), 0.8)
    yield Statement("format", "gofmt", 0.8)


def read_gradle(text: str) -> Iterator[Statement]:
    yield Statement("build", "gradle")
    match = re.search(
        r"(?:JavaLanguageVersion\.of\(|(?:source|target)Compatibility\s*=\s*(?:JavaVersion\.VERSION_)?[\"']?)(\d[\d._]*)",
        text,
    )
    yield from state_version("java", match[1].replace("_", ".") if match else None)
    if re.search(r"useJUnitPlatform|junit-jupiter", text):
        yield Statement("tests", "junit 5")
    yield from _read_java_tools(text)


def _read_java_tools(text: str) -> Iterator[Statement]:
    """Yield the style plugins of a Java build in any build language."""
    if "spotless" in text:
        yield Statement("format", "spotless")
    elif re.search(r"io\.spring\.javaformat|spring-javaformat", text):
        yield Statement("format", "spring-javaformat")
    linters = [name for name in ("checkstyle", "spotbugs") if mentions(text, name) or f"maven-{name}-plugin" in text]
    if linters:
        yield Statement("lint", ", ".join(linters), 0.9)


def read_maven(text: str) -> Iterator[Statement]:
    yield Statement("build", "maven")
    match = re.search(
        r"<(?:maven\.compiler\.release|maven\.compiler\.source|java\.version|release)>\s*([\d.]+)\s*<", text
    )
    yield from state_version("java", match[1] if match else None)
    test_match = re.search(r"<artifactId>(junit(?:-jupiter)?|testng)[\w-]*</artifactId>", text)
    if test_match:
        yield Statement("tests", "junit 5" if "jupiter" in test_match[1] else test_match[1])
    yield from _read_java_tools(text)


def read_composer(text: str) -> Iterator[Statement]:
    manifest = json.loads(text)
    yield from state_version("php", manifest.get("require", {}).get("php"))
    yield Statement("package manager", "composer", 0.9)
    packages = {name.rpartition("/")[2] for name in (*manifest.get("require-dev", {}), *manifest.get("require", {}))}
    yield from find_needed_tools(packages)


def read_gems(text: str) -> Iterator[Statement]:
    """Parse a Gemfile or gemspec."""
    match = re.search(r"""(?:required_ruby_version\s*=|^ruby)\s*["']([\d.<>=!~ ]+)["']""", text, re.MULTILINE)
    yield from state_version("ruby", match[1] if match else None)
    gems = re.findall(r"""(?:^\s*gem|dependency)[\s(]+["']([\w-]+)["']""", text, re.MULTILINE)
    yield from find_needed_tools({"rspec" if gem.startswith("rspec-") else gem for gem in gems})


def read_gemfile(text: str) -> Iterator[Statement]:
    yield Statement("package manager", "bundler", 0.9)
    yield from read_gems(text)


def read_terraform(text: str) -> Iterator[Statement]:
    match = re.search(r'^\s*required_version\s*=\s*"([^"]+)"', text, re.MULTILINE)
    yield from state_version("terraform", match[1] if match else None)
    providers = re.findall(
        r'^\s*([\w-]{1,40})\s*=\s*\{[^{}]*?\bversion\s*=\s*"([\d.<>=!~ ,]+)"[^{}]*\}', text, re.MULTILINE
    )
    if providers:
        yield Statement("providers", ", ".join(f"{name} {version}" for name, version in providers[:6]))
