"""Parsers of CI files: one workflow per job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from hunchd.domain.workflow import Step, Trigger, Workflow
from hunchd.ingestion.workflows import yaml_files
from hunchd.ingestion.workflows.shell_files import commands, only_keeps_books, step_of

MOST_EVENTS: Final = 6
MOST_BRANCHES: Final = 4
_SETUP = re.compile(r"actions/(?:checkout|setup-|cache)|/setup-|^codecov/|step-security/")
_RESERVED: Final = frozenset(
    {"stages", "variables", "default", "include", "image", "services", "before_script", "after_script", "cache",
     "workflow", "pages:deploy"}
)  # fmt: skip


def github(path: str, text: str) -> Iterator[Workflow]:
    """Yield the jobs of a GitHub Actions file by dependency."""
    told = _mapping(yaml_files.read(text))
    file = _text(told.get("name")) or PurePosixPath(path).stem
    triggers = tuple(Trigger("event", words) for words in _github_events(told.get("on", told.get(True))))
    jobs = _mapping(told.get("jobs"))
    for name in _in_order(jobs, "needs"):
        job = _mapping(jobs[name])
        steps = [step for one in _list(job.get("steps")) for step in _github_steps(_mapping(one))]
        if _text(job.get("uses")):
            steps.append(Step(f"uses {_text(job['uses'])}", "", _text(job["uses"])))
        if steps:
            yield Workflow(
                name=f"CI {PurePosixPath(path).name}" if len(jobs) == 1 else f"CI {PurePosixPath(path).name} / {name}",
                steps=tuple(steps),
                origin="ci",
                triggers=triggers,
                path=path,
                line=_line_of(text, rf"^  [\"']?{re.escape(name)}[\"']?\s*:"),
                about=_plain(_text(job.get("name"))) or (file if len(jobs) == 1 else ""),
            )


def _github_steps(step: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the commands of one step.

    An action that is not setup is a step by its name.
    """
    name, run, uses = _plain(_text(step.get("name"))), _text(step.get("run")), _text(step.get("uses"))
    if run:
        if _text(step.get("shell")) in ("python", "pwsh", "powershell", "cmd", "node"):
            yield step_of(run.strip(), name)
            return
        told = commands(run)
        if name and only_keeps_books(told):
            yield Step(name, "", name)
            return
        for number, found in enumerate(told):
            yield Step(found.template, found.command, name if number == 0 else "")
    elif uses and not _SETUP.search(uses):
        yield Step(f"uses {uses.partition('@')[0]}", "", name or uses.partition("@")[0])


def _github_events(on: Any) -> list[str]:
    """Describe the triggers: `push of main`, `pull request`."""
    if isinstance(on, str):
        return [_event(on)]
    if isinstance(on, list):
        return [_event(_text(one)) for one in on[:MOST_EVENTS] if _text(one)]
    found = []
    for name, how in list(_mapping(on).items())[:MOST_EVENTS]:
        settings = _mapping(how)
        branches, tags, paths = (
            ", ".join(map(_text, _list(settings.get(key))[:MOST_BRANCHES])) for key in ("branches", "tags", "paths")
        )
        words = _event(str(name))
        if name == "push" and (branches or tags):
            words = " and ".join(
                one for one in (f"push of {branches}" if branches else "", f"tag {tags}" if tags else "") if one
            )
        found.append(f"{words} touching {paths}" if paths else words)
    return found


def _event(name: str) -> str:
    return {
        "pull_request": "pull request",
        "pull_request_target": "pull request",
        "workflow_dispatch": "by hand",
        "workflow_call": "called by others",
        "schedule": "by the clock",
        "release": "release",
    }.get(name, name.replace("_", " "))


def gitlab(path: str, text: str) -> Iterator[Workflow]:
    """Yield the jobs of GitLab CI by stage."""
    told = _mapping(yaml_files.read(text))
    stages = [_text(one) for one in _list(told.get("stages"))] or ["build", "test", "deploy"]
    common = _lines(told.get("before_script") or _mapping(told.get("default")).get("before_script"))
    jobs = {
        name: _mapping(job)
        for name, job in told.items()
        if isinstance(name, str) and not name.startswith(".") and name not in _RESERVED and _mapping(job).get("script")
    }
    order = {name: _stage(job, stages) for name, job in jobs.items()}
    for name in sorted(jobs, key=lambda name: order[name]):
        job = jobs[name]
        before = _lines(job["before_script"]) if "before_script" in job else common
        rules = [_text(_mapping(rule).get("if")) for rule in _list(job.get("rules"))] + _words(job.get("only"))
        yield _job(
            f"CI {name}", path, text, name, [*before, *_lines(job.get("script"))],
            [f"if {rule}" if "$" in rule else f"push of {rule}" for rule in rules if rule][:MOST_EVENTS],
            _text(job.get("stage")) and f"stage {_text(job.get('stage'))}",
        )  # fmt: skip


def _stage(job: Mapping[str, Any], stages: Sequence[str]) -> int:
    stage = _text(job.get("stage")) or "test"
    return stages.index(stage) if stage in stages else len(stages)


def travis(path: str, text: str) -> Iterator[Workflow]:
    told = _mapping(yaml_files.read(text))
    lines = [line for key in ("before_install", "install", "before_script", "script", "after_success", "deploy")
             for line in _lines(told.get(key))]  # fmt: skip
    yield _job("CI travis", path, text, "script", lines, ["push"], "")


