"""What leaves, and what never does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hunchd.domain.memory import Artifact, Kind, Memory, Scope, Status, Trust
from hunchd.features.team.selection import SharingScope, build_statement, compute_subject, explain_not_sent
from hunchd.ingestion.fixes import FIX_TAG, FIXES_LINK, PAST_TAG
from hunchd.protocol.team_records import encode_payload
from tests.features.team.records import NOW

SCOPE = SharingScope("p1", "shop", Path("/work/shop"))
FIX = {"kind": Kind.ERROR, "tags": (FIX_TAG,), "trust": Trust.UNTRUSTED, "links": ({"type": FIXES_LINK, "ref": "m9"},)}


def memory(**fields: Any) -> Memory:
    given = {"id": "m1", "kind": Kind.FACT, "title": "queue: Redis", "content": "queue: Redis", "at": NOW}
    given |= {"created": NOW, "updated": NOW, "project": "p1", "category": "decision", "key": "queue", "value": "Redis"}
    return Memory(**{**given, **fields})


def page(path: str, *tags: str, project: str | None = None) -> Memory:
    return memory(kind=Kind.DOCUMENT, key=path, value=None, category="document", tags=tags, project=project)


@pytest.mark.parametrize(
    "shareable",
    [
        memory(),
        memory(category="convention"),
        memory(key=None, value=None),
        memory(kind=Kind.WORKFLOW, category=None),
        memory(trust=Trust.DERIVED, tags=("team",)),
        memory(**FIX),
        page("/projects/shop/notes", "team", project="p1"),
        page("/reference/style", "team:shop"),
    ],
    ids=lambda one: f"{one.kind} {one.category}",
)
def test_statement_of_user_is_sent(shareable: Memory) -> None:
    assert explain_not_sent(shareable, SCOPE, NOW) == ""


@pytest.mark.parametrize(
    "private",
    [
        memory(scope=Scope.USER),
        memory(project=None, scope=Scope.USER),
        memory(project="p2"),
        memory(category="preference"),
        memory(category="identity"),
        memory(trust=Trust.DERIVED),
        memory(trust=Trust.UNTRUSTED, tags=("team",)),
        memory(trust=Trust.TEAM, source={"member": "x", "by": "Bob"}),
        memory(branch="feature"),
        memory(status=Status.SUPERSEDED),
        memory(id="m1.abc"),
        memory(kind=Kind.MESSAGE),
        memory(kind=Kind.EPISODE),
        memory(kind=Kind.PATTERN),
        memory(kind=Kind.ERROR),
        memory(**{**FIX, "tags": (FIX_TAG, PAST_TAG)}),
        memory(kind=Kind.WORKFLOW, trust=Trust.DERIVED, category="test"),
        memory(source={"path": "pyproject.toml"}),
        memory(content="call Bob at +49 170 1234567"),
        page("/projects/shop/notes", project="p1"),
        page("/reference/style", "team"),
        page("/profile/identity", "team"),
        page("/projects/other/notes", "team", project="p2"),
    ],
    ids=lambda one: f"{one.kind} {one.category} {one.trust} {one.key}",
)
def test_private_memory_is_not_sent(private: Memory) -> None:
    assert explain_not_sent(private, SCOPE, NOW)


def test_statement_holds_no_origin_secret_or_path() -> None:
    secret = "ghp_" + "a1B2" * 9
    told = memory(
        content=f"see /work/shop/src/app.py and {Path.home()}/notes, token {secret}",
        source={"type": "session", "session": "private-session", "command": "make private-command"},
        artifacts=(Artifact("file", "src/app.py"), Artifact("file", "/etc/private"), Artifact("url", "http://private")),
        links=({"type": "about", "ref": "m-private"},),
        ref="private-ref",
    )

    sent = encode_payload(build_statement(told, SCOPE))

    assert "src/app.py and ~/notes" in sent
    assert secret not in sent
    assert "private" not in sent
    assert "/work/shop" not in sent


def test_subject_is_shared_only_by_same_key() -> None:
    one, other = memory(), memory(id="m2", project="p7", key=" QUEUE ", value="RabbitMQ")

    assert compute_subject(one, "t1") == compute_subject(other, "t1")
    assert compute_subject(one, "t1") != compute_subject(one, "t2")
    assert compute_subject(one, "t1") != compute_subject(replace(one, category="convention"), "t1")
