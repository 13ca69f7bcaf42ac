"""Export of shareable memories as files for the repository, without secrets and local paths.

The daemon only returns the contents. The client writes the files into the repository, where people can review them.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hunchd.core.memory.drafts import redact_memory
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import NotFound
from hunchd.domain.facts import normalize_key
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Memory
from hunchd.domain.sharing import SHARED_KINDS, explain_not_shared
from hunchd.ingestion.local_paths import remove_local_paths
from hunchd.ingestion.redaction import find_new_redactions
from hunchd.protocol.knowledge_answers import RefusedName, SharedFileAnswer, SharedFilesAnswer
from hunchd.protocol.requests import ShareRequest
from hunchd.protocol.shared_files import MAX_TEXT_CHARACTERS, build_shared_file, render_shared_file


class SharedFileBuilder:
    """Builder of files that contain shared memories."""

    def __init__(self, memories: MemoryService, projects: OpenProjects) -> None:
        self._memories = memories
        self._projects = projects

    async def build_files(self, request: ShareRequest) -> SharedFilesAnswer:
        """Return the files for the named memories, or for all shareable memories.

        Named memories that cannot be shared are listed with the reason.
        """
        project, tree = self._projects.find(request.project)
        memories = await self._memories.list_all(Filters(project=project.id, kinds=SHARED_KINDS))
        files: dict[str, SharedFileAnswer] = {}
        refusals = []
        for name in request.names or tuple(sorted(memory.id for memory in memories)):
            memory = await self._find_named(name, memories)
            reason = (
                _explain_refusal(memory, project, tree, self._memories.now())
                if memory is not None
                else "there is no memory with this id or key"
            )
            if memory is None or reason:
                refusals.append(RefusedName(name=name, reason=reason))
            else:
                file = _build_file(memory, tree.root, request.by)
                files[file.path] = file
        return SharedFilesAnswer(
            files=[files[path] for path in sorted(files)], refused=refusals if request.names else []
        )

    async def _find_named(self, name: str, memories: list[Memory]) -> Memory | None:
        """Return the memory with this id, or else the fact with this key.

        If several facts match, a fact that was read from a file in the project is the last choice, since everyone
        already has that file. Returns None if nothing matches.
        """
        for memory in memories:
            if memory.id == name:
                return memory
        matching_facts = [
            memory for memory in memories if memory.key and normalize_key(memory.key) == normalize_key(name)
        ]
        if matching_facts:
            return min(
                matching_facts,
                key=lambda memory: (bool(memory.source.get("path")), memory.branch is not None, memory.id),
            )
        try:
            return await self._memories.get(name, self._projects.ids)
        except NotFound:
            return None


def _explain_refusal(memory: Memory, project: Project, tree: WorkingTree, now: datetime) -> str:
    if len(memory.content) > MAX_TEXT_CHARACTERS:
        return f"it is longer than {MAX_TEXT_CHARACTERS:,} characters"
    if find_new_redactions("", redact_memory(memory).value or ""):
        return "its value was a secret, which is not stored"
    return explain_not_shared(memory, project=project.id, branch=tree.branch or None, now=now)


def _build_file(memory: Memory, root: Path, by: str) -> SharedFileAnswer:
    shared_file = build_shared_file(redact_memory(remove_local_paths(memory, root)), by=by)
    return SharedFileAnswer(
        id=memory.id,
        path=shared_file.path,
        title=shared_file.title,
        content=render_shared_file(shared_file),
        trust=memory.trust,
    )
