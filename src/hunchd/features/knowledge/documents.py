"""Documents, which have a path and a history and are split into chunks for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Final

from hunchd.assembly.chunking import split_chunks
from hunchd.assembly.token_counter import count_tokens
from hunchd.core.memory.drafts import redact_memory
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.project import PROFILE_PREFIX
from hunchd.domain.errors import Conflict, InvalidInput, NotFound, TooLarge
from hunchd.domain.facts import MemoryChange, find_valid_version, revise_fact, undo_last_step
from hunchd.domain.filters import Filters
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import CHUNK, Kind, Levels, Memory, Scope, Status, Trust
from hunchd.ingestion.redaction import redact_name
from hunchd.protocol.documents import DocumentAnswer, DocumentDraft, DocumentsRequest, document_answer
from hunchd.protocol.memories import MemoryFields, derive_title
from hunchd.protocol.responses import PageAnswer, slice_page

# Limit for all profile pages together, because they go into prompts.
MAX_PROFILE_TOKENS: Final = 5_000
DOCUMENT_CATEGORY: Final = "document"  # category of a document stored by path


def document_id(path: str) -> str:
    """Return the memory id of the document at `path`."""
    return "m" + blake2b(f"document:{path}".encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


class DocumentService:
    """Service behind the routes for documents."""

    def __init__(self, memories: MemoryService, projects: OpenProjects, *, now: Callable[[], datetime]) -> None:
        self._memories = memories
        self._projects = projects
        self._now = now

    async def put(self, draft: DocumentDraft) -> Memory:
        """Store the text of a document under its path.

        The previous text is kept as history. Storing the same text again changes nothing. Raises TooLarge if the
        profile would exceed MAX_PROFILE_TOKENS.
        """
        if redact_name(draft.path) != draft.path:
            raise InvalidInput("the path seems to contain a secret, so the document was not stored", field="path")
        async with self._memories.change_lock:
            now = self._now()
            head = await self._find_document(draft.path)
            owner = head.project if head is not None else self._find_owner(draft.path)
            page = _draft_to_memory(draft, owner, now)
            await self._check_profile_size(page)
            if head is None:
                change = MemoryChange((page,), project=owner)
            elif (head.content, head.tags, head.source) == (page.content, page.tags, page.source) and (
                head.status is Status.ACTIVE
            ):
                return head
            else:
                new_version = replace(
                    page, created=head.created, at=head.at, status=Status.ACTIVE, valid_from=head.valid_from
                )
                change = revise_fact(head, replace(new_version, links=head.links, valid_to=None), now)
            stored_document = change.memories[-1]
            await self._memories.commit([await self._add_chunks(stored_document, change)])
            return stored_document

    async def get(self, path: str, moment: datetime | None = None) -> Memory:
        """Return the document at `path`, optionally as it was at `moment`.

        Raises NotFound if there is no such document, or if no version of it was valid at `moment`.
        """
        head = await self._find_document(path)
        if head is not None and moment is not None:
            head = find_valid_version(await self._memories.list_history(head.id, self._projects.ids), moment)
        if head is None or (moment is None and head.status is not Status.ACTIVE):
            raise NotFound(
                f"there is no document {path}" + (f" as of {moment:%Y-%m-%d}" if moment else ""), field="path"
            )
        return head

    async def list(self, request: DocumentsRequest) -> PageAnswer[DocumentAnswer]:
        """Return a page of the documents below a path prefix, sorted by path.

        The texts of the documents are not included.
        """
        documents = sorted(await self.list_below(request.prefix), key=lambda page: (page.key or "", page.id))
        return slice_page(
            documents, partial(document_answer, content=False), offset=request.offset, limit=request.limit
        )

    async def list_below(self, prefix: str) -> Sequence[Memory]:
        """Return every document whose path starts with `prefix`."""
        pages: list[Memory] = []
        for owner in (None, *self._projects.ids):
            filters = Filters(project=owner, kinds=(Kind.DOCUMENT,), path_prefix=prefix)
            pages += await self._memories.list_all(filters)
        return [page for page in pages if page.category != CHUNK and page.key is not None]

    async def forget(self, path: str) -> None:
        """Erase a document with its history and its chunks, also from disk.

        Raises NotFound if there is no such document.
        """
        page = await self._find_document(path)
        if page is None:
            raise NotFound(f"there is no document {path}", field="path")
        async with self._memories.pending_erasures.record([page.id], page.project):
            await self._memories.erase([page.id], self._projects.ids)

    async def edit(self, page: Memory, patch: MemoryFields) -> Memory:
        """Change some fields of a document.

        Raises NotFound if the document was forgotten in the meantime.
        """
        async with self._memories.change_lock:
            page, now = await self._memories.get(page.id, self._projects.ids), self._now()
            edited_page = redact_memory(replace(page, **patch, updated=now))
            await self._check_profile_size(edited_page)
            change = revise_fact(page, edited_page, now)
            await self._memories.commit([await self._add_chunks(change.memories[-1], change)])
            return change.memories[-1]

    async def undo(self, page: Memory) -> Memory:
        """Undo the last change to the text of a document.

        Raises NotFound if the document was forgotten in the meantime, and Conflict if there is nothing to undo.
        """
        async with self._memories.change_lock:
            page = await self._memories.get(page.id, self._projects.ids)
            if page.status is Status.ARCHIVED:
                raise Conflict("there is nothing to undo")
            before = await self._memories.find([page.supersedes], page.project) if page.supersedes else {}
            result, change = undo_last_step(page, before.get(page.supersedes or ""), self._now())
            await self._memories.commit([await self._add_chunks(result, change)])
            return result

    async def _find_document(self, path: str) -> Memory | None:
        """Return the current document at a path, or None.

        The user's own documents are searched first, then those of the projects.
        """
        try:
            return await self._memories.get(document_id(path), self._projects.ids)
        except NotFound:
            pass
        for owner in (None, *self._projects.ids):  # documents stored by sessions and imports
            filters = Filters(project=owner, kinds=(Kind.DOCUMENT,), key=path)
            if documents := await self._memories.list_all(filters):
                return max(documents, key=lambda page: page.updated)
        return None

    def _find_owner(self, path: str) -> str | None:
        """Return the id of a document's project, or None for the user.

        A document belongs to a project if its path is /projects/NAME/…, where NAME is the project's name or id.
        Such a document is deleted together with the project.
        """
        root, _, rest = path.strip("/").partition("/")
        name = rest.partition("/")[0]
        if root != "projects":
            return None
        matching_ids = [one.id for one in self._projects if name in (one.id, one.name)]
        return matching_ids[0] if len(matching_ids) == 1 else None

    async def _check_profile_size(self, page: Memory) -> None:
        if not (page.key or "").startswith(PROFILE_PREFIX):
            return
        others = [one for one in await self.list_below(PROFILE_PREFIX) if one.id != page.id]
        total = count_tokens(page.content) + sum(count_tokens(one.content) for one in others)
        if total > MAX_PROFILE_TOKENS:
            raise TooLarge(
                f"the profile would have {total:,} tokens; "
                f"the limit is {MAX_PROFILE_TOKENS:,}, as it goes into prompts",
                field="content",
                hint="shorten it, or move the rest below /reference",
            )

    async def _add_chunks(self, page: Memory, change: MemoryChange) -> MemoryChange:
        """Extend `change` with the updates for a document's chunks.

        New chunks are stored and outdated ones are deleted.
        """
        chunks = _split_into_chunks(page) if page.status is Status.ACTIVE else []
        chunk_ids = {part.id for part in chunks}
        family = await self._memories.list_family(page.id, page.project)
        outdated_ids = tuple(one.id for one in family if one.category == CHUNK and one.id not in chunk_ids)
        return replace(change, memories=(*change.memories, *chunks), deletions=(*change.deletions, *outdated_ids))


def _draft_to_memory(draft: DocumentDraft, owner: str | None, now: datetime) -> Memory:
    source: JsonObject = {"type": "document", "path": draft.path}
    if draft.metadata:
        source["metadata"] = dict(draft.metadata)
    title = derive_title(draft.content).lstrip("# ").strip() or draft.path
    return replace(
        redact_memory(
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
                category=DOCUMENT_CATEGORY,
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


def _split_into_chunks(page: Memory) -> list[Memory]:
    """Split a long document into memories, one for each chunk.

    Returns an empty list for a short document.
    """
    chunks = split_chunks(page.content)
    if len(chunks) < 2:
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
        for number, part in enumerate(chunks)
    ]
