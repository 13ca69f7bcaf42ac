"""Documents by path, with history, split into chunks for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from hunchd.assembly.chunking import chunks_of
from hunchd.assembly.tokens import count
from hunchd.domain.errors import Conflict, InvalidInput, NotFound, TooLarge
from hunchd.domain.facts import Change, holding, revised, undone
from hunchd.domain.filters import Filters
from hunchd.domain.memory import CHUNK, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.engine.keeping.drafts import without_secrets
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.project import PROFILE
from hunchd.ingestion.redaction import redacted_name
from hunchd.protocol.answers import part_json
from hunchd.protocol.documents import DocumentDraft, DocumentsRequest, document_json
from hunchd.protocol.memories import title_of

# Limit of all profile pages together, as they go into prompts.
PROFILE_TOKENS: Final = 5_000
DOCUMENT: Final = "document"  # category of a document stored by path


def document_id(path: str) -> str:
    """Return the memory id of the document at `path`."""
    return "m" + blake2b(f"document:{path}".encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


class Documents:
    """Service that the document routes call."""

    def __init__(self, memories: Memories, projects: Projects, *, now: Callable[[], datetime]) -> None:
        self._memories = memories
        self._projects = projects
        self._now = now

    async def put(self, draft: DocumentDraft) -> Memory:
        """Store a text under its path and keep the old one as history.

        The same text changes nothing. Raises TooLarge if the profile would exceed MAX_PROFILE_TOKENS.
        """
        if redacted_name(draft.path) != draft.path:
            raise InvalidInput("the path seems to contain a secret, which is not stored", field="path")
        async with self._memories.changing:
            now = self._now()
            head = await self._head(draft.path)
            owner = head.project if head is not None else self._owner(draft.path)
            page = _page(draft, owner, now)
            await self._refuse_large_profile(page)
            if head is None:
                change = Change((page,), project=owner)
            elif (head.content, head.tags, head.source) == (page.content, page.tags, page.source) and (
                head.status is Status.ACTIVE
            ):
                return head
            else:
                told = replace(page, created=head.created, at=head.at, status=Status.ACTIVE, valid_from=head.valid_from)
                change = revised(head, replace(told, links=head.links, valid_to=None), now)
            kept = change.memories[-1]
            await self._memories.commit([await self._with_chunks(kept, change)])
            return kept

    async def get(self, path: str, moment: datetime | None = None) -> Memory:
        """Return the document at `path`, optionally as of `moment`. Raises NotFound."""
        head = await self._head(path)
        if head is not None and moment is not None:
            head = holding(await self._memories.history(head.id, self._projects.ids), moment)
        if head is None or (moment is None and head.status is not Status.ACTIVE):
            raise NotFound(f"there is no document {path}" + (f" of {moment:%Y-%m-%d}" if moment else ""), field="path")
        return head

    async def list(self, request: DocumentsRequest) -> dict[str, Any]:
        """Return a page of the documents below a prefix.

        Sorted by path, without their texts.
        """
        found = sorted(await self.below(request.prefix), key=lambda page: (page.key or "", page.id))
        return part_json(found, partial(document_json, content=False), offset=request.offset, limit=request.limit)

    async def below(self, prefix: str) -> Sequence[Memory]:
        """Return every document whose path begins with `prefix`."""
        pages: list[Memory] = []
        for owner in (None, *self._projects.ids):
            filters = Filters(project=owner, kinds=(Kind.DOCUMENT,), path_prefix=prefix)
            pages += await self._memories.all_of(filters)
        return [page for page in pages if page.category != CHUNK and page.key is not None]

    async def forget(self, path: str) -> None:
        """Erase a document, its history and its chunks from disk too.

        Raises NotFound.
        """
        page = await self._head(path)
        if page is None:
            raise NotFound(f"there is no document {path}", field="path")
        async with self._memories.unfinished.promised([page.id], page.project):
            await self._memories.erase(page.id, self._projects.ids)

    async def rewrite(self, page: Memory, patch: dict[str, Any]) -> Memory:
        """Change some fields of a document.

        Raises NotFound when it was forgotten meanwhile.
        """
        async with self._memories.changing:
            page, now = await self._memories.get(page.id, self._projects.ids), self._now()
            changed = without_secrets(replace(page, **patch, updated=now))
            await self._refuse_large_profile(changed)
            change = revised(page, changed, now)
            await self._memories.commit([await self._with_chunks(change.memories[-1], change)])
            return change.memories[-1]

    async def undo(self, page: Memory) -> Memory:
        """Restore the text before the last change.

        Raises NotFound when it was forgotten meanwhile.
        """
        async with self._memories.changing:
            page = await self._memories.get(page.id, self._projects.ids)
            if page.status is Status.ARCHIVED:
                raise Conflict("there is nothing to undo")
            before = await self._memories.known([page.supersedes], page.project) if page.supersedes else {}
            restored, change = undone(page, before.get(page.supersedes or ""), self._now())
            await self._memories.commit([await self._with_chunks(restored, change)])
            return restored

    async def _head(self, path: str) -> Memory | None:
        """Return the current document at a path.

        Searches the user's own store, then the projects'.
        """
        try:
            return await self._memories.get(document_id(path), self._projects.ids)
        except NotFound:
            pass
        for owner in (None, *self._projects.ids):  # documents stored by sessions and imports
            filters = Filters(project=owner, kinds=(Kind.DOCUMENT,), key=path)
            if found := await self._memories.all_of(filters):
                return max(found, key=lambda page: page.updated)
        return None

    def _owner(self, path: str) -> str | None:
        """Return the project id for a path /projects/NAME/…, else None (the user).

        Such a document is deleted with its project. NAME is a name or an id.
        """
        root, _, rest = path.strip("/").partition("/")
        name = rest.partition("/")[0]
        if root != "projects":
            return None
        named = [one.id for one in self._projects if name in (one.id, one.name)]
        return named[0] if len(named) == 1 else None

    async def _refuse_large_profile(self, page: Memory) -> None:
        if not (page.key or "").startswith(PROFILE):
            return
        others = [one for one in await self.below(PROFILE) if one.id != page.id]
        total = count(page.content) + sum(count(one.content) for one in others)
        if total > PROFILE_TOKENS:
            raise TooLarge(
                f"the profile would have {total:,} tokens; the limit is {PROFILE_TOKENS:,}, as it goes into prompts",
                field="content",
                hint="shorten it, or move the rest below /reference",
            )

    async def _with_chunks(self, page: Memory, change: Change) -> Change:
        """Add the document's new chunks to a change, and the deletion of outdated ones."""
        parts = _chunks(page) if page.status is Status.ACTIVE else []
        kept = {part.id for part in parts}
        family = await self._memories.family(page.id, page.project)
        gone = tuple(one.id for one in family if one.category == CHUNK and one.id not in kept)
        return replace(change, memories=(*change.memories, *parts), deletions=(*change.deletions, *gone))


