"""Replay benchmark: no look-ahead, metrics, tasks and reports."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import replay_baselines
from hunchd.bench import metrics
from hunchd.bench.history_walk import ReplayWindows, walk_history
from hunchd.bench.outlines import OutlineCache
from hunchd.bench.tasks import generate_queries, is_branch_informative
from hunchd.domain.history import PathChange, Unit
from hunchd.ingestion import history
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git
from tests.bench.command import main

UNITS = 80


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a history in which each module changes with its test."""
    folder = tmp_path_factory.mktemp("project") / "made-up"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    commands = []
    for number in range(UNITS):
        topic = ("parser", "render", "cache", "server")[number % 4]
        author = "dependabot[bot]" if number % 10 == 9 else "Ada"
        subject = f"{topic} handles case {number}"
        commands.append(
            f"commit refs/heads/main\ncommitter {author} <a@example.org> {1_700_000_000 + number * 3600} +0000\n"
        )
        commands.append(f"data {len(subject)}\n{subject}\n")
        for path in (f"src/{topic}.py", f"tests/test_{topic}.py", "CHANGES.md"):
            content = f"def {topic}_{number}():\n    pass\n"
            commands.append(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input="".join(commands).encode(), check=True)
    return folder


def replay(project: Path, tmp_path: Path, *more: str) -> list[dict[str, object]]:
    dump = tmp_path / "dump.jsonl"
    assert main(["replay", "--repo", str(project), "--test-units", "20", "--dump", str(dump), *more]) == 0
    return [json.loads(line) for line in dump.read_text().splitlines()]


def test_dump_contains_query_and_ranking_of_tasks(project: Path, tmp_path: Path) -> None:
    lines = replay(project, tmp_path, "--cache", str(tmp_path / "cache"))

    further = {"growing-1", "growing-title-1"}
    assert {line["task"] for line in lines} == {"first-file", "title", "both", "silence", *further}
    for line in lines:
        assert len(line["ranked"]) <= 20  # type: ignore[arg-type]
        assert 0.0 <= line["confidence"] <= 1.0  # type: ignore[operator]
        assert line.get("seed") not in line["ranked"]  # type: ignore[operator]
        assert "CHANGES.md" not in (*line["gold"], *line["ranked"])  # type: ignore[misc]
    first = [line for line in lines if line["task"] == "first-file"]
    assert all(line["ranked"][0] in line["gold"] for line in first)  # type: ignore[index,operator]


def test_replay_is_deterministic_with_outline_cache(project: Path, tmp_path: Path) -> None:
    options = ("--task", "both")

    assert replay(project, tmp_path, *options) == replay(project, tmp_path, *options, "--cache", str(tmp_path / "c"))


