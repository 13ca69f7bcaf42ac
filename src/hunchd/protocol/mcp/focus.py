"""Which project a call is about, and questions that make the project known first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from hunchd.protocol.mcp.asking import Ask, Conversation, Pause, RootOf, Trouble

# An agent waits for its answer, and a new repository gives a useful one after a second or two.
PATIENCE: Final = 6.0  # seconds
_LOOK: Final = 0.25  # seconds between two looks at a project that is being read


class Focus:
    """`place` is the folder the server was started in, None for one that serves all projects."""

    def __init__(self, place: str | None, root_of: RootOf) -> None:
        self._place = place
        self._root_of = root_of

    @cached_property
    def home(self) -> str | None:
        """The repository that the server was started in."""
        return self._root_of(self._place) if self._place is not None else None

    def root(self, project: str | None, file: str | None = None) -> Conversation[str]:
        """The project's root. Raises Trouble when none can be told, naming those there are."""
        if project is not None:
            return self._root_of(project) or project
        if file is not None and os.path.isabs(file):  # noqa: PTH117 - words of a protocol, no file system
            folder = self._root_of(file) or around(file, (yield from self.projects()))
            if folder is None:
                raise Trouble(f"{file} is in no git repository", hint="name a file of a repository", status=422)
            return folder
        if self.home is not None:
            return self.home
        known = yield from self.projects()
        if self._place is not None and (folder := around(self._place, known)) is not None:
            return folder
        if len(known) == 1:
            return known[0]
        names = ", ".join(known[:10])
        raise Trouble(
            "which project? 'project' is missing",
            hint=f"pass its folder as 'project', or an absolute 'file'; known are: {names}"
            if known
            else "pass the repository's folder as 'project', or an absolute 'file'",
            status=422,
        )

    def projects(self) -> Conversation[list[str]]:
        """The folders of the known projects."""
        answer = yield Ask("/projects")
        return [str(project["path"]) for project in answer["items"]]


def around(path: str, folders: Sequence[str]) -> str | None:
    """The one of the folders that `path` lies in."""
    return next((each for each in folders if path == each or path.startswith(each.rstrip("/") + "/")), None)


def in_project(root: str, ask: Ask) -> Conversation[Any]:
    """The answer; a project that the daemon does not know is added and asked about again."""
    try:
        return (yield ask)
    except Trouble as trouble:
        if trouble.status != 404:
            raise
    yield Ask("/projects", {"path": root})
    return (yield ask)


def bundle(root: str, signals: Mapping[str, Any], budget: int | None) -> Conversation[Any]:
    """The bundle; of a project that is still being read the first useful one, or the best after PATIENCE."""
    given = {name: value for name, value in signals.items() if value}
    ask = Ask("/context/assemble", {"project": root, "signals": given} | ({"budget": budget} if budget else {}))
    answer = yield from in_project(root, ask)
    waited = 0.0
    reading = True
    while reading and waited < PATIENCE and not any(item["tier"] <= 2 for item in answer["items"]):
        # Adding what is known changes nothing and tells how far it has come.
        reading = (yield Ask("/projects", {"path": root}))["state"] == "indexing"
        if reading or waited:
            yield Pause(_LOOK if reading else 0.0)
            waited += _LOOK
            answer = yield ask
    return answer
