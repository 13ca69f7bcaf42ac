"""Parsers for Python manifests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from hunchd.ingestion.manifests.tools import (
    Statement,
    state_formatter,
    state_line_length,
    state_name,
    state_version,
)

# Settings of the hatchling and pdm-backend build backends; pip and uv build such projects as well.
_BACKEND_SETTINGS: Final[Mapping[str, Set[str]]] = {
    "hatch": frozenset({"build", "metadata", "version"}),
    "pdm": frozenset({"build", "version"}),
}


def read_pyproject(text: str) -> Iterator[Statement]:
    manifest = tomllib.loads(text)
    project, tool = manifest.get("project", {}), manifest.get("tool", {})
    yield from state_version(
        "python", project.get("requires-python") or tool.get("poetry", {}).get("dependencies", {}).get("python")
    )
    yield from state_name("build backend", manifest.get("build-system", {}).get("build-backend", "").partition(".")[0])
    manager = next((name for name in ("uv", "poetry", "pdm", "hatch", "pixi") if _is_package_manager(name, tool)), None)
    yield from state_name("package manager", manager)
    if "pytest" in tool:
        yield Statement("tests", "pytest")
    if "ruff" in tool:
        yield from _read_ruff(tool["ruff"])
    if "black" in tool:
        yield from state_formatter("black", tool["black"].get("line-length"))
    elif "isort" in tool:
        yield Statement("format", "isort", 0.8)
    yield from _read_type_checker(tool)
    if "tox" in tool:
        yield Statement("run everything", "tox")
    groups = _collect_dependency_names(manifest)
    for tests in (name for name in ("pytest", "nose2") if name in groups and "pytest" not in tool):
        yield Statement("tests", tests, 0.8)
    if "towncrier" in tool:
        yield Statement("changelog", "a fragment per change, built with towncrier")
    for name in ("commitizen", "semantic_release", "bumpversion"):
        if name in tool:
            yield Statement("release", name.replace("_", "-"), 0.9)


def _is_package_manager(name: str, tool: Mapping[str, Any]) -> bool:
    """Return True if a tool is configured as a package manager.

    Its settings must contain more than the settings for the build backend with the same name.
    """
    return bool(name in tool and (name not in _BACKEND_SETTINGS or set(tool[name]) - _BACKEND_SETTINGS[name]))


def _collect_dependency_names(manifest: Mapping[str, Any]) -> frozenset[str]:
    groups = [manifest.get("project", {}).get("dependencies", ())]
    groups += list(manifest.get("project", {}).get("optional-dependencies", {}).values())
    groups += list(manifest.get("dependency-groups", {}).values())
    lines = [line for group in groups for line in group if isinstance(line, str)]
    return frozenset(re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in lines)


def _read_type_checker(tool: Mapping[str, Any]) -> Iterator[Statement]:
    checkers = [name for name in ("mypy", "pyright", "basedpyright", "pyrefly", "ty") if name in tool]
    strict = tool.get("mypy", {}).get("strict") is True or tool.get("pyright", {}).get("typeCheckingMode") == "strict"
    if checkers:
        yield Statement("types", ", ".join(checkers) + (" (strict)" if strict else ""))


MAX_RULES: Final = 4  # rule groups that are listed; a longer list tells a reader nothing


def _read_ruff(settings: Mapping[str, Any]) -> Iterator[Statement]:
    rules = settings.get("lint", settings).get("select") or settings.get("lint", settings).get("extend-select") or ()
    names = [rule for rule in rules if isinstance(rule, str) and re.fullmatch(r"[A-Z]{1,5}\d*|ALL", rule)]
    rule_list = f" ({', '.join(names)})" if 0 < len(names) <= MAX_RULES else ""
    yield Statement("lint", f"ruff{rule_list}")
    if "format" in settings:
        quotes = settings["format"].get("quote-style")
        yield Statement("format", "ruff format" + (f", {quotes} quotes" if quotes in ("single", "double") else ""))
    yield from state_line_length(settings.get("line-length"))


def read_ruff_file(text: str) -> Iterator[Statement]:
    yield from _read_ruff(tomllib.loads(text))
