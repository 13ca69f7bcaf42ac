"""Collector of real tracebacks with known answers: a change's new tests run against its parent.

    python benchmarks/error_cases.py --repo PATH --needs "flask pytest" --cases cases.jsonl

For each unit of a history that changes both tests and sources, from the newest on (or from where the file of cases
ends), the parent's tree with the unit's tests is run in a temporary folder. Tests that fail there and pass at the unit
itself are kept, with the output of pytest. The expected answers are the sources that the unit changed, by the names
they
had before. One line for each test:

    {"repository", "unit", "parent", "test", "style", "text", "gold"}

`--needs` is installed into an environment of its own below `--environments`: the project's released packages (for
their metadata) and what its tests import. The project's own code is found first, through PYTHONPATH. This runs code of
the repository: use it on projects whose tests you would run anyway.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree

from hunchd.bench.replay import get_repository_name
from hunchd.domain.history import Unit
from hunchd.domain.unit_classification import is_work, list_existing_paths
from hunchd.ingestion import history
from hunchd.repository.git import Git

SECONDS = 90  # a run of a few test files; a longer one is not an everyday traceback
MOST_OF_A_UNIT = 4  # different tracebacks kept
LARGEST_GOLD = 10  # files
STYLES = ("long", "native", "short")  # pytest traceback styles; each unit gets one, in turn
ELSEWHERE = re.compile(r"(?:^|/)(?:docs?|examples?|scripts?|benchmarks?|bench|tasks|artwork)/|(?:^|/)setup\.py$")
TEST = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
TESTED = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", required=True, help="a git repository, bare or not")
    parser.add_argument("--needs", default="pytest", help="packages to install, for pip")
    parser.add_argument("--cases", type=Path, required=True, help="lines are added to this file")
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "hunchd-error-cases")
    parser.add_argument("--units", type=int, default=25, help="units to find (25)")
    parser.add_argument("--looked-at", type=int, default=600, help="newest units looked at (600)")
    parser.add_argument("--minutes", type=float, default=20, help="time after which it ends (20)")
    options = parser.parse_args()
    name = get_repository_name(options.repo)
    python = create_environment(options.environments / name, shlex.split(options.needs))
    git = Git(options.repo)
    found = 0
    finished = list_finished_units(options.cases, name)
    newest_first = list(history.iter_units(git, newest=options.looked_at, newest_first=True))
    last = max((place for place, unit in enumerate(newest_first) if unit.sha in finished), default=-1)
    with options.cases.open("a", encoding="utf-8") as out:
        for unit in newest_first[last + 1 :]:
            if found >= options.units or is_over(options.minutes):
                break
            gold, tests = split_files(unit)
            if gold and tests:
                found += write_cases(name, git, unit, gold, tests, python, STYLES[found % len(STYLES)], out)
    print(f"{name}: {found} units")
    return 0


def list_finished_units(cases: Path, name: str) -> set[str]:
    """Return the units of a repository that already have cases."""
    if not cases.exists():
        return set()
    lines = [json.loads(line) for line in cases.read_text("utf-8").splitlines()]
    return {line["unit"] for line in lines if line["repository"] == name}


_BEGAN = os.times().elapsed


def is_over(minutes: float) -> bool:
    return os.times().elapsed - _BEGAN > minutes * 60


def create_environment(folder: Path, needs: Sequence[str]) -> Path:
    """Return the interpreter of a virtual environment with `needs`, created at the first call."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *needs], check=True)
    return python


def split_files(unit: Unit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a unit's existing sources and its runnable test files.

    Both are empty if the unit is no work.
    """
    if not is_work(unit):
        return (), ()
    sources = [
        path
        for path in list_existing_paths(unit)
        if path.endswith(".py") and not (TEST.search(path) or ELSEWHERE.search(path))
    ]
    tests = [change.path for change in unit.changes if change.status in "AMR" and TESTED.search(change.path)]
    return (tuple(sources) if len(sources) <= LARGEST_GOLD else ()), tuple(tests)


def write_cases(
    name: str,
    git: Git,
    unit: Unit,
    gold: Sequence[str],
    tests: Sequence[str],
    python: Path,
    style: str,
    out: TextIO,
) -> int:
    """Write the cases of this unit; return 1 if there was one."""
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        tree = Path(folder) / name
        unpack(git, unit.parents[0], tree)
        overlay(git, unit, tree)
        failed = dict(failures(tree, tests, python, style))
        if not failed:
            return 0
        shutil.rmtree(tree)
        unpack(git, unit.sha, tree)
        still = {test for test, _ in failures(tree, tests, python, style)}
        fixed = {test: text for test, text in failed.items() if test not in still}
        if not fixed or still & {"", "timeout"}:
            return 0
        for test, text in select_different(fixed):
            line = {"repository": name, "unit": unit.sha, "parent": unit.parents[0], "test": test, "style": style}
            out.write(json.dumps(line | {"text": text, "gold": list(gold)}, ensure_ascii=False) + "\n")
        out.flush()
    return 1


def unpack(git: Git, sha: str, folder: Path) -> None:
    paths = git.list_tree(sha)
    contents = dict(git.read_blobs(set(paths.values())))
    for path, blob in paths.items():
        if blob in contents:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(contents[blob])


def overlay(git: Git, unit: Unit, tree: Path) -> None:
    """Copy the unit's tests and their neighbours over the parent's tree."""
    contents = dict(git.read_blobs([change.new_blob for change in unit.changes if change.new_blob]))
    for change in unit.changes:
        if TEST.search(change.path):
            for path in filter(None, (change.path, change.old_path)):
                (tree / path).unlink(missing_ok=True)
            if change.new_blob in contents:
                (tree / change.path).parent.mkdir(parents=True, exist_ok=True)
                (tree / change.path).write_bytes(contents[change.new_blob])


def failures(tree: Path, tests: Sequence[str], python: Path, style: str) -> Iterator[tuple[str, str]]:
    """Yield (test, output of its failure) pairs.

    A test named "timeout" means that the run took too long.
    """
    report = tree.parent / "report.xml"
    report.unlink(missing_ok=True)
    command = [
        str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=default",
        f"--tb={style}", "-o", "junit_family=xunit2", f"--junitxml={report}", *tests,
    ]  # fmt: skip
    paths = [str(tree / "src"), str(tree), str(tree / "tests")]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tree)}
    try:
        subprocess.run(command, cwd=tree, env=settings, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        yield "timeout", ""
        return
    if not report.exists():
        yield "", ""
        return
    for case in ElementTree.parse(report).iter("testcase"):
        for kind in ("failure", "error"):
            element = case.find(kind)
            if element is not None and element.text:
                yield f"{case.get('classname')}::{case.get('name')}", element.text


def select_different(fixed: dict[str, str]) -> list[tuple[str, str]]:
    """Return a few failures, no two with the same ending."""
    selected: dict[str, tuple[str, str]] = {}
    for test, text in sorted(fixed.items()):
        last = text.strip().splitlines()[-1] if text.strip() else ""
        selected.setdefault(re.sub(r"\d+", "", last), (test, text))
    return list(selected.values())[:MOST_OF_A_UNIT]


if __name__ == "__main__":
    sys.exit(main())
