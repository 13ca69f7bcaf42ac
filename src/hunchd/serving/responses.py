"""Functions that build HTTP responses.

They cover JSON, errors (all in one format), and context bundles, which are encoded once and cached.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import hdrs, web
from multidict import CIMultiDict, CIMultiDictProxy

from hunchd.domain.context import Bundle
from hunchd.domain.errors import (
    Conflict,
    HunchError,
    InvalidInput,
    NotFound,
    Overloaded,
    RepositoryError,
    StorageFull,
    TooLarge,
)
from hunchd.protocol.decoding import MalformedRequest
from hunchd.protocol.requests import Format
from hunchd.protocol.responses import bundle_answer, error_answer, to_json, to_plain_value
from hunchd.serving.access import AccessDenied
from hunchd.serving.limits import MAX_HEADER_BYTES, MAX_HEADERS, MAX_REQUEST_LINE_BYTES

logger = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json; charset=utf-8"
MARKDOWN_TYPE: Final = "text/markdown; charset=utf-8"

# Most specific first. Any other error means that a component is unavailable: 503, retry.
_STATUSES: Final[tuple[tuple[type[HunchError], int], ...]] = (
    (MalformedRequest, 400),
    (InvalidInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (TooLarge, 413),
    (Overloaded, 429),
    (StorageFull, 507),
    (RepositoryError, 422),
)
# Bundles of the files a user switches between; 30 kB each.
_MAX_CACHED_BUNDLES: Final = 64
_ENCODER: Final = msgspec.json.Encoder(enc_hook=to_plain_value)


def _build_headers(type_: str, cache_control: str = "no-store") -> CIMultiDict[str]:
    """Return the headers of a response, which forbid content sniffing.

    They also forbid caching, unless `cache_control` allows it.
    """
    return CIMultiDict(
        {
            hdrs.CONTENT_TYPE: type_,
            hdrs.CACHE_CONTROL: cache_control,
            "X-Content-Type-Options": "nosniff",
            hdrs.SERVER: "hunchd",
        }
    )


async def start_response(request: web.Request, type_: str) -> web.StreamResponse:
    """Start a response whose body is written in parts."""
    response = web.StreamResponse(headers=_build_headers(type_))
    await response.prepare(request)
    return response


def build_response(body: bytes, *, status: int = 200, type_: str = JSON_TYPE, etag: str | None = None) -> web.Response:
    """Build a complete response.

    All responses that are not streamed are built here.
    """
    headers = _build_headers(type_, "no-store" if etag is None else "private, no-cache")
    if etag is not None:
        headers[hdrs.ETAG] = etag
    return web.Response(body=body, status=status, headers=headers)


def json_response(value: Any, *, status: int = 200) -> web.Response:
    return build_response(encode_json(value), status=status)


def encode_json(value: Any) -> bytes:
    """Encode a Struct or a plain value as JSON.

    An unpaired surrogate, which can occur in a file name, becomes "?".
    """
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def error_response(error: HunchError) -> web.Response:
    """Build the response to an error.

    Errors with a 5xx status are logged.
    """
    status = get_status(error)
    response = json_response(error_answer(error), status=status)
    if isinstance(error, Overloaded):
        response.headers[hdrs.RETRY_AFTER] = str(max(1, round(error.retry_after)))
    if status == 401:
        response.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    if status >= 500:
        logger.warning("answered with HTTP %d: %s", status, error.message)
    return response


def router_error_response(error_raised: web.HTTPException, request: web.BaseRequest) -> web.Response:
    """Convert an error response by aiohttp to the error format of the API.

    aiohttp rejects unknown routes and methods, and bodies that are too large.
    """
    status = error_raised.status
    name = HTTPStatus(status).phrase
    error = HunchError(
        f"{name}: {request.method} {ascii(request.path[:100])[1:-1]}", hint="GET /openapi.json lists the routes"
    )
    error.code = name.lower().replace(" ", "_")
    response = json_response(error_answer(error), status=status)
    if hdrs.ALLOW in error_raised.headers:
        response.headers[hdrs.ALLOW] = error_raised.headers[hdrs.ALLOW]
    return response


def internal_error_response() -> web.Response:
    """Build the response to an internal error.

    The details are written only to the log.
    """
    error = HunchError("internal error; the daemon's log has the details", hint="run `hunch logs` to see them")
    error.code = "internal"
    return json_response(error_answer(error), status=500)


def malformed_request_response(status: int) -> web.Response:
    """Build the response to malformed HTTP.

    The request is not quoted, because it may contain a token.
    """
    error = MalformedRequest(
        f"malformed HTTP request: a line may have at most {MAX_REQUEST_LINE_BYTES:,} bytes, a header "
        f"{MAX_HEADER_BYTES:,}, and there may be at most {MAX_HEADERS} headers; "
        "exactly one Content-Length or Transfer-Encoding must delimit the body"
    )
    return json_response(error_answer(error), status=status)


class EncodedBundles:
    """Cache of context bundles in encoded form.

    If a client already has the current bundle, the response is an empty one with status 304.
    """

    def __init__(self, max_bundles: int = _MAX_CACHED_BUNDLES) -> None:
        self._max_bundles = max_bundles
        self._encoded_bundles: OrderedDict[tuple[object, ...], bytes] = OrderedDict()

    def respond(self, bundle: Bundle, form: Format, headers: CIMultiDictProxy[str]) -> web.Response:
        # For JSON the header equals "etag" in the body, so that a client may use either.
        etag = None if not bundle.etag else f'"{bundle.etag}"' if form == "json" else f'"{bundle.etag}.{form}"'
        if etag is not None and _matches_etag(", ".join(headers.getall(hdrs.IF_NONE_MATCH, ())), etag):
            return build_response(b"", status=304, type_=_content_type(form), etag=etag)
        return build_response(self._encode(bundle, form), type_=_content_type(form), etag=etag)

    def _encode(self, bundle: Bundle, form: Format) -> bytes:
        # The etag identifies the content; the other fields may differ between two bundles with the same content.
        key = (bundle.etag, form, bundle.prefetched, bundle.status, bundle.degraded, bundle.budget)
        if bundle.etag and (cached_body := self._encoded_bundles.get(key)) is not None:
            self._encoded_bundles.move_to_end(key)
            return cached_body
        body = encode_json(bundle_answer(bundle)) if form == "json" else bundle.context.encode("utf-8", "replace")
        if bundle.etag:
            self._encoded_bundles[key] = body
            if len(self._encoded_bundles) > self._max_bundles:
                self._encoded_bundles.popitem(last=False)
        return body


def get_status(error: HunchError) -> int:
    if isinstance(error, AccessDenied):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 503)


def _content_type(form: Format) -> str:
    return JSON_TYPE if form == "json" else MARKDOWN_TYPE


def _matches_etag(header: str, etag: str) -> bool:
    """Return True if the If-None-Match header contains `etag`.

    The comparison is weak, as the HTTP standard requires.
    """
    return header in (etag, etag.strip('"'), "*") or etag in (
        each.strip().removeprefix("W/") for each in header.split(",")
    )
