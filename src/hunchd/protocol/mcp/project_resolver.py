"""Finding the project that a tool call refers to, and registering unknown projects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.json_values import JsonObject

# The agent is waiting, and a new repository yields a useful bundle after a second or two.
MAX_INDEXING_WAIT_SECONDS: Final = 6.0  # seconds
_POLL_INTERVAL_SECONDS: Final = 0.25  # seconds between two checks of a project that is being indexed

# Sends a request to the API of the daemon, given its path and body; without a body, it is a GET request.
SendRequest: TypeAlias = Callable[[str, Mapping[str, Any] | None], Awaitable[Any]]


class ProjectResolver:
    """Resolver that finds the project of a tool call, and sends the requests of the call.

    `folder` is the folder in which the server was started, or None if it serves all projects. `root_of` is a function
    that returns the root of the repository that contains a path, or None. `send` calls the daemon.
    """

    def __init__(self, folder: str | None, root_of: Callable[[str], str | None], send: SendRequest) -> None:
        self._folder = folder
        self._root_of = root_of
        self.send = send

    @cached_property
    def home(self) -> str | None:
        """Root of the repository where the server was started, or None."""
        return self._root_of(self._folder) if self._folder is not None else None

    async def resolve_root(self, project: str | None, file: str | None = None) -> str:
        """Return the root folder of a tool call's project.

        `project` is tried first, then `file`, then the server's own repository, and finally the registered projects.
        Raises InvalidInput, with a list of the known projects, if the project cannot be determined.
        """
        if project is not None:
            return await self._resolve_named(project)
        if file is not None and os.path.isabs(file):  # noqa: PTH117 - words of a protocol, no file system
            return await self._resolve_path(file)
        if self.home is not None:
            return self.home
        known_roots = [str(each["path"]) for each in await self.list_projects()]
        if self._folder is not None and (containing := find_containing(self._folder, known_roots)) is not None:
            return containing
        if len(known_roots) == 1:
            return known_roots[0]
        names = ", ".join(known_roots[:10])
        raise InvalidInput(
            "'project' is missing, and the known projects do not determine it",
            hint=f"pass its folder as 'project', or an absolute 'file'; known projects: {names}"
            if known_roots
            else "pass the repository's folder as 'project', or an absolute 'file'",
        )

    async def list_projects(self) -> list[JsonObject]:
        """Return the registered projects."""
        return list((await self.get("/projects"))["items"])

    async def _resolve_named(self, project: str) -> str:
        """Return the root of the project with the given folder, id or name.

        A folder that is neither in a repository nor registered is rejected, because an agent could otherwise make the
        daemon read a whole disk just by naming its folder.
        """
        if os.path.isabs(project):  # noqa: PTH117
            return await self._resolve_path(project)
        project_records = await self.list_projects()
        for each in project_records:
            if project in (each["id"], each["name"]):
                return str(each["path"])
        names = ", ".join(str(each["path"]) for each in project_records[:10])
        raise NotFound(f"unknown project '{project}'", hint=f"known projects: {names}" if project_records else None)

    async def _resolve_path(self, path: str) -> str:
        root = self._root_of(path)
        if root is None:
            root = find_containing(path, [str(each["path"]) for each in await self.list_projects()])
        if root is None:
            raise InvalidInput(
                f"{path} is not in a git repository", hint="pass the path of a repository, or of a file in one"
            )
        return root

    async def get(self, path: str) -> Any:
        """Send a GET request."""
        return await self.send(path, None)

    async def post(self, root: str, path: str, body: Mapping[str, Any]) -> Any:
        """Send a POST request about a project; if the project is unknown, register it and retry."""
        try:
            return await self.send(path, body)
        except NotFound:
            await self.send("/projects", {"path": root})
        return await self.send(path, body)

    async def request_bundle(self, root: str, signals: Mapping[str, Any], budget: int | None) -> Any:
        """Request a context bundle; while the project is being indexed, retry.

        The request is repeated until the bundle contains a directly relevant item (tier 1 or 2). If it still contains
        none after MAX_INDEXING_WAIT_SECONDS, the latest bundle is returned.
        """
        body: JsonObject = {"project": root, "signals": {name: value for name, value in signals.items() if value}}
        body |= {"budget": budget} if budget else {}
        answer = await self.post(root, "/context/assemble", body)
        waited_seconds = 0.0
        is_indexing = True
        while (
            is_indexing
            and waited_seconds < MAX_INDEXING_WAIT_SECONDS
            and not any(item["tier"] <= 2 for item in answer["items"])
        ):
            # Registering a known project changes nothing and returns its progress.
            is_indexing = (await self.send("/projects", {"path": root}))["state"] == "indexing"
            if is_indexing or waited_seconds:
                await asyncio.sleep(_POLL_INTERVAL_SECONDS if is_indexing else 0.0)
                waited_seconds += _POLL_INTERVAL_SECONDS
                answer = await self.send("/context/assemble", body)
        return answer


def find_containing(path: str, folders: Sequence[str]) -> str | None:
    """Return the first of `folders` that contains `path`, or None."""
    return next((each for each in folders if path == each or path.startswith(each.rstrip("/") + "/")), None)
