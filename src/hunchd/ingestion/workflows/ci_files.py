"""Parsers for CI files, and for YAML files that define hooks and tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from hunchd.domain.workflow import Workflow, WorkflowStep
from hunchd.ingestion.workflows import yaml_loader
from hunchd.ingestion.workflows.shell_files import make_step, split_commands

MAX_EVENTS: Final = 6
MAX_BRANCHES: Final = 4
_GITLAB_KEYS: Final = frozenset(
    {"stages", "variables", "default", "include", "image", "services", "before_script", "after_script", "cache",
     "workflow", "pages:deploy"}
)  # fmt: skip
_EVENTS: Final = {
    "pull_request_target": "pull request",
    "workflow_dispatch": "manually",
    "workflow_call": "called by another workflow",
    "schedule": "on a schedule",
}
_STAGES: Final = {
    "commit": "before a commit", "pre-commit": "before a commit", "push": "before a push",
    "pre-push": "before a push", "manual": "manually", "commit-msg": "commit message",
}  # fmt: skip


def read_github(path: str, text: str) -> Iterator[Workflow]:
    """Yield a workflow for each job in a GitHub Actions file.

    Steps that use an action are left out, since nobody can type them.
    """
    document = _as_mapping(yaml_loader.load_yaml(text))
    file, name = PurePosixPath(path), _as_text(document.get("name"))
    events = tuple(_describe_github_events(document.get("on", document.get(True))))
    jobs = _as_mapping(document.get("jobs"))
    for key, job in jobs.items():
        steps = [
            step for one in _as_list(_as_mapping(job).get("steps")) for step in _read_github_step(_as_mapping(one))
        ]
        title = _clean_name(_as_text(_as_mapping(job).get("name")))
        yield Workflow(
            name=f"CI {file.name}" if len(jobs) == 1 else f"CI {file.name} / {key}",
            steps=tuple(steps),
            origin="ci",
            events=events,
            path=path,
            line=_find_line(text, rf"^  [\"']?{re.escape(str(key))}[\"']?\s*:"),
            about=title or ((name or file.stem) if len(jobs) == 1 else ""),
        )


def _read_github_step(step: Mapping[str, Any]) -> Iterator[WorkflowStep]:
    """Yield the commands in one step of a job.

    The first command gets the name of the step.
    """
    name, run = _clean_name(_as_text(step.get("name"))), _as_text(step.get("run"))
    if not run:
        return
    if _as_text(step.get("shell")) in ("python", "pwsh", "powershell", "cmd", "node"):
        yield make_step(run.strip(), name)
        return
    for number, command in enumerate(split_commands(run)):
        yield WorkflowStep(command.command, name if number == 0 else "")


def _describe_github_events(on: Any) -> Iterator[str]:
    """Describe the events that start the jobs: `push to main`, `pull request`."""
    events = on if isinstance(on, dict) else dict.fromkeys(_as_words(on))
    for event, event_settings in list(events.items())[:MAX_EVENTS]:
        settings = _as_mapping(event_settings)
        branches, tags = (", ".join(_as_words(settings.get(key))[:MAX_BRANCHES]) for key in ("branches", "tags"))
        if event == "push" and (branches or tags):
            yield " and ".join(filter(None, (branches and f"push to {branches}", tags and f"tag {tags}")))
        else:
            yield _EVENTS.get(event, str(event).replace("_", " "))


def read_gitlab(path: str, text: str) -> Iterator[Workflow]:
    """Yield a workflow for each job in a GitLab CI file."""
    document = _as_mapping(yaml_loader.load_yaml(text))
    common = document.get("before_script") or _as_mapping(document.get("default")).get("before_script")
    for name, job in document.items():
        settings = _as_mapping(job)
        if not isinstance(name, str) or name.startswith(".") or name in _GITLAB_KEYS or not settings.get("script"):
            continue
        rules = [_as_text(_as_mapping(rule).get("if")) for rule in _as_list(settings.get("rules"))]
        rules += _as_words(settings.get("only"))
        stage = _as_text(settings.get("stage"))
        lines = [*_as_lines(settings.get("before_script", common)), *_as_lines(settings.get("script"))]
        yield Workflow(
            name=f"CI {name}",
            steps=tuple(step for line in lines for step in split_commands(line)),
            origin="ci",
            events=tuple(f"if {rule}" if "$" in rule else f"push to {rule}" for rule in rules if rule)[:MAX_EVENTS],
            path=path,
            line=_find_line(text, rf"^[\"']?{re.escape(name)}[\"']?\s*:"),
            about=f"stage {stage}" if stage else "",
        )


def read_pre_commit(path: str, text: str) -> Iterator[Workflow]:
    """Yield one workflow for each stage, with the pre-commit hooks in order."""
    document = _as_mapping(yaml_loader.load_yaml(text))
    default_stages = _as_words(document.get("default_stages")) or ["pre-commit"]
    by_stage: dict[str, list[WorkflowStep]] = {}
    for repository in map(_as_mapping, _as_list(document.get("repos"))):
        for hook in map(_as_mapping, _as_list(repository.get("hooks"))):
            name = _as_text(hook.get("id"))
            words = (_as_text(hook.get("entry")) or name, *_as_words(hook.get("args")))
            for stage in _as_words(hook.get("stages")) or default_stages if name else ():
                by_stage.setdefault(_STAGES.get(stage, stage), []).append(WorkflowStep(" ".join(words), name))
    for stage, steps in by_stage.items():
        yield Workflow(
            name="pre-commit hooks" if stage == "before a commit" else f"pre-commit hooks ({stage})",
            steps=tuple(steps),
            origin="hook",
            events=(stage,),
            path=path,
            line=1,
        )


def read_taskfile(path: str, text: str) -> Iterator[Workflow]:
    for name, task in _as_mapping(_as_mapping(yaml_loader.load_yaml(text)).get("tasks")).items():
        task_settings = _as_mapping(task) or {"cmds": task}
        yield Workflow(
            name=f"task {name}",
            steps=tuple(make_step(line) for line in _list_task_lines(task_settings)),
            origin="script",
            path=path,
            line=_find_line(text, rf"^  {re.escape(str(name))}\s*:"),
            about=_clean_name(_as_text(task_settings.get("desc"))),
        )


def _list_task_lines(task_settings: Mapping[Any, Any]) -> Iterator[str]:
    for one in _as_list(task_settings.get("deps")):
        yield f"task {_as_text(one) or _as_text(_as_mapping(one).get('task'))}"
    for one in _as_list(task_settings.get("cmds") or task_settings.get("cmd")):
        if line := _as_text(one) or _as_text(_as_mapping(one).get("cmd")):
            yield line
        elif task_name := _as_text(_as_mapping(one).get("task")):
            yield f"task {task_name}"


def _find_line(text: str, pattern: str) -> int:
    match = re.search(pattern, text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _clean_name(text: str) -> str:
    """Shorten a name to 100 characters, and replace CI expressions with `…`."""
    return " ".join(re.sub(r"\$\{\{.*?\}\}", "…", text).split())[:100]


def _as_mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _as_words(value: Any) -> list[str]:
    return [_as_text(one) for one in _as_list(value) if _as_text(one)]


def _as_lines(value: Any) -> list[str]:
    """Return the shell lines in a string, a list of strings, or nested lists."""
    if isinstance(value, list):
        return [line for one in value for line in _as_lines(one)]
    return [value] if isinstance(value, str) and value.strip() else []
