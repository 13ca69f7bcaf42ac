"""Search over the code of a project: the index that the indexer leaves, ranked with what prediction knows."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from hunchd.codesearch import vectors
from hunchd.codesearch.index import Array, CodeIndex
from hunchd.codesearch.query import CodeQuery, parse_query
from hunchd.codesearch.ranking import Predicted, RankedFile, rank
from hunchd.codesearch.results import CodeResult, answers, reasons_of, results_of, snippet_of, source_of
from hunchd.codesearch.roles import Role
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import Feature
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.domain.errors import HunchError
from hunchd.ingestion.source_redaction import redact_source
from hunchd.protocol.requests import SearchRequest
from hunchd.repository.safe_reading import read_file
from hunchd.retrieval.merging import merge_results
from hunchd.store.client import StoreClient

CANDIDATES: Final = 64  # files that prediction scores
LIKELY: Final = 3  # of them that a reason speaks of
PATIENCE: Final = 1.0  # seconds for the vector of a question; afterwards words alone are searched
READ: Final = 4_000  # characters of a report that prediction reads
SPARE: Final = 5  # files ranked beyond what is asked for, should some not answer
ROLES: Final = {role.name.lower(): role for role in Role}


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """Results in the contract's shape, best first; `degraded` says what could not be used."""

    results: tuple[dict[str, Any], ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """An index with the vectors of its files, in their order; without columns where there are none."""

    index: CodeIndex
    vectors: Array
    stamp: int  # of the file of the vectors


class CodeSearching(Feature):
    """Feature that searches code; holds the open indexes, one per project."""

    def __init__(self, store: StoreClient, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._opened: dict[str, Opened] = {}
        self._noted: dict[str, Project] = {}
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("code index", self.keep_open)

    def on_model_loaded(self, project: Project) -> None:
        self.note(project)

    def on_model_updated(self, project: Project) -> None:
        self.note(project)

    async def forget_project(self, project_id: str) -> None:
        self._opened.pop(project_id, None)
        self._noted.pop(project_id, None)

    def note(self, project: Project) -> None:
        """Queue a project whose index may have changed."""
        self._noted[project.id] = project
        self._work.set()

    async def keep_open(self) -> None:
        """Open the indexes of queued projects, forever; hot paths use only what is open."""
        while True:
            await self._work.wait()
            self._work.clear()
            noted, self._noted = self._noted, {}
            for project in noted.values():
                await self._current(project)

    def reorder(self, prediction: Prediction, focus: Focus, project: Project, k: int) -> Prediction:
        """Return the prediction for a question without a file in the order of search, as far as the index is open.
        Probabilities keep their places: those of a list are calibrated by rank."""
        opened = self._opened.get(project.id)
        if opened is None or not focus.query or focus.file or focus.errors:
            return prediction
        query = parse_query(focus.query)
        query = replace(query, factors={role: math.sqrt(factor) for role, factor in query.factors.items()})
        index = opened.index
        hidden = [index.numbers[path] for path in focus.open_files if path in index.numbers]
        kept = np.ones(len(index.paths), "?")
        kept[hidden] = False
        predicted = self._predict(focus, query, project)
        ranking = rank(index, query, predicted, most=max(k, len(prediction.files)), kept=kept)
        return _in_order(prediction, [file for file in ranking.files if answers(file)])

    async def search(self, request: SearchRequest, query: CodeQuery, project: Project, tree: WorkingTree) -> CodeAnswer:
        """Return what code answers `query`; nothing where code is not asked for."""
        if not request.code:
            return CodeAnswer()
        opened = await self._current(project)
        index = opened.index
        if not len(index):
            return CodeAnswer(degraded=(f"{project.name}: its files are still being read",) if project.indexing else ())
        vector, degraded = await self._vector(query, opened)
        predicted = self._predict(Focus(project=project.id), query, project)
        shown = await asyncio.to_thread(_find, opened, query, predicted, vector, request, tree.root)
        return CodeAnswer(tuple(shown), (*degraded, *_missing(project)))

    async def _current(self, project: Project) -> Opened:
        """The index of a project, opened again where the indexer has left a newer one."""
        opened = self._opened.get(project.id)
        if opened is None or opened.index.is_stale() or opened.stamp != _stamp(project.cache / vectors.NAME):
            opened = await asyncio.to_thread(_open, project.cache)
            self._opened[project.id] = opened
        return opened

    async def _vector(self, query: CodeQuery, opened: Opened) -> tuple[bytes | None, tuple[str, ...]]:
        """The vector of the question, where files have some, and what keeps it from being made."""
        if not opened.vectors.shape[1]:
            return None, ()
        try:
            return await self._store.vector(query.gist, PATIENCE)
        except HunchError as error:
            return None, (f"code was searched by words only: {error.message}",)

    def _predict(self, focus: Focus, query: CodeQuery, project: Project) -> Predicted:
        """What history expects for the gist of a question, and for all of a report."""
        predictor, now = project.predictor, int(self._now().timestamp())
        if predictor is None:
            return Predicted()
        gist = predictor.score_files(replace(focus, query=query.gist), now=now, k=CANDIDATES)
        if query.form != "report":
            return Predicted(gist)
        return Predicted(gist, predictor.score_files(replace(focus, query=query.text[:READ]), now=now, k=CANDIDATES))


def _find(
    opened: Opened, query: CodeQuery, predicted: Predicted, vector: bytes | None, request: SearchRequest, root: Path
) -> list[dict[str, Any]]:
    """Rank and show; takes some milliseconds, in a thread."""
    index = opened.index
    meaning = vectors.cosines(opened.vectors, vector) if vector is not None else None
    ranking = rank(index, query, predicted, meaning, most=request.k + SPARE, kept=_kept(index, request))
    likely = frozenset(sorted(predicted.gist, key=lambda path: -predicted.gist[path])[:LIKELY])
    return _shown(root, results_of(index, query, ranking.files, ranking.matches, likely)[: request.k])


def _in_order(prediction: Prediction, ranked: Sequence[RankedFile]) -> Prediction:
    """The ranked files, and behind them those that only history expects."""
    known = {file.path: file for file in prediction.files}
    found = [known.get(one.path) or PredictedFile(one.path, one.score, 0.0, reasons_of(one)) for one in ranked]
    rest = known.keys() - {file.path for file in found}
    files = [*found, *(file for file in prediction.files if file.path in rest)][: len(prediction.files) or len(found)]
    likely = sorted((file.confidence for file in prediction.files), reverse=True)
    least = likely[-1] if likely else 0.0
    placed = [replace(file, confidence=likely[at] if at < len(likely) else least) for at, file in enumerate(files)]
    return replace(prediction, files=tuple(placed))


def _open(folder: Path) -> Opened:
    stamp = _stamp(folder / vectors.NAME)
    index = CodeIndex(folder)
    index.refresh()
    return Opened(index, vectors.aligned(folder / vectors.NAME, index.paths), stamp)


def _stamp(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _kept(index: CodeIndex, request: SearchRequest) -> Array | None:
    """By file whether the filters let it through; None where there are none."""
    if not (request.path_prefix or request.roles or request.languages):
        return None
    roles = {ROLES[name] for name in request.roles}
    return np.array(
        [
            path.startswith(request.path_prefix or "")
            and (not roles or role in roles)
            and (not request.languages or language in request.languages)
            for path, role, language in zip(index.paths, index.roles.tolist(), index.languages(), strict=True)
        ],
        "?",
    )


def _missing(project: Project) -> tuple[str, ...]:
    """What the index lacks, in words."""
    done, total = project.files.pair
    if project.indexing and done < total:
        return (f"{project.name}: {done:,} of {total:,} files can be searched so far",)
    return ()


def _shown(root: Path, found: Sequence[CodeResult]) -> list[dict[str, Any]]:
    """Results with their lines as they are in the working tree; a file that is gone is left out."""
    shown = []
    for result in found:
        source = read_file(root, result.path)
        if source is None:
            continue
        snippet = redact_source(snippet_of(result, source.decode("utf-8", "replace")))
        shown.append(
            {
                "id": f"file:{result.path}",
                "ref": None,
                "kind": "code",
                "title": result.title,
                "snippet": snippet,
                "source": source_of(result),
                "score": round(result.score, 4),
                "reasons": list(result.reasons),
            }
        )
    return shown


def with_code(found: dict[str, Any], code: CodeAnswer, intent: str, k: int) -> dict[str, Any]:
    """Return an answer of memories with the code that was found among them."""
    results = merge_results(code.results, found["results"], intent, k)
    degraded = list(dict.fromkeys([*found["degraded"], *code.degraded]))
    status = "degraded" if degraded else "ok" if results else "empty"
    return {**found, "results": results, "degraded": degraded, "status": status}
