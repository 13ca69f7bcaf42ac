"""Project registry: adding, finding, moving, damaged files and removal."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hunchd.domain.errors import NotFound, StorageFull, StoreError
from hunchd.store.registry import ProjectRegistry
from tests.faults.failing import FailingFiles


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "projects.json"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "flask" / ".git").mkdir(parents=True)
    return tmp_path / "flask"


def test_project_survives_restart(path: Path, repository: Path) -> None:
    when = datetime(2026, 5, 1, 12, tzinfo=UTC)
    added = ProjectRegistry(path).add(repository, common_dir=repository / ".git", creation_time=when)

    [project] = ProjectRegistry(path).list_projects()
    assert project == added
    assert (project.name, project.path, project.created) == ("flask", str(repository), "2026-05-01T12:00:00+00:00")
    assert project.common_dir == str(repository / ".git")
    assert ProjectRegistry(path).get(project.id) == project


def test_root_folder_has_name(path: Path) -> None:
    assert ProjectRegistry(path).add(Path("/")).name == "/"


def test_add_is_idempotent_for_any_spelling(path: Path, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    registry = ProjectRegistry(path)
    first = registry.add(repository)
    before = path.stat().st_mtime_ns

    assert registry.add(tmp_path / "link") == first
    assert registry.add(repository / ".." / "flask") == first
    assert len(registry.list_projects()) == 1
    assert path.stat().st_mtime_ns == before  # nothing to write


def test_linked_worktrees_share_project(path: Path, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "flask-hotfix").mkdir()
    registry = ProjectRegistry(path)
    main = registry.add(repository, common_dir=repository / ".git")

    assert registry.add(tmp_path / "flask-hotfix", common_dir=repository / ".git") == main
    assert registry.find(tmp_path / "elsewhere") is None
    assert registry.find(tmp_path / "flask-hotfix", common_dir=repository / ".git") == main


def test_project_of_removed_worktree_follows_repository(path: Path, repository: Path, tmp_path: Path) -> None:
    hotfix = tmp_path / "flask-hotfix"
    hotfix.mkdir()
    registry = ProjectRegistry(path)
    first = registry.add(hotfix, common_dir=repository / ".git")
    hotfix.rmdir()
    assert first.is_missing

    moved = registry.add(repository, common_dir=repository / ".git")
    assert (moved.id, moved.path, moved.is_missing) == (first.id, str(repository), False)
    assert ProjectRegistry(path).list_projects() == (moved,)


def test_moved_repository_keeps_project(path: Path, repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "description").write_text("Unnamed repository\n")
    first = ProjectRegistry(path).add(repository, common_dir=repository / ".git")
    there = repository.rename(tmp_path / "flask-3")

    moved = ProjectRegistry(path).add(there, common_dir=there / ".git")

    assert (moved.id, moved.name, moved.path) == (first.id, "flask-3", str(there))
    assert moved.common_dir == str(there / ".git")
    assert ProjectRegistry(path).list_projects() == (moved,)


def test_copied_repository_is_new_project(path: Path, repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "description").write_text("Unnamed repository\n")
    registry = ProjectRegistry(path)
    first = registry.add(repository, common_dir=repository / ".git")
    copy = Path(shutil.copytree(repository, tmp_path / "copy"))
    assert registry.add(copy, common_dir=copy / ".git").id != first.id

    shutil.rmtree(repository)
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "description").write_text("Unnamed repository\n")
    assert registry.add(other, common_dir=other / ".git").id != first.id


def test_missing_reflects_folder_on_disk(path: Path, repository: Path) -> None:
    project = ProjectRegistry(path).add(repository)
    assert not project.is_missing
    repository.rename(repository.with_name("away"))
    assert project.is_missing


def test_remove_erases_project_and_retires_id(path: Path, repository: Path, tmp_path: Path) -> None:
    registry = ProjectRegistry(path)
    other = registry.add(tmp_path)
    gone = registry.add(repository)
    (path.parent / "projects.json.damaged-1").write_text(path.read_text()[:-3])

    assert registry.remove(gone.id) == gone
    assert registry.list_projects() == ProjectRegistry(path).list_projects() == (other,)
    assert not [file for file in path.parent.iterdir() if gone.id in file.read_text()]
    assert registry.add(repository).id != gone.id
    with pytest.raises(NotFound, match=other.id):
        registry.get(gone.id)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 300, b'{"version": 1, "proj', b"[]", b'{"version": 1, "projects": [{"id": 3}]}', b"[" * 100_000],
    ids=["empty", "zeroed", "cut", "a list", "a wrong field", "deep"],
)
def test_damaged_file_is_moved_aside(
    path: Path, repository: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)

    registry = ProjectRegistry(path)
    assert registry.list_projects() == ()
    [aside] = path.parent.glob("projects.json.damaged-*")
    assert aside.read_bytes() == content
    assert registry.warning is not None
    assert aside.name in registry.warning
    assert registry.warning in caplog.text
    project = registry.add(repository)
    assert ProjectRegistry(path).list_projects() == (project,)
    assert ProjectRegistry(path).warning is None


def test_newer_format_is_read_only(path: Path, repository: Path) -> None:
    project = ProjectRegistry(path).add(repository)
    content = json.loads(path.read_text()) | {"version": 2, "novelty": True}
    content["projects"][0]["colour"] = "blue"
    path.write_text(json.dumps(content))

    registry = ProjectRegistry(path)
    assert registry.list_projects() == (project,)
    with pytest.raises(StoreError, match="format 2"):
        registry.remove(project.id)
    assert json.loads(path.read_text()) == content


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_registry_file_is_private_with_any_umask(path: Path, repository: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        ProjectRegistry(path).add(repository)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_failed_write_changes_nothing(path: Path, repository: Path, tmp_path: Path) -> None:
    first = ProjectRegistry(path).add(tmp_path)
    for at in range(1, 20):
        files = FailingFiles(at=at, error=errno.ENOSPC)
        try:
            registry = ProjectRegistry(path, files=files)
            registry.add(repository)
        except StorageFull:
            assert registry.list_projects() == (first,)
        except StoreError:
            assert at == 1  # the reading itself
        assert first in ProjectRegistry(path).list_projects()
        assert ProjectRegistry(path).warning is None
        if not files.failed:
            break
    assert at > 5
    assert not list(path.parent.glob("*.tmp"))


def test_symlinked_file_raises_store_error(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text('{"version": 1, "projects": []}')
    path.parent.mkdir()
    path.symlink_to(victim)
    with pytest.raises(StoreError, match="cannot be read"):
        ProjectRegistry(path)