def test_report_contains_every_baseline(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_baselines.main(["--repo", str(project), "--test-units", "20", "--task", "both"]) == 0
    table = capsys.readouterr().out
    for name in ("recency", "popularity", "same folder", "imports", "ROSE", "co-change", "BM25 paths", "BM25 contents"):
        assert name in table
    assert "nearest messages" in table
    assert "fusion (RRF)" in table

    replay(project, tmp_path, "--task", "title", "--json")
    (told,) = json.loads(capsys.readouterr().out)
    assert told["repository"] == "made-up"
    assert told["tasks"]["title"]["hunch"]["hit@5"] > 0.9


@pytest.mark.parametrize("what", ["messages", "history"])
def test_shuffled_controls_run(project: Path, tmp_path: Path, what: str) -> None:
    options = ["--repo", str(project), "--test-units", "20", "--task", "title", "--shuffled", what]
    assert replay_baselines.main(options) == 0


def test_folder_without_git_exits_with_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--repo", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("hunch: ")


def test_walk_hides_current_unit_from_predictor(project: Path) -> None:
    git = Git(project)
    units = list(history.iter_units(git))
    predictor = Predictor()

    with OutlineCache(git, None) as outlines:
        for moment in walk_history(git, units, predictor, outlines, 40):
            assert len(predictor) == moment.position
            assert not predictor.has_unit(moment.unit.sha)


def test_next_in_ten_returns_both_readings() -> None:
    ranked = [f"{number}.py" for number in range(20)]

    assert metrics.compute_next_in_ten(ranked, ("12.py", "3.py"), "12.py") == (1.0, 0.0, 1.0)
    assert metrics.compute_next_in_ten(ranked, ("3.py", "12.py"), "3.py") == (1.0, 1.0, 1.0)
    assert metrics.compute_next_in_ten(ranked, ("12.py",), "12.py") == (0.0, 0.0, 1.0)
    assert metrics.compute_next_in_ten(ranked, ranked, "0.py") == (1.0, 1.0, 0.5)


def test_orders_of_unit_are_averaged(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = replay(project, tmp_path, "--task", "growing", "--json")

    (told,) = json.loads(capsys.readouterr().out)
    assert set(told["next in ten"]["growing-1"]) == set(metrics.NEXT_METRIC_NAMES)
    assert told["tasks"]["growing-1"]["hunch"]["units"] == len({str(line["unit"]) for line in lines})
    assert all(line["next"] in line["gold"] for line in lines)  # type: ignore[operator]


def test_windows_of_short_history_limit_test_share() -> None:
    assert ReplayWindows.create(3000, 600, 700) == ReplayWindows(1700, 2400, 3000)
    assert ReplayWindows.create(100, 600, 700) == ReplayWindows(0, 55, 100)


def test_questions_are_deterministic_without_seed_in_gold() -> None:
    paths = tuple(f"{letter}.py" for letter in "abcdef")
    unit = Unit(
        sha="1" * 40,
        parents=(),
        author="",
        email="",
        at=0,
        subject="x",
        changes=tuple(PathChange("M", p) for p in paths),
    )

    asked = list(generate_queries(unit, paths, "first-file"))

    assert asked == list(generate_queries(unit, paths, "first-file"))
    assert len(asked) == 3
    assert all(question.focus.file not in question.gold and len(question.gold) == 5 for question in asked)
    growing = list(generate_queries(unit, paths, "growing"))
    assert [len(question.gold) for question in growing] == [5, 4, 3] * 3
    assert len({question.focus.open_files for question in growing if question.task == "growing-3"}) == 3
    assert all(question.next_file == question.gold[0] for question in growing)
    assert all(sorted((*question.focus.open_files, *question.gold)) == sorted(paths) for question in growing)
    titled = list(generate_queries(unit, paths, "growing-title"))
    assert [(q.focus.query, q.focus.open_files, q.next_file) for q in titled] == [
        ("x", q.focus.open_files, q.next_file) for q in growing
    ]


def test_uninformative_branches_are_skipped() -> None:
    assert is_branch_informative("faster-reload")
    assert not any(map(is_branch_informative, ("patch-1", "fix-123", "4242", "", "main", "master")))


def test_metrics_match_manual_values() -> None:
    values = dict(zip(metrics.METRIC_NAMES, metrics.compute_metrics(["a", "x", "b"], ["a", "b", "c"]), strict=True))

    assert values["hit@1"] == 1.0
    assert values["recall@5"] == pytest.approx(2 / 3)
    assert values["MRR"] == 1.0
    assert values["MAP"] == pytest.approx((1 + 2 / 3) / 3)
    assert values["all@10"] == 0.0


def test_command_line_runs_latency_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "latency" in capsys.readouterr().out
    assert main(["latency", "--files", "60", "--units", "80", "--predictions", "3", "--placed", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["saved megabytes"] > 0


def test_replay_options_are_parsed() -> None:
    from hunchd.bench.replay import add_arguments

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(["--repo", "x", "--task", "branch", "--test-units", "600", "--dump", "f"])
    assert (options.task, options.test_units, str(options.dump)) == (["branch"], 600, "f")
