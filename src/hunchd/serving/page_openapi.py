"""OpenAPI operations and schemas of the web page and of the current state that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from hunchd.protocol.requests import FocusQuery, PageCodeRequest, PageSessionRequest
from hunchd.protocol.responses import FocusAnswer, PageClosedAnswer, PageCodeAnswer, PageSessionAnswer
from hunchd.protocol.settings_answers import SettingsAnswer
from hunchd.protocol.struct_schemas import Schema, list_query_parameters
from hunchd.serving.schemas import TEXT, schema_reference

_HTML: Final = (("text/html", TEXT),)

PAGE_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "Focus": FocusAnswer,
    "PageClosed": PageClosedAnswer,
    "PageCode": PageCodeAnswer,
    "PageCodeRequest": PageCodeRequest,
    "PageSession": PageSessionAnswer,
    "PageSessionRequest": PageSessionRequest,
    "Settings": SettingsAnswer,
}


def _answer(name: str) -> tuple[tuple[str, Schema], ...]:
    return (("application/json", schema_reference(name)),)


PAGE_OPERATIONS: Final[dict[tuple[str, str], Mapping[str, Any]]] = {
    ("GET", "/focus"): {
        "id": "focus",
        "summary": "Return the open files, and the last opened ones with the rank that was predicted for them.",
        "query": list_query_parameters(FocusQuery),
        "answers": _answer("Focus"),
        "errors": (404,),
    },
    ("GET", "/settings"): {
        "id": "settings",
        "summary": "Return the effective settings, each with its default and purpose.",
        "answers": _answer("Settings"),
    },
    ("GET", "/"): {"id": "root", "summary": "Redirect to the page.", "status": 302, "answers": _HTML, "open": True},
    ("GET", "/ui"): {"id": "ui", "summary": "Redirect to the page.", "status": 302, "answers": _HTML, "open": True},
    ("GET", "/ui/"): {
        "id": "uiFolder",
        "summary": "Redirect to the page.",
        "status": 302,
        "answers": _HTML,
        "open": True,
    },
    ("GET", "/ui/{path}"): {
        "id": "page",
        "summary": "Return the page, which contains no data, or one of its files.",
        "answers": _HTML,
        "errors": (304, 404),
        "open": True,
    },
    ("POST", "/page/codes"): {
        "id": "issuePageCode",
        "summary": "Return a single-use code that opens the page in a browser.",
        "body": schema_reference("PageCodeRequest"),
        "status": 201,
        "answers": _answer("PageCode"),
    },
    ("POST", "/page/session"): {
        "id": "openPageSession",
        "summary": "Exchange a code for the cookie and the key of a browser session.",
        "body": schema_reference("PageSessionRequest"),
        "status": 201,
        "answers": _answer("PageSession"),
        "errors": (401, 415),
        "open": True,
    },
    ("GET", "/page/session"): {
        "id": "pageSession",
        "summary": "Return what this browser session may do.",
        "answers": _answer("PageSession"),
    },
    ("DELETE", "/page/session"): {
        "id": "closePageSession",
        "summary": "End this browser session.",
        "answers": _answer("PageClosed"),
    },
}
