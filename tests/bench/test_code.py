"""`hunch bench code` asks a file of questions about real repositories and scores the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hunchd.bench.code import RankingFigures
from tests.bench.command import main
from tests.repositories import make_shop

QUESTIONS = [
    {"repo": "shop", "query": "where is an item added to the basket", "relevant": ["shop/basket.py"]},
    {"repo": "shop", "query": "pay", "relevant": ["shop/checkout.py"], "secondary": [], "category": "symbol"},
]


def test_bench_code_scores_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_shop(tmp_path / "shop")
    questions, dump = tmp_path / "questions.jsonl", tmp_path / "dump.jsonl"
    questions.write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n")
    line = [
        "code",
        "--questions",
        str(questions),
        "--repos",
        str(tmp_path),
        "--no-vectors",
        "--dump",
        str(dump),
        "--json",
    ]

    assert main(line) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["figures"]["without vectors"]["all"]["ndcg@10"] == 1.0
    assert told["figures"]["without vectors"]["category symbol"]["questions"] == 1
    assert set(told["figures"]) == {"hunchd", "without vectors", "without history", "BM25"}
    assert told["built"][0]["files"] == 5
    first = json.loads(dump.read_text().splitlines()[0])
    assert first["ranked"][0] == "shop/basket.py"


def test_figures_second_place_counts_less() -> None:
    figures = RankingFigures()
    figures.add(["a", "b"], frozenset({"b"}), 1.0)

    assert figures.compute_means()["mrr"] == 0.5
    assert figures.compute_means()["ndcg@10"] == pytest.approx(0.6309, abs=1e-4)
    assert figures.compute_means()["recall@10"] == 1.0
