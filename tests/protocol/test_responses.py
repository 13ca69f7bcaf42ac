from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from hunchd.domain.context import Bundle, ContextItem, PredictedFile, PredictedUnit, Prediction
from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.memory import Trust
from hunchd.protocol.exports import build_export_line, parse_export_line
from hunchd.protocol.predictions import predict_memory, prediction_answer
from hunchd.protocol.responses import bundle_answer, error_answer, format_iso, make_rejection, slice_page, to_json


def test_iso_any_zone_formats_utc() -> None:
    assert format_iso(datetime(2025, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))) == "2025-01-01T10:00:00Z"
    assert format_iso(datetime(2025, 1, 1, 0, 0, 0, 5, tzinfo=UTC)) == "2025-01-01T00:00:00.000005Z"


def test_bundle_json_matches_contract_shape() -> None:
    item = ContextItem(
        id="f1",
        kind="file",
        tier=2,
        level="index",
        tokens=7,
        score=0.123456,
        reasons=("changed together",),
        source={"path": "a.py"},
        trust=Trust.PROJECT,
        text="a.py: changed together",
        title="a.py",
    )
    bundle = Bundle(
        status="degraded",
        context="# a",
        token_count=7,
        budget=100,
        tiers={2: 7},
        items=(item,),
        degraded=("model",),
        prefetched=True,
        etag="abc",
    )

    assert to_json(bundle_answer(bundle)) == {
        "status": "degraded",
        "degraded": ["model"],
        "context": "# a",
        "token_count": 7,
        "budget": 100,
        "tiers": {"tier1": 0, "tier2": 7, "tier3": 0, "tier4": 0},
        "items": [
            {
                "id": "f1",
                "kind": "file",
                "title": "a.py",
                "tier": 2,
                "level": "index",
                "tokens": 7,
                "score": 0.1235,
                "reasons": ["changed together"],
                "source": {"path": "a.py"},
                "trust": "project",
            }
        ],
        "prefetched": True,
        "etag": "abc",
    }


def test_bundle_json_accepts_numpy_scores() -> None:
    item = ContextItem(
        id="f1",
        kind="file",
        tier=2,
        level="index",
        tokens=7,
        score=np.float64(0.25),
        reasons=(),
        source={"path": "a.py"},
        trust=Trust.PROJECT,
        text="a.py",
        title="a.py",
    )
    bundle = Bundle(status="ok", context="# a", token_count=7, budget=100, tiers={2: 7}, items=(item,))

    assert to_json(bundle_answer(bundle))["items"][0]["score"] == 0.25


def test_prediction_json_ranks_files_and_memories() -> None:
    prediction = Prediction(
        files=(PredictedFile("a.py", 2.0, 0.9, ("why",)), PredictedFile("b.py", 1.0, 0.5)),
        units=(PredictedUnit("a41c9e2", "split it", 0, 1.0, 0.3, ("near",)),),
        confidence=0.9,
    )
    other = predict_memory("m1", "fact", "db", 0.7)

    assert to_json(prediction_answer(prediction, k=1, memories=[other])) == {
        "predicted_files": [{"path": "a.py", "score": 2.0, "confidence": 0.9, "reasons": ["why"]}],
        "predicted_memories": [to_json(other)],
        "predicted_commands": [],
        "confidence": 0.9,
        "degraded": [],
    }
    assert prediction_answer(prediction, k=2, episode_id=lambda sha: f"e-{sha}").predicted_memories == [
        predict_memory("e-a41c9e2", "episode", "split it", 0.3, "near")
    ]


def test_error_json_omits_missing_fields() -> None:
    assert to_json(error_answer(NotFound("no such memory"))) == {
        "error": {"code": "not_found", "message": "no such memory"}
    }
    assert to_json(make_rejection(2, InvalidInput("no", field="kind", hint="did you mean 'fact'?"))) == {
        "index": 2,
        "error": {"code": "invalid", "message": "no", "field": "kind", "hint": "did you mean 'fact'?"},
    }


def test_export_line_round_trip() -> None:
    line = build_export_line("memory", {"id": "m1"})
    assert parse_export_line(to_json(line)) == line


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"type": "memory", "version": 2, "data": {}},
        {"type": "x", "version": 1, "data": {}},
        {"type": "memory", "version": 1},
    ],
)
def test_export_line_invalid_is_rejected(raw: Any) -> None:
    with pytest.raises(InvalidInput):
        parse_export_line(raw)


def test_part_json_pages_join_without_overlap() -> None:
    found, offset, told = list(range(7)), 0, []
    while True:
        page = slice_page(found, lambda number: {"n": number}, offset=offset, limit=3)
        told += [item["n"] for item in page.items]
        assert page.total == 7
        if page.next is None:
            break
        offset = int(page.next)
    assert told == found
    empty = slice_page(found, lambda number: {"n": number}, offset=50, limit=3)
    assert to_json(empty) == {"items": [], "next": None, "total": 7}
