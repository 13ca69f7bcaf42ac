"""Classification of workflows by their names and the programs that they run."""

from __future__ import annotations

import re
from typing import Final

from hunchd.domain.workflow import Workflow

# The first match counts, because a release, for example, also builds and tests.
_NAME_PATTERNS: Final = (
    ("release", r"releas|publish|deploy|dist(?:ribut\w*)?\b|ship\b|upload"),
    ("hook", r"pre-?commit|pre-?push|commit-?msg"),
    ("format", r"format|\bfmt\b|prettier|autofix"),
    ("types", r"typecheck|check-types|type-check|\btypes?\b|typing|mypy|pyright"),
    ("lint", r"lint|style|clippy|spell|zizmor|static-analysis"),
    ("coverage", r"cov(?:erage)?\b"),
    ("bench", r"bench"),
    ("docs", r"\bdocs?\b|documentation|sphinx|mkdocs"),
    ("test", r"tests?\b|\bunit\b|integration|e2e|\bspec\b|smoke|fuzz|miri|loom"),
    ("check", r"\bchecks?\b|\bci\b|verify|validate|audit|^all$"),
    ("clean", r"clean|prune|purge"),
    ("setup", r"setup|bootstrap|install|\binit\b|\bdeps\b|env\b"),
    ("build", r"build|compile|bundle|package|assemble"),
    ("run", r"\brun\b|\bdev\b|start|serve|watch|\bup\b|preview"),
)
_PROGRAM_PATTERNS: Final = (
    ("release", r"twine upload|npm publish|cargo publish|goreleaser|gh release|uv publish|pypi-publish|poetry publish"),
    (
        "test",
        r"\bpytest\b|cargo (?:nex)?test|go test|\bvitest\b|\bjest\b|npm test|\btox\b|mvn .*(?:verify|test)|unittest",
    ),
    ("types", r"\bmypy\b|\bpyright\b|\btsc\b|ty check"),
    ("lint", r"\bruff\b|flake8|eslint|clippy|golangci-lint|pylint|pre-commit run|shellcheck"),
    ("format", r"\bblack\b|prettier|cargo fmt|gofmt|rustfmt"),
    ("docs", r"sphinx-build|mkdocs|cargo doc|typedoc|vitepress"),
    (
        "build",
        r"cargo build|go build|npm run build|python -m build|\bwebpack\b|vite build|rollup|mvn .*package|docker build",
    ),
)
_PURPOSE_BY_NAME: Final = [(purpose, re.compile(pattern, re.IGNORECASE)) for purpose, pattern in _NAME_PATTERNS]
_PURPOSE_BY_PROGRAM: Final = [(purpose, re.compile(pattern)) for purpose, pattern in _PROGRAM_PATTERNS]


# Removed from names: the runner says nothing about the purpose, and a job's name says more than its file.
_RUNNER: Final = re.compile(
    r"^(?:\./\S+(?= \S)|(?:npm|pnpm|yarn|bun|hatch|pdm|pixi|poe|tox|make|just|task|nox|cargo|composer|deno)\b"
    r"(?: run| task)?(?: -[Cf] \S+)?(?: -[es])?|CI \S+ /|CI)\s*"
)


def classify_purpose(workflow: Workflow) -> str:
    """Return the purpose of a workflow, such as test, lint, build or release.

    Returns "" if the purpose is unknown.
    """
    name = re.sub(r" \(in .*\)$", "", _RUNNER.sub("", workflow.name)).replace("_", "-")
    for purpose, pattern in _PURPOSE_BY_NAME:
        if pattern.search(name):
            return purpose
    commands = "\n".join(step.command or step.name for step in workflow.steps)
    purpose = next((purpose for purpose, pattern in _PURPOSE_BY_PROGRAM if pattern.search(commands)), "")
    if purpose or workflow.origin != "ci":
        return purpose
    return next((purpose for purpose, pattern in _PURPOSE_BY_NAME if pattern.search(workflow.path)), "")
