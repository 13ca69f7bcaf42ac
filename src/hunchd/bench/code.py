"""Benchmark for code search, with questions about real repositories."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hunchd.bench.search_store import Bm25
from hunchd.codesearch import records, vectors
from hunchd.codesearch import segment as segments
from hunchd.codesearch.chunks import build_chunks
from hunchd.codesearch.definitions import PER_FILE
from hunchd.codesearch.index import BASE, CodeIndex
from hunchd.codesearch.query import parse_query
from hunchd.codesearch.ranking import PredictionScores, rank
from hunchd.codesearch.results import drop_weak, is_answer
from hunchd.codesearch.roles import Role, classify_role
from hunchd.domain.code import FileOutline
from hunchd.domain.context import Focus
from hunchd.embedding import fastembed_backend
from hunchd.embedding.embedder import Embedder
from hunchd.ingestion.history import iter_units
from hunchd.ingestion.parsing import parse_outline
from hunchd.ingestion.source_redaction import redact_source
from hunchd.prediction.predictor import Predictor
from hunchd.repository.git import Git
from hunchd.repository.ignore import IgnoreRules
from hunchd.repository.safe_reading import read_file

CUTOFF = 10  # results that are scored
CANDIDATES = 64  # files that prediction scores, as in the daemon
SYSTEMS = ("hunchd", "without vectors", "without history", "BM25")


@dataclass(frozen=True, slots=True)
class CodeQuestion:
    repo: str
    query: str
    relevant: frozenset[str]
    category: str = ""


@dataclass(slots=True)
class RankingFigures:
    """Sums of the ranking metrics over the questions. The report contains their means."""

    ndcg: float = 0.0
    reciprocal: float = 0.0
    recall: float = 0.0
    times: list[float] = field(default_factory=list)  # milliseconds

    def add(self, ranked_paths: Sequence[str], relevant: frozenset[str], took: float) -> None:
        hits = [place for place, path in enumerate(ranked_paths[:CUTOFF]) if path in relevant]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(len(relevant), CUTOFF)))
        self.ndcg += sum(1 / math.log2(place + 2) for place in hits) / ideal
        self.reciprocal += 1 / (hits[0] + 1) if hits else 0.0
        self.recall += len(hits) / len(relevant)
        self.times.append(took)

    def compute_means(self) -> dict[str, float]:
        count, times = len(self.times), sorted(self.times)
        return {
            "questions": count,
            "ndcg@10": round(self.ndcg / count, 4),
            "mrr": round(self.reciprocal / count, 4),
            "recall@10": round(self.recall / count, 4),
            "ms p50": round(times[count // 2], 2),
            "ms p95": round(times[min(count - 1, int(count * 0.95))], 2),
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--questions",
        type=Path,
        required=True,
        help="JSON Lines of {repo, query, relevant, secondary?, category?}; `repo` is a path, or a folder in --repos",
    )
    parser.add_argument("--repos", type=Path, default=Path(), help="folder that contains the repositories")
    parser.add_argument(
        "--only", action="append", default=[], metavar="REPO", help="run only this repository; repeatable"
    )
    parser.add_argument("--no-vectors", action="store_true", help="use words and history alone, without embedding")
    parser.add_argument("--units", type=int, default=2_000, help="number of commits to learn from the history")
    parser.add_argument("--dump", type=Path, help="write JSON Lines of {repo, query, system, ranked} to this file")
    parser.add_argument(
        "--beside", type=Path, help="also score other systems, given as JSON Lines of {repo, query, system, ranked, ms}"
    )
    parser.add_argument("--json", action="store_true", help="print figures as JSON")


def run(options: argparse.Namespace) -> int:
    questions = [one for one in _read_questions(options.questions) if not options.only or one.repo in options.only]
    model = None if options.no_vectors else fastembed_backend.load_embedder()
    figures: defaultdict[str, defaultdict[str, RankingFigures]] = defaultdict(lambda: defaultdict(RankingFigures))
    others = _read_rankings(options.beside) if options.beside is not None else {}
    missing_answers: list[CodeQuestion] = []
    build_records: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for repo in dict.fromkeys(one.repo for one in questions):
        with tempfile.TemporaryDirectory() as folder:
            code_search = _BenchmarkIndex(options.repos / repo, Path(folder), options.units, model)
            build_records.append({"repo": repo, **code_search.build_record})
            for question in (one for one in questions if one.repo == repo):
                groups = ["all", f"category {question.category}", f"language {code_search.language}", repo]
                if any((options.repos / repo / path).is_file() for path in question.relevant):
                    groups.append("with a relevant file")
                else:
                    missing_answers.append(question)
                rankings = {name: _time(code_search.rank_paths, name, question.query) for name in SYSTEMS}
                for name, (ranked_paths, took) in (rankings | others.get((repo, question.query), {})).items():
                    for group in groups:
                        figures[name][group].add(ranked_paths, question.relevant, took)
                    lines.append({"repo": repo, "query": question.query, "system": name, "ranked": ranked_paths})
    if options.dump is not None:
        options.dump.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    means = {name: {group: one.compute_means() for group, one in groups.items()} for name, groups in figures.items()}
    for question in missing_answers:
        print(f"no relevant file exists: {question.repo}: {question.query}", file=sys.stderr)
    print(
        json.dumps({"figures": means, "built": build_records}, indent=1)
        if options.json
        else _render_table(means, build_records)
    )
    return 0


def _time(rank_paths: Callable[[str, str], list[str]], name: str, query: str) -> tuple[list[str], float]:
    """Return a ranking, and the time it took in milliseconds."""
    began = time.perf_counter()
    return rank_paths(name, query), (time.perf_counter() - began) * 1e3


class _BenchmarkIndex:
    """Search index of one repository, built in the same way as by the indexer."""

    def __init__(self, root: Path, folder: Path, newest: int, model: Embedder | None) -> None:
        began = time.perf_counter()
        outlines = list(_iterate_outlines(root))
        files = []
        for number, (outline, text) in enumerate(outlines):
            chunks = build_chunks(outline, text) if classify_role(outline.path) is not Role.GENERATED else ()
            if chunks:
                record = records.unpack(records.pack(chunks))
                files.append((outline.path, outline.language, number + 1, record))
        segments.write(segments.build(files), folder / BASE, {"serial": len(files)})
        took = time.perf_counter() - began
        self._index = CodeIndex(folder)
        self._index.refresh()
        self._predictor = Predictor()
        for unit in iter_units(Git(root), newest=newest):
            self._predictor.learn_unit(unit)
        for outline, _ in outlines:
            self._predictor.update_content(outline)
        self._model = model
        cards = {
            int(key): card
            for _, _, _, record in files
            for key, card in zip(record.keys.tolist(), record.unpack_cards(), strict=True)
        }
        card_vectors = model.embed(list(cards.values())) if model is not None else []
        vectors.write(folder / vectors.NAME, dict(zip(cards, map(vectors.quantize_vector, card_vectors), strict=False)))
        self._vectors = vectors.align_vectors(folder / vectors.NAME, self._index.get_card_keys())
        self._now = int(time.time())
        self._paths = [outline.path for outline, _ in outlines]
        self._plain = Bm25(f"{outline.path}\n{text}" for outline, text in outlines)
        sources = [path for path, language, _, _ in files if classify_role(path) is Role.SOURCE and language]
        of = {path: language for path, language, _, _ in files}
        self.language = Counter(of[path] for path in sources).most_common(1)[0][0] if sources else ""
        size = (folder / BASE).stat().st_size
        self.build_record = {"files": len(files), "seconds": round(took, 1), "megabytes": round(size / 1e6, 2)}

    def rank_paths(self, system: str, query: str) -> list[str]:
        """Return the paths that `system` finds for a query, best first."""
        if system == "BM25":
            return [self._paths[number] for number in self._plain.rank_texts(query)[:CUTOFF]]
        code_query = parse_query(query)
        prediction, meaning = PredictionScores(), None
        if system == "hunchd" and self._model is not None:
            meaning = vectors.compute_cosines(self._vectors, self._model.embed([code_query.gist])[0])
        if system != "without history":
            focus = Focus(project="", query=code_query.gist)
            prediction = PredictionScores(self._predictor.score_files(focus, now=self._now, k=CANDIDATES))
        ranking = rank(self._index, code_query, prediction, meaning, most=CUTOFF * PER_FILE)
        if ranking.chunks:
            return list(dict.fromkeys(file.path for file, _ in ranking.chunks))[:CUTOFF]
        return [file.path for file in drop_weak(ranking.files) if is_answer(file)][:CUTOFF]


def _iterate_outlines(root: Path) -> Iterator[tuple[FileOutline, str]]:
    for path, _ in IgnoreRules.load(root, ()).walk():
        source = read_file(root, path)
        if source is not None and (outline := parse_outline(path, source)).words:
            yield outline, redact_source(source.decode("utf-8", "replace"))


def _read_questions(path: Path) -> list[CodeQuestion]:
    with path.open(encoding="utf-8") as lines:
        raw = [json.loads(line) for line in lines if line.strip()]
    return [
        CodeQuestion(
            one["repo"], one["query"], frozenset((*one["relevant"], *one.get("secondary", ()))), one.get("category", "")
        )
        for one in raw
    ]


def _read_rankings(path: Path) -> dict[tuple[str, str], dict[str, tuple[list[str], float]]]:
    """Return the rankings that other systems produced for each question."""
    rankings: dict[tuple[str, str], dict[str, tuple[list[str], float]]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        raw = json.loads(line)
        rankings[raw["repo"], raw["query"]][raw["system"]] = (raw["ranked"], float(raw.get("ms", 0.0)))
    return rankings


def _render_table(
    means: Mapping[str, Mapping[str, Mapping[str, float]]], build_records: Iterable[Mapping[str, Any]]
) -> str:
    names = ("questions", "ndcg@10", "mrr", "recall@10", "ms p50", "ms p95")
    lines = []
    for system, groups in means.items():
        lines.append(f"{system:28}" + "".join(f"{name:>11}" for name in names))
        for group, row in groups.items():
            lines.append(f"  {group:26}" + "".join(f"{row[name]:11.3f}" for name in names))
    lines.append(f"{'index':28}" + "".join(f"{name:>11}" for name in ("files", "seconds", "megabytes")))
    for one in build_records:
        lines.append(f"  {one['repo']:26}" + "".join(f"{one[name]:11}" for name in ("files", "seconds", "megabytes")))
    return "\n".join(lines)
