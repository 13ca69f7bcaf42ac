"""Parsers of scripts in manifests: package.json, pyproject.toml, tox, nox, cargo aliases."""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hunchd.domain.workflow import Step, Workflow
from hunchd.ingestion.workflows.shell_files import commands, step_of

_SESSION: Final = re.compile(r"(?:^|\.)session$")
_FACTORS: Final = re.compile(r"([\w!{},.-]+):\s+(\S.*)")
_RUNS: Final = frozenset({"run", "run_always", "install", "run_install"})


def package_json(path: str, text: str) -> Iterator[Workflow]:
    """Yield npm scripts with their pre and post scripts."""
    told = json.loads(text)
    scripts = {str(name): line for name, line in _table(told.get("scripts")).items() if isinstance(line, str)}
    program = str(told.get("packageManager", "")).partition("@")[0] or "npm"
    program = program if program in ("npm", "pnpm", "yarn", "bun") else "npm"
    for name, line in scripts.items():
        base = next((name.removeprefix(mark) for mark in ("pre", "post") if name.startswith(mark)), "")
        if base and base in scripts:
            continue
        before, behind = scripts.get(f"pre{name}", ""), scripts.get(f"post{name}", "")
        steps = [step for part in (before, line, behind) for step in commands(part)]
        yield _named(f"{program} run {name}", path, text, steps, f'"{name}"')


def deno(path: str, text: str) -> Iterator[Workflow]:
    for name, line in _table(json.loads(text).get("tasks")).items():
        told = line if isinstance(line, str) else _table(line).get("command")
        if isinstance(told, str):
            yield _named(f"deno task {name}", path, text, commands(told), f'"{name}"')


def composer(path: str, text: str) -> Iterator[Workflow]:
    for name, line in _table(json.loads(text).get("scripts")).items():
        lines = line if isinstance(line, list) else [line]
        steps = [step_of(one) for one in lines if isinstance(one, str)]
        yield _named(f"composer {name}", path, text, steps, f'"{name}"')


def pyproject(path: str, text: str) -> Iterator[Workflow]:
    """Yield the tasks of tox, hatch, pdm, poe, taskipy and pixi."""
    tool = _table(tomllib.loads(text).get("tool"))
    yield from _tox_tables(path, text, _table(tool.get("tox")))
    for environment, told in _table(_table(tool.get("hatch")).get("envs")).items():
        where = "" if environment == "default" else f"{environment}:"
        for name, lines in _table(_table(told).get("scripts")).items():
            yield _named(f"hatch run {where}{name}", path, text, _shell(lines), str(name))
    for key, program in (("pdm", "pdm run"), ("poe", "poe"), ("taskipy", "task"), ("pixi", "pixi run")):
        table = _table(tool.get(key))
        for name, told in _table(table.get("scripts" if key == "pdm" else "tasks")).items():
            yield _named(f"{program} {name}", path, text, _shell(told), str(name))
    if isinstance(legacy := _table(tool.get("tox")).get("legacy_tox_ini"), str):
        yield from tox(path, legacy)


def _tox_tables(path: str, text: str, told: Mapping[str, Any]) -> Iterator[Workflow]:
    for name, environment in {"": told.get("env_run_base"), **_table(told.get("env"))}.items():
        table = _table(environment)
        lines = [
            " ".join(map(_word, command)) if isinstance(command, list) else command
            for key in ("commands_pre", "commands", "commands_post")
            for command in _sequence(table.get(key))
        ]
        steps = [step_of(line) for line in lines if isinstance(line, str) and line]
        about = str(table.get("description") or "")
        yield _named(f"tox run -e {name}" if name else "tox run", path, text, steps, str(name or "env_run_base"), about)


def _word(part: Any) -> str:
    """Return a word of a tox command; substitutions become `{…}`."""
    if isinstance(part, str):
        return part
    return f"{{{part.get('replace', '…')}}}" if isinstance(part, dict) else str(part)


def tox(path: str, text: str) -> Iterator[Workflow]:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in parser.sections():
        if section != "testenv" and not section.startswith("testenv:"):
            continue
        lines = [
            line.strip().lstrip("-! ")
            for key in ("commands_pre", "commands", "commands_post")
            for line in (parser.get(section, key, fallback="") or "").replace("\\\n", " ").splitlines()
        ]
        name = section.partition(":")[2]
        steps = [_conditional(line) for line in lines if line]
        about = parser.get(section, "description", fallback="") or ""
        yield _named(f"tox -e {name}" if name else "tox", path, text, steps, f"[{section}]", about)


def _conditional(line: str) -> Step:
    """Parse a command that may be limited to some environments.

    For example `mypy: mypy src`.
    """
    found = _FACTORS.match(line)
    return step_of(found[2], f"if {found[1]}") if found else step_of(line)


def nox(path: str, text: str) -> Iterator[Workflow]:
    """Yield the sessions of a noxfile, as far as they are literal.

    It is parsed, not run.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, MemoryError) as error:
        raise ValueError(str(error)) from error
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not any(map(_is_session, node.decorator_list)):
            continue
        steps: list[Step] = []
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
        for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
            assert isinstance(call.func, ast.Attribute)
            words = [one.value if isinstance(one, ast.Constant) else ast.unparse(one) for one in call.args]
            if call.func.attr in _RUNS and words:
                head = "pip install " if "install" in call.func.attr else ""
                steps.append(step_of(head + " ".join(map(str, words))[:400]))
        about = (ast.get_docstring(node) or "").partition("\n")[0]
        if steps:
            yield Workflow(
                name=f"nox -s {_session_name(node)}", steps=tuple(steps), origin="script", path=path, line=node.lineno,
                about=about[:160],
            )  # fmt: skip


def _is_session(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _SESSION.search(ast.unparse(target)) is not None


def _session_name(node: ast.FunctionDef) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return node.name


def cargo_aliases(path: str, text: str) -> Iterator[Workflow]:
    for name, told in _table(tomllib.loads(text).get("alias")).items():
        line = " ".join(map(str, told)) if isinstance(told, list) else str(told)
        yield _named(f"cargo {name}", path, text, [step_of(f"cargo {line}")], str(name))


def _named(name: str, path: str, text: str, steps: Sequence[Step], written: str, about: str = "") -> Workflow:
    """Build the workflow of a script.

    One below the root is run in its folder.
    """
    folder = path.rpartition("/")[0]
    at = text.find(written)
    return Workflow(
        name=f"{name} (in {folder})" if folder else name,
        steps=tuple(steps),
        origin="script",
        path=path,
        line=text.count("\n", 0, at) + 1 if at >= 0 else 0,
        about=about[:160],
    )


def _shell(told: Any) -> list[Step]:
    """Return the steps of a task.

    It is a line, several lines, or a table with one.
    """
    match told:
        case str():
            return list(commands(told))
        case list():
            return [step for one in told for step in _shell(one)]
        case dict():
            inner = next(
                (told[key] for key in ("cmd", "shell", "script", "composite", "sequence", "call") if key in told), ""
            )
            return _shell(inner)
        case _:
            return []


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
