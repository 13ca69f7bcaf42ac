"""Driver of Vim in a pseudo-terminal, over a channel that Vim opens to the test."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.editors.editor import PLUGINS, TIMEOUT, Editor, wait_until

_OLDEST = (9, 0)
_NEEDED = ("+channel", "+job", "+timers", "+popupwin")
_LISTENER = """
set nocompatible hidden encoding=utf-8 noswapfile columns=160 lines=50 t_RV= t_u7= shortmess+=I
let g:said = []
function! TestDo(code) abort
  try
    return [1, execute(a:code, '')]
  catch
    return [0, v:exception .. ' at ' .. v:throwpoint]
  endtry
endfunction
function! TestTell(code) abort
  try
    return [1, eval(a:code)]
  catch
    return [0, v:exception .. ' at ' .. v:throwpoint]
  endtry
endfunction
"""


class Vim(Editor):
    name = "vim"
    abilities = frozenset({"view"})

    @classmethod
    def find(cls) -> str:
        return os.environ.get("HUNCHD_TEST_VIM") or shutil.which("vim") or ""

    @classmethod
    def missing(cls) -> str | None:
        if not cls.find():
            return "there is no vim (tests/editors/run installs one)"
        told = subprocess.run([cls.find(), "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"VIM - Vi IMproved (\d+)\.(\d+)", told)
        if version is None or (int(version[1]), int(version[2])) < _OLDEST:
            return f"{told.partition(chr(10))[0] or 'vim'} is older than 9.0"
        lacking = [feature for feature in _NEEDED if feature not in told]
        return f"this vim lacks {', '.join(lacking)}" if lacking else None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        listener = socket.create_server(("127.0.0.1", 0))
        settings = "".join(f"let g:hunch_{name} = {self.value(told)}\n" for name, told in self.settings.items())
        init = self.folder / "init.vim"
        init.write_text(
            f"set runtimepath^={PLUGINS / 'vim'}\n{settings}{_LISTENER}"
            f"let g:address = ch_open('127.0.0.1:{listener.getsockname()[1]}', {{'mode': 'json'}})\n"
        )
        self._terminal, its_end = pty.openpty()
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("4H", 50, 160, 0, 0))
        self.process = subprocess.Popen(
            [self.executable, "-N", "-u", str(init), "-n", "-i", "NONE"],
            stdin=its_end,
            stdout=its_end,
            stderr=its_end,
            env=self.environment() | {"TERM": "xterm"},
            cwd=self.folder,
            start_new_session=True,
        )
        os.close(its_end)
        threading.Thread(target=self._drain, daemon=True).start()
        listener.settimeout(TIMEOUT)
        self._socket, _ = listener.accept()
        listener.close()
        self._socket.settimeout(TIMEOUT)
        self._answers = self._socket.makefile("rb")

    def _drain(self) -> None:
        with suppress(OSError):
            while os.read(self._terminal, 65536):
                pass

    def stop(self) -> None:
        super().stop()
        self._answers.close()
        self._socket.close()
        with suppress(OSError):
            os.close(self._terminal)

    @staticmethod
    def value(told: object) -> str:
        return str(int(told)) if isinstance(told, bool) else json.dumps(told)

    def _call(self, function: str, code: str) -> Any:
        self._socket.sendall(json.dumps(["call", function, [code], -1]).encode() + b"\n")
        raw = b""
        while True:  # an answer is one value, with or without a line break after it
            raw += self._socket.recv(1 << 20)
            with suppress(ValueError):
                _, (good, result) = json.loads(raw)
                break
        assert good, f"{code}\n{result}"
        return result

    def evaluate(self, code: str) -> Any:
        """Evaluate an expression and return its value."""
        return self._call("TestTell", code)

    def run(self, code: str) -> str:
        """Run a command and return its output."""
        return str(self._call("TestDo", code))

    def open(self, path: Path) -> None:
        # In a window that shows a file, like a user.
        windows = "filter(range(1, winnr('$')), {_, nr -> getbufvar(winbufnr(nr), '&buftype') ==# ''})"
        self.run(f"execute {windows}[0] .. 'wincmd w' | execute 'edit' fnameescape({json.dumps(str(path))})")

    def save(self) -> None:
        self.run("silent write")

    def close(self, path: Path) -> None:
        self.run(f"execute 'bdelete' fnameescape({json.dumps(str(path))})")

    def current_file(self) -> str:
        return str(self.evaluate("expand('%:p')"))

    def show_context(self) -> None:
        self.run("Hunch")

    def read_context(self) -> str:
        buffer = "bufnr('^hunch://context$')"
        return str(self.evaluate(f"{buffer} < 0 ? '' : join(getbufline({buffer}, 1, '$'), \"\\n\")"))

    def choose_related(self, path: str) -> None:
        self.run("HunchRelated")
        self.choose(path)

    def search_code(self, question: str) -> None:
        self.run(f"HunchSearch {question}")

    def open_first_result(self) -> int | None:
        if not self.evaluate("len(getqflist())"):
            return None
        self.run("cfirst")
        return int(self.evaluate("line('.')"))

    def choose(self, text: str) -> None:
        """Choose the line with this text in the menu."""
        lines = "empty(popup_list()) ? [] : getbufline(winbufnr(popup_list()[0]), 1, '$')"
        wait_until(lambda: any(text in line for line in self.evaluate(lines)), f"{text!r} is offered")
        number = next(number for number, line in enumerate(self.evaluate(lines), start=1) if text in line)
        self.run(f"call popup_close(popup_list()[0], {number})")

    def report_errors(self, errors: list[tuple[int, str, str]]) -> None:
        raise NotImplementedError("Vim has no errors of its own")

    def run_action(self, action: str, title: str) -> None:
        self.run(
            "call win_gotoid(bufwinid('^hunch://context$')) | call cursor(1, 1)"
            f" | call search('\\V' .. {json.dumps(title)}, 'cW')"
            f" | call hunch#view#do({json.dumps('enter' if action == 'open' else action)})"
        )
        if action == "forget":
            self.choose("Delete it")

    def read_messages(self) -> str:
        popups = 'join(map(popup_list(), {_, id -> join(getbufline(winbufnr(id), 1, \'$\'), "\\n")}), "\\n")'
        return f"{self.run('messages')}\n{self.evaluate(popups)}"
