"""Export of shareable memories as repository files, without secrets and local paths.

The daemon only returns the contents. The client writes the files into the repository, for people to review.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.facts import normal_key
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory
from hunchd.domain.sharing import KINDS, why_not
from hunchd.engine.keeping.drafts import without_secrets
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.project import Project, Tree
from hunchd.ingestion.redaction import taken_out
from hunchd.protocol.requests import ShareRequest
from hunchd.protocol.shared import TEXT_LIMIT, shared_file, text_of


class Sharing:
    """Builder of shared files."""

    def __init__(self, memories: Memories, projects: Projects) -> None:
        self._memories = memories
        self._projects = projects

    async def files(self, request: ShareRequest) -> dict[str, Any]:
        """Return the files of the named memories, or of all shareable ones.

        Named memories that cannot be shared are listed with the reason.
        """
        project, tree = self._projects.find(request.project)
        kept = await self._memories.all_of(Filters(project=project.id, kinds=KINDS))
        files: dict[str, dict[str, Any]] = {}
        refused = []
        for name in request.names or tuple(sorted(memory.id for memory in kept)):
            memory = await self._named(name, kept)
            reason = (
                _refusal(memory, project, tree, self._memories.now())
                if memory is not None
                else "there is no memory with this id or key"
            )
            if memory is None or reason:
                refused.append({"name": name, "reason": reason})
            else:
                told = _file(memory, tree.root, request.by)
                files[told["path"]] = told
        return {
            "files": [files[path] for path in sorted(files)],
            "refused": refused if request.names else [],
        }

    async def _named(self, name: str, kept: list[Memory]) -> Memory | None:
        """Return the memory with this id, or the fact with this key.

        A fact from a file that everybody has comes last.
        """
        for memory in kept:
            if memory.id == name:
                return memory
        keyed = [memory for memory in kept if memory.key and normal_key(memory.key) == normal_key(name)]
        if keyed:
            return min(
                keyed, key=lambda memory: (bool(memory.source.get("path")), memory.branch is not None, memory.id)
            )
        try:
            return await self._memories.get(name, self._projects.ids)
        except NotFound:
            return None


def _refusal(memory: Memory, project: Project, tree: Tree, now: datetime) -> str:
    if len(memory.content) > TEXT_LIMIT:
        return f"it is longer than {TEXT_LIMIT:,} characters"
    if taken_out("", without_secrets(memory).value or ""):
        return "its value was a secret, which is not stored"
    return why_not(memory, project=project.id, branch=tree.branch or None, now=now)


def _file(memory: Memory, root: Path, by: str) -> dict[str, Any]:
    told = shared_file(without_secrets(_placeless(memory, root)), by=by)
    return {
        "id": memory.id,
        "path": told.path,
        "title": told.title,
        "content": text_of(told),
        "trust": str(memory.trust),
    }


def _placeless(memory: Memory, root: Path) -> Memory:
    """Make paths relative to the project's root, and the home folder ~."""

    def placeless(text: str) -> str:
        return text.replace(f"{root}/", "").replace(f"{Path.home()}/", "~/")

    return replace(
        memory,
        title=placeless(memory.title),
        content=placeless(memory.content),
        value=placeless(memory.value) if memory.value is not None else None,
    )
