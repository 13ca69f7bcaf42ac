"""Parsers of Makefiles and justfiles: targets with prerequisites and recipe lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from hunchd.domain.workflow import Step, Workflow
from hunchd.ingestion.workflows.shell_files import commands, step_of

MOST_NEEDED: Final = 12  # prerequisites per target
_RULE = re.compile(r"^([A-Za-z0-9_./%$(){} -]+?)\s*(::?)(?!=)\s*([^=#;]*?)(?:;\s*(.*?))?\s*(?:##?\s*(.*))?$")
_VARIABLE = re.compile(r"^\s*(?:export\s+|override\s+)?[\w.-]+\s*(?:::?|[?+!])?=")
_TARGET = re.compile(r"[A-Za-z][\w./-]*")
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)((?:\s+[^:=]*?)?)\s*:(?!=)\s*(.*?)\s*(?:#.*)?$")
_SAYS = re.compile(r"(?:echo|printf)\b(?![^\n]*[>|])|\$\((?:info|warning)\b|true$|:$")
_CONTROL = re.compile(r"(?:^|[;&|]\s*)(?:if|for|while|case)\s")
_SHEBANG = re.compile(r"#!")


@dataclass(slots=True)
class _Target:
    """Target or recipe of a build file."""

    name: str
    line: int
    needs: list[str]
    about: str = ""
    recipe: list[str] = field(default_factory=list)


def make(path: str, text: str) -> Iterator[Workflow]:
    """Yield the targets that a person calls.

    Files, patterns and special targets are skipped.
    """
    targets = _targets(text)
    patterns = [target.name.replace("%", "*") for target in targets]
    for target in targets:
        # A prerequisite without a rule is a source file, not a target to call.
        target.needs = [
            name for name in target.needs if "." not in name or any(fnmatchcase(name, one) for one in patterns)
        ]
        if _TARGET.fullmatch(target.name) and "." not in target.name:
            yield _workflow(target, "make", path)


def just(path: str, text: str) -> Iterator[Workflow]:
    """Yield the recipes of a justfile."""
    for target in _recipes(text):
        yield _workflow(target, "just", path)


def _workflow(target: _Target, program: str, path: str) -> Workflow:
    folder = path.rpartition("/")[0]
    where = f" -C {folder}" if folder and program == "make" else f" -f {path}" if folder else ""
    needed = [step_of(f"{program}{where} {name}") for name in target.needs[:MOST_NEEDED] if _TARGET.fullmatch(name)]
    # Output commands are no steps, unless there are no others.
    own = [step for line in target.recipe if not _SAYS.match(line) for step in _steps(line)]
    own = own or list(map(step_of, target.recipe[:4]))
    return Workflow(
        name=f"{program}{where} {target.name}",
        steps=(*needed, *own),
        origin="script",
        path=path,
        line=target.line,
        about=target.about[:160],
    )


def _steps(line: str) -> Sequence[Step]:
    """Return a recipe line as a step.

    For a loop or condition, the commands inside.
    """
    return commands(line.replace("$$", "$")) if _CONTROL.search(line) else (step_of(line),)


def _targets(text: str) -> list[_Target]:
    found: dict[str, _Target] = {}
    now: list[_Target] = []
    comment, defining = "", False
    for number, line in _joined(text):
        if defining or line.startswith("define "):
            defining = not line.startswith("endef")
            continue
        if line.startswith("\t"):
            command = _bare(line)
            if command and not command.startswith("#"):
                for target in now:
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
                now = []
            comment = ""
            continue
        names, _, needs, inline, about = rule.groups()
        now = []
        for name in names.split():
            target = found.setdefault(name, _Target(name, number, []))
            target.needs += [one for one in (needs or "").split() if one != "|" and one not in target.needs]
            target.about = target.about or about or comment
            if inline:
                target.recipe.append(inline)
            now.append(target)
        comment = ""
    return list(found.values())


def _recipes(text: str) -> list[_Target]:
    found: list[_Target] = []
    now: _Target | None = None
    comment = ""
    for number, line in _joined(text):
        if line[:1] in (" ", "\t"):
            command = _bare(line)
            if now is not None and command and not command.startswith("#") and not _SHEBANG.match(command):
                now.recipe.append(command)
            continue
        if line.startswith("#"):
            comment = line.lstrip("# ").strip()
            continue
        if line.startswith("["):
            continue
        recipe = _RECIPE.match(line)
        if recipe is None or line.startswith(("set ", "alias ", "export ", "import ", "mod ")):
            now = None if line.strip() else now
            comment = ""
            continue
        now = _Target(recipe[1], number, [one for one in recipe[3].split() if one != "&&"], comment)
        found.append(now)
        comment = ""
    return found


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line), joining lines that end in a backslash."""
    whole, began = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        began = began or number
        whole = f"{whole}\n{line}" if whole else line
        if line.endswith("\\"):
            continue
        yield began, whole
        whole, began = "", 0
    if whole:
        yield began, whole


def _bare(line: str) -> str:
    """Strip make's prefixes from a recipe line."""
    return "\n".join(part.strip() for part in line.strip().lstrip("@-+ ").splitlines())