def circle(path: str, text: str) -> Iterator[Workflow]:
    jobs = _mapping(_mapping(yaml_files.read(text)).get("jobs"))
    for name, job in jobs.items():
        steps: list[Step] = []
        for one in _list(_mapping(job).get("steps")):
            run = _mapping(one).get("run")
            told = _text(run) or _text(_mapping(run).get("command"))
            label = _plain(_text(_mapping(run).get("name")))
            steps += [Step(found.template, found.command, label) for found in commands(told)]
        if steps:
            yield Workflow(
                name=f"CI {name}", steps=tuple(steps), origin="ci", path=path,
                line=_line_of(text, rf"^  {re.escape(str(name))}\s*:"),
            )  # fmt: skip


def azure(path: str, text: str) -> Iterator[Workflow]:
    told = _mapping(yaml_files.read(text))
    jobs = [told, *(_mapping(job) for job in _list(told.get("jobs")))]
    jobs += [_mapping(job) for stage in _list(told.get("stages")) for job in _list(_mapping(stage).get("jobs"))]
    for job in jobs:
        lines = [
            line
            for step in map(_mapping, _list(job.get("steps")))
            for line in _lines(step.get("script") or step.get("bash"))
        ]
        name = _text(job.get("job")) or _text(job.get("displayName")) or "azure"
        yield _job(f"CI {name}", path, text, name, lines, [], "")


def pre_commit(path: str, text: str) -> Iterator[Workflow]:
    """Yield the hooks in order, as one workflow per stage."""
    told = _mapping(yaml_files.read(text))
    usual = _words(told.get("default_stages")) or ["pre-commit"]
    by_stage: dict[str, list[Step]] = {}
    for repository in map(_mapping, _list(told.get("repos"))):
        for hook in map(_mapping, _list(repository.get("hooks"))):
            name = _text(hook.get("id"))
            entry = _text(hook.get("entry"))
            arguments = " ".join(map(_text, _list(hook.get("args"))))
            if not name:
                continue
            command = " ".join(part for part in (entry or name, arguments) if part)
            for stage in _words(hook.get("stages")) or usual:
                step = Step(f"pre-commit run {name}", command, name)
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


def lefthook(path: str, text: str) -> Iterator[Workflow]:
    for name, hook in _mapping(yaml_files.read(text)).items():
        parts = {**_mapping(_mapping(hook).get("commands")), **_mapping(_mapping(hook).get("scripts"))}
        lines = [_text(_mapping(part).get("run")) for part in parts.values()]
        lines += [_text(_mapping(one).get("run")) for one in _list(_mapping(hook).get("jobs"))]
        if any(lines):
            yield _job(f"{name} hook", path, text, str(name), [line for line in lines if line], [], "", origin="hook")


def taskfile(path: str, text: str) -> Iterator[Workflow]:
    for name, task in _mapping(_mapping(yaml_files.read(text)).get("tasks")).items():
        told = _mapping(task) or {"cmds": task}
        steps = [step_of(f"task {_text(one) or _text(_mapping(one).get('task'))}") for one in _list(told.get("deps"))]
        for one in _list(told.get("cmds") or told.get("cmd")):
            line = _text(one) or _text(_mapping(one).get("cmd"))
            other = _text(_mapping(one).get("task"))
            steps += [step_of(line)] if line else [step_of(f"task {other}")] if other else []
        if steps:
            yield Workflow(
                name=f"task {name}", steps=tuple(steps), origin="script", path=path,
                line=_line_of(text, rf"^  {re.escape(str(name))}\s*:"), about=_plain(_text(told.get("desc"))),
            )  # fmt: skip


def _job(
    title: str, path: str, text: str, name: str, lines: Sequence[str], when: Sequence[str], about: str,
    *, origin: Any = "ci",
) -> Workflow:  # fmt: skip
    return Workflow(
        name=title,
        steps=tuple(step for line in lines for step in commands(line)),
        origin=origin,
        triggers=tuple(Trigger("event", one) for one in when),
        path=path,
        line=_line_of(text, rf"^\s*(?:- job:\s*)?[\"']?{re.escape(name)}[\"']?\s*:?"),
        about=about,
    )


def _in_order(jobs: Mapping[Any, Any], key: str) -> list[Any]:
    """Sort job names so that each follows those it needs."""
    done: dict[Any, None] = {}
    waiting = [name for name in jobs if isinstance(name, str)]
    for _ in range(len(waiting)):
        ready = [
            name for name in waiting
            if all(one in done or one not in jobs for one in _words(_mapping(jobs[name]).get(key)))
        ]  # fmt: skip
        for name in ready:
            done[name] = None
        waiting = [name for name in waiting if name not in done]
        if not ready:
            break
    return [*done, *waiting]


def _line_of(text: str, pattern: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _plain(text: str) -> str:
    """Shorten a name and replace CI expressions with `…`."""
    return " ".join(re.sub(r"\$\{\{.*?\}\}", "…", text).split())[:100]


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _words(value: Any) -> list[str]:
    return [_text(one) for one in _list(value) if _text(one)]


def _lines(value: Any) -> list[str]:
    """Flatten shell lines: a text, a list of texts, or nested lists."""
    if isinstance(value, list):
        return [line for one in value for line in _lines(one)]
    return [value] if isinstance(value, str) and value.strip() else []
