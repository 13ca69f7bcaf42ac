"""HTTP handlers for context, predictions, search and memories."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web
from msgspec import structs

from hunchd.protocol.knowledge_answers import FeedbackAnswer, IdsAnswer, MemoryUsageAnswer
from hunchd.protocol.memories import (
    MemoryBody,
    MemoryDrafts,
    MemoryPatch,
    MemoryRecord,
    memory_to_record,
    parse_drafts_body,
    parse_patch,
)
from hunchd.protocol.predictions import PredictionAnswer
from hunchd.protocol.requests import (
    AsOfQuery,
    AssembleRequest,
    ContextQuery,
    ExpandRequest,
    Feedback,
    FileQuery,
    FocusQuery,
    ForgetRequest,
    ListSlice,
    MemoriesQuery,
    PredictRequest,
    ReviewRequest,
    SearchBody,
    parse_context_query,
    parse_feedback_body,
)
from hunchd.protocol.responses import (
    BundleAnswer,
    FileAnswer,
    FocusAnswer,
    ForgottenAnswer,
    ForgottenManyAnswer,
    PageAnswer,
    Rejection,
    ReviewAnswer,
    slice_page,
    sort_rejections,
)
from hunchd.protocol.search_results import ExpandAnswer, SearchAnswer
from hunchd.serving.responses import EncodedBundles
from hunchd.serving.routes import JSON, TEXT, get_query, route

if TYPE_CHECKING:
    from hunchd.engine import Engine

BatchAnswerT = TypeVar("BatchAnswerT", IdsAnswer, FeedbackAnswer)

# Cache of parsed queries: an editor repeats the same few, and equal text yields equal results.
_parse_cached_query = lru_cache(maxsize=256)(parse_context_query)


class MemoryHandlers:
    """Handlers for context, predictions, search and memories, one method per route."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._bundles = EncodedBundles()

    @route(
        "GET /context",
        "context",
        query=ContextQuery,
        answers={JSON: BundleAnswer, "text/markdown": TEXT},
        errors=(304, 404),
    )
    async def get_context(self, request: web.Request) -> web.Response:
        """Return what a developer at this file needs next.

        Returns 304 if the client's ETag is current.
        """
        context_request, form = _parse_cached_query(get_query(request))
        return self._bundles.respond(await self._engine.get_context(context_request), form, request.headers)

    @route("POST /context/assemble", "assemble", answers={JSON: BundleAnswer}, errors=(404,))
    async def assemble_context(self, body: AssembleRequest, request: web.Request) -> web.Response:
        """Return the context for everything that the client's user has open."""
        return self._bundles.respond(await self._engine.get_context(body.to_context_request()), "json", request.headers)

    @route("POST /context/predict", "predict", errors=(404,))
    async def predict_files(self, body: PredictRequest) -> PredictionAnswer:
        """Predict, with reasons, which files and memories will be needed."""
        return await self._engine.predict(body)

    @route("POST /context/review", "review", errors=(404,))
    async def review(self, body: ReviewRequest) -> ReviewAnswer:
        """Return the files that a change seems to lack.

        The change is the uncommitted one, or base..HEAD. The list is empty if the change looks complete.
        """
        return await self._engine.review(body)

    @route("GET /focus", "focus", errors=(404,))
    async def get_focus(self, query: FocusQuery) -> FocusAnswer:
        """Return the open files and the most recently opened files.

        Each of the most recently opened files comes with the rank that was predicted for it.
        """
        return self._engine.get_focus(query.project)

    @route("GET /files", "findFile", errors=(404,))
    async def find_file(self, query: FileQuery) -> FileAnswer:
        """Tell whether a file exists, or which have similar names."""
        return await self._engine.find_file(query.project, query.path)

    @route("POST /memories", "remember", body=MemoryBody | MemoryDrafts, status=201, errors=(404, 409, 429, 507))
    async def add_memories(self, raw: Any) -> IdsAnswer:
        """Store one or more memories.

        They are durable once the response arrives. Invalid ones are listed as rejected, and the others are stored.
        """
        drafts, rejections = parse_drafts_body(raw, self._engine.require_project)
        return _add_rejected(await self._engine.store_drafts(drafts), rejections)

    @route("GET /memories", "listMemories", errors=(404,))
    async def list_memories(self, query: MemoriesQuery) -> PageAnswer[MemoryRecord]:
        """List the memories that match the given filters."""
        return await self._engine.list_memories(query.to_filters(), query.limit, query.cursor)

    @route("GET /memories/{id}", "memory", errors=(404,))
    async def get_memory(self, id: str, query: AsOfQuery) -> MemoryRecord:
        """Return a memory as it is now, or as it was in the past."""
        if query.as_of is None:
            return memory_to_record(await self._engine.get_memory(id))
        return memory_to_record(await self._engine.knowledge.get_memory_as_of(id, query.as_of))

    @route("PATCH /memories/{id}", "editMemory", body=MemoryPatch, errors=(404, 409, 507))
    async def edit_memory(self, raw: Any, id: str) -> MemoryRecord:
        """Change some fields of a memory."""
        return memory_to_record(await self._engine.knowledge.edit(id, parse_patch(raw)))

    @route("DELETE /memories/{id}", "forget", errors=(404, 507))
    async def forget_memory(self, id: str) -> ForgottenAnswer:
        """Erase a memory."""
        return (await self._engine.forget([id]))[0]

    @route("POST /memories/forget", "forgetMany", errors=(404, 507))
    async def forget_memories(self, body: ForgetRequest) -> ForgottenManyAnswer:
        """Erase many memories, in about the time that it takes to erase one."""
        return ForgottenManyAnswer(items=await self._engine.forget(body.ids))

    @route("GET /memories/{id}/history", "memoryHistory", errors=(404,))
    async def get_memory_history(self, query: ListSlice, id: str) -> PageAnswer[MemoryRecord]:
        """List the versions of a memory, newest first, then what it replaced, and versions that were undone."""
        versions = await self._engine.get_memory_history(id)
        return slice_page(versions, memory_to_record, offset=query.offset, limit=query.limit)

    @route("GET /memories/{id}/usage", "memoryUsage", errors=(404,))
    async def get_memory_usage(self, id: str) -> MemoryUsageAnswer:
        """Return the usage of a memory, and the changes that consolidation made to it.

        Usage states how often the memory was shown, used and rated.
        """
        return await self._engine.get_memory_usage(id)

    @route("POST /expand", "expand", errors=(404,))
    async def expand(self, body: ExpandRequest) -> ExpandAnswer:
        """Return the full text that a pointer in a context stands for."""
        return await self._engine.expand(body)

    @route("POST /search", "search", errors=(404,))
    async def search(self, body: SearchBody) -> SearchAnswer:
        """Search code and memories."""
        return await self._engine.search(body.to_search_request())

    @route("POST /feedback", "feedback", body=Feedback, status=202, errors=(404, 507))
    async def add_feedback(self, raw: Any) -> FeedbackAnswer:
        """Accept feedback on the usefulness of memories and predictions."""
        items, rejections = parse_feedback_body(raw, self._engine.require_project)
        return _add_rejected(await self._engine.record_feedback(items), rejections)


def _add_rejected(result: BatchAnswerT, rejections: list[Rejection]) -> BatchAnswerT:
    """Add the entries that parsing rejected to the result of a batch.

    They are merged with the entries that the engine rejected, and all of them are sorted by index.
    """
    return structs.replace(result, rejected=sort_rejections(rejections, result.rejected))
