"""`hunch run` is transparent for the command, and reports failures to the daemon."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hunchd.cli.running.output_tail import OutputTail
from hunchd.cli.running.spool_message import extract_error_text, get_spool_folder, quote_words, to_json, to_screen_text
from hunchd.config.app_paths import resolve_app_paths
from tests.cli.terminal import terminal

RUN = [sys.executable, "-m", "hunchd.cli", "run", "--"]
PATIENCE = 30.0  # seconds


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, *words], capture_output=True, timeout=PATIENCE, check=False, **options)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def letters(home: Path) -> list[dict[str, Any]]:
    """Return the messages in the spool, in the order written."""
    files = sorted((home / "state" / "spool" / "new").iterdir(), key=lambda file: file.name)
    return [json.loads(file.read_bytes()) for file in files]


class At:
    """Process at a terminal of its own."""

    def __init__(self, descriptor: int, pid: int) -> None:
        self._descriptor = descriptor
        self.pid = pid
        self.shown = b""

    def until(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < deadline, f"only {self.shown!r}"
            self._read()

    def type(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_over(self, *, within: float) -> bool:
        """Return True if it closes its terminal within that many seconds."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if not self._read():
                return True
        return False

    def ended(self) -> int:
        """Wait for its end; return the exit code, below zero for a signal."""
        while self._read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        if select.select([self._descriptor], [], [], 0.1)[0]:
            try:
                piece = os.read(self._descriptor, 65_536)
            except OSError:
                return False
            self.shown += piece
            return bool(piece)
        return True


@contextmanager
def at_terminal(words: Sequence[str]) -> Iterator[At]:
    pid, descriptor = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests in the background ignores it
        os.execv(words[0], list(words))
    try:
        yield At(descriptor, pid)
    finally:
        os.close(descriptor)


def test_run_passes_through_streams_and_exit_code(hunchd_home: Path) -> None:
    code = "import os, sys; os.write(1, sys.stdin.buffer.read() + b'\\n'); os.write(2, b'no\\n'); sys.exit(7)"

    done = run(*python(code), input=b"told")

    assert (done.returncode, done.stdout, done.stderr) == (7, b"told\n", b"no\n")
    error, finished = letters(hunchd_home)
    assert (error["kind"], error["exit_code"]) == ("error", 7)
    assert sorted(error["text"].split()) == ["no", "told"]  # between two streams nobody can tell which came first
    assert (finished["kind"], finished["exit_code"]) == ("command_finished", 7)


