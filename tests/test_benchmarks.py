"""A benchmark that does not start measures nothing: each names only what hunchd has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FOR_TRAINING_ONLY = ("torch",)  # which the tests do not install


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda script: script.stem)
def test_all_that_a_benchmark_imports_is_there(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {script.stem}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(BENCHMARKS), str(BENCHMARKS.parent)])},
        capture_output=True,
        text=True,
        check=False,
    )

    told = done.stderr.strip().rpartition("\n")[2]
    if any(told == f"ModuleNotFoundError: No module named '{one}'" for one in FOR_TRAINING_ONLY):
        pytest.skip(told)
    assert done.returncode == 0, done.stderr
