"""JSON-RPC messages for both generations of the Model Context Protocol.

Up to version 2025-11-25, a session starts with a handshake. Since version 2026-07-28 the protocol is stateless: each
request states its version in `_meta`, and each result says how long it may be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hunchd import __version__
from hunchd.domain.errors import HunchError, InvalidInput, NotFound
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.mcp import prompts, resources, tools
from hunchd.protocol.mcp.catalogue import INSTRUCTIONS, MARKDOWN_TYPE, PROMPTS, TEMPLATES, TOOLS
from hunchd.protocol.mcp.project_resolver import ProjectResolver

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS: Final = ("2026-07-28",)

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
_RESOURCE_NOT_FOUND: Final = -32002  # until 2025-11-25; INVALID_PARAMS since

_SERVER: Final = {"name": "hunchd", "title": "hunchd", "version": __version__}
_CAPABILITIES: Final[JsonObject] = {"tools": {}, "resources": {}, "prompts": {}}

# Answers that are fixed until the next release may be cached for an hour, a bundle not at all.
_HOUR_MILLISECONDS: Final = 3_600_000  # milliseconds
_CACHE_POLICIES: Final = {
    "server/discover": (_HOUR_MILLISECONDS, "public"),
    "tools/list": (_HOUR_MILLISECONDS, "public"),
    "prompts/list": (_HOUR_MILLISECONDS, "public"),
    "resources/templates/list": (_HOUR_MILLISECONDS, "public"),
    "resources/list": (0, "private"),
    "resources/read": (0, "private"),
}


class JsonRpcError(Exception):
    """Error that is sent as a JSON-RPC error response."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def is_stateless(message: Mapping[str, Any]) -> bool:
    """Return True if the message uses the stateless protocol.

    Such a message states its version in `_meta`. Returns False for `initialize`, which belongs to the handshake.
    """
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta and message.get("method") != "initialize"


def is_request(message: Any) -> bool:
    """Return True if `message` is a valid JSON-RPC request."""
    identifier = message.get("id") if isinstance(message, dict) else None
    return (
        isinstance(identifier, str | int)
        and not isinstance(identifier, bool)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params", {}), dict)
    )


def is_notification(message: Any) -> bool:
    """Return True if `message` is a valid JSON-RPC notification."""
    return (
        isinstance(message, dict)
        and "id" not in message
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params", {}), dict)
    )


def error_response(identifier: Any, refusal: JsonRpcError) -> JsonObject:
    """Build an error response.

    An id that is neither a string nor an integer is replaced by null.
    """
    if not isinstance(identifier, str | int) or isinstance(identifier, bool):
        identifier = None
    error_object = {"code": refusal.code, "message": refusal.message} | ({"data": refusal.data} if refusal.data else {})
    return {"jsonrpc": "2.0", "id": identifier, "error": error_object}


async def answer_request(
    request: Mapping[str, Any], focus: ProjectResolver, *, stateless: bool, reference: str
) -> JsonObject:
    """Return the response to a request; it may be an error response.

    With `stateless`, the request and the response follow the stateless protocol. `reference` is different for each
    request, and the same if a request is sent again.
    """
    identifier, method, params = request["id"], request["method"], request.get("params", {})
    try:
        if stateless and (version := get_version(params)) not in STATELESS_VERSIONS:
            raise unsupported_version(version)
        result = await _dispatch(method, params, focus, stateless=stateless, reference=reference)
    except JsonRpcError as refusal:
        return error_response(identifier, refusal)
    except HunchError as trouble:
        code = INVALID_PARAMS if isinstance(trouble, InvalidInput | NotFound) else INTERNAL_ERROR
        return error_response(identifier, JsonRpcError(code, describe_failure(trouble)))
    if stateless:
        result = result | {"resultType": "complete", "_meta": {_SERVER_KEY: _SERVER}}
        if method in _CACHE_POLICIES:
            milliseconds, scope = _CACHE_POLICIES[method]
            result |= {"ttlMs": milliseconds, "cacheScope": scope}
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def get_version(params: Mapping[str, Any]) -> str:
    """Return the protocol version that a stateless request states.

    Raises JsonRpcError if the version or the client's capabilities are missing or have the wrong type.
    """
    meta = params.get("_meta")
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta]
    if missing or not isinstance(meta, dict):
        raise JsonRpcError(INVALID_PARAMS, f"params._meta must contain {' and '.join(missing)}")
    version = meta[VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta[CAPABILITIES_KEY], dict):
        raise JsonRpcError(INVALID_PARAMS, f"{VERSION_KEY} must be a string and {CAPABILITIES_KEY} an object")
    return version