def _page(draft: DocumentDraft, owner: str | None, now: datetime) -> Memory:
    source: dict[str, Any] = {"type": "document", "path": draft.path}
    if draft.metadata:
        source["metadata"] = dict(draft.metadata)
    title = title_of(draft.content).lstrip("# ").strip() or draft.path
    return replace(
        without_secrets(
            Memory(
                id="",
                kind=Kind.DOCUMENT,
                title=title,
                content=draft.content,
                at=now,
                created=now,
                updated=now,
                project=owner,
                levels=Levels(index=draft.path),
                category=DOCUMENT,
                key=draft.path,
                scope=Scope.USER if owner is None else Scope.PROJECT,
                tags=draft.tags,
                valid_from=now,
                trust=Trust.USER,
                source=source,
            )
        ),
        id=document_id(draft.path),
        key=draft.path,
    )


def _chunks(page: Memory) -> list[Memory]:
    """Split a long document into chunk memories; a short one has none."""
    parts = chunks_of(page.content)
    if len(parts) < 2:
        return []
    return [
        replace(
            page,
            id=f"{page.id}.c{number}",
            title=f"{page.title}: {part.heading}" if part.heading and part.heading != page.title else page.title,
            content=part.text,
            levels=Levels(),
            category=CHUNK,
            supersedes=None,
            superseded_by=None,
            links=({"type": "part_of", "ref": page.id},),
            source={"type": "document", "path": page.key, "document": page.id, "chunk": number},
        )
        for number, part in enumerate(parts)
    ]
