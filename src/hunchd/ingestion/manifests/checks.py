"""Parsers for git hooks, CI workflows, build targets and editor settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from hunchd.ingestion.manifests.tools import (
    CI_PREFIX,
    FORMATTERS,
    LINTERS,
    MAX_VERSIONS,
    TYPE_CHECKERS,
    Statement,
    parse_ini,
    parse_number,
    state_line_length,
    version_sort_key,
)

MAX_EXCEPTIONS: Final = 3  # kinds of files with another indentation

# Versions in a build matrix, all on one line or one on each.
_LIST = r"[ \t]*(\[[^\]]+\]|(?:\n[ \t]*-[ \t]*[\"']?[\w.-]+[\"']?[ \t]*(?:#.*)?(?=\n|$))+)"
_MATRIX_VERSION = re.compile(r"(?<![\w.-])\d[\w.]*")
_UNRELEASED = re.compile(r"\bunreleased\b|^(?:#+\s*)?\[?(?:master|main|next|head|tbd)\]?(?=\s|$)", re.IGNORECASE)
_BEGINNINGS = ("tag", "publish a GitHub release", "build", "container image")  # steps that do not publish a release
_RELEASE_STEPS = (
    ("tag", r"^\s+tags:"),
    ("publish a GitHub release", r"^\s+release:\s*\n\s+types:"),
    ("release please", r"release-please"),
    ("semantic-release", r"semantic-release"),
    (
        "build",
        r"\b(?:python3? -m build|(?:uv|poetry|hatch|cargo|(?:npm|pnpm|bun|yarn)(?: run)?) build|goreleaser)",
    ),
    ("publish to PyPI", r"gh-action-pypi-publish|twine upload|(?:uv|poetry|hatch|flit|pdm) publish"),
    ("publish to npm", r"\b(?:npm|pnpm|yarn|bun|lerna|changeset) publish"),
    ("publish to crates.io", r"cargo publish|release-plz"),
    ("publish to RubyGems", r"release-gem|gem push"),
    ("publish to Hex", r"hex\.publish"),
    ("publish to NuGet", r"nuget push"),
    ("publish to pub.dev", r"\bpub publish"),
    ("publish to Maven", r"gradlew publish"),
    ("GitHub release", r"action-gh-release|gh release create|create-release|release-action|goreleaser"),
    ("container image", r"docker/build-push-action|docker push"),
)


def read_editorconfig(text: str) -> Iterator[Statement]:
    config = parse_ini("[__top__]\n" + text)
    general = dict(config.items("*")) if config.has_section("*") else {}
    indent = _describe_indent(general)
    exceptions = [
        f"{other} in {section}"
        for section in config.sections()
        if (other := _describe_indent(general | dict(config.items(section)))) != indent and section != "__top__"
    ]
    if indent:
        yield Statement("indent", "; ".join((indent, *exceptions[:MAX_EXCEPTIONS])))
    yield from state_line_length(parse_number(general.get("max_line_length") or ""))


def _describe_indent(values: Mapping[str, str]) -> str:
    size = values.get("indent_size") or ""
    return "tabs" if values.get("indent_style") == "tab" else f"{size} spaces" if size.isdigit() else ""


def read_pre_commit(text: str) -> Iterator[Statement]:
    hooks = list(dict.fromkeys(re.findall(r"^\s*-?\s*id:\s*[\"']?([\w.-]{1,40})[\"']?\s*$", text, re.MULTILINE)))
    if not hooks:
        return
    hook_list = ", ".join(hooks[:10]) + (f" and {len(hooks) - 10} more" if len(hooks) > 10 else "")
    yield Statement("before a commit", f"pre-commit: {hook_list}")
    for key, names in (("lint", LINTERS), ("format", FORMATTERS), ("types", TYPE_CHECKERS)):
        tools = [name for name in names if name in hooks or (key == "format" and f"{name}-format" in hooks)]
        if tools:
            yield Statement(key, ", ".join(tools[:4]), 0.7)


def read_workflow(text: str) -> Iterator[Statement]:
    """Yield the versions and operating systems that a CI workflow uses."""
    for language in ("python", "node", "go", "java", "ruby", "php"):
        match = re.search(rf"^\s*{language}(?:-version)?s?:{_LIST}", text, re.MULTILINE)
        versions = list(dict.fromkeys(_MATRIX_VERSION.findall(re.sub(r"#.*", "", match[1])))) if match else []
        if language == "go" and not any("." in version for version in versions):
            versions = [f"1.{version}" for version in versions]
        if versions:
            newest = set(sorted(versions, key=version_sort_key)[-MAX_VERSIONS:])
            yield Statement(
                f"{CI_PREFIX}{language}", ", ".join(version for version in versions if version in newest), 0.9
            )
    systems = [name for name in ("ubuntu", "macos", "windows") if f"{name}-" in text]
    if systems:
        yield Statement(f"{CI_PREFIX}systems", ", ".join(systems), 0.9)


def read_workflow_file(text: str) -> Iterator[Statement]:
    """Yield a publishing workflow's release steps, or any other workflow's checks."""
    steps = [step for step, pattern in _RELEASE_STEPS if re.search(pattern, text, re.MULTILINE)]
    if set(steps) <= set(_BEGINNINGS):
        yield from read_workflow(text)
    else:
        yield Statement("release", " → ".join(steps), 0.8)


def read_changelog(text: str) -> Iterator[Statement]:
    """Yield a statement about where new entries go in a changelog.

    Yields nothing unless one of the first 40 lines is the heading of a section for unreleased changes.
    """
    for line in text.splitlines()[:40]:
        if match := _UNRELEASED.search(line):
            yield Statement("changelog", f'new entries go below "{match[0]}"', 0.9)
            return
