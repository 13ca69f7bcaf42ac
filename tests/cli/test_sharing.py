"""`hunch share` and `unshare`: files are reviewable, written atomically, and only in their folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.main import main
from tests.cli.fake_daemon import FakeDaemon, project_at

Output = pytest.CaptureFixture[str]
PLACE = ".hunch/conventions/package-manager.md"
TEXT = "---\nkey: package manager\nvalue: pnpm\nby: Ada\n---\n"
FILE = {"id": "m1", "path": PLACE, "title": "package manager: pnpm", "content": TEXT, "trust": "user"}
HEARD = {
    "id": "m2",
    "path": ".hunch/facts/heard-abc.md",
    "title": "heard",
    "content": "---\nid: m2\n---\n\nheard\n",
    "trust": "derived",
}


@pytest.fixture
def told(fake: FakeDaemon, repository: Path) -> list[dict[str, Any]]:
    """Response of the daemon with the memories to share."""
    files = [dict(FILE), dict(HEARD)]
    refused: list[dict[str, str]] = []

    def share(body: Any) -> tuple[int, Any]:
        assert body["project"] == str(repository)
        named = [one for one in files if not body["names"] or one["id"] in body["names"]]
        missing = set(body["names"]) - {one["id"] for one in files}
        return 200, {"files": named, "refused": refused + [{"name": name, "reason": "no"} for name in missing]}

    fake.routes["POST /share"] = share
    fake.routes["POST /projects"] = (200, project_at(repository))
    return files


def test_share_dry_run_writes_nothing(told: list[Any], repository: Path, capsys: Output) -> None:
    assert main(["share", "m1", "--dry-run"]) == 0

    said = capsys.readouterr().out
    assert f"{PLACE}: would be written." in said
    assert "+value: pnpm" in said
    assert not (repository / ".hunch").exists()


def test_share_writes_file_and_readme(told: list[Any], repository: Path, capsys: Output) -> None:
    assert main(["share", "m1"]) == 0
    assert main(["share", "m1", "--json"]) == 0

    said = capsys.readouterr()
    assert (repository / PLACE).read_text() == TEXT
    assert (repository / ".hunch" / "README.md").exists()
    assert json.loads(said.out[said.out.index("{") :])["written"] == []
    assert "git add .hunch" in said.err
    assert sorted(path.name for path in (repository / ".hunch/conventions").iterdir()) == ["package-manager.md"]


def test_share_all_writes_users_statements_only(told: list[Any], repository: Path) -> None:
    assert main(["share", "--all"]) == 0

    assert (repository / PLACE).exists()
    assert not (repository / ".hunch" / "facts").exists()


def test_share_without_names_lists(told: list[Any], repository: Path, capsys: Output) -> None:
    main(["share", "m1"])
    broken = repository / ".hunch" / "facts" / "broken.md"
    broken.parent.mkdir()
    broken.write_bytes(b"\xff")
    told[0]["content"] = TEXT.replace("pnpm", "yarn")
    capsys.readouterr()

    assert main(["share"]) == 0
    said = capsys.readouterr()
    assert f"package manager: pnpm  {PLACE} · Ada · differs from yours" in said.out
    assert "m2  heard  (not in your own words)" in said.out
    assert "skipped .hunch/facts/broken.md: the file is not UTF-8." in said.err
    assert main(["share", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in listed["shared"]] == ["differs"]
    assert [one["id"] for one in listed["could_be"]] == ["m2"]


def test_share_edited_memory_keeps_its_file(told: list[Any], repository: Path) -> None:
    main(["share", "m2"])
    told[1] |= {"path": ".hunch/facts/other-title-abc.md", "content": "---\nid: m2\n---\n\nother title\n"}
    main(["share", "m2"])

    [file] = (repository / ".hunch/facts").iterdir()
    assert (file.name, file.read_text()) == ("heard-abc.md", "---\nid: m2\n---\n\nother title\n")


def test_share_reports_rejected_writes_rest(told: list[Any], repository: Path, capsys: Output) -> None:
    assert main(["share", "m1", "nonsense"]) == 1

    assert "nonsense is not shared: no." in capsys.readouterr().err
    assert (repository / PLACE).exists()


def test_share_rejects_symlinks_and_outside_paths(
    told: list[Any], repository: Path, tmp_path: Path, capsys: Output
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told[1]["path"] = ".hunch/facts/../../../evil.md"
    assert main(["share", "m2"]) == 1
    (repository / ".hunch").symlink_to(elsewhere)
    assert main(["share", "m1"]) == 1

    assert "is a symlink" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []
    assert not (repository.parent / "evil.md").exists()


def test_unshare_by_key_path_or_name(told: list[Any], repository: Path, capsys: Output) -> None:
    for name in ("package  Manager", PLACE, "package-manager", f"./{PLACE}"):
        main(["share", "m1"])
        assert main(["unshare", name, "--dry-run"]) == 0
        assert (repository / PLACE).exists()
        assert main(["unshare", name]) == 0
        assert not (repository / PLACE).exists(), name
    assert main(["unshare", "package manager"]) == 2
    assert "nothing is shared as 'package manager'" in capsys.readouterr().err


def test_share_warns_about_ignored_folder(told: list[Any], repository: Path, capsys: Output) -> None:
    (repository / ".gitignore").write_text(".hunch/\n")
    main(["share", "m1"])

    assert "ignores .hunch" in capsys.readouterr().err
