"""`hunch history`, `undo`, `contradictions`, `documents`, and memories that are documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import Answer, FakeDaemon

Output = pytest.CaptureFixture[str]
NOT_FOUND: Answer = (404, {"error": {"code": "not_found", "message": "there is no such thing"}})
PAGE = {
    "path": "/profile/preferences",
    "id": "m9",
    "title": "Preferences",
    "content": "- short answers\n",
    "tags": ["style"],
    "metadata": {"lang": "en"},
    "updated_at": "2026-01-01T00:00:00Z",
    "size": 16,
    "trust": "user",
}
CONFLICT: dict[str, Any] = {
    "id": "x1",
    "status": "open",
    "a": {"title": "python: >=3.9", "at": "2025-01-01T00:00:00Z", "source": {"path": "pyproject.toml"}},
    "b": {"title": "python: >=3.8", "at": "2025-02-01T00:00:00Z", "source": {"type": "client"}},
    "reason": "two sources give different values for 'python'",
    "confidence": 0.9,
    "detected_at": "2025-02-01T00:00:00Z",
}


def test_remember_prints_interpretation(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    told = {"id": "m1", "verdict": "replaced", "category": "convention", "key": "package manager", "value": "pnpm"}
    more = {"instead_of": "npm", "replaced": {"id": "m1.a", "value": "npm", "since": "2025-01-01T00:00:00Z"}}
    fake.routes["POST /memories"] = (201, {"ids": ["m1"], "understood": [told | more]})

    assert main(["remember", "we use pnpm, not npm"]) == 0

    said = capsys.readouterr()
    assert said.out == "m1\n"
    assert "understood as convention, package manager: pnpm (not npm); replaces npm" in said.err
    assert "hunch edit m1 --key" in said.err


def test_history_of_key_prints_changes(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    changes = [
        {"at": "2023-01-05T00:00:00Z", "from": None, "to": "npm", "source": {"type": "commit", "sha": "a" * 40}},
        {"at": "2025-03-01T00:00:00Z", "from": "npm", "to": "pnpm", "source": {"path": "package.json"}},
    ]
    rejected = [{"value": "yarn", "source": {"type": "client"}}]
    fake.routes["GET /facts"] = (200, {"fact": None, "changes": changes, "rejected": rejected})

    assert main(["history", "package manager"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "2023-01-05  – → npm  (commit aaaaaaaa)",
        "2025-03-01  npm → pnpm  (package.json)",
        "rejected: yarn  (you)",
    ]


def test_history_of_unknown_subject_is_wrong_usage(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /facts"] = NOT_FOUND
    fake.routes["GET /memories/nothing/history"] = NOT_FOUND

    assert main(["history", "nothing"]) == 2
    assert "is not a key, a memory or a document" in capsys.readouterr().err


def test_undo_accepts_document_path(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /documents/profile/preferences"] = (200, PAGE)
    fake.routes["POST /memories/m9/undo"] = (200, {"title": "as it was", "status": "active"})

    assert main(["undo", "/profile/preferences"]) == 0

    assert capsys.readouterr().out == "/profile/preferences: restored: as it was\n"


def test_contradictions_list_and_resolve(fake: FakeDaemon, capsys: Output) -> None:
    conflict = CONFLICT | {"a": {**CONFLICT["a"], "project": "p1"}}
    fake.routes["GET /contradictions"] = (200, {"items": [conflict], "next": None, "total": 1})
    fake.routes["GET /projects"] = (200, {"items": [{"id": "p1", "name": "shop"}, {"id": "p2", "name": "till"}]})
    fake.routes["POST /contradictions/x1/resolve"] = (200, CONFLICT | {"resolution": "a_wins"})

    assert main(["contradictions"]) == 0
    assert main(["contradictions", "resolve", "x1", "a", "--note", "CI says so"]) == 0

    out = capsys.readouterr().out
    assert "x1  two sources give different values for 'python' · shop" in out
    assert "a: python: >=3.9  (pyproject.toml)" in out
    assert fake.bodies("POST /contradictions/x1/resolve") == [{"resolution": "a_wins", "note": "CI says so"}]
    assert main(["contradictions", "resolve", "x1"]) == 2


def test_contradictions_unknown_resolution_is_wrong_usage(fake: FakeDaemon, capsys: Output) -> None:
    assert main(["contradictions", "resolve", "x1", "c"]) == 2
    assert "must be a, b, both or merged; got 'c'" in capsys.readouterr().err
    assert fake.bodies("POST /contradictions/x1/resolve") == []


def test_contradictions_open_reports_pair(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["POST /contradictions"] = (201, CONFLICT | {"status": "open"})
    assert main(["contradictions", "open", "m1", "m2", "--note", "CI says so"]) == 0
    assert "x1: open" in capsys.readouterr().out
    assert fake.bodies("POST /contradictions") == [{"a": "m1", "b": "m2", "note": "CI says so"}]

    fake.routes["POST /contradictions"] = (200, CONFLICT | {"status": "resolved", "resolution": "both_valid"})
    assert main(["contradictions", "open", "m1", "m2"]) == 0
    assert "x1: already resolved (both_valid)" in capsys.readouterr().out
    assert main(["contradictions", "open", "m1"]) == 2


@pytest.mark.parametrize("winner", ["a_wins", "b_wins", "both_valid", "merged"])
def test_contradictions_resolve_accepts_api_names(fake: FakeDaemon, winner: str) -> None:
    fake.routes["POST /contradictions/x1/resolve"] = (200, CONFLICT | {"resolution": winner})

    assert main(["contradictions", "resolve", "x1", winner]) == 0
    assert fake.bodies("POST /contradictions/x1/resolve") == [{"resolution": winner}]


@pytest.mark.process
def test_edit_document_opens_editor(fake: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.routes["GET /documents/profile/preferences"] = (200, PAGE)
    fake.routes["PUT /documents/profile/preferences"] = (200, PAGE)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "- no emoji" >>"$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    assert main(["edit", "/profile/preferences"]) == 0

    assert fake.bodies("PUT /documents/profile/preferences") == [
        {"content": "- short answers\n- no emoji\n", "tags": ["style"], "metadata": {"lang": "en"}}
    ]


def test_edit_missing_document_creates_it(fake: FakeDaemon) -> None:
    fake.routes["GET /documents/reference/db"] = NOT_FOUND
    fake.routes["PUT /documents/reference/db"] = (200, PAGE | {"path": "/reference/db"})

    assert main(["edit", "/reference/db", "--content", "PostgreSQL"]) == 0

    assert fake.bodies("PUT /documents/reference/db") == [{"content": "PostgreSQL", "tags": [], "metadata": {}}]


def test_documents_list_show_forget(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /documents"] = (200, {"items": [PAGE], "next": None, "total": 1})
    fake.routes["GET /documents/profile/preferences"] = (200, PAGE)
    fake.routes["DELETE /documents/profile/preferences"] = (200, {})

    assert main(["documents", "/profile/"]) == 0
    assert main(["show", "/profile/preferences"]) == 0
    assert main(["forget", "/profile/preferences"]) == 0

    assert "/profile/preferences" in capsys.readouterr().out
    assert [route for route, _ in fake.asked][-1] == "DELETE /documents/profile/preferences"
