"""Benchmark of git hooks and shell reports: commits, a long rebase, the time between two prompts.

    python benchmarks/hook_overhead.py [--runs 30] [--rebase 200]

Prints medians in milliseconds, with and without hooks. Needs git; shells that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from hunchd.cli.shells import render_script  # noqa: E402
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths  # noqa: E402
from tests.cli.terminal import terminal  # noqa: E402
from tests.cli.test_shell_init import RC  # noqa: E402

IDENTITY = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **IDENTITY})


class Duration(NamedTuple):
    """Milliseconds of wall time, and of processor time, which hardly depends on the machine's load."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} ms ({self.cpu:.1f} of a core)"


def time_command(folder: Path, *words: str) -> Duration:
    began, used = time.perf_counter(), _read_children_cpu()
    git(folder, *words)
    return Duration((time.perf_counter() - began) * 1_000, (_read_children_cpu() - used) * 1_000)


def _read_children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def median(times: list[Duration]) -> Duration:
    return Duration(statistics.median(one.wall for one in times), statistics.median(one.cpu for one in times))


def hooks(folder: Path, action: str) -> None:
    subprocess.run([sys.executable, "-m", "hunchd.cli", "hooks", action, folder], check=True, capture_output=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip


def measure_commits(folder: Path, runs: int) -> None:
    """Time commits with and without hooks in turn, so that other load affects both."""
    found: dict[str, list[Duration]] = {"uninstall": [], "install": []}
    for _ in range(runs):
        for action, times in found.items():
            hooks(folder, action)
            times.append(time_command(folder, "commit", "-q", "--allow-empty", "-m", "x"))
    print(f"git commit, median of {runs}: {median(found['uninstall'])} without, {median(found['install'])} with hooks")
    hook = folder / ".git" / "hooks" / "post-commit"
    alone = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run([hook], cwd=folder, check=True)
        alone.append((time.perf_counter() - began) * 1_000)
        began = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", ":"], check=True)
        alone[-1] -= (time.perf_counter() - began) * 1_000
    print(f"post-commit above an empty sh, median of {runs}: {statistics.median(alone):.1f} ms")


def measure_rebase(folder: Path, count: int) -> None:
    git(folder, "checkout", "-q", "-b", "long")
    for number in range(count):
        (folder / f"{number}.txt").write_text("x\n")
        git(folder, "add", f"{number}.txt")
        git(folder, "commit", "-q", "-m", f"step {number}")
    git(folder, "checkout", "-q", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    git(folder, "tag", "before", "long")
    for action in ("uninstall", "install", "uninstall", "install"):
        hooks(folder, action)
        git(folder, "checkout", "-q", "-B", "long", "before")
        (resolve_app_paths().spool / "lines").unlink(missing_ok=True)
        took = time_command(folder, "rebase", "-q", "main")
        lines = (resolve_app_paths().spool / "lines").read_text().splitlines() if action == "install" else []
        rewrites = sum('"rewrite"' in line for line in lines)
        print(f"rebase of {count} commits, {action}ed: {took}, {rewrites} rewrites told, {len(lines)} lines in all")


def measure_prompts(folder: Path, runs: int) -> None:
    where = resolve_app_paths()
    ensure_private_folder(where.runtime)
    where.rendezvous_file.touch()
    for shell in RC:
        if shutil.which(shell) is None:
            print(f"{shell} is not installed")
            continue
        found: dict[bool, list[float]] = {False: [], True: []}
        cpu = {False: 0.0, True: 0.0}
        for _ in range(3):
            for reports in found:
                before = _read_children_cpu()
                found[reports] += measure_prompt_times(shell, folder, runs, reports=reports)
                cpu[reports] += (_read_children_cpu() - before) * 1_000
        without, with_it = statistics.median(found[False]), statistics.median(found[True])
        extra = (cpu[True] - cpu[False]) / (3 * runs)
        print(
            f"{shell}, from Enter to the next prompt, median of {3 * runs}: {without:.2f} ms without, {with_it:.2f} ms "
            f"with (+{extra:.2f} of a core)"
        )


def measure_prompt_times(shell: str, folder: Path, runs: int, *, reports: bool) -> list[float]:
    home = Path(tempfile.mkdtemp(dir=resolve_app_paths().config.parent))
    name = {"bash": "rc", "zsh": ".zshrc", "fish": "fish/config.fish"}[shell]
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_text(RC[shell] + (render_script(shell, resolve_app_paths(), ()) if reports else ""))
    argv = {"bash": ["bash", "--noprofile", "--rcfile", str(home / "rc"), "-i"], "zsh": ["zsh", "-d", "-i"]}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ZDOTDIR": str(home), "XDG_CONFIG_HOME": str(home),
                   "TERM": "dumb", "LC_ALL": "C.UTF-8"}  # fmt: skip
    times = []
    with terminal(argv.get(shell, ["fish", "-i"]), folder=folder, environment=environment) as prompt:
        for number in range(runs):
            began = time.perf_counter()
            prompt.run(f"true {number}")
            times.append((time.perf_counter() - began) * 1_000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--rebase", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["HUNCHD_HOME"] = f"{temporary}/home"
        ensure_private_folder(resolve_app_paths().spool)
        folder = Path(temporary) / "repository"
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        measure_commits(folder, arguments.runs)
        measure_rebase(folder, arguments.rebase)
        measure_prompts(folder, arguments.runs)


if __name__ == "__main__":
    main()
