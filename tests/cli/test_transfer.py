"""`hunch add`, `remove`, `projects`, `export`, `import`, `erase`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from hunchd.cli import output
from hunchd.cli.main import main
from hunchd.cli.transfer import list_data_folders
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from tests.cli.fake_daemon import FakeDaemon, project_at

Output = pytest.CaptureFixture[str]
LINES = b'{"type":"memory","version":1,"data":{}}\n' * 3


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self) -> bool:
        return True


def test_add_prints_project_and_state(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["POST /projects"] = (200, project_at(repository, state="indexing"))

    assert main(["add", "src"]) == 0

    assert capsys.readouterr().out == f"shop: indexing, {repository}\n"
    assert fake.bodies("POST /projects") == [{"path": str(repository / "src")}]


def test_add_missing_folder_is_wrong_usage(fake: FakeDaemon, repository: Path) -> None:
    assert main(["add", "nowhere"]) == 2
    assert fake.asked == []


def test_projects_shows_progress(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    project = project_at(repository, state="indexing")
    project["progress"] = {"commits": {"done": 1200, "total": 15_000}, "files": {"done": 12, "total": 12}}
    fake.routes["GET /projects"] = (200, {"items": [project]})

    assert main(["projects"]) == 0

    row = capsys.readouterr().out.splitlines()[1]
    assert "1,200 of 15,000" in row
    assert " 12 " in row
    assert row.endswith(str(repository))


@pytest.mark.parametrize("named", [".", "src", "p1", "shop"])
def test_remove_accepts_folder_id_or_name(fake: FakeDaemon, repository: Path, named: str) -> None:
    fake.routes["GET /projects"] = (200, {"items": [project_at(repository)]})
    fake.routes["DELETE /projects/p1"] = (200, {})

    assert main(["remove", named, "--yes"]) == 0

    assert fake.asked[-1][0] == "DELETE /projects/p1"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 1), ("n\n", 1), ("", 1)])
def test_remove_asks_for_confirmation(
    fake: FakeDaemon, repository: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    fake.routes["GET /projects"] = (200, {"items": [project_at(repository)]})
    fake.routes["DELETE /projects/p1"] = (200, {})
    monkeypatch.setattr(output.sys, "stdin", Terminal(answer))

    assert main(["remove"]) == code

    assert (fake.asked[-1][0] == "DELETE /projects/p1") == (code == 0)


def test_confirmation_without_terminal_is_denied(fake: FakeDaemon, repository: Path, capsys: Output) -> None:
    fake.routes["GET /projects"] = (200, {"items": [project_at(repository)]})

    assert main(["erase", "--project", "."]) == 1

    assert "nothing was erased" in capsys.readouterr().err


def test_export_file_is_private(fake: FakeDaemon, tmp_path: Path) -> None:
    fake.routes["GET /export"] = (200, LINES)
    file = tmp_path / "export.jsonl"

    assert main(["export", str(file)]) == 0

    assert file.read_bytes() == LINES
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["export.jsonl"]


def test_export_and_erase_json_output(fake: FakeDaemon, repository: Path, tmp_path: Path, capsys: Output) -> None:
    fake.routes["GET /export"] = (200, LINES)
    fake.routes["GET /projects"] = (200, {"items": [project_at(repository)]})
    fake.routes["DELETE /projects/p1"] = (200, {"removed": "p1"})
    file = str(tmp_path / "export.jsonl")

    def told(*command: str) -> object:
        assert main([*command, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert told("export", file) == {"file": file, "lines": 3}
    assert told("erase", "--project", ".", "--yes") == {"removed": "p1"}


def test_erase_everything_json_lists_folders(hunchd_home: Path, capsys: Output) -> None:
    data = ensure_private_folder(resolve_app_paths().data)

    assert main(["erase", "--everything", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"erased": [str(data)]}
    assert main(["erase", "--everything", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"erased": []}


def test_export_failure_keeps_old_file(fake: FakeDaemon, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("old\n")

    assert main(["export", str(file)]) == 1

    assert file.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["export.jsonl"]


def test_export_to_folder_is_wrong_usage(fake: FakeDaemon, tmp_path: Path, capsys: Output) -> None:
    fake.routes["GET /export"] = (200, LINES)

    assert main(["export", str(tmp_path)]) == 2

    assert "is a folder" in capsys.readouterr().err


def test_import_sends_file_unchanged(fake: FakeDaemon, tmp_path: Path, capsys: Output) -> None:
    fake.routes["POST /import"] = (200, {"accepted": 3, "known": 0})
    file = tmp_path / "export.jsonl"
    file.write_bytes(LINES * 1000)

    assert main(["import", str(file)]) == 0

    assert fake.bodies("POST /import") == [LINES * 1000]
    assert capsys.readouterr().out == "accepted 3, known 0\n"


def test_import_lists_rejected_lines(fake: FakeDaemon, tmp_path: Path, capsys: Output) -> None:
    refused = {"code": "conflict", "message": "'m1' is the id of a memory of /shop already", "field": "data.id"}
    newer = {
        "code": "invalid",
        "message": "the export was written by a newer hunchd in format 2; this version reads format 1",
    }
    rejected = [{"index": 6, "error": refused}, *({"index": index, "error": newer} for index in range(7, 10))]
    fake.routes["POST /import"] = (200, {"memories": 3, "rejected": rejected})
    file = tmp_path / "export.jsonl"
    file.write_bytes(LINES)

    assert main(["import", str(file)]) == 0

    told = capsys.readouterr()
    assert told.out == "memories 3\n"
    assert "line 7: 'm1' is the id of a memory of /shop already" in told.err
    assert "line 8 and 2 more: the export was written by a newer hunchd" in told.err
    assert "line 9" not in told.err


@pytest.mark.parametrize(("complete", "code"), [(True, 0), (None, 0), (False, 1)])
def test_import_reports_incomplete_export(
    fake: FakeDaemon, tmp_path: Path, capsys: Output, complete: bool | None, code: int
) -> None:
    said = [] if complete else ["it breaks off after 3 lines"]
    fake.routes["POST /import"] = (200, {"memories": 3, "complete": complete, "warnings": said})
    file = tmp_path / "export.jsonl"
    file.write_bytes(LINES)

    assert main(["import", str(file)]) == code

    told = capsys.readouterr()
    assert told.out == "memories 3\n"
    assert ("it breaks off after 3 lines" in told.err) is not bool(complete)
    assert ("Import it again" in told.err) is (complete is False)


def test_import_reads_from_standard_input(fake: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.routes["POST /import"] = (200, {"accepted": 3})
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(LINES), isatty=lambda: False))

    assert main(["import", "-"]) == 0

    assert fake.bodies("POST /import") == [LINES]


def test_erase_everything_deletes_all_files(hunchd_home: Path, capsys: Output) -> None:
    where = resolve_app_paths()
    for folder in (where.config, where.data, where.state, where.cache, where.runtime):
        (ensure_private_folder(folder) / "something").write_text("x")

    assert main(["erase", "--everything"]) == 1
    assert where.data.exists()

    assert main(["erase", "--everything", "--yes"]) == 0
    assert not hunchd_home.exists()
    assert str(where.data) in capsys.readouterr().err

    assert main(["erase", "--everything", "--yes"]) == 0
    assert "Nothing to erase" in capsys.readouterr().out


def test_everything_lists_disjoint_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HUNCHD_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))

    folders = list_data_folders(resolve_app_paths())

    where = resolve_app_paths()
    for kept in (where.config, where.data, where.state, where.cache, where.runtime):
        assert sum(folder == kept or folder in kept.parents for folder in folders) == 1
