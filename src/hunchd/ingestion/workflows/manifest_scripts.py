"""Parsers for scripts in manifests: package.json, pyproject.toml, tox, nox and cargo aliases."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hunchd.domain.workflow import Workflow, WorkflowStep
from hunchd.ingestion.workflows.shell_files import make_step, split_commands

# A function that defines a nox session. Groups: arguments of the decorator, name, first line of the docstring.
_SESSION: Final = re.compile(
    r"^@(?:nox\.)?session\b(\([^)]*\))?\n(?:@[^\n]*\n)*def (\w+)\([^)]*\)[^:\n]*:(?:\s*\"{3}([^\n\"]*))?", re.MULTILINE
)
_SESSION_NAME: Final = re.compile(r"\bname=[\"']([^\"']+)")
_FACTORS: Final = re.compile(r"([\w!{},.-]+):\s+(\S.*)")


def read_package_json(path: str, text: str) -> Iterator[Workflow]:
    """Yield a workflow for each npm script, which includes its pre and post scripts."""
    manifest = json.loads(text)
    scripts = {str(name): line for name, line in _as_table(manifest.get("scripts")).items() if isinstance(line, str)}
    program = str(manifest.get("packageManager", "")).partition("@")[0] or "npm"
    program = program if program in ("npm", "pnpm", "yarn", "bun") else "npm"
    for name, line in scripts.items():
        base = next((name.removeprefix(mark) for mark in ("pre", "post") if name.startswith(mark)), "")
        if base and base in scripts:
            continue
        pre_script, post_script = scripts.get(f"pre{name}", ""), scripts.get(f"post{name}", "")
        steps = [step for part in (pre_script, line, post_script) for step in split_commands(part)]
        yield _build_workflow(f"{program} run {name}", path, text, steps, f'"{name}"')


def read_composer(path: str, text: str) -> Iterator[Workflow]:
    for name, line in _as_table(json.loads(text).get("scripts")).items():
        lines = line if isinstance(line, list) else [line]
        steps = [make_step(one) for one in lines if isinstance(one, str)]
        yield _build_workflow(f"composer {name}", path, text, steps, f'"{name}"')


def read_pyproject(path: str, text: str) -> Iterator[Workflow]:
    """Yield the tasks that pyproject.toml defines for tox, hatch, pdm, poe, taskipy and pixi."""
    tool = _as_table(tomllib.loads(text).get("tool"))
    yield from _read_tox_tables(path, text, _as_table(tool.get("tox")))
    for environment, definition in _as_table(_as_table(tool.get("hatch")).get("envs")).items():
        environment_prefix = "" if environment == "default" else f"{environment}:"
        for name, lines in _as_table(_as_table(definition).get("scripts")).items():
            yield _build_workflow(f"hatch run {environment_prefix}{name}", path, text, _read_shell(lines), str(name))
    for key, program in (("pdm", "pdm run"), ("poe", "poe"), ("taskipy", "task"), ("pixi", "pixi run")):
        table = _as_table(tool.get(key))
        for name, definition in _as_table(table.get("scripts" if key == "pdm" else "tasks")).items():
            yield _build_workflow(f"{program} {name}", path, text, _read_shell(definition), str(name))
    if isinstance(legacy := _as_table(tool.get("tox")).get("legacy_tox_ini"), str):
        yield from read_tox(path, legacy)


def _read_tox_tables(path: str, text: str, tox_settings: Mapping[str, Any]) -> Iterator[Workflow]:
    for name, environment in {"": tox_settings.get("env_run_base"), **_as_table(tox_settings.get("env"))}.items():
        table = _as_table(environment)
        lines = [
            " ".join(map(_format_word, command)) if isinstance(command, list) else command
            for key in ("commands_pre", "commands", "commands_post")
            for command in _as_sequence(table.get(key))
        ]
        steps = [make_step(line) for line in lines if isinstance(line, str) and line]
        about = str(table.get("description") or "")
        yield _build_workflow(
            f"tox run -e {name}" if name else "tox run", path, text, steps, str(name or "env_run_base"), about
        )


def _format_word(part: Any) -> str:
    """Return a word in a tox command, with substitutions replaced by `{…}`."""
    if isinstance(part, str):
        return part
    return f"{{{part.get('replace', '…')}}}" if isinstance(part, dict) else str(part)


def read_tox(path: str, text: str) -> Iterator[Workflow]:
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
        steps = [_read_conditional(line) for line in lines if line]
        about = parser.get(section, "description", fallback="") or ""
        yield _build_workflow(f"tox -e {name}" if name else "tox", path, text, steps, f"[{section}]", about)


def _read_conditional(line: str) -> WorkflowStep:
    """Parse a tox command that may be limited to some environments.

    For example, `mypy: mypy src` runs only in the environment mypy.
    """
    match = _FACTORS.match(line)
    return make_step(match[2], f"if {match[1]}") if match else make_step(line)


def read_nox(path: str, text: str) -> Iterator[Workflow]:
    """Yield the sessions that a noxfile defines; the file is not executed."""
    for session in _SESSION.finditer(text):
        given_name = _SESSION_NAME.search(session[1] or "")
        command = f"nox -s {given_name[1] if given_name else session[2]}"
        about = (session[3] or "").strip()
        yield _build_workflow(command, path, text, [WorkflowStep(command)], session[0], about)


def read_cargo_aliases(path: str, text: str) -> Iterator[Workflow]:
    for name, words in _as_table(tomllib.loads(text).get("alias")).items():
        line = " ".join(map(str, words)) if isinstance(words, list) else str(words)
        yield _build_workflow(f"cargo {name}", path, text, [make_step(f"cargo {line}")], str(name))


def _build_workflow(
    name: str, path: str, text: str, steps: Sequence[WorkflowStep], search_text: str, about: str = ""
) -> Workflow:
    """Build the workflow for a script.

    A script in a manifest below the root runs in the manifest's folder, so the name of the workflow mentions that
    folder. `search_text` is the text with which the script's definition begins; its position determines the line
    number.
    """
    folder = path.rpartition("/")[0]
    at = text.find(search_text)
    return Workflow(
        name=f"{name} (in {folder})" if folder else name,
        steps=tuple(steps),
        origin="script",
        path=path,
        line=text.count("\n", 0, at) + 1 if at >= 0 else 0,
        about=about[:160],
    )


def _read_shell(task: Any) -> list[WorkflowStep]:
    """Return the steps of a task.

    The value of the task is one line, a list of lines, or a table that contains either.
    """
    match task:
        case str():
            return list(split_commands(task))
        case list():
            return [step for one in task for step in _read_shell(one)]
        case dict():
            inner = next(
                (task[key] for key in ("cmd", "shell", "script", "composite", "sequence", "call") if key in task), ""
            )
            return _read_shell(inner)
        case _:
            return []


def _as_table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