def test_run_merged_streams_keep_order() -> None:
    code = "import os\nfor n in range(200): os.write(1 + n % 2, b'%d ' % n)"

    done = subprocess.run([*RUN, *python(code)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)

    assert done.stdout.split() == [b"%d" % n for n in range(200)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_run_ends_by_commands_signal(number: signal.Signals) -> None:
    assert run("sh", "-c", f"kill -{number} $$").returncode == -number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_run_forwards_signal(number: signal.Signals) -> None:
    code = (
        "import signal, sys\n"
        f"signal.signal({number:d}, lambda *_: sys.exit(5))\nprint('ready', flush=True)\nwhile True: signal.pause()"
    )
    with subprocess.Popen([*RUN, *python(code)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == 5


def test_run_unstartable_command_exits_like_shell(tmp_path: Path, hunchd_home: Path) -> None:
    (tmp_path / "data").write_text("")
    missing, forbidden = run("no-such-command"), run(str(tmp_path / "data"))

    assert (missing.returncode, forbidden.returncode) == (127, 126)
    assert missing.stderr == b"hunch: no-such-command: command not found\n"
    assert {letter["kind"] for letter in letters(hunchd_home)} == {"command_finished"}


def test_run_closed_reader_ends_command() -> None:
    with subprocess.Popen([*RUN, "yes"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(PATIENCE) == -signal.SIGPIPE


def test_run_background_process_keeps_output(tmp_path: Path) -> None:
    go = tmp_path / "go"
    left = f"(while [ ! -e '{go}' ]; do sleep 0.05; done; echo late) & echo early"
    with subprocess.Popen([*RUN, "sh", "-c", left], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.wait(PATIENCE) == 0
        go.touch()
        assert process.stdout.read() == b"early\nlate\n"


def test_run_large_output_bounded_memory() -> None:
    tail = OutputTail(1_000)
    for number in range(5_000):
        tail.add(b"%04d\n" % number)

    assert tail.get_tail() == b"".join(b"%04d\n" % number for number in range(4_800, 5_000))
    assert len(tail._bytes) <= 2_000


def test_tail_begins_with_whole_line() -> None:
    tail = OutputTail(10)
    tail.add(b"first\nsecond\nthird\n")
    assert tail.get_tail() == b"third\n"
    tail = OutputTail(10)
    tail.add(b"no end of the line in sight")
    assert tail.get_tail() == b"e in sight"


def test_run_on_terminal_provides_terminal() -> None:
    code = "import os, sys\nprint([os.isatty(each) for each in range(3)], os.get_terminal_size().columns)\nsys.exit(3)"
    with at_terminal([*RUN, *python(f"input()\n{code}")]) as at:
        at.resize(30, 77)
        at.type(b"\n")
        assert at.ended() == 3
        assert b"[True, True, True] 77" in at.shown


def test_run_forwards_control_keys() -> None:
    """The command waits for the signal itself: ``input()`` misses, also bare, one that comes just before it reads."""
    waiting = "print('ready', flush=True); signal.sigwait({signal.SIGINT}); print('stopped'); exit(9)"
    code = f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGINT}}); {waiting}"
    with at_terminal([*RUN, *python(code)]) as at:
        at.until(b"ready")
        at.type(b"\x03")
        assert at.ended() == 9
        assert b"stopped" in at.shown
    with at_terminal([*RUN, "sh", "-c", "echo ready; exec cat"]) as at:
        at.until(b"ready")
        at.type(b"hello\r")
        at.until(b"hello\r\nhello\r\n")
        at.type(b"\x03")
        assert at.ended() == -signal.SIGINT


def test_run_restores_terminal_settings() -> None:
    with at_terminal(["/bin/sh", "-c", f"stty -a; {' '.join(RUN)} sh -c 'stty raw; exit 1'; echo; stty -a"]) as at:
        at.ended()
    first, second = (part.split() for part in at.shown.split(b"speed")[1:])
    assert first == second


def test_run_stop_and_continue(tmp_path: Path) -> None:
    environment = {**os.environ, "PS1": r"~\#~ "}
    with terminal(["bash", "--norc", "--noediting", "-i"], folder=tmp_path, environment=environment) as shell:
        os.write(shell._descriptor, f"{' '.join(RUN)} sh -c 'echo began; read x; echo went on $x'\r".encode())
        found = b""
        deadline = time.monotonic() + PATIENCE
        while b"began\r" not in found:
            assert time.monotonic() < deadline, found
            found += os.read(shell._descriptor, 65_536)
        os.write(shell._descriptor, b"\x1a")
        assert "Stopped" in shell.until_prompt()
        os.write(shell._descriptor, b"fg\r")
        assert "went on there" in shell.run("there")


def test_run_reports_only_genuine_failures() -> None:
    assert extract_error_text(0, b"fine") == ""
    assert extract_error_text(-signal.SIGINT, b"half") == ""
    for code in (129, 130, 141, 143):
        assert extract_error_text(code, b"half") == ""
    assert extract_error_text(137, b"half") == "half"
    assert extract_error_text(1, b"  \n") == ""
    assert extract_error_text(-signal.SIGSEGV, b"") == "fatal: ended by SIGSEGV"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_run_terminated_command_reports_no_error(number: signal.Signals, hunchd_home: Path) -> None:
    """A server that is stopped may exit with any code."""
    code = f"import signal; n = {int(number)}; signal.pthread_sigmask(signal.SIG_BLOCK, [n])"
    served = f"{code}; print('ready', flush=True); signal.sigwait([n]); print('closing'); exit(7)"
    with subprocess.Popen([*RUN, *python(served)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == 7

    assert [(letter["kind"], letter["exit_code"]) for letter in letters(hunchd_home)] == [("command_finished", 7)]


def test_run_only_final_ctrl_c_ends_command(hunchd_home: Path) -> None:
    held = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\nprint('ready', flush=True)\n"
    code = f"{held}signal.sigwait({{signal.SIGINT}})\nprint('stopped', flush=True)\n"
    with at_terminal([*RUN, *python(f"{code}exit(2)")]) as at:
        at.until(b"ready")
        at.type(b"\x03")
        assert at.ended() == 2
    assert [letter["kind"] for letter in letters(hunchd_home)] == ["command_finished"]

    with at_terminal([*RUN, *python(f"{code}input()\nexit('out of stock')")]) as at:
        at.until(b"ready")
        at.type(b"\x03")
        at.until(b"stopped")
        at.type(b"go on\r")
        assert at.ended() == 1
    with at_terminal([*RUN, "sh", "-c", "stty raw; echo ready; head -c 1; exit 3"]) as at:
        at.until(b"ready")
        at.type(b"\x03")
        assert at.ended() == 3
    assert [letter["kind"] for letter in letters(hunchd_home)[1:]] == ["error", "command_finished"] * 2


def test_readable_returns_final_screen_text() -> None:
    said = b"\x1b[31m1%\r50%\r100%\r\nE   \x1b]0;title\x07boom\x1b[0m\r\nab\x08\x08cd\n"

    assert to_screen_text(said) == "100%\nE   boom\ncd"
    assert len(json.dumps(to_screen_text("\x01é".encode() * 40_000), ensure_ascii=False).encode()) < 60_000


def test_run_ctrl_c_ends_shell_and_child() -> None:
    """On a busy machine one press in some hundreds had no effect; a second one must work."""
    words = ["/bin/sh", "-c", f"echo begun; exec {shlex.join([*RUN, 'sh', '-c', 'echo ready; sleep 600; echo slept'])}"]
    for moment in range(10):  # while we start, while the command starts, when it runs
        with at_terminal(words) as at:
            at.until(b"begun" if moment < 9 else b"ready")
            time.sleep(0.02 * moment)
            at.type(b"\x03")
            if not at.is_over(within=10):
                at.type(b"\x03")
            assert at.ended() != 0
            assert b"slept" not in at.shown


def test_spool_message_matches_json_and_shlex() -> None:
    for text in ("plain", 'a "quoted" \\ word', "\t\x00\x1f\n", "é 字 \u2028"):
        assert json.loads(to_json(text)) == text
    for words in (("pytest", "-x"), ("sh", "-c", "echo 'it' \"is\" $x"), ("a b", ""), ("é",), ("x=1", "~")):
        assert quote_words(words) == shlex.join(words)


@pytest.mark.parametrize("state", ["", " ", "/var/state"])
def test_spool_folder_matches_places(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_spool_folder() == str(resolve_app_paths().spool)
    monkeypatch.delenv("HUNCHD_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert get_spool_folder() == str(resolve_app_paths().spool)


def test_run_removed_folder_changes_nothing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = " ".join([*RUN, "sh", "-c", "'exit 4'"])
    done = subprocess.run(["sh", "-c", f"cd {gone} && rmdir {gone} && {words}"], check=False)
    assert done.returncode == 4


def test_run_imports_few_modules() -> None:
    code = (
        "import sys; from hunchd.cli.running import pipe_runner, run, spool_message\n"
        "print(sorted(sys.modules.keys() & {'re', 'json', 'typing', 'enum', 'threading', 'pathlib', 'dataclasses'}))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
