"""Parsers for Makefiles and justfiles: their targets, with prerequisites and recipe lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from hunchd.domain.workflow import Workflow, WorkflowStep
from hunchd.ingestion.workflows.shell_files import make_step, split_commands

MAX_PREREQUISITES: Final = 12  # prerequisites per target
_RULE = re.compile(r"^([A-Za-z0-9_./%$(){} -]+?)\s*(::?)(?!=)\s*([^=#;]*?)(?:;\s*(.*?))?\s*(?:##?\s*(.*))?$")
_VARIABLE = re.compile(r"^\s*(?:export\s+|override\s+)?[\w.-]+\s*(?:::?|[?+!])?=")
_TARGET = re.compile(r"[A-Za-z][\w./-]*")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)((?:\s+[^:=]*?)?)\s*:(?!=)\s*(.*?)\s*(?:#.*)?$")
_OUTPUT_ONLY = re.compile(r"(?:echo|printf)\b(?![^\n]*[>|])|\$\((?:info|warning)\b|true$|:$")
_CONTROL = re.compile(r"(?:^|[;&|]\s*)(?:if|for|while|case)\s")
_SHEBANG = re.compile(r"#!")


@dataclass(slots=True)
class _Target:
    """Target in a Makefile, or recipe in a justfile."""

    name: str
    line: int
    prerequisites: list[str]
    description: str = ""
    recipe: list[str] = field(default_factory=list)


def read_makefile(path: str, text: str) -> Iterator[Workflow]:
    """Yield a workflow for each target that a person would call.

    Targets that are files or patterns, and special targets, are skipped.
    """
    targets = _read_targets(text)
    patterns = [target.name.replace("%", "*") for target in targets]
    for target in targets:
        # A prerequisite without a rule is a source file, not a target to call.
        target.prerequisites = [
            name for name in target.prerequisites if "." not in name or any(fnmatchcase(name, one) for one in patterns)
        ]
        if _TARGET.fullmatch(target.name) and "." not in target.name:
            yield _build_workflow(target, "make", path)


def read_justfile(path: str, text: str) -> Iterator[Workflow]:
    """Yield a workflow for each recipe in a justfile."""
    for target in _read_recipes(text):
        yield _build_workflow(target, "just", path)


def _build_workflow(target: _Target, program: str, path: str) -> Workflow:
    folder = path.rpartition("/")[0]
    folder_option = f" -C {folder}" if folder and program == "make" else f" -f {path}" if folder else ""
    prerequisite_steps = [
        make_step(f"{program}{folder_option} {name}")
        for name in target.prerequisites[:MAX_PREREQUISITES]
        if _TARGET.fullmatch(name)
    ]
    # Commands that only print do not count as steps, unless there are no others.
    recipe_steps = [step for line in target.recipe if not _OUTPUT_ONLY.match(line) for step in _split_steps(line)]
    recipe_steps = recipe_steps or list(map(make_step, target.recipe[:4]))
    return Workflow(
        name=f"{program}{folder_option} {target.name}",
        steps=(*prerequisite_steps, *recipe_steps),
        origin="script",
        path=path,
        line=target.line,
        about=target.description[:160],
    )


def _split_steps(line: str) -> Sequence[WorkflowStep]:
    """Return the steps in a recipe line.

    A loop or condition is split into the commands inside it; any other line is one step.
    """
    return split_commands(line.replace("$$", "$")) if _CONTROL.search(line) else (make_step(line),)


def _read_targets(text: str) -> list[_Target]:
    target_by_name: dict[str, _Target] = {}
    current_targets: list[_Target] = []
    comment, defining = "", False
    for number, line in _join_lines(text):
        if defining or line.startswith("define "):
            defining = not line.startswith("endef")
            continue
        if line.startswith("\t"):
            command = _strip_recipe_marks(line)
            if command and not command.startswith("#"):
                for target in current_targets:
                    target.recipe.append(command)
            continue
        if line.startswith("#"):
            comment = line.lstrip("# ").strip()
            continue
        if not line.strip():
            comment = ""
            continue
        rule = None if _VARIABLE.match(line) else _RULE.match(line)
        if rule is None:
            if not line.lstrip().startswith(("if", "else", "endif", "include", "-include", "export")):
                current_targets = []
            comment = ""
            continue
        names, _, prerequisites, inline, description = rule.groups()
        current_targets = []
        for name in names.split():
            target = target_by_name.setdefault(name, _Target(name, number, []))
            target.prerequisites += [
                one for one in (prerequisites or "").split() if one != "|" and one not in target.prerequisites
            ]
            target.description = target.description or description or comment
            if inline:
                target.recipe.append(inline)
            current_targets.append(target)
        comment = ""
    return list(target_by_name.values())


def _read_recipes(text: str) -> list[_Target]:
    recipes: list[_Target] = []
    current: _Target | None = None
    comment = ""
    for number, line in _join_lines(text):
        if line[:1] in (" ", "\t"):
            command = _strip_recipe_marks(line)
            if current is not None and command and not command.startswith("#") and not _SHEBANG.match(command):
                current.recipe.append(command)
            continue
        if line.startswith("#"):
            comment = line.lstrip("# ").strip()
            continue
        if line.startswith("["):
            continue
        recipe = _RECIPE.match(line)
        if recipe is None or line.startswith(("set ", "alias ", "export ", "import ", "mod ")):
            current = None if line.strip() else current
            comment = ""
            continue
        current = _Target(recipe[1], number, [one for one in recipe[3].split() if one != "&&"], comment)
        recipes.append(current)
        comment = ""
    return recipes


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line), joining lines that end in a backslash with the next.

    The number is that of the first of the joined lines.
    """
    joined_line, first_number = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        first_number = first_number or number
        joined_line = f"{joined_line}\n{line}" if joined_line else line
        if line.endswith("\\"):
            continue
        yield first_number, joined_line
        joined_line, first_number = "", 0
    if joined_line:
        yield first_number, joined_line


def _strip_recipe_marks(line: str) -> str:
    """Strip make's prefixes (`@`, `-`, `+`) from a recipe line."""
    return "\n".join(part.strip() for part in line.strip().lstrip("@-+ ").splitlines())
