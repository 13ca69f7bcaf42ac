"""Partial memory for ranking: equal to the whole memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.memory import Artifact, Kind, Scope, Status, Usage
from hunchd.store.database.tables import get_memory
from hunchd.store.ranking_view import decode_ranking_view
from tests.store.examples import memory, row_of

TEXTS = st.none() | st.text(max_size=20)
SOURCES = st.dictionaries(
    st.text(max_size=5), st.integers() | st.floats() | TEXTS | st.lists(st.integers()), max_size=3
)


@given(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(Kind),
            "status": st.sampled_from(Status),
            "scope": st.sampled_from(Scope),
            "content": st.text(max_size=40),
            "key": TEXTS,
            "value": TEXTS,
            "ref": TEXTS,
            "category": TEXTS,
            "branch": TEXTS,
            "tags": st.lists(st.text(max_size=5), max_size=3).map(tuple),
            "importance": st.floats(0, 1),
            "source": SOURCES,
            "usage": st.builds(Usage, cited=st.integers(0, 9), ignored=st.integers(0, 9)),
            "artifacts": st.lists(st.builds(Artifact, st.just("file"), st.text(max_size=9)), max_size=2).map(tuple),
        }
    )
)
def test_ranking_view_equals_memory_fields(given: dict[str, Any]) -> None:
    body = row_of(replace(memory(1, "a title"), **given))["body"]
    gist, whole = decode_ranking_view(body), get_memory({"body": body})
    names = [name for name in dir(whole) if not name.startswith("_") and hasattr(gist, name)]
    assert {"id", "title", "content", "at", "updated", "source", "status", "importance", "project"} <= set(names)
    for name in names:
        if name == "artifacts":
            assert [(one.type, one.ref) for one in gist.artifacts] == [(one.type, one.ref) for one in whole.artifacts]
        else:
            assert repr(getattr(gist, name)) == repr(getattr(whole, name)), name
