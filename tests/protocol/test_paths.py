from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.domain.errors import InvalidInput
from hunchd.protocol.paths import normalize_project_path, to_relative_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src" / "pkg").mkdir(parents=True)
    (root / "src" / "pkg" / "a.py").touch()
    (tmp_path / "secret").touch()
    (tmp_path / "project-other").mkdir()
    return root


@pytest.mark.parametrize(
    "raw", ["src/pkg/a.py", "./src//pkg/a.py", "src/pkg/../pkg/a.py", "{root}/src/pkg/a.py", "{root}/./src/pkg/a.py"]
)
def test_relative_path_normalizes_all_spellings(root: Path, raw: str) -> None:
    assert to_relative_path(raw.format(root=root), root) == "src/pkg/a.py"


def test_relative_path_accepts_missing_file(root: Path) -> None:
    assert to_relative_path("new/file with spaces.py", root) == "new/file with spaces.py"


def test_relative_path_accepts_missing_project(tmp_path: Path) -> None:
    assert to_relative_path(f"{tmp_path}/gone/a.py", tmp_path / "gone") == "a.py"


def test_relative_path_resolves_symlink_inside_project(root: Path) -> None:
    (root / "short").symlink_to(root / "src" / "pkg")

    assert to_relative_path("short/a.py", root) == "src/pkg/a.py"


def test_relative_path_accepts_symlinked_root(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)

    assert to_relative_path(f"{link}/src/pkg/a.py", root) == "src/pkg/a.py"
    assert to_relative_path(f"{root}/src/pkg/a.py", link) == "src/pkg/a.py"


def test_relative_path_notices_retargeted_root_symlink(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    assert to_relative_path(f"{root}/a.py", link) == "a.py"

    link.unlink()
    link.symlink_to(tmp_path / "project-other")

    with pytest.raises(InvalidInput, match="outside the project"):
        to_relative_path(f"{root}/a.py", link)


@pytest.mark.parametrize(
    "raw",
    [
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "{root}/../secret",
        "{root}-other/a.py",
        "{root}/../project-other/x",
        "out/passwd",
        "out/../secret",
        "..",
        "/",
    ],
)
def test_relative_path_outside_project_is_rejected(root: Path, raw: str) -> None:
    (root / "out").symlink_to("/etc")

    with pytest.raises(InvalidInput, match="outside the project"):
        to_relative_path(raw.format(root=root), root)


@pytest.mark.parametrize("raw", ["", "  ", "a\0b", "x" * 5000, ".", "src/.."])
def test_relative_path_without_file_is_rejected(root: Path, raw: str) -> None:
    with pytest.raises(InvalidInput, match="allowed: a path inside the project"):
        to_relative_path(raw, root)


def test_relative_path_symlink_loop_terminates(root: Path) -> None:
    (root / "loop").symlink_to("loop")

    assert to_relative_path("loop/x", root) == "loop/x"


@given(raw=st.text(st.sampled_from("ab./\\~ é"), max_size=30))
def test_relative_path_any_input_stays_below_root(raw: str) -> None:
    try:
        answer = to_relative_path(raw, "/usr/lib")
    except InvalidInput:
        return
    assert not answer.startswith("/")
    assert os.path.realpath(f"/usr/lib/{answer}").startswith(os.path.realpath("/usr/lib") + "/")


def test_project_path_must_be_absolute() -> None:
    assert normalize_project_path("/a/b/../c/") == "/a/c"
    with pytest.raises(InvalidInput, match="absolute path"):
        normalize_project_path("a/c")
