"""Workflows: ordered steps, their triggers, and the commands from which they are learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    """Single command of a workflow.

    In `template`, values are replaced with placeholders (`git commit -m <msg>`). `command` is the command as last
    run, or as written in a file.
    """

    template: str
    command: str
    name: str = ""  # its name in the file
    after: tuple[str, ...] = ()  # templates of prerequisites, if the order is not that of the list


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Finished run of a command, with its circumstances."""

    at: float  # seconds since the epoch
    template: str
    command: str
    failed: bool = False
    branch: str = ""
    touched: tuple[str, ...] = ()  # kinds of files saved since the command before: "*.py", "docs/"


Cause = Literal["after", "failure", "branch", "files", "hours", "weekday", "start", "event"]


@dataclass(frozen=True, slots=True)
class Trigger:
    """Condition under which a workflow is started more often than usual."""

    cause: Cause
    value: str  # a template, "release/*", "*.md", "17-18" (the last hour included), "Friday", "push of main"
    share: float = 1.0  # share of the workflow's runs
    usual: float = 0.0  # share among all commands

    @property
    def description(self) -> str:
        match self.cause:
            case "after":
                return f"after {self.value}"
            case "failure":
                return f"after {self.value} failed"
            case "branch":
                return f"on {self.value}"
            case "files":
                return f"after changes of {self.value}"
            case "hours":
                first, _, last = self.value.partition("-")
                return f"between {first}:00 and {(int(last) + 1) % 24}:00"
            case "weekday":
                return f"on {self.value}s"
            case "start":
                return "when work begins"
            case "event":
                return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Steps that belong together: a script, or a habit that was observed `runs` times."""

    name: str
    steps: tuple[WorkflowStep, ...]
    origin: Literal["habit", "script", "ci", "hook"]
    triggers: tuple[Trigger, ...] = ()
    path: str = ""  # path of the defining file
    line: int = 0  # line in that file, from 1
    about: str = ""  # description in the file
    purpose: str = ""  # test, lint, format, types, build, release, docs, …
    runs: int = 0
    cohesion: float = 1.0  # 0..1; lower if other commands came in between
    first: float = 0.0  # seconds since the epoch: the first and the last run
    last: float = 0.0
