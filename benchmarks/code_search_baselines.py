"""Rank files with semble and ripgrep for the questions of `hunch bench code`.

Writes JSON Lines of {repo, query, system, ranked, ms}, which `hunch bench code --beside FILE` scores next to hunchd.
Run it with an interpreter in which semble is installed; it needs nothing of hunchd. Without a model (`--model`), semble
ranks by BM25 and its own ranking alone (`alpha=0`); ripgrep ranks files by how many different words of the question
they have, then by how many matching lines.

    python benchmarks/code_search_baselines.py --questions QUESTIONS.jsonl --repos FOLDER > rankings.jsonl
    hunch bench code --questions QUESTIONS.jsonl --repos FOLDER --beside rankings.jsonl
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

CUTOFF = 10  # files
CHUNKS = 60  # that semble returns, of which the first of each file counts
STOP_WORDS = frozenset(
    (
        "a",
        "and",
        "are",
        "at",
        "by",
        "do",
        "does",
        "for",
        "from",
        "how",
        "in",
        "is",
        "of",
        "on",
        "the",
        "to",
        "what",
        "where",
    )
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--model", help="folder of a Model2Vec model; without it semble ranks by words alone")
    options = parser.parse_args()
    questions = [json.loads(line) for line in options.questions.read_text("utf-8").splitlines() if line.strip()]
    for repo in dict.fromkeys(question["repo"] for question in questions):
        root = options.repos / repo
        systems = {"ripgrep": rank_with_ripgrep(root), **rank_with_semble(root, options.model)}
        for question in (one for one in questions if one["repo"] == repo):
            for system, rank in systems.items():
                began = time.perf_counter()
                ranked = rank(question["query"])
                took = (time.perf_counter() - began) * 1e3
                line = {"repo": repo, "query": question["query"], "system": system, "ranked": ranked, "ms": took}
                print(json.dumps(line))


def rank_with_ripgrep(root: Path) -> Callable[[str], list[str]]:
    def rank(query: str) -> list[str]:
        counts: dict[str, list[int]] = {}
        for word in dict.fromkeys(word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS):
            command = ["rg", "--count", "--ignore-case", "--fixed-strings", "--", word, "."]
            for line in subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.splitlines():
                path, _, count = line.rpartition(":")
                counts.setdefault(path.removeprefix("./"), []).append(int(count))
        return sorted(counts, key=lambda path: (-len(counts[path]), -sum(counts[path]), path))[:CUTOFF]

    return rank


def rank_with_semble(root: Path, model: str | None) -> dict[str, Callable[[str], list[str]]]:
    """Return rankings by system name; none where semble is not installed."""
    try:
        from semble import SembleIndex
        from semble.search import search
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        index = SembleIndex.from_path(root, model_path=model or write_blank_model(Path(folder)))

    def rank_by(alpha: float | None) -> Callable[[str], list[str]]:
        def rank(query: str) -> list[str]:
            found = search(
                query, index.model, index._semantic_index, index._bm25_index, index.chunks, top_k=CHUNKS, alpha=alpha
            )
            return first_of_each([result.chunk.file_path for result in found])

        return rank

    return {"semble": rank_by(None)} if model else {"semble, words alone": rank_by(0.0)}


def write_blank_model(folder: Path) -> str:
    """Write a model with one token, whose vectors count for nothing; semble does not start without a model."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    StaticModel(np.ones((2, 4), "f4"), tokenizer).save_pretrained(str(folder))
    return str(folder)


def first_of_each(paths: Sequence[str]) -> list[str]:
    return list(Counter(paths))[:CUTOFF]


if __name__ == "__main__":
    main()
