"""Shared main part of the replays in this folder: each repository is scored, and the results are printed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from hunchd.bench import report
from hunchd.bench.replay import get_repository_name
from hunchd.bench.results import ReplayResults
from hunchd.domain.history import Unit
from hunchd.ingestion import history
from hunchd.repository.git import Git

Score = Callable[[Git, Sequence[Unit], ReplayResults, IO[str] | None], None]


def create_parser(description: str, dumped: str) -> argparse.ArgumentParser:
    """Return a parser of the options that all replays have; `dumped` is what a line of the dump describes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repo", action="append", required=True, metavar="PATH", help="a git repository; repeatable")
    parser.add_argument("--dump", type=Path, metavar="FILE", help=f"write one JSON line for each {dumped}")
    parser.add_argument("--json", action="store_true", help="print figures as JSON, for replay_chart.py")
    return parser


def score_repositories(options: argparse.Namespace, score: Score, *, lines: bool = False) -> None:
    """Score the repositories of the options and print the results.

    If `lines` is True, the units contain the lines that they changed.
    """
    scored = []
    with ExitStack() as open_files:
        dump = open_files.enter_context(options.dump.open("w", encoding="utf-8")) if options.dump else None
        for path in options.repo:
            git = Git(path)
            units = list(history.iter_units(git, lines=lines))
            results = ReplayResults(get_repository_name(path), units=len(units))
            score(git, units, results, dump)
            scored.append(results)
    if options.json:
        print(json.dumps([report.results_to_json(results) for results in scored], indent=1))
    else:
        print("\n".join(report.format_repository(results) for results in scored))
