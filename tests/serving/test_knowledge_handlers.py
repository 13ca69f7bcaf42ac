"""Routes for documents, facts and contradictions: parsing, rejections, responses."""

from __future__ import annotations

import pytest
from opened_doors import Daemon

from hunchd.protocol.requests import ResolutionRequest


async def test_document_lifecycle_from_put_to_delete(daemon: Daemon) -> None:
    address = f"{daemon.url}/documents/profile/preferences"
    put = await daemon.client.put(address, json={"content": "- short answers", "tags": ["style"]})
    listed = await (await daemon.get("/documents", params={"prefix": "profile"})).json()
    got = await (await daemon.get("/documents/profile/preferences")).json()
    gone = await daemon.client.delete(address)

    assert (put.status, gone.status, (await daemon.get("/documents/profile/preferences")).status) == (200, 200, 404)
    assert (got["path"], got["content"], got["tags"]) == ("/profile/preferences", "- short answers", ["style"])
    assert [one["path"] for one in listed["items"]] == ["/profile/preferences"]
    assert "content" not in listed["items"][0]


@pytest.mark.parametrize(
    "path",
    [
        "profile",
        "elsewhere/x",
        "profile/%2e%2e/x",
        "profile/..%2fx",
        "profile/.hidden",
        "profile/a%00b",
        "profile/a%5Cb",
        "profile/%E2%80%AEx",
        "profile//x",
        "profile/" + "x" * 600,
        "/".join(["profile", *"abcdefghijklmn"]),
        "profile/a%0Ab",
    ],
)
async def test_document_path_outside_roots_is_rejected(daemon: Daemon, path: str) -> None:
    answer = await daemon.client.put(f"{daemon.url}/documents/{path}", json={"content": "x"})

    assert answer.status in (400, 404, 422)
    assert daemon.engine.knowledge.documents.pages == {}


async def test_contradiction_post_creates_once(daemon: Daemon) -> None:
    first = await daemon.post("/contradictions", {"a": "m1", "b": "m2", "note": "why"})
    again = await daemon.post("/contradictions", {"a": "m1", "b": "m2"})
    bad = await daemon.post("/contradictions", {"a": "m1"})

    assert (first.status, again.status, bad.status) == (201, 200, 422)
    assert (await bad.json())["error"]["field"] == "b"


async def test_contradiction_unknown_resolution_is_rejected(daemon: Daemon) -> None:
    resolved = daemon.engine.knowledge.contradictions.resolutions
    good = await daemon.post("/contradictions/x1/resolve", {"resolution": "merged", "value": "both", "note": "why"})
    assert resolved == {"x1": ResolutionRequest(resolution="merged", value="both", note="why")}
    bad = await daemon.post("/contradictions/x1/resolve", {"resolution": "neither"})
    undone = await daemon.post("/contradictions/x1/undo", {})

    assert (good.status, bad.status, undone.status) == (200, 422, 200)
    assert (await bad.json())["error"]["field"] == "resolution"
    assert resolved == {}


async def test_contradictions_pages_join_without_gap(daemon: Daemon) -> None:
    found = await daemon.get("/contradictions", params={"limit": "5", "cursor": "10"})
    many = await daemon.get("/contradictions", params={"limit": "1001"})
    elsewhere = await daemon.get("/contradictions", params={"cursor": "x"})

    assert (found.status, many.status, elsewhere.status) == (200, 422, 422)
    [asked] = daemon.engine.knowledge.asked
    assert (asked.limit, asked.offset) == (5, 10)


async def test_fact_is_looked_up_by_key(daemon: Daemon) -> None:
    found = await daemon.get("/facts", params={"key": "tests", "branch": "next", "as_of": "2025-01-01"})
    without = await daemon.get("/facts")

    assert (found.status, without.status) == (200, 422)
    [asked] = daemon.engine.knowledge.asked
    assert (asked.key, asked.branch, asked.as_of.year) == ("tests", "next", 2025)
