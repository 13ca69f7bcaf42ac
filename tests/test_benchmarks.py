"""Check that each benchmark script can be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FOR_TRAINING_ONLY = ("torch", "jax")  # not installed for tests


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda script: script.stem)
def test_benchmark_imports_succeed(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {script.stem}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(BENCHMARKS), str(BENCHMARKS.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )

    last_line = done.stderr.strip().rpartition("\n")[2]
    if any(last_line == f"ModuleNotFoundError: No module named '{one}'" for one in FOR_TRAINING_ONLY):
        pytest.skip(last_line)
    assert done.returncode == 0, done.stderr


def test_readme_names_exactly_the_existing_scripts() -> None:
    readme = (BENCHMARKS / "README.md").read_text("utf-8")
    named = {name.rpartition("/")[2] for name in re.findall(r"[\w/]+\.py(?= |`|$)", readme, re.MULTILINE)}
    scripts = {script.name for script in BENCHMARKS.rglob("*.py")}

    assert {name for name in named - scripts if not name.startswith("test_")} == set()
    assert scripts - named == set()
