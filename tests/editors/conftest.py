"""Fixtures for each installed editor, with its own home and project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.editor import Editor
from tests.editors.emacs import Emacs
from tests.editors.neovim import Neovim
from tests.editors.replaying import Replay, replaying
from tests.editors.vim import Vim
from tests.repositories import make_shop

EDITORS: tuple[type[Editor], ...] = (Neovim, Emacs, Vim)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop")


@pytest.fixture
def replay(shop: Path) -> Iterator[Replay]:
    with replaying(shop) as running:
        yield running
        assert running.unexpected == []


@pytest.fixture(params=EDITORS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[Editor]:
    kind: type[Editor] = request.param
    if reason := kind.missing():
        # `tests/editors/run` installs all editors: there a missing one is an error.
        assert not os.environ.get("HUNCHD_TEST_ALL_EDITORS"), reason
        pytest.skip(reason)
    return kind


@pytest.fixture
def start(kind: type[Editor], hunchd_home: Path) -> Iterator[Callable[..., Editor]]:
    """Return a function that starts the editor with plugin settings."""
    started: list[Editor] = []

    def start(**settings: object) -> Editor:
        # Short, because the socket's path is limited.
        editor = kind(kind.find(), Path(f"{hunchd_home}-user") / f"ed{len(started)}", settings)
        started.append(editor)
        editor.start()
        return editor

    yield start
    for editor in started:
        editor.stop()


@pytest.fixture
def editor(start: Callable[..., Editor]) -> Editor:
    return start(start=False)
