"""Finding the project that a tool call refers to, and registering unknown projects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from hunchd.protocol.mcp.effects import Conversation, DaemonRequest, Pause, RequestFailed, RootOf

# The agent is waiting, and a new repository yields a useful bundle after a second or two.
MAX_INDEXING_WAIT_SECONDS: Final = 6.0  # seconds
_POLL_INTERVAL_SECONDS: Final = 0.25  # seconds between two checks of a project that is being indexed


class ProjectResolver:
    """Resolver that finds the project of a tool call.

    `folder` is the folder in which the server was started, or None if it serves all projects. `root_of` is a function
    that returns the root of the repository that contains a path.
    """

    def __init__(self, folder: str | None, root_of: RootOf) -> None:
        self._folder = folder
        self._root_of = root_of

    @cached_property
    def home(self) -> str | None:
        """Root of the repository where the server was started, or None."""
        return self._root_of(self._folder) if self._folder is not None else None

    def resolve_root(self, project: str | None, file: str | None = None) -> Conversation[str]:
        """Return the root folder of a tool call's project.

        `project` is tried first, then `file`, then the server's own repository, and finally the registered projects.
        Raises RequestFailed, with a list of the known projects, if the project cannot be determined.
        """
        if project is not None:
            return (yield from self._resolve_named(project))
        if file is not None and os.path.isabs(file):  # noqa: PTH117 - words of a protocol, no file system
            return (yield from self._resolve_path(file))
        if self.home is not None:
            return self.home
        known_roots = [str(each["path"]) for each in (yield from self.list_projects())]
        if self._folder is not None and (containing := find_containing(self._folder, known_roots)) is not None:
            return containing
        if len(known_roots) == 1:
            return known_roots[0]
        names = ", ".join(known_roots[:10])
        raise RequestFailed(
            "'project' is missing, and the known projects do not determine it",
            hint=f"pass its folder as 'project', or an absolute 'file'; known projects: {names}"
            if known_roots
            else "pass the repository's folder as 'project', or an absolute 'file'",
            status=422,
        )

    def list_projects(self) -> Conversation[list[dict[str, Any]]]:
        """Return the registered projects."""
        answer = yield DaemonRequest("/projects")
        return list(answer["items"])

    def _resolve_named(self, project: str) -> Conversation[str]:
        """Return the root of the project with the given folder, id or name.

        A folder that is neither in a repository nor registered is rejected, because an agent could otherwise make the
        daemon read a whole disk just by naming its folder.
        """
        if os.path.isabs(project):  # noqa: PTH117
            return (yield from self._resolve_path(project))
        project_records = yield from self.list_projects()
        for each in project_records:
            if project in (each["id"], each["name"]):
                return str(each["path"])
        names = ", ".join(str(each["path"]) for each in project_records[:10])
        raise RequestFailed(
            f"unknown project '{project}'", hint=f"known projects: {names}" if project_records else None, status=404
        )

    def _resolve_path(self, path: str) -> Conversation[str]:
        root = self._root_of(path)
        if root is None:
            root = find_containing(path, [str(each["path"]) for each in (yield from self.list_projects())])
        if root is None:
            raise RequestFailed(
                f"{path} is not in a git repository",
                hint="pass the path of a repository, or of a file in one",
                status=422,
            )
        return root


def find_containing(path: str, folders: Sequence[str]) -> str | None:
    """Return the first of `folders` that contains `path`, or None."""
    return next((each for each in folders if path == each or path.startswith(each.rstrip("/") + "/")), None)


def request_in_project(root: str, request: DaemonRequest) -> Conversation[Any]:
    """Send a request; if the project is unknown, register it and retry."""
    try:
        return (yield request)
    except RequestFailed as trouble:
        if trouble.status != 404:
            raise
    yield DaemonRequest("/projects", {"path": root})
    return (yield request)


def request_bundle(root: str, signals: Mapping[str, Any], budget: int | None) -> Conversation[Any]:
    """Request a context bundle; while the project is being indexed, retry.

    The request is repeated until the bundle contains a directly relevant item (tier 1 or 2). If it still contains none
    after MAX_INDEXING_WAIT_SECONDS, the latest bundle is returned.
    """
    non_empty_signals = {name: value for name, value in signals.items() if value}
    request = DaemonRequest(
        "/context/assemble", {"project": root, "signals": non_empty_signals} | ({"budget": budget} if budget else {})
    )
    answer = yield from request_in_project(root, request)
    waited_seconds = 0.0
    is_indexing = True
    while (
        is_indexing
        and waited_seconds < MAX_INDEXING_WAIT_SECONDS
        and not any(item["tier"] <= 2 for item in answer["items"])
    ):
        # Registering a known project changes nothing and returns its progress.
        is_indexing = (yield DaemonRequest("/projects", {"path": root}))["state"] == "indexing"
        if is_indexing or waited_seconds:
            yield Pause(_POLL_INTERVAL_SECONDS if is_indexing else 0.0)
            waited_seconds += _POLL_INTERVAL_SECONDS
            answer = yield request
    return answer
