"""Parsers of CI files, which yield one workflow for each job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from hunchd.domain.workflow import Trigger, Workflow, WorkflowStep
from hunchd.ingestion.workflows import yaml_loader
from hunchd.ingestion.workflows.shell_files import is_only_bookkeeping, make_step, split_commands

MAX_EVENTS: Final = 6
MAX_BRANCHES: Final = 4
_SETUP = re.compile(r"actions/(?:checkout|setup-|cache)|/setup-|^codecov/|step-security/")
_RESERVED_KEYS: Final = frozenset(
    {"stages", "variables", "default", "include", "image", "services", "before_script", "after_script", "cache",
     "workflow", "pages:deploy"}
)  # fmt: skip


def read_github(path: str, text: str) -> Iterator[Workflow]:
    """Yield the jobs of a GitHub Actions file, sorted by dependency.

    Each job follows the jobs that it needs.
    """
    document = _as_mapping(yaml_loader.load_yaml(text))
    file = _as_text(document.get("name")) or PurePosixPath(path).stem
    triggers = tuple(
        Trigger("event", words) for words in _describe_github_events(document.get("on", document.get(True)))
    )
    jobs = _as_mapping(document.get("jobs"))
    for name in _sort_by_dependency(jobs, "needs"):
        job = _as_mapping(jobs[name])
        steps = [step for one in _as_list(job.get("steps")) for step in _read_github_steps(_as_mapping(one))]
        if _as_text(job.get("uses")):
            steps.append(WorkflowStep(f"uses {_as_text(job['uses'])}", "", _as_text(job["uses"])))
        if steps:
            yield Workflow(
                name=f"CI {PurePosixPath(path).name}" if len(jobs) == 1 else f"CI {PurePosixPath(path).name} / {name}",
                steps=tuple(steps),
                origin="ci",
                triggers=triggers,
                path=path,
                line=_find_line(text, rf"^  [\"']?{re.escape(name)}[\"']?\s*:"),
                about=_clean_name(_as_text(job.get("name"))) or (file if len(jobs) == 1 else ""),
            )


def _read_github_steps(step: Mapping[str, Any]) -> Iterator[WorkflowStep]:
    """Yield the commands of one GitHub Actions step.

    A step that uses an action is yielded under the action's name, unless the action only sets up the environment.
    """
    name, run, uses = _clean_name(_as_text(step.get("name"))), _as_text(step.get("run")), _as_text(step.get("uses"))
    if run:
        if _as_text(step.get("shell")) in ("python", "pwsh", "powershell", "cmd", "node"):
            yield make_step(run.strip(), name)
            return
        run_steps = split_commands(run)
        if name and is_only_bookkeeping(run_steps):
            yield WorkflowStep(name, "", name)
            return
        for number, step_found in enumerate(run_steps):
            yield WorkflowStep(step_found.template, step_found.command, name if number == 0 else "")
    elif uses and not _SETUP.search(uses):
        yield WorkflowStep(f"uses {uses.partition('@')[0]}", "", name or uses.partition("@")[0])


def _describe_github_events(on: Any) -> list[str]:
    """Describe the triggers: `push of main`, `pull request`."""
    if isinstance(on, str):
        return [_describe_event(on)]
    if isinstance(on, list):
        return [_describe_event(_as_text(one)) for one in on[:MAX_EVENTS] if _as_text(one)]
    descriptions = []
    for name, event_settings in list(_as_mapping(on).items())[:MAX_EVENTS]:
        settings = _as_mapping(event_settings)
        branches, tags, paths = (
            ", ".join(map(_as_text, _as_list(settings.get(key))[:MAX_BRANCHES]))
            for key in ("branches", "tags", "paths")
        )
        words = _describe_event(str(name))
        if name == "push" and (branches or tags):
            words = " and ".join(
                one for one in (f"push of {branches}" if branches else "", f"tag {tags}" if tags else "") if one
            )
        descriptions.append(f"{words} touching {paths}" if paths else words)
    return descriptions


def _describe_event(name: str) -> str:
    return {
        "pull_request": "pull request",
        "pull_request_target": "pull request",
        "workflow_dispatch": "by hand",
        "workflow_call": "called by others",
        "schedule": "by the clock",
        "release": "release",
    }.get(name, name.replace("_", " "))


def read_gitlab(path: str, text: str) -> Iterator[Workflow]:
    """Yield the jobs of a GitLab CI file, ordered by stage."""
    document = _as_mapping(yaml_loader.load_yaml(text))
    stages = [_as_text(one) for one in _as_list(document.get("stages"))] or ["build", "test", "deploy"]
    common = _as_lines(document.get("before_script") or _as_mapping(document.get("default")).get("before_script"))
    jobs = {
        name: _as_mapping(job)
        for name, job in document.items()
        if isinstance(name, str)
        and not name.startswith(".")
        and name not in _RESERVED_KEYS
        and _as_mapping(job).get("script")
    }
    order = {name: _stage_index(job, stages) for name, job in jobs.items()}
    for name in sorted(jobs, key=lambda name: order[name]):
        job = jobs[name]
        before = _as_lines(job["before_script"]) if "before_script" in job else common
        rules = [_as_text(_as_mapping(rule).get("if")) for rule in _as_list(job.get("rules"))] + _as_words(
            job.get("only")
        )
        yield _build_job(
            f"CI {name}", path, text, name, [*before, *_as_lines(job.get("script"))],
            [f"if {rule}" if "$" in rule else f"push of {rule}" for rule in rules if rule][:MAX_EVENTS],
            _as_text(job.get("stage")) and f"stage {_as_text(job.get('stage'))}",
        )  # fmt: skip


def _stage_index(job: Mapping[str, Any], stages: Sequence[str]) -> int:
    stage = _as_text(job.get("stage")) or "test"
    return stages.index(stage) if stage in stages else len(stages)


def read_travis(path: str, text: str) -> Iterator[Workflow]:
    document = _as_mapping(yaml_loader.load_yaml(text))
    lines = [line for key in ("before_install", "install", "before_script", "script", "after_success", "deploy")
             for line in _as_lines(document.get(key))]  # fmt: skip
    yield _build_job("CI travis", path, text, "script", lines, ["push"], "")


def read_circle(path: str, text: str) -> Iterator[Workflow]:
    jobs = _as_mapping(_as_mapping(yaml_loader.load_yaml(text)).get("jobs"))
    for name, job in jobs.items():
        steps: list[WorkflowStep] = []
        for one in _as_list(_as_mapping(job).get("steps")):
            run = _as_mapping(one).get("run")
            command_text = _as_text(run) or _as_text(_as_mapping(run).get("command"))
            label = _clean_name(_as_text(_as_mapping(run).get("name")))
            steps += [WorkflowStep(step.template, step.command, label) for step in split_commands(command_text)]
        if steps:
            yield Workflow(
                name=f"CI {name}", steps=tuple(steps), origin="ci", path=path,
                line=_find_line(text, rf"^  {re.escape(str(name))}\s*:"),
            )  # fmt: skip


def read_azure(path: str, text: str) -> Iterator[Workflow]:
    document = _as_mapping(yaml_loader.load_yaml(text))
    jobs = [document, *(_as_mapping(job) for job in _as_list(document.get("jobs")))]
    jobs += [
        _as_mapping(job)
        for stage in _as_list(document.get("stages"))
        for job in _as_list(_as_mapping(stage).get("jobs"))
    ]
    for job in jobs:
        lines = [
            line
            for step in map(_as_mapping, _as_list(job.get("steps")))
            for line in _as_lines(step.get("script") or step.get("bash"))
        ]
        name = _as_text(job.get("job")) or _as_text(job.get("displayName")) or "azure"
        yield _build_job(f"CI {name}", path, text, name, lines, [], "")


def read_pre_commit(path: str, text: str) -> Iterator[Workflow]:
    """Yield the hooks in order, as one workflow for each stage."""
    document = _as_mapping(yaml_loader.load_yaml(text))
    default_stages = _as_words(document.get("default_stages")) or ["pre-commit"]
    by_stage: dict[str, list[WorkflowStep]] = {}
    for repository in map(_as_mapping, _as_list(document.get("repos"))):
        for hook in map(_as_mapping, _as_list(repository.get("hooks"))):
            name = _as_text(hook.get("id"))
            entry = _as_text(hook.get("entry"))
            arguments = " ".join(map(_as_text, _as_list(hook.get("args"))))
            if not name:
                continue
            command = " ".join(part for part in (entry or name, arguments) if part)
            for stage in _as_words(hook.get("stages")) or default_stages:
                step = WorkflowStep(f"pre-commit run {name}", command, name)
                by_stage.setdefault(stage.replace("commit-msg", "commit message"), []).append(step)
    for stage, steps in by_stage.items():
        when = {"commit": "before a commit", "pre-commit": "before a commit", "push": "before a push",
                "pre-push": "before a push", "manual": "by hand"}.get(stage, stage)  # fmt: skip
        yield Workflow(
            name="pre-commit hooks" if when == "before a commit" else f"pre-commit hooks ({when})",
            steps=tuple(steps),
            origin="hook",
            triggers=(Trigger("event", when),),
            path=path,
            line=1,
        )


def read_lefthook(path: str, text: str) -> Iterator[Workflow]:
    for name, hook in _as_mapping(yaml_loader.load_yaml(text)).items():
        parts = {**_as_mapping(_as_mapping(hook).get("commands")), **_as_mapping(_as_mapping(hook).get("scripts"))}
        lines = [_as_text(_as_mapping(part).get("run")) for part in parts.values()]
        lines += [_as_text(_as_mapping(one).get("run")) for one in _as_list(_as_mapping(hook).get("jobs"))]
        if any(lines):
            yield _build_job(
                f"{name} hook", path, text, str(name), [line for line in lines if line], [], "", origin="hook"
            )


def read_taskfile(path: str, text: str) -> Iterator[Workflow]:
    for name, task in _as_mapping(_as_mapping(yaml_loader.load_yaml(text)).get("tasks")).items():
        task_settings = _as_mapping(task) or {"cmds": task}
        steps = [
            make_step(f"task {_as_text(one) or _as_text(_as_mapping(one).get('task'))}")
            for one in _as_list(task_settings.get("deps"))
        ]
        for one in _as_list(task_settings.get("cmds") or task_settings.get("cmd")):
            line = _as_text(one) or _as_text(_as_mapping(one).get("cmd"))
            task_name = _as_text(_as_mapping(one).get("task"))
            steps += [make_step(line)] if line else [make_step(f"task {task_name}")] if task_name else []
        if steps:
            yield Workflow(
                name=f"task {name}", steps=tuple(steps), origin="script", path=path,
                line=_find_line(text, rf"^  {re.escape(str(name))}\s*:"),
                about=_clean_name(_as_text(task_settings.get("desc"))),
            )  # fmt: skip


def _build_job(
    title: str, path: str, text: str, name: str, lines: Sequence[str], when: Sequence[str], about: str,
    *, origin: Any = "ci",
) -> Workflow:  # fmt: skip
    return Workflow(
        name=title,
        steps=tuple(step for line in lines for step in split_commands(line)),
        origin=origin,
        triggers=tuple(Trigger("event", one) for one in when),
        path=path,
        line=_find_line(text, rf"^\s*(?:- job:\s*)?[\"']?{re.escape(name)}[\"']?\s*:?"),
        about=about,
    )


def _sort_by_dependency(jobs: Mapping[Any, Any], key: str) -> list[Any]:
    """Sort job names so that each follows the jobs that it needs."""
    sorted_names: dict[Any, None] = {}
    pending = [name for name in jobs if isinstance(name, str)]
    for _ in range(len(pending)):
        ready = [
            name for name in pending
            if all(one in sorted_names or one not in jobs for one in _as_words(_as_mapping(jobs[name]).get(key)))
        ]  # fmt: skip
        for name in ready:
            sorted_names[name] = None
        pending = [name for name in pending if name not in sorted_names]
        if not ready:
            break
    return [*sorted_names, *pending]


def _find_line(text: str, pattern: str) -> int:
    match = re.search(pattern, text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _clean_name(text: str) -> str:
    """Shorten a name and replace CI expressions with `…`."""
    return " ".join(re.sub(r"\$\{\{.*?\}\}", "…", text).split())[:100]


def _as_mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _as_words(value: Any) -> list[str]:
    return [_as_text(one) for one in _as_list(value) if _as_text(one)]


def _as_lines(value: Any) -> list[str]:
    """Flatten shell lines from a string, list of strings, or nested lists."""
    if isinstance(value, list):
        return [line for one in value for line in _as_lines(one)]
    return [value] if isinstance(value, str) and value.strip() else []
