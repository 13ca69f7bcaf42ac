"""Checks of the plugins by the editors' own tools: help, health, options, byte compiler."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.editor import PLUGINS
from tests.editors.emacs import Emacs
from tests.editors.neovim import Neovim
from tests.editors.recording import BASKET
from tests.editors.replaying import Replay
from tests.editors.vim import Vim


@pytest.fixture
def neovim(kind: type, start: Callable[..., Neovim]) -> Neovim:
    if kind is not Neovim:
        pytest.skip("of Neovim only")
    return start(start=False)


def test_neovim_help_tags_and_options_complete(neovim: Neovim, tmp_path: Path) -> None:
    shutil.copytree(PLUGINS / "neovim" / "doc", tmp_path / "help" / "doc")  # keep generated tags out of the sources
    neovim.lua(f"vim.opt.rtp:prepend('{tmp_path}/help'); vim.cmd.helptags('{tmp_path}/help/doc')")
    neovim.lua("vim.cmd.help('hunch-options')")
    text = "\n".join(neovim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    options = neovim.lua("return vim.tbl_keys(require('hunch.config').options)")
    keys = neovim.lua("return vim.tbl_keys(require('hunch.config').options.keys)")
    assert [name for name in [*options, *keys, "budget"] if name not in text] == []
    neovim.lua("for tag in vim.gsplit('hunch :Hunch hunch-lua', ' ') do vim.cmd.help(tag) end")


def test_neovim_checkhealth_reports_daemon(neovim: Neovim, replay: Replay, shop: Path) -> None:
    replay.load("health", "open")
    neovim.open(shop / BASKET)
    neovim.lua("vim.cmd('checkhealth hunch')")
    report = "\n".join(neovim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "the daemon answers: version 0.1.0, protocol 1" in report
    replay.unexpected.clear()  # there is no transcript of the status


def test_neovim_unknown_option_error_lists_options(neovim: Neovim) -> None:
    told = neovim.lua("return select(2, pcall(require('hunch').setup, { colour = 'red' }))")
    assert told.startswith("hunch has no option 'colour'. It has: add, budget, command")


def test_vim_url_encoding(kind: type, start: Callable[..., Vim]) -> None:
    if kind is not Vim:
        pytest.skip("of Vim only")
    request = "{'method': 'GET', 'path': '/context', 'query': {'file': 'süß/a b&c%.py', 'budget': 9}}"
    raw = start(start=False).evaluate(f"hunch#daemon#raw({{'url': 'http://127.0.0.1:1/', 'token': 't'}}, {request})")
    assert raw.startswith("GET /context?budget=9&file=s%C3%BC%C3%9F/a%20b%26c%25.py HTTP/1.1\r\nHost: 127.0.0.1:1\r\n")


def test_vim_help_names_options_and_keys(tmp_path: Path) -> None:
    plugin = PLUGINS / "vim"
    text = (plugin / "doc" / "hunch.txt").read_text()
    options = re.search(r"let defaults = \{(.*?)\}", (plugin / "autoload" / "hunch.vim").read_text())
    keys = re.search(r"in items\(\{(.*?)\}\)", (plugin / "autoload" / "hunch" / "view.vim").read_text(), re.DOTALL)
    assert options is not None
    assert keys is not None
    names = [f"g:hunch_{name}" for name in re.findall(r"'(\w+)':", options[1])]
    assert len(names) >= 5
    assert [name for name in names if name not in text] == []
    assert [key for key in re.findall(r"'([^' ]+)':", keys[1]) if f"\n{key}" not in text and key not in "-?"] == []


def test_emacs_package_compiles_without_warnings(tmp_path: Path) -> None:
    if reason := Emacs.missing():
        pytest.skip(reason)
    files = sorted(map(str, (PLUGINS / "emacs").glob("*.el")))
    target = f'(lambda (file) (concat "{tmp_path}/" (file-name-nondirectory file) "c"))'
    done = subprocess.run(
        [
            Emacs.find(), "-Q", "--batch", "-L", str(PLUGINS / "emacs"),
            "--eval", f"(setq byte-compile-error-on-warn t byte-compile-dest-file-function {target})",
            "-f", "batch-byte-compile", *files,
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
