"""Parsers of Python manifests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

from hunchd.ingestion.manifests.tools import (
    Statement,
    formatted_by,
    ini_of,
    line_length,
    name_of,
    number_of,
    version_of,
)

# Settings of the hatchling and pdm-backend build backends; pip and uv build such projects as well.
_BACKEND: Final[Mapping[str, Set[str]]] = {
    "hatch": frozenset({"build", "metadata", "version"}),
    "pdm": frozenset({"build", "version"}),
}


def read_pyproject(text: str) -> Iterator[Statement]:
    told = tomllib.loads(text)
    project, tool = told.get("project", {}), told.get("tool", {})
    yield from version_of(
        "python", project.get("requires-python") or tool.get("poetry", {}).get("dependencies", {}).get("python")
    )
    yield from name_of("build backend", told.get("build-system", {}).get("build-backend", "").partition(".")[0])
    manager = next((name for name in ("uv", "poetry", "pdm", "hatch", "pixi") if _manages(name, tool)), None)
    yield from name_of("package manager", manager)
    if "pytest" in tool:
        yield Statement("tests", "pytest")
    if "ruff" in tool:
        yield from _ruff(tool["ruff"])
    if "black" in tool:
        yield from formatted_by("black", tool["black"].get("line-length"))
    elif "isort" in tool:
        yield Statement("format", "isort", 0.8)
    yield from _type_checker(tool)
    if "tox" in tool:
        yield from _tox_environments(tool["tox"].get("env_list") or tool["tox"].get("envlist") or ())
    groups = _dependency_names(told)
    for tests in (name for name in ("pytest", "nose2") if name in groups and "pytest" not in tool):
        yield Statement("tests", tests, 0.8)
    if "towncrier" in tool:
        yield Statement("changelog", "a fragment per change, built with towncrier")
    for name in ("commitizen", "semantic_release", "bumpversion"):
        if name in tool:
            yield Statement("release", name.replace("_", "-"), 0.9)


def _manages(name: str, tool: Mapping[str, Any]) -> bool:
    """Return True if the settings are those of a package manager.

    They must contain more than those of the build backend of the same name.
    """
    return bool(name in tool and (name not in _BACKEND or set(tool[name]) - _BACKEND[name]))


def _dependency_names(told: Mapping[str, Any]) -> frozenset[str]:
    groups = [told.get("project", {}).get("dependencies", ())]
    groups += list(told.get("project", {}).get("optional-dependencies", {}).values())
    groups += list(told.get("dependency-groups", {}).values())
    lines = [line for group in groups for line in group if isinstance(line, str)]
    return frozenset(re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in lines)


def _type_checker(tool: Mapping[str, Any]) -> Iterator[Statement]:
    found = [name for name in ("mypy", "pyright", "basedpyright", "pyrefly", "ty") if name in tool]
    strict = tool.get("mypy", {}).get("strict") is True or tool.get("pyright", {}).get("typeCheckingMode") == "strict"
    if found:
        yield Statement("types", ", ".join(found) + (" (strict)" if strict else ""))


def _ruff(told: Mapping[str, Any]) -> Iterator[Statement]:
    rules = told.get("lint", told).get("select") or told.get("lint", told).get("extend-select") or ()
    names = [rule for rule in rules if isinstance(rule, str) and re.fullmatch(r"[A-Z]{1,5}\d*|ALL", rule)]
    shown = f" ({', '.join(names[:12])}{', …' if len(names) > 12 else ''})" if names else ""
    yield Statement("lint", f"ruff{shown}")
    if "format" in told:
        quotes = told["format"].get("quote-style")
        yield Statement("format", "ruff format" + (f", {quotes} quotes" if quotes in ("single", "double") else ""))
    yield from line_length(told.get("line-length"))


def read_ruff_file(text: str) -> Iterator[Statement]:
    yield from _ruff(tomllib.loads(text))


def read_setup_cfg(text: str) -> Iterator[Statement]:
    told = ini_of(text)
    yield from version_of("python", told.get("options", "python_requires", fallback=None))
    if told.has_section("tool:pytest"):
        yield Statement("tests", "pytest")
    if told.has_section("flake8"):
        yield Statement("lint", "flake8")
        yield from line_length(number_of(told.get("flake8", "max-line-length", fallback="")))
    if told.has_section("mypy"):
        yield Statement(
            "types", "mypy" + (" (strict)" if told.get("mypy", "strict", fallback="").lower() == "true" else "")
        )


def read_setup_py(text: str) -> Iterator[Statement]:
    found = re.search(r"python_requires\s*=\s*[\"']([^\"']+)", text)
    yield from version_of("python", found[1] if found else None)


def read_tox(text: str) -> Iterator[Statement]:
    told = ini_of(text)
    if not told.has_section("tox"):
        return
    wanted = told.get("tox", "env_list", fallback="") or told.get("tox", "envlist", fallback="")
    yield from _tox_environments([line for line in re.split(r"[\s,]+(?![^{]*\})", wanted or "") if line])


def _tox_environments(names: Sequence[Any]) -> Iterator[Statement]:
    shown = [name for name in names if isinstance(name, str) and re.fullmatch(r"[\w.{},\[\]-]{1,40}", name)]
    yield Statement(
        "run everything", "tox" + (f" ({', '.join(shown[:8])}{', …' if len(shown) > 8 else ''})" if shown else "")
    )


def read_nox(text: str) -> Iterator[Statement]:
    sessions = re.findall(r"@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)", text)
    yield Statement("run everything", "nox" + (f" ({', '.join(sessions[:8])})" if sessions else ""))


def read_conda(text: str) -> Iterator[Statement]:
    if not re.search(r"^dependencies:", text, re.MULTILINE):
        return
    yield Statement("package manager", "conda", 0.9)
    found = re.search(r"^\s*-\s*python\s*([<>=!~][\d.*<>=!~, ]*?)\s*(?:#.*)?$", text, re.MULTILINE)
    yield from version_of("python", found[1].lstrip("=") if found else None)
