"""HTTP handlers for the daemon itself: status, projects, signals, export and import."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hunchd import PROTOCOL, __version__
from hunchd.protocol.exports import ExportLine, ImportedAnswer
from hunchd.protocol.fields import get_batch
from hunchd.protocol.requests import ExportQuery, ListSlice, NewProject
from hunchd.protocol.responses import (
    AcceptedAnswer,
    HealthAnswer,
    PageAnswer,
    ProjectAnswer,
    RemovedAnswer,
    slice_page,
)
from hunchd.protocol.settings_answers import DoctorAnswer, ProjectChange, SettingChange, SettingsAnswer
from hunchd.protocol.signals import MAX_SIGNALS, SignalsBody
from hunchd.protocol.status_answers import StatusAnswer
from hunchd.serving.event_stream import EventListeners
from hunchd.serving.limits import ConnectionPool, ServerLimits
from hunchd.serving.request_bodies import ImportLines
from hunchd.serving.request_metrics import RequestMetrics
from hunchd.serving.responses import build_response, encode_json, start_response
from hunchd.serving.routes import ANY_OBJECT, JSON, JSON_LINES, TEXT, route

if TYPE_CHECKING:
    from hunchd.engine import Engine

logger = logging.getLogger(__name__)


class ServerHandlers:
    """Handlers for the daemon itself, one method per route.

    `document` is the encoded OpenAPI document.
    """

    def __init__(self, engine: Engine, limits: ServerLimits, connections: ConnectionPool, document: bytes) -> None:
        self._engine = engine
        self._limits = limits
        self._connections = connections
        self._document = document
        self.listeners = EventListeners(limits)
        self.counts = RequestMetrics()

    @route("GET /health", "health", open=True)
    async def get_health(self) -> HealthAnswer:
        """Check that the daemon is running."""
        return HealthAnswer(status="ok", protocol=PROTOCOL, version=__version__)

    @route("GET /status", "status")
    async def get_status(self) -> StatusAnswer:
        """Return the projects, queues and sizes, and the features that work only in part."""
        return await self._engine.status()

    @route("POST /projects", "addProject")
    async def add_project(self, body: NewProject) -> ProjectAnswer:
        """Register a project; registering the same project again changes nothing."""
        return await self._engine.add_project(body.path)

    @route("GET /projects", "listProjects")
    async def list_projects(self, query: ListSlice) -> PageAnswer[ProjectAnswer]:
        """List the registered projects."""
        projects = await self._engine.list_projects()
        return slice_page(projects, lambda one: one, offset=query.offset, limit=query.limit)

    @route("PATCH /projects/{id}", "changeProject", errors=(404,))
    async def change_project(self, id: str, body: ProjectChange) -> ProjectAnswer:
        """Pause or resume a project."""
        return self._engine.change_project(id, body)

    @route("DELETE /projects/{id}", "removeProject", errors=(404,))
    async def remove_project(self, id: str) -> RemovedAnswer:
        """Erase everything stored about a project, including all traces on disk."""
        return await self._engine.remove_project(id)

    @route("POST /signals", "sendSignals", body=SignalsBody, status=202, errors=(429, 507))
    async def accept_signals(self, raw: Any) -> AcceptedAnswer:
        """Accept signals, which report events.

        Valid signals are stored and are durable once the response arrives; invalid ones are listed as rejected.
        """
        # each is parsed by itself, so that an invalid one does not affect the others
        return await self._engine.intake.accept(get_batch(raw, "signals", max_entries=MAX_SIGNALS))

    @route("GET /settings", "settings")
    async def get_settings(self) -> SettingsAnswer:
        """Return the settings in effect, each with its default and purpose."""
        return self._engine.describe_settings()

    @route("PATCH /settings", "changeSetting")
    async def change_setting(self, body: SettingChange) -> SettingsAnswer:
        """Write a setting to the configuration file.

        It takes effect at the daemon's next start.
        """
        return self._engine.change_setting(body)

    @route("GET /doctor", "doctor", errors=(503,))
    async def get_checks(self) -> DoctorAnswer:
        """Run the checks of `hunch doctor`."""
        return DoctorAnswer(checks=await self._engine.run_doctor(fix=False))

    @route("POST /doctor/fix", "fixProblems", errors=(503,))
    async def apply_fixes(self) -> DoctorAnswer:
        """Run the checks of `hunch doctor` and apply its safe fixes."""
        return DoctorAnswer(checks=await self._engine.run_doctor(fix=True))

    @route("GET /export", "export", answers={JSON_LINES: ExportLine}, errors=(404,))
    async def export_lines(self, query: ExportQuery, request: web.Request) -> web.StreamResponse:
        """Export everything stored, one item per line.

        The last line states the number of lines.
        """
        return await _stream_json_lines(request, self._engine.transfer.export(query.project))

    @route(
        "POST /import", "import", body=ExportLine, takes=(JSON_LINES, "application/jsonl", JSON), errors=(404, 429, 507)
    )
    async def import_lines(self, request: web.Request) -> ImportedAnswer:
        """Import exported lines; a line that is already stored changes nothing."""
        lines = ImportLines(request, self._limits)
        return lines.summarize(await self._engine.transfer.import_lines(lines.read_lines()))

    @route("GET /events", "events", answers={"text/event-stream": TEXT}, errors=(429,))
    async def stream_events(self, request: web.Request) -> web.StreamResponse:
        """Stream events as server-sent events.

        A client that reads too slowly is disconnected.
        """
        return await self.listeners.serve(request, self._engine.events.subscribe())

    @route("GET /metrics", "metrics", answers={"text/plain": TEXT})
    async def get_metrics(self) -> web.Response:
        """Return metrics in the Prometheus text format."""
        text = await self._engine.metrics() + self.counts.render(self._connections, self.listeners)
        return build_response(text.encode(), type_="text/plain; version=0.0.4; charset=utf-8")

    @route("GET /openapi.json", "openapi", answers={JSON: ANY_OBJECT})
    async def get_openapi(self) -> web.Response:
        """Return this OpenAPI document."""
        return build_response(self._document)


async def _stream_json_lines(request: web.Request, lines: AsyncIterator[ExportLine]) -> web.StreamResponse:
    """Stream the items as JSON, one line each.

    The first item is awaited before the response starts, so that an error up to that point still gets its own status.
    A later failure cuts the response off; the client notices this because the last chunk is missing.
    """
    first = await anext(lines, None)
    response = await start_response(request, "application/x-ndjson; charset=utf-8")
    try:
        if first is not None:
            await response.write(encode_json(first) + b"\n")
        async for line in lines:
            await response.write(encode_json(line) + b"\n")
    except ConnectionError:  # the client disconnected
        return response
    except Exception:
        logger.exception("the response to %s was cut off by an error", request.path)
        request.protocol.force_close()
        return response
    await response.write_eof()
    return response
