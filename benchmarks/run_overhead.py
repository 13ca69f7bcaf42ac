"""Benchmark of `hunch run` beside the bare command: time, exit codes, signals, terminals, a gigabyte of output.

    python benchmarks/run_overhead.py            # 20 runs of each, in turn

The command is called as an installed console script calls it (`hunchd.cli.main:main`).
"""

from __future__ import annotations

import argparse
import os
import pty
import resource
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

HUNCH = (sys.executable, "-c", "import sys; from hunchd.cli.main import main; sys.exit(main())", "run", "--")
ENDS = (
    "exit 0",
    "exit 3",
    "exit 255",
    "kill -TERM $$",
    "kill -SEGV $$",
    "kill -KILL $$",
    "no-such-command",
    "kill -PIPE $$",
)
PROGRAMS = (  # typed keys, and expected output
    (("vim.tiny", "-u", "NONE", "FILE"), (b"ihello\x1b:wq\r",), b"hello"),
    (("less", "FILE"), (b"G", b"q"), b"line 900"),
    (("top", "-d", "5"), (b"q",), b"load average"),  # it pauses between two pages
)
GIGABYTE = 1_000_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--no-gigabyte", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        os.environ["HUNCHD_HOME"] = folder
        time_command((*HUNCH, "true"))  # create its folders
        measure_overhead(options.runs)
        check_exit_codes()
        check_terminals(folder)
        if not options.no_gigabyte:
            measure_large_output()
    return 0


def measure_overhead(runs: int) -> None:
    rows: dict[str, list[tuple[float, float]]] = {"bare": [], "hunch run": [], "python -c pass": []}
    for _ in range(runs):
        rows["bare"].append(time_command(("true",)))
        rows["hunch run"].append(time_command((*HUNCH, "true")))
        rows["python -c pass"].append(time_command((sys.executable, "-c", "pass")))
    for name, several in rows.items():
        wall, cpu = (statistics.median(values) * 1_000 for values in zip(*several, strict=True))
        print(f"{name:16} {wall:6.1f} ms   {cpu:6.1f} ms CPU   (median of {runs})")


def time_command(words: Sequence[str]) -> tuple[float, float]:
    """Return seconds of wall and processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, stdout=subprocess.PIPE, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_exit_codes() -> None:
    same = 0
    for ends in ENDS:
        bare, ours = (
            subprocess.run([*way, "sh", "-c", ends], capture_output=True, check=False).returncode for way in ((), HUNCH)
        )
        same += bare == ours
        if bare != ours:
            print(f"{ends}: {bare} bare, {ours} with hunch run")
    print(f"exit codes and signals: {same} of {len(ENDS)} the same")


def check_terminals(folder: str) -> None:
    for words, keys, sight in PROGRAMS:
        if shutil.which(words[0]) is None:
            print(f"{words[0]}: not here")
            continue
        file = os.path.join(folder, "text")
        with open(file, "w") as text:
            text.writelines(f"line {number}\n" for number in range(1, 901))
        code, shown = run_in_terminal([*HUNCH, *(file if word == "FILE" else word for word in words)], keys)
        with open(file, "rb") as text:
            is_visible = sight in shown or sight in text.read()
        print(f"{words[0]}: ended with {code}, {'as alone' if is_visible and code == 0 else 'NOT as alone'}")


def run_in_terminal(words: Sequence[str], keys: Sequence[bytes]) -> tuple[int, bytes]:
    """Return the exit code and all output; each key is pressed when the screen is idle."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(words[0], list(words))
    shown, waiting, deadline = b"", list(keys), time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([descriptor], [], [], 1.5)[0]:
            try:
                shown += os.read(descriptor, 65_536)
            except OSError:
                break
        elif waiting and shown:
            os.write(descriptor, waiting.pop(0))
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def measure_large_output() -> None:
    """Measure time and memory of a gigabyte through a pipe."""
    command = f"yes 0123456789012345678901234567890123456789 | head -c {GIGABYTE}; exit 1"
    for name, way in (("bare", ()), ("hunch run", HUNCH)):
        began = time.perf_counter()
        with subprocess.Popen([*way, "sh", "-c", command], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            count = 0
            while piece := process.stdout.read(1 << 20):
                count += len(piece)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        took = time.perf_counter() - began
        print(f"1 GB, {name}: {count:,} bytes, {took:.1f} s, exit code {process.returncode}, at most {most} MB")


if __name__ == "__main__":
    sys.exit(main())
