"""Descriptions of problems with the write path and with projects, for status and answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.state.project import Project


@dataclass(frozen=True, slots=True)
class Health:
    """Source of the problem descriptions in the `degraded` field of answers."""

    writer: StoreWriter

    def list_problems(self, projects: Iterable[Project]) -> tuple[str, ...]:
        """List the problems of `projects`, and what is still loading.

        The writer's problem comes first.
        """
        own = [self.writer.trouble] if self.writer.trouble else []
        return (*own, *list_project_problems(projects))


def list_project_problems(projects: Iterable[Project]) -> list[str]:
    """List the problems of `projects`, and what is still loading."""
    return [project.problem for project in projects if project.problem]
