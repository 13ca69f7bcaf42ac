"""Resolution of the project that a call is about.

Also sends requests that register an unknown project first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from hunchd.protocol.mcp.asking import Ask, Conversation, Pause, RootOf, Trouble

# The agent is waiting, and a new repository yields a useful bundle after a second or two.
PATIENCE: Final = 6.0  # seconds
_LOOK: Final = 0.25  # seconds between two checks of a project that is being indexed


class Focus:
    """Resolver of a call's project.

    `place` is the folder the server was started in; None if it serves all projects.
    """

    def __init__(self, place: str | None, root_of: RootOf) -> None:
        self._place = place
        self._root_of = root_of

    @cached_property
    def home(self) -> str | None:
        """The repository that the server was started in."""
        return self._root_of(self._place) if self._place is not None else None

    def root(self, project: str | None, file: str | None = None) -> Conversation[str]:
        """Return the project's root.

        Raises Trouble, listing the known projects, if it cannot be determined.
        """
        if project is not None:
            return (yield from self._named(project))
        if file is not None and os.path.isabs(file):  # noqa: PTH117 - words of a protocol, no file system
            return (yield from self._around(file))
        if self.home is not None:
            return self.home
        known = [str(each["path"]) for each in (yield from self.projects())]
        if self._place is not None and (folder := around(self._place, known)) is not None:
            return folder
        if len(known) == 1:
            return known[0]
        names = ", ".join(known[:10])
        raise Trouble(
            "which project? 'project' is missing",
            hint=f"pass its folder as 'project', or an absolute 'file'; known projects: {names}"
            if known
            else "pass the repository's folder as 'project', or an absolute 'file'",
            status=422,
        )

    def projects(self) -> Conversation[list[dict[str, Any]]]:
        """Return the registered projects."""
        answer = yield Ask("/projects")
        return list(answer["items"])

    def _named(self, project: str) -> Conversation[str]:
        """Return the root of the project with that folder, id or name.

        A folder that is neither a repository nor registered is rejected: an agent must not have a whole disk read
        by naming it.
        """
        if os.path.isabs(project):  # noqa: PTH117
            return (yield from self._around(project))
        known = yield from self.projects()
        for each in known:
            if project in (each["id"], each["name"]):
                return str(each["path"])
        names = ", ".join(str(each["path"]) for each in known[:10])
        raise Trouble(f"unknown project '{project}'", hint=f"known projects: {names}" if known else None, status=404)

    def _around(self, path: str) -> Conversation[str]:
        root = self._root_of(path)
        if root is None:
            root = around(path, [str(each["path"]) for each in (yield from self.projects())])
        if root is None:
            raise Trouble(f"{path} is not in a git repository", hint="name a repository, or a file in one", status=422)
        return root


def around(path: str, folders: Sequence[str]) -> str | None:
    """Return the folder that contains `path`, or None."""
    return next((each for each in folders if path == each or path.startswith(each.rstrip("/") + "/")), None)


def in_project(root: str, ask: Ask) -> Conversation[Any]:
    """Send a request; register an unknown project and retry."""
    try:
        return (yield ask)
    except Trouble as trouble:
        if trouble.status != 404:
            raise
    yield Ask("/projects", {"path": root})
    return (yield ask)


def bundle(root: str, signals: Mapping[str, Any], budget: int | None) -> Conversation[Any]:
    """Request the bundle; wait for a useful one during indexing.

    After PATIENCE seconds, returns the best one so far.
    """
    given = {name: value for name, value in signals.items() if value}
    ask = Ask("/context/assemble", {"project": root, "signals": given} | ({"budget": budget} if budget else {}))
    answer = yield from in_project(root, ask)
    waited = 0.0
    reading = True
    while reading and waited < PATIENCE and not any(item["tier"] <= 2 for item in answer["items"]):
        # Registering a known project changes nothing and returns its progress.
        reading = (yield Ask("/projects", {"path": root}))["state"] == "indexing"
        if reading or waited:
            yield Pause(_LOOK if reading else 0.0)
            waited += _LOOK
            answer = yield ask
    return answer
