"""`hunch context` and `hunch predict`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import FakeDaemon, bundle, project_at

Output = pytest.CaptureFixture[str]


def test_context_file_prints_bundle(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /context"] = (200, bundle())

    code = main(["context", "src/cart.py", "--budget", "900", "--activity", "debugging", "--query", "a & b"])

    assert (code, capsys.readouterr().out) == (0, "# src/cart.py\n\n- src/tax.py\n")
    assert fake.bodies("GET /context") == [
        {
            "project": str(repository),
            "file": str(repository / "src/cart.py"),
            "budget": "900",
            "activity": "debugging",
            "query": "a & b",
        }
    ]


def test_context_without_file_uses_current_project(
    fake: FakeDaemon, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.routes["GET /context"] = (200, bundle())
    monkeypatch.chdir(repository / "src")

    assert main(["context"]) == 0

    assert fake.bodies("GET /context") == [{"project": str(repository)}]


def test_context_json_prints_whole_bundle(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /context"] = (200, bundle())

    assert main(["context", "src/cart.py", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == bundle()


def test_context_unknown_project_registers_and_waits(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    reading = {"status": "degraded", "degraded": ["reading history"], "items": [], "context": ""}
    unknown = {"error": {"code": "not_found", "message": "no such project"}}
    answers = iter([(404, unknown), (200, bundle(**reading)), (200, bundle(**reading)), (200, bundle())])
    fake.routes["GET /context"] = lambda _: next(answers)
    fake.routes["POST /projects"] = (200, project_at(repository, state="indexing"))

    assert main(["context", "src/cart.py"]) == 0

    captured = capsys.readouterr()
    assert captured.out.startswith("# src/cart.py")
    assert captured.err == ""
    assert fake.bodies("POST /projects")[0] == {"path": str(repository)}


def test_context_wait_timeout_prints_best_bundle(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /context"] = (200, bundle(status="degraded", degraded=["reading history"], items=[]))
    fake.routes["POST /projects"] = (200, project_at(repository, state="indexing"))

    assert main(["context", "src/cart.py", "--wait", "0.2"]) == 0

    captured = capsys.readouterr()
    assert captured.out.startswith("# src/cart.py")
    assert captured.err == "hunch: reading history\n"


def test_context_empty_bundle_prints_note(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /context"] = (200, bundle(status="empty", context="", items=[]))
    fake.routes["POST /projects"] = (200, project_at(repository))

    assert main(["context", "src/cart.py"]) == 0

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nothing relevant" in captured.err

    main(["context", "src/cart.py", "--budget", "7"])
    assert "nothing known about src/cart.py fits into 7 tokens" in capsys.readouterr().err


def test_context_control_characters_are_removed(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /context"] = (200, bundle(context="a\033]0;owned\007b\u202ec\n"))

    main(["context", "src/cart.py"])

    assert capsys.readouterr().out == "a]0;ownedbc\n"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("src/none.py", "no such file: 'src/none.py'"),
        ("src", "'src' is a folder"),
        ("..", "'..' is a folder"),
        ("logo.png", "'logo.png' is a binary file"),
        ("pipe", "'pipe' is not a regular file"),
        ("src/cart.py/x", "'src/cart.py/x' cannot be opened: Not a directory"),
        ("x" * 300, "cannot be opened: File name too long"),
    ],
)
@pytest.mark.parametrize("command", ["context", "predict"])
def test_context_invalid_file_starts_no_daemon(
    command: str, argument: str, message: str, repository: Path, capsys: Output, hunchd_home: Path
) -> None:
    (repository / "logo.png").write_bytes(b"\x89PNG\0\0")
    os.mkfifo(repository / "pipe")

    assert main([command, argument]) == 2

    assert message in capsys.readouterr().err
    assert not hunchd_home.exists()


def test_folder_argument_hint_depends_on_command(repository: Path, capsys: Output) -> None:
    main(["context", "src"])
    assert "or leave FILE out for the whole project" in capsys.readouterr().err
    main(["predict", "src"])
    assert "leave FILE out" not in capsys.readouterr().err


def test_context_file_in_registered_plain_folder(
    fake: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("a")
    monkeypatch.chdir(tmp_path)
    fake.routes["GET /context"] = (200, bundle())
    fake.routes["GET /projects"] = (200, {"items": []})

    assert main(["context", "notes/a.md"]) == 2
    assert "is not in a git repository" in capsys.readouterr().err

    fake.routes["GET /projects"] = (200, {"items": [project_at(notes)]})
    assert main(["context", "notes/a.md"]) == 0
    assert fake.bodies("GET /context") == [{"project": str(notes), "file": str(notes / "a.md")}]


def test_context_non_utf8_name_is_sent_unchanged(fake: FakeDaemon, repository: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (repository / name).write_text("x = 1\n")
    seen = []
    fake.routes["GET /context"] = lambda query: (seen.append(query["file"]), (200, bundle()))[1]

    assert main(["context", name]) == 0

    assert seen == [str(repository / "caf\ufffd.py")]  # the fake decodes leniently; the byte itself was %E9


def test_predict_prints_probability_path_reasons(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    files = [{"path": "src/tax.py", "score": 2.1, "confidence": 0.614, "reasons": ["tests this file", "6 of 11"]}]
    fake.routes["POST /context/predict"] = (
        200,
        {"predicted_files": files, "predicted_memories": [], "confidence": 0.6},
    )

    assert main(["predict", "src/cart.py", "-k", "3"]) == 0

    assert capsys.readouterr().out == " 61%  src/tax.py  tests this file · 6 of 11\n"
    assert fake.bodies("POST /context/predict") == [
        {"project": str(repository), "file_opened": str(repository / "src/cart.py"), "k": 3}
    ]


@pytest.mark.parametrize(("changed", "told"), [([], "no change to review"), (["a.py"], "nothing seems to be missing")])
def test_review_complete_change_notes_only_terminal(
    fake: FakeDaemon, repository: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, changed: list[str], told: str
) -> None:
    fake.routes["POST /context/review"] = (200, {"missing": [], "changed": changed})

    assert main(["review"]) == 0
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["review"]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert told in output.err


def test_error_response_prints_daemons_message(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    error = {"code": "invalid", "message": "budget must be at most 64000", "field": "budget", "hint": "Ask for less."}
    fake.routes["GET /context"] = (400, {"error": error})

    assert main(["context", "src/cart.py", "--budget", "99999"]) == 2

    assert capsys.readouterr().err == "hunch: budget must be at most 64000\n       Ask for less.\n"
