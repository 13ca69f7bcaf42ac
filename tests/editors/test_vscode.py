"""Checks of the VS Code extension: format, types, unit tests. Skipped without Node or the tools."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "editor-plugins" / "vscode"
OLDEST_NODE = (20, 15)  # zlib.crc32


def _node() -> tuple[int, ...] | None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in told.strip().lstrip("v").split(".")[:2])


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the extension with its tools installed; the repository is not changed."""
    if (node := _node()) is None or node < OLDEST_NODE:
        pytest.skip(f"Node {'.'.join(map(str, OLDEST_NODE))} or newer and npm are needed")
    plugins = tmp_path_factory.mktemp("editors") / "editor-plugins"
    ignored = shutil.ignore_patterns("node_modules", "out", ".host", "*.vsix")
    shutil.copytree(EXTENSION, plugins / "vscode", ignore=ignored)
    shutil.copytree(EXTENSION.parent / "transcripts", plugins / "transcripts")
    shutil.copy(EXTENSION.parents[1] / "LICENSE", plugins.parent)
    got = _npm(plugins / "vscode", "ci", "--no-audit", "--prefer-offline")
    if got.returncode != 0:
        pytest.skip(f"npm ci did not get the tools: {(got.stdout + got.stderr).strip()[-300:]}")
    return plugins / "vscode"


def _npm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *arguments], cwd=folder, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.slow  # npm fetches the tools
def test_extension_format_types_and_unit_tests(extension: Path) -> None:
    checked = _npm(extension, "run", "check")

    assert checked.returncode == 0, checked.stdout[-6000:] + checked.stderr[-2000:]


@pytest.mark.slow  # npm fetches the tools
def test_package_build_is_reproducible(extension: Path) -> None:
    made = _npm(extension, "run", "package")
    assert made.returncode == 0, made.stdout + made.stderr
    package = next(extension.glob("*.vsix"))
    first = package.read_bytes()
    subprocess.run(["node", "scripts/package.mjs"], cwd=extension, check=True, capture_output=True)

    assert package.read_bytes() == first
    assert len(first) < 500_000


def test_lock_file_contains_no_registry() -> None:
    assert '"resolved"' not in (EXTENSION / "package-lock.json").read_text()
