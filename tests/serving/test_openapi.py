"""The OpenAPI document matches the router and the parsers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_engine import FakeEngine
from opened_doors import TOKEN, Daemon

from hunchd.protocol.requests import ContextRequest
from hunchd.protocol.responses import bundle_answer, to_json
from hunchd.protocol.signals import BODY_OF_KIND
from hunchd.protocol.struct_decoding import list_wire_names
from hunchd.serving.http import make_app
from hunchd.serving.openapi import OPERATIONS, build_document

DOCUMENT = build_document()
SCHEMAS = DOCUMENT["components"]["schemas"]


def test_openapi_paths_match_router() -> None:
    router = make_app(FakeEngine(), TOKEN).router

    assert {(route.method, route.resource.canonical) for route in router.routes() if route.resource} == set(OPERATIONS)


@pytest.mark.parametrize(
    ("described", "parsed"),
    [
        (
            SCHEMAS["Signal"]["properties"],
            {name for body in BODY_OF_KIND.values() for name in list_wire_names(body)},
        ),
    ],
    ids=lambda value: None,
)
def test_openapi_fields_match_parsers(described: Any, parsed: Any) -> None:
    assert set(described) == set(parsed)


async def test_openapi_bundle_schema_is_complete() -> None:
    bundle = to_json(bundle_answer(await FakeEngine().get_context(ContextRequest(project="/p"))))

    assert set(SCHEMAS["Bundle"]["properties"]) == set(bundle) == set(SCHEMAS["Bundle"]["required"])
    assert set(SCHEMAS["Bundle"]["properties"]["items"]["items"]["properties"]) == set(bundle["items"][0])


async def test_openapi_document_is_served(daemon: Daemon) -> None:
    assert await (await daemon.get("/openapi.json")).json() == json.loads(json.dumps(DOCUMENT))


def test_openapi_references_resolve() -> None:
    for reference in references(DOCUMENT):
        place: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
        assert place


def test_openapi_schemas_are_all_used() -> None:
    used = {reference.rpartition("/")[2] for reference in references(DOCUMENT)}

    assert set(SCHEMAS) <= used


def test_openapi_operation_ids_are_unique() -> None:
    operations = [(path, each) for path, methods in DOCUMENT["paths"].items() for each in methods.values()]
    names = [each["operationId"] for _, each in operations]

    assert len(set(names)) == len(names)
    for path, each in operations:
        described = {parameter["name"] for parameter in each.get("parameters", ()) if parameter["in"] == "path"}
        assert described == {name for name in ("id", "path") if f"{{{name}}}" in path}


def test_openapi_only_page_files_need_no_token() -> None:
    open_paths = [
        path for path, methods in DOCUMENT["paths"].items() for each in methods.values() if each.get("security") == []
    ]

    assert sorted(open_paths) == ["/", "/health", "/page/session", "/ui", "/ui/", "/ui/{path}"]


# The page reads the query of its addresses itself.
ROUTES = sorted((method, path) for method, path in OPERATIONS if not path.startswith("/ui"))


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[f"{method} {path}" for method, path in ROUTES])
async def test_route_unknown_parameter_is_refused(daemon: Daemon, method: str, path: str) -> None:
    address = path.replace("{id}", "claude-code").replace("{path}", "notes")
    body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}

    answer = await daemon.client.request(method, f"{daemon.url}{address}?colour=red", **body)

    assert answer.status == 422, await answer.text()
    assert (await answer.json())["error"]["field"] == "colour"


async def test_page_address_may_have_query(daemon: Daemon) -> None:
    answer = await daemon.client.get(f"{daemon.url}/ui/file?path=src/app.py")

    assert answer.status == 200


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)
