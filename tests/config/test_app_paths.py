"""Tests of the folders: HUNCHD_HOME, XDG, privacy."""

import os
import stat
from pathlib import Path

import pytest

from hunchd.config.app_paths import MAX_SOCKET_PATH_BYTES, ensure_private_folder, is_private, resolve_app_paths
from hunchd.domain.errors import ConfigError


def test_hunchd_home_moves_all_folders(tmp_path: Path) -> None:
    here = resolve_app_paths({"HUNCHD_HOME": str(tmp_path)})
    folders = (here.config, here.data, here.state, here.cache, here.runtime, here.spool, here.socket_file.parent)
    assert all(folder.is_relative_to(tmp_path) for folder in folders)


def test_xdg_runtime_dir_is_preferred(tmp_path: Path) -> None:
    assert resolve_app_paths({"XDG_RUNTIME_DIR": str(tmp_path)}).runtime == tmp_path / "hunchd"
    assert resolve_app_paths({"XDG_RUNTIME_DIR": str(tmp_path / "gone")}).runtime.name == "run"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_make_private_ignores_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = ensure_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_make_private_symlink_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ConfigError, match="symbolic link"):
        ensure_private_folder(tmp_path / "link")


def test_make_private_writable_folder_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match="chmod 700"):
        ensure_private_folder(folder)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a folder away")
def test_make_private_foreign_parent_is_rejected(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, -1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        ensure_private_folder(home / "data")
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 12345, -1)
    with pytest.raises(ConfigError) as refused:
        ensure_private_folder(tmp_path / "data")
    assert (
        refused.value.hint
        == f"If it is yours, run `sudo chown -R 0 {tmp_path}/data`; or set HUNCHD_HOME to a different folder."
    )


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_make_private_replaceable_parent_is_rejected(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(ConfigError, match="anybody can write to"):
        ensure_private_folder(home / "data")
    home.chmod(0o1777)  # as /tmp is: nobody can take away what is another's
    assert ensure_private_folder(home / "data").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="sockets in the file system")
def test_socket_path_is_short_and_unique(tmp_path: Path) -> None:
    session = Path("/tmp")
    deep = [f"/{letter * 150}" for letter in "ab"]
    with_session = [
        resolve_app_paths({"HUNCHD_HOME": home, "XDG_RUNTIME_DIR": str(session)}).socket_file for home in deep
    ]
    without = [
        resolve_app_paths({"HUNCHD_HOME": home, "XDG_RUNTIME_DIR": f"/{'x' * 150}"}).socket_file for home in deep
    ]

    assert {socket.parent for socket in with_session} == {session / "hunchd"}
    assert {socket.parent for socket in without} == {Path(f"/tmp/hunchd-{os.getuid()}")}
    assert len({*with_session, *without}) == 4
    assert max(len(os.fsencode(socket)) for socket in (*with_session, *without)) <= MAX_SOCKET_PATH_BYTES
    assert resolve_app_paths({"HUNCHD_HOME": "/short"}).socket_file == Path("/short/run/hunchd.sock")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_is_private_foreign_folder_is_false(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert is_private(folder)
    folder.mkdir(mode=0o700)
    assert is_private(folder)
    folder.chmod(0o777)
    assert not is_private(folder)
    (tmp_path / "link").symlink_to(tmp_path)
    assert not is_private(tmp_path / "link")
    if os.getuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 12345, -1)
        assert not is_private(folder)
