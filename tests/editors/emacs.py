"""Driver of Emacs in a pseudo-terminal, through emacsclient."""

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
from itertools import count
from pathlib import Path
from typing import Any

from tests.editors.editor import PLUGINS, TIMEOUT, Editor, wait_until

_OLDEST = 28
_numbers = count()


class Emacs(Editor):
    name = "emacs"

    @classmethod
    def find(cls) -> str:
        return os.environ.get("HUNCHD_TEST_EMACS") or shutil.which("emacs") or ""

    @classmethod
    def missing(cls) -> str | None:
        if not cls.find() or not shutil.which("emacsclient"):
            return "there is no emacs (tests/editors/run installs one)"
        told = subprocess.run([cls.find(), "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"GNU Emacs (\d+)\.", told)
        if version is None or int(version[1]) < _OLDEST:
            return f"{told.partition(chr(10))[0] or 'emacs'} is older than 28"
        return None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.socket = Path(f"{self.folder}.sock")
        settings = " ".join(f"(setq hunch-{name} {self.lisp(value)})" for name, value in self.settings.items())
        init = self.folder / "init.el"
        init.write_text(
            "(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)\n"
            "(setq native-comp-deferred-compilation nil ring-bell-function #'ignore)\n"
            f"(add-to-list 'load-path {json.dumps(str(PLUGINS / 'emacs'))})\n"
            f"(require 'hunch) {settings} (hunch-mode 1)\n"
            "(defvar said nil)\n"
            "(advice-add 'message :before (lambda (&rest it)"
            " (when (car it) (push (apply #'format-message it) said))))\n"
            "(require 'server)\n"
            f"(setq server-name {json.dumps(str(self.socket))})\n"
            "(server-start)\n"
        )
        # Emacs has no windows to switch between without a terminal.
        self._terminal, its_end = pty.openpty()
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("4H", 50, 160, 0, 0))
        self.process = subprocess.Popen(
            [self.executable, "-nw", "-Q", "-l", str(init)],
            stdin=its_end,
            stdout=its_end,
            stderr=its_end,
            env=self.environment() | {"TERM": "xterm"},
            cwd=self.folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Emacs opens /dev/tty
        )
        os.close(its_end)
        threading.Thread(target=self._drain, daemon=True).start()
        wait_until(self._accepts_connections, "Emacs listens")

    def _accepts_connections(self) -> bool:
        """Return True once Emacs accepts connections; the socket file appears earlier."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(str(self.socket))
            return True
        return False

    def _drain(self) -> None:
        with suppress(OSError):
            while os.read(self._terminal, 65536):
                pass

    def stop(self) -> None:
        super().stop()
        with suppress(OSError):
            os.close(self._terminal)

    @staticmethod
    def lisp(value: object) -> str:
        match value:
            case bool() | None:
                return "t" if value else "nil"
            case _:
                return json.dumps(value, ensure_ascii=False)

    def eval(self, code: str) -> Any:
        """Evaluate `code` in the selected window and return its value, sent as JSON."""
        answer = self.folder / f"told{next(_numbers)}.json"
        form = (
            f"(let ((result (with-current-buffer (window-buffer (selected-window)) {code})))"
            f" (with-temp-file {json.dumps(str(answer))} (insert (json-encode result))) t)"
        )
        done = subprocess.run(
            ["emacsclient", "--socket-name", str(self.socket), "--eval", form],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            env=self.environment(),
        )
        assert answer.exists(), f"{code}\n{done.stderr}{done.stdout}"
        return json.loads(answer.read_text())

    def open(self, path: Path) -> None:
        self.eval(
            "(progn (when (derived-mode-p 'special-mode) (select-window (get-mru-window nil nil t)))"
            f" (find-file {self.lisp(str(path))}) nil)"
        )

    def save(self) -> None:
        self.eval("(progn (set-buffer-modified-p t) (save-buffer) nil)")

    def close(self, path: Path) -> None:
        self.eval(f"(progn (kill-buffer (get-file-buffer {self.lisp(str(path))})) nil)")

    def current_file(self) -> str:
        return str(self.eval("(buffer-file-name)"))

    def show_context(self) -> None:
        self.eval("(progn (hunch-context) nil)")

    def read_context(self) -> str:
        buffer = '(get-buffer "*hunch*")'
        return str(self.eval(f'(if {buffer} (with-current-buffer "*hunch*" (buffer-string)) "")'))

    def choose_related(self, path: str) -> None:
        self.eval(
            f'(progn (fset \'completing-read (lambda (_ table &rest __) (all-completions "" table) {self.lisp(path)}))'
            " (hunch-related) nil)"
        )

    def search_code(self, question: str) -> None:
        self.eval(f"(progn (hunch-search {self.lisp(question)}) nil)")

    def open_first_result(self) -> int | None:
        line = self.eval(
            '(when (get-buffer "*xref*") (pop-to-buffer "*xref*") (goto-char (point-min))'
            " (condition-case nil (progn (xref-next-line) (xref-goto-xref)) (error nil))"
            " (when (buffer-file-name) (line-number-at-pos)))"
        )
        return None if line is None else int(line)

    def report_errors(self, errors: list[tuple[int, str, str]]) -> None:
        found = " ".join(
            "(flymake-make-diagnostic (current-buffer)"
            f" (progn (goto-char (point-min)) (line-beginning-position {line})) (line-end-position {line})"
            f" :error {self.lisp(f'{message} ({source})')})"
            for line, message, source in errors
        )
        self.eval(
            f"(progn (setq-local found (list {found}))"
            " (unless flymake-mode"
            "   (add-hook 'flymake-diagnostic-functions (lambda (report &rest _) (funcall report found)) nil t)"
            "   (flymake-mode 1))"
            " (flymake-start) nil)"
        )

    def run_action(self, action: str, title: str) -> None:
        command = {
            "open": "hunch-visit",
            "helpful": "hunch-helpful",
            "not_helpful": "hunch-not-helpful",
            "forget": "hunch-forget",
            "why": "hunch-why",
        }[action]
        self.eval(
            '(progn (select-window (get-buffer-window "*hunch*")) (goto-char (point-min))'
            f" (search-forward {self.lisp(title)}) (goto-char (match-beginning 0))"
            f" (cl-letf (((symbol-function 'y-or-n-p) (lambda (&rest _) t))) (call-interactively #'{command})) nil)"
        )

    def read_messages(self) -> str:
        buffer = '(get-buffer "*hunch text*")'
        return str(
            self.eval(
                '(concat (mapconcat #\'identity said "\\n")'
                f' (if {buffer} (with-current-buffer "*hunch text*" (buffer-string)) ""))'
            )
        )
