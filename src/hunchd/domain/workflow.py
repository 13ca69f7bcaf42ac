"""Workflows that a project's files define, and the commands that were run in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    """Single command of a workflow, as written in the file.

    If the step has no command, only its name is known.
    """

    command: str
    name: str = ""  # its name in the file


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Finished run of a command, with its circumstances."""

    at: float  # seconds since the epoch
    template: str  # the command with placeholders for its values
    command: str
    failed: bool = False
    branch: str = ""
    touched: tuple[str, ...] = ()  # kinds of files saved since the command before: "*.py", "docs/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """Script, CI job or hook with its steps."""

    name: str  # the command to type, where there is one
    steps: tuple[WorkflowStep, ...]
    origin: Literal["script", "ci", "hook"]
    events: tuple[str, ...] = ()  # that start it: "push to main"
    path: str = ""  # of the defining file
    line: int = 0  # line in that file, from 1
    about: str = ""  # description in the file
    purpose: str = ""  # test, lint, format, types, build, release, docs, …
