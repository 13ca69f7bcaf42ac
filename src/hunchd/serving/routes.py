"""Decorator that declares a route in one place.

The router, the decoding of requests and the OpenAPI document all use the declaration. A handler's docstring (which
becomes the summary) and its signature are part of it. The handler's parameters are recognised by their names: `query`
and `body` are decoded to their Structs (a body that may be None may be omitted), `raw` is the JSON body without
further decoding, `id`, `session` and `path` are taken from the path, and `request` is the request itself. If the
handler returns a Struct, it is sent as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Final, TypeVar, get_args, get_type_hints

from aiohttp import web
from msgspec import Struct

from hunchd.domain.errors import NotFound
from hunchd.protocol.decoding import reject_unstorable
from hunchd.protocol.session_requests import validate_session_id
from hunchd.protocol.struct_decoding import decode, decode_query, refuse_query
from hunchd.serving.limits import ServerLimits
from hunchd.serving.request_bodies import is_bodiless, read_json_body
from hunchd.serving.responses import json_response

JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
TEXT: Final = {"type": "string"}
ANY_OBJECT: Final = {"type": "object"}
_MAX_ID_CHARACTERS: Final = 200
_PATTERN: Final = re.compile(r":[^}]*")  # pattern of a path parameter, as the router writes it: {path:.+}
_ROUTES_ATTRIBUTE: Final = "declared_routes"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HandlerT = TypeVar("HandlerT", bound=Callable[..., Awaitable[object]])
Reader = Callable[[web.Request, ServerLimits], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """HTTP route, with the information that the OpenAPI document needs.

    `body` and `answers` are Structs or schemas; `errors` are the error statuses in addition to those that any route
    can return.
    """

    method: str
    pattern: str  # in the router's notation
    id: str
    summary: str
    query: type[Struct] | None = None
    any_query: bool = False  # True: any query is accepted, because the page reads it, not the daemon
    body: Any = None
    needs_body: bool = True  # False: the body may be omitted
    takes: tuple[str, ...] = (JSON,)
    status: int = 200
    answers: Mapping[str, Any]  # by media type
    errors: tuple[int, ...] = ()
    open: bool = False  # True: no token is needed
    readers: Mapping[str, Reader]  # by name of the handler's parameter

    @property
    def path(self) -> str:
        return _PATTERN.sub("", self.pattern)


def route(
    method_and_pattern: str,
    operation_id: str,
    *,
    answers: Mapping[str, Any] | None = None,
    body: Any = None,
    query: type[Struct] | None = None,
    **described: Any,
) -> Callable[[HandlerT], HandlerT]:
    """Declare the route of a handler, whose docstring becomes the summary.

    `answers`, `body` and `query` are needed only where the handler's signature does not state them.
    """
    method, pattern = method_and_pattern.split()

    def declare(handler: HandlerT) -> HandlerT:
        hints = get_type_hints(handler)
        answer = hints.pop("return")
        body_types = [each for each in get_args(hints.get("body")) or (hints.get("body"),) if each is not type(None)]
        declared = Route(
            method=method,
            pattern=pattern,
            id=operation_id,
            summary=" ".join(cleandoc(handler.__doc__ or "").split()),
            query=query or hints.get("query"),
            body=body or body_types[0],
            needs_body=len(get_args(hints.get("body"))) == 0,
            answers=answers or {JSON: answer},
            readers={name: _build_reader(name, hints[name]) for name in hints},
            **described,
        )
        setattr(handler, _ROUTES_ATTRIBUTE, (declared, *getattr(handler, _ROUTES_ATTRIBUTE, ())))
        return handler

    return declare


def list_routes(of: type) -> list[Route]:
    """Return the routes of a handler class, in the order of its methods."""
    return [each for handler in vars(of).values() for each in getattr(handler, _ROUTES_ATTRIBUTE, ())]


def bind_routes(handlers: object, limits: ServerLimits) -> Iterator[tuple[Route, Handler]]:
    """Yield each route of `handlers` with the function that the router calls."""
    for name, handler in vars(type(handlers)).items():
        for each in getattr(handler, _ROUTES_ATTRIBUTE, ()):
            yield each, _bind(each, getattr(handlers, name), limits)


def get_query(request: web.Request) -> str:
    return request.raw_path.partition("?")[2]


def _bind(declared: Route, method: Callable[..., Awaitable[Any]], limits: ServerLimits) -> Handler:
    takes_query = declared.query is not None or declared.any_query

    async def handle(request: web.Request) -> web.StreamResponse:
        if not takes_query:
            refuse_query(get_query(request))
        arguments = {name: await read(request, limits) for name, read in declared.readers.items()}
        answer = await method(**arguments)
        return answer if isinstance(answer, web.StreamResponse) else json_response(answer, status=declared.status)

    return handle


def _build_reader(name: str, hint: Any) -> Reader:
    """Return the function that reads the handler's parameter `name` from a request."""

    async def read_query(request: web.Request, _: ServerLimits) -> Any:
        return decode_query(get_query(request), hint)

    async def read_body(request: web.Request, limits: ServerLimits) -> Struct | None:
        struct, *optional = get_args(hint) or (hint,)
        if optional and is_bodiless(request):
            return None
        raw = await read_json_body(request, limits)
        return None if optional and raw is None else decode(raw, struct)

    readers: dict[str, Reader] = {
        "query": read_query,
        "body": read_body,
        "raw": read_json_body,
        "id": _read_identifier,
        "session": _read_session,
        "path": _read_path,
        "request": _read_request,
    }
    return readers[name]


async def _read_identifier(request: web.Request, _: ServerLimits) -> str:
    identifier = request.match_info["id"]
    reject_unstorable(identifier, "id")
    if len(identifier) > _MAX_ID_CHARACTERS:
        raise NotFound("not found: the id is too long to be valid", field="id")
    return identifier


async def _read_session(request: web.Request, _: ServerLimits) -> str:
    session = request.match_info["id"]
    reject_unstorable(session, "id")
    return validate_session_id(session)


async def _read_path(request: web.Request, _: ServerLimits) -> str:
    path = request.match_info["path"]
    reject_unstorable(path, "path")
    return path


async def _read_request(request: web.Request, _: ServerLimits) -> web.Request:
    return request
