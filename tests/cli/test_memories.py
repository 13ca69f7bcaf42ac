"""`hunch remember`, `search`, `show`, `edit`, `forget`, `why`, `expand`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import Answer, FakeDaemon, bundle

Output = pytest.CaptureFixture[str]

MEMORY = {
    "id": "m1",
    "kind": "fact",
    "title": "Sessions stay cookies",
    "content": "Sessions stay signed cookies.",
    "category": "decision",
    "tags": ["auth"],
    "scope": "project-shared",
    "trust": "user",
    "status": "active",
    "at": "2026-01-02T03:04:05Z",
    "source": {"type": "client"},
    "usage": {"retrieved": 4, "cited": 1, "ignored": 0},
}
NOT_FOUND: Answer = (404, {"error": {"code": "not_found", "message": "there is no such thing"}})


def test_remember_stores_text_for_current_project(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["POST /memories"] = (201, {"ids": ["m1"]})

    assert main(["remember", "4 spaces", "--key", "indentation", "--category", "convention", "--tag", "style"]) == 0

    assert capsys.readouterr().out == "m1\n"
    assert fake.bodies("POST /memories") == [
        {
            "kind": "fact",
            "content": "4 spaces",
            "category": "convention",
            "key": "indentation",
            "value": "4 spaces",
            "tags": ["style"],
            "project": str(repository),
        }
    ]


def test_remember_known_statement_says_so(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["POST /memories"] = (201, {"ids": ["m1"], "understood": [{"id": "m1", "verdict": "same"}]})

    assert main(["remember", "the captain is Grace"]) == 0

    assert capsys.readouterr() == ("m1\n", "hunch: already known\n")


def test_remember_shows_similar_statements(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["POST /memories"] = (201, {"ids": ["m2"], "understood": [{"id": "m2", "verdict": "new"}]})
    fake.routes["GET /memories/m2/near"] = (200, {"items": [MEMORY], "degraded": []})

    assert main(["remember", "sessions are kept in Redis"]) == 0

    told = capsys.readouterr()
    assert told.out == "m2\n"
    assert ", m1)" in told.err
    assert "similar statement: Sessions stay signed cookies." in told.err
    assert "hunch contradictions open m2 m1" in told.err

    fake.routes["GET /memories/m2/near"] = (200, {"items": [], "degraded": ["the store is still starting"]})
    assert main(["remember", "sessions are kept in Redis"]) == 0
    assert "contradictions" not in capsys.readouterr().err
    del fake.routes["GET /memories/m2/near"]  # what is kept is kept
    assert main(["remember", "sessions are kept in Redis"]) == 0


def test_remember_reports_removed_secret(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    understood = {"id": "m1", "verdict": "same", "redacted": ["github-token", "password"]}
    fake.routes["POST /memories"] = (201, {"ids": ["m1"], "understood": [understood]})

    assert main(["remember", "log in so"]) == 0

    assert "hunch: removed secrets (github-token, password)" in capsys.readouterr().err


def test_remember_everywhere_sends_no_project(fake: FakeDaemon, repository: Path) -> None:
    fake.routes["POST /memories"] = (201, {"ids": ["m1"]})

    assert main(["remember", "prefers short answers", "--everywhere"]) == 0

    assert fake.bodies("POST /memories") == [
        {"kind": "fact", "content": "prefers short answers", "scope": "user-private"}
    ]


def test_remember_reads_standard_input(fake: FakeDaemon, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.routes["POST /memories"] = (201, {"ids": ["m1"]})
    monkeypatch.setattr(sys, "stdin", io.StringIO("two\nlines"))

    assert main(["remember", "-"]) == 0

    assert fake.bodies("POST /memories")[0]["content"] == "two\nlines"


def test_remember_registers_unknown_project(fake: FakeDaemon, repository: Path) -> None:
    answers = iter([NOT_FOUND, (201, {"ids": ["m1"]})])
    fake.routes["POST /memories"] = lambda _: next(answers)
    fake.routes["POST /projects"] = (200, {})

    assert main(["remember", "x"]) == 0

    assert fake.bodies("POST /projects") == [{"path": str(repository)}]


def test_search_prints_title_snippet_reasons(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    result = {"id": "m1", "kind": "fact", "title": "Cookies", "snippet": "signed\ncookies", "reasons": ["in the title"]}
    result |= {"source": {"type": "convention", "path": "docs/web.md"}}
    fake.routes["POST /search"] = (200, {"results": [result], "status": "ok", "took_ms": 3})

    assert main(["search", "signed", "cookies", "--kind", "fact", "-k", "2", "--depth", "deep"]) == 0

    assert capsys.readouterr().out == "Cookies  fact · docs/web.md · m1\n    signed cookies\n    in the title\n"
    assert fake.bodies("POST /search") == [
        {"project": str(repository), "query": "signed cookies", "depth": "deep", "kinds": ["fact"], "k": 2}
    ]


def test_search_all_merges_projects_by_score(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    def result(name: str, score: float) -> dict[str, Any]:
        return {
            "id": name,
            "kind": "episode",
            "title": name,
            "snippet": "",
            "reasons": [],
            "source": {},
            "score": score,
        }

    answers = [[result("mine", 0.4), result("shared", 0.2)], [result("theirs", 0.9), result("shared", 0.2)]]
    fake.routes["GET /projects"] = (200, {"items": [{"path": "/a", "name": "ant"}, {"path": "/b", "name": "bee"}]})
    fake.routes["POST /search"] = lambda body: (
        200,
        {"results": answers[body["project"] == "/b"], "status": "ok", "degraded": []},
    )

    assert main(["search", "wings", "--all"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["bee", "theirs"], ["ant", "mine"], ["ant", "shared"]]


def test_show_prints_text_and_details(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /memories/m1"] = (200, MEMORY)

    assert main(["show", "m1"]) == 0

    heading, details, _, content = capsys.readouterr().out.splitlines()
    assert heading == "Sessions stay cookies"
    assert details.startswith("kind fact · category decision · tags auth")
    assert content == "Sessions stay signed cookies."


def test_id_is_quoted_as_path_segment(fake: FakeDaemon, capsys: Output) -> None:
    assert main(["show", "../projects"]) == 1

    assert [route for route, _ in fake.asked] == ["GET /memories/../projects"]
    assert "GET /memories/../projects" in capsys.readouterr().err


def test_edit_sends_only_given_fields(fake: FakeDaemon) -> None:
    fake.routes["PATCH /memories/m1"] = (200, MEMORY)

    assert main(["edit", "m1", "--title", "T", "--tag", "a", "--tag", "b", "--importance", "0.9"]) == 0

    assert fake.bodies("PATCH /memories/m1") == [{"title": "T", "importance": 0.9, "tags": ["a", "b"]}]


@pytest.mark.process
def test_edit_without_options_opens_editor(fake: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.routes["GET /memories/m1"] = (200, MEMORY)
    fake.routes["PATCH /memories/m1"] = (200, MEMORY)
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\necho "And HTTP only." >>"$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"'{editor}'")

    assert main(["edit", "m1"]) == 0

    assert fake.bodies("PATCH /memories/m1") == [{"content": "Sessions stay signed cookies.And HTTP only.\n"}]


@pytest.mark.process
def test_edit_failing_editor_changes_nothing(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    fake.routes["GET /memories/m1"] = (200, MEMORY)
    monkeypatch.setenv("VISUAL", "false")

    assert main(["edit", "m1"]) == 1

    assert "false exited with code 1; nothing was changed" in capsys.readouterr().err
    assert fake.bodies("PATCH /memories/m1") == []


def test_forget_many_names_missing_ids(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["POST /memories/forget"] = (200, {"items": [{"forgotten": "m1"}, {"forgotten": "m3"}]})

    assert main(["forget", "m1", "m2", "m3"]) == 1

    told = capsys.readouterr()
    assert (told.out, "no memory m2" in told.err) == ("m1: forgotten.\nm3: forgotten.\n", True)
    assert fake.bodies("POST /memories/forget") == [{"ids": ["m1", "m2", "m3"]}]


def test_why_memory_prints_source_and_usage(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /memories/m1"] = (200, MEMORY)
    fake.routes["GET /memories/m1/history"] = (200, {"items": [{"at": None, "value": "server side"}]})
    fake.routes["GET /memories/m1/usage"] = (
        200,
        {
            "usage": {},
            "events": [{"at": "2026-01-01T00:00:00Z", "what": "was acted on"}],
            "changes": [{"run": "r1", "step": "use", "what": "promote it", "why": "cited 2", "undone": True}],
        },
    )

    assert main(["why", "m1"]) == 0

    told = capsys.readouterr().out
    assert "source type: client" in told
    assert "retrieved 4 times, cited once" in told
    assert "never: server side" in told
    assert "use in run r1, undone: promote it (cited 2)" in told


def test_why_document_prints_superseded_version(fake: FakeDaemon, capsys: Output) -> None:
    source = {"type": "client", "before": [{"id": "m1"}], "a": {"id": "m2"}}
    page = MEMORY | {"id": "m7", "superseded_by": "m8", "supersedes": "m7.0123", "source": source}
    fake.routes["GET /documents/profile/preferences"] = (200, page)
    fake.routes["GET /memories/m7"] = (200, page)
    fake.routes["GET /memories/m7/history"] = (200, {"items": []})
    fake.routes["GET /memories/m7/usage"] = (200, {"usage": {}, "events": [], "changes": []})

    assert main(["why", "/profile/preferences"]) == 0

    told = capsys.readouterr().out
    assert "superseded by m8" in told
    assert "source type: client" in told
    assert "m7.0123" not in told
    assert "{" not in told


def test_why_file_lists_items_with_reasons(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    [item] = bundle()["items"]
    file = item | {"id": "file:src/tax.py", "title": "src/tax.py"}
    lint = item | {"id": "m1", "kind": "convention", "title": "lint: ruff", "source": {"path": "pyproject.toml"}}
    fake.routes["GET /context"] = (200, bundle(items=[file, lint]))

    assert main(["why", "src/cart.py"]) == 0

    tier, file_line, reason, convention_line, _ = capsys.readouterr().out.splitlines()
    assert tier == "Likely next:"
    assert file_line.startswith("  src/tax.py  file · ")
    assert file_line.endswith("% likely")
    assert "file:" not in file_line
    assert reason.strip() == "changed together 9 of 11 times"
    assert convention_line.startswith("  lint: ruff  convention · ")
    assert "%" not in convention_line
    assert convention_line.endswith(" · m1")


def test_why_unknown_subject_is_wrong_usage(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /memories/nothing"] = NOT_FOUND

    assert main(["why", "nothing"]) == 2

    assert "is not a file, a document or the id of a memory" in capsys.readouterr().err


def test_expand_tries_id_then_topic(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    def known(given: Any) -> Answer:
        return (200, {"text": "All about testing."}) if given.get("topic") == "testing" else NOT_FOUND

    fake.routes["POST /expand"] = known
    fake.routes["POST /projects"] = (200, {})

    assert main(["expand", "testing"]) == 0

    assert capsys.readouterr().out == "All about testing.\n"


@pytest.mark.parametrize(
    ("argv", "route", "answer"),
    [
        (["show", "m1"], "GET /memories/m1", MEMORY),
        (["search", "x"], "POST /search", {"results": [], "status": "ok", "took_ms": 1}),
        (["remember", "x"], "POST /memories", {"ids": ["m1"]}),
        (["expand", "x"], "POST /expand", {"text": "x"}),
        (["status"], "GET /status", {"projects": [], "degraded": []}),
        (["projects"], "GET /projects", {"items": [], "next": None, "total": 0}),
    ],
)
def test_json_prints_daemons_response_unchanged(
    fake: FakeDaemon, repository: Path, capsys: Output, argv: list[str], route: str, answer: Any
) -> None:
    fake.routes[route] = (200, answer)

    assert main([*argv, "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == answer