def unsupported_version(version: str) -> JsonRpcError:
    return JsonRpcError(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        {"supported": list(STATELESS_VERSIONS), "requested": version},
    )


async def _dispatch(
    method: str, params: Mapping[str, Any], focus: ProjectResolver, *, stateless: bool, reference: str
) -> JsonObject:
    match method:
        case "server/discover" if stateless:
            return {
                "supportedVersions": list(STATELESS_VERSIONS),
                "capabilities": _CAPABILITIES,
                "instructions": INSTRUCTIONS,
            }
        case "initialize" if not stateless:
            return _initialize(params)
        case "ping" if not stateless:
            return {}
        case "tools/list":
            return {"tools": list(TOOLS)}
        case "tools/call":
            return await _call_tool(params, focus, reference)
        case "resources/list":
            return {"resources": (await resources.list_resources(focus))}
        case "resources/templates/list":
            return {"resourceTemplates": list(TEMPLATES)}
        case "resources/read":
            return await _read_resource(params, focus, stateless=stateless)
        case "prompts/list":
            return {"prompts": list(PROMPTS)}
        case "prompts/get":
            return await prompts.get_prompt(_get_known_name(params, PROMPTS, "prompt"), _get_arguments(params), focus)
        case _:
            raise JsonRpcError(METHOD_NOT_FOUND, f"there is no method {ascii(method)[:80]}")


def _initialize(params: Mapping[str, Any]) -> JsonObject:
    requested_version = params.get("protocolVersion")
    return {
        "protocolVersion": requested_version if requested_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": _CAPABILITIES,
        "serverInfo": _SERVER,
        "instructions": INSTRUCTIONS,
    }


async def _call_tool(params: Mapping[str, Any], focus: ProjectResolver, reference: str) -> JsonObject:
    """Run a tool and return its result.

    A failure is returned as a result too, so that the agent can read it and retry.
    """
    name, arguments = _get_known_name(params, TOOLS, "tool"), _get_arguments(params)
    try:
        text = await tools.call_tool(name, arguments, focus, reference=reference)
    except HunchError as trouble:
        return {"content": [{"type": "text", "text": describe_failure(trouble)}], "isError": True}
    return {"content": [{"type": "text", "text": text}], "isError": False}


async def _read_resource(params: Mapping[str, Any], focus: ProjectResolver, *, stateless: bool) -> JsonObject:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise JsonRpcError(INVALID_PARAMS, "'uri' must be a string")
    try:
        text = await resources.read_resource(uri, focus)
    except (InvalidInput, NotFound) as trouble:
        raise JsonRpcError(
            INVALID_PARAMS if stateless else _RESOURCE_NOT_FOUND, describe_failure(trouble), {"uri": uri}
        ) from trouble
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN_TYPE, "text": text}]}


def _get_known_name(params: Mapping[str, Any], offered_entries: tuple[JsonObject, ...], kind: str) -> str:
    name = params.get("name")
    names = [each["name"] for each in offered_entries]
    if not isinstance(name, str) or name not in names:
        raise JsonRpcError(INVALID_PARAMS, f"there is no {kind} {ascii(name)[:60]}; available: {', '.join(names)}")
    return name


def _get_arguments(params: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise JsonRpcError(INVALID_PARAMS, "'arguments' must be an object")
    return arguments or {}


def describe_failure(trouble: HunchError) -> str:
    """Format the error message and its hint as one or two sentences for the agent."""
    sentence = trouble.message[:1].upper() + trouble.message[1:].rstrip(".") + "."
    hint = trouble.hint or ""
    return f"{sentence} {hint[:1].upper()}{hint[1:].rstrip('.')}." if hint else sentence
