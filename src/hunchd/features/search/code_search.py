"""Code search in a project, with a ranking that uses predictions from the project's history."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from hunchd.codesearch import vectors
from hunchd.codesearch.index import Array, CodeIndex, read_stamp
from hunchd.codesearch.query import CodeQuery, parse_query
from hunchd.codesearch.ranking import PredictionScores, RankedFile, rank
from hunchd.codesearch.results import (
    CodeResult,
    build_results,
    build_source,
    contains_name,
    extract_snippet,
    is_answer,
    list_reasons,
)
from hunchd.codesearch.roles import Role
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.feature import Feature
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import Focus, PredictedFile, Prediction
from hunchd.domain.errors import HunchError
from hunchd.ingestion.source_redaction import redact_source
from hunchd.protocol.requests import SearchRequest
from hunchd.protocol.search_results import SearchResult
from hunchd.repository.safe_reading import read_file
from hunchd.store.port import TextModels

CANDIDATES: Final = 64  # files that the predictor scores
LIKELY: Final = 3  # best predicted files for which the prediction is given as a reason
PATIENCE: Final = 1.0  # seconds to wait for the vector of a question; after that, only words are searched
READ: Final = 4_000  # characters of an error report that the predictor reads
SPARE: Final = 5  # files ranked in addition to those requested, in case some are not answers
ROLES: Final = {role.name.lower(): role for role in Role}


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """Code search results, and the reasons why they are incomplete."""

    results: tuple[SearchResult, ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """Open code index with the vectors of its chunks, a row each; without vectors, the matrix has no columns."""

    index: CodeIndex
    vectors: Array
    stamp: tuple[int, int]  # of the file with the vectors


class CodeSearchService(Feature):
    """Feature that searches code and keeps one index open for each project."""

    def __init__(self, models: TextModels, *, now: Callable[[], datetime]) -> None:
        self._models = models
        self._now = now
        self._open_indexes: dict[str, OpenIndex] = {}
        self._noted_projects: dict[str, Project] = {}
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("code index", self.refresh_indexes)

    def on_model_loaded(self, project: Project) -> None:
        self.note(project)

    def on_model_updated(self, project: Project) -> None:
        self.note(project)

    async def forget_project(self, project_id: str) -> None:
        self._open_indexes.pop(project_id, None)
        self._noted_projects.pop(project_id, None)

    def note(self, project: Project) -> None:
        """Queue a project whose index may have changed."""
        self._noted_projects[project.id] = project
        self._work.set()

    async def refresh_indexes(self) -> None:
        """Open the indexes of queued projects, until cancelled; fast callers use only those that are open."""
        while True:
            await self._work.wait()
            self._work.clear()
            noted_projects, self._noted_projects = self._noted_projects, {}
            for project in noted_projects.values():
                await self._get_current_index(project)

    def reorder(self, prediction: Prediction, focus: Focus, project: Project, k: int) -> Prediction:
        """Reorder the files of a prediction by their rank in code search.

        Returns the prediction unchanged if the index is not open, if the focus has no question, or if the focus has
        a current file or an error. The n-th file always gets the n-th highest probability, because probabilities
        are calibrated by rank.
        """
        open_index = self._open_indexes.get(project.id)
        if open_index is None or not focus.query or focus.file or focus.errors:
            return prediction
        query = parse_query(focus.query)
        query = replace(query, factors={role: math.sqrt(factor) for role, factor in query.factors.items()})
        index = open_index.index
        hidden_files = [index.numbers[path] for path in focus.open_files if path in index.numbers]
        eligible_files = np.ones(len(index.paths), "?")
        eligible_files[hidden_files] = False
        prediction_scores = self._score_predictions(focus, query, project)
        ranking = rank(
            index, query, prediction_scores, most=max(k, len(prediction.files)), eligible_files=eligible_files
        )
        return _reorder_files(prediction, [file for file in ranking.files if is_answer(file)])

    async def search(self, request: SearchRequest, query: CodeQuery, project: Project, tree: WorkingTree) -> CodeAnswer:
        """Search the code of a project, if requested."""
        if not request.code:
            return CodeAnswer()
        open_index = await self._get_current_index(project)
        index = open_index.index
        if not len(index):
            return CodeAnswer(degraded=(f"{project.name}: its files are still being read",) if project.indexing else ())
        vector, degradations = await self._embed_query(query, open_index)
        prediction = self._score_predictions(Focus(project=project.id), query, project)
        snippets = await asyncio.to_thread(_find, open_index, query, prediction, vector, request, tree.root)
        return CodeAnswer(tuple(snippets), (*degradations, *_list_degradations(project)))

    async def _get_current_index(self, project: Project) -> OpenIndex:
        """Return the index of a project, reopened if stale."""
        open_index = self._open_indexes.get(project.id)
        if (
            open_index is None
            or open_index.index.is_stale()
            or open_index.stamp != read_stamp(project.cache / vectors.NAME)
        ):
            open_index = await asyncio.to_thread(_open_index, project.cache)
            self._open_indexes[project.id] = open_index
        return open_index

    async def _embed_query(self, query: CodeQuery, open_index: OpenIndex) -> tuple[bytes | None, tuple[str, ...]]:
        """Return the vector of the question, or None with the reasons; no reason if no chunk has a vector."""
        if not open_index.vectors.shape[1]:
            return None, ()
        try:
            return await self._models.vector(query.gist, PATIENCE)
        except HunchError as error:
            return None, (f"code was searched by words only: {error.message}",)

    def _score_predictions(self, focus: Focus, query: CodeQuery, project: Project) -> PredictionScores:
        """Score files with the predictor for the gist of the question and, for an error report, its whole text."""
        predictor, now = project.predictor, int(self._now().timestamp())
        if predictor is None:
            return PredictionScores()
        gist = predictor.score_files(replace(focus, query=query.gist), now=now, k=CANDIDATES)
        if query.form != "report":
            return PredictionScores(gist)
        return PredictionScores(
            gist, predictor.score_files(replace(focus, query=query.text[:READ]), now=now, k=CANDIDATES)
        )


def _find(
    open_index: OpenIndex,
    query: CodeQuery,
    prediction: PredictionScores,
    vector: bytes | None,
    request: SearchRequest,
    root: Path,
) -> list[SearchResult]:
    """Rank the files and render the results, in a thread."""
    index = open_index.index
    cosines = vectors.compute_cosines(open_index.vectors, vector) if vector is not None else None
    ranking = rank(
        index, query, prediction, cosines, most=request.k + SPARE, eligible_files=_select_files(index, request)
    )
    likely = frozenset(sorted(prediction.gist, key=lambda path: -prediction.gist[path])[:LIKELY])
    results = build_results(index, query, ranking, likely)[: request.k]
    return _render_results(root, results, query.users_of)


def _reorder_files(prediction: Prediction, ranked_files: Sequence[RankedFile]) -> Prediction:
    """Return the prediction with the ranked files first."""
    files_by_path = {file.path: file for file in prediction.files}
    ordered_files = [
        files_by_path.get(one.path) or PredictedFile(one.path, one.score, 0.0, list_reasons(one))
        for one in ranked_files
    ]
    rest = files_by_path.keys() - {file.path for file in ordered_files}
    files = [*ordered_files, *(file for file in prediction.files if file.path in rest)][
        : len(prediction.files) or len(ordered_files)
    ]
    likely = sorted((file.confidence for file in prediction.files), reverse=True)
    least = likely[-1] if likely else 0.0
    placed_files = [
        replace(file, confidence=likely[at] if at < len(likely) else least) for at, file in enumerate(files)
    ]
    return replace(prediction, files=tuple(placed_files))


def _open_index(folder: Path) -> OpenIndex:
    stamp = read_stamp(folder / vectors.NAME)
    index = CodeIndex(folder)
    index.refresh()
    return OpenIndex(index, vectors.align_vectors(folder / vectors.NAME, index.get_card_keys()), stamp)


def _select_files(index: CodeIndex, request: SearchRequest) -> Array | None:
    """Return a mask of the eligible files, None for all."""
    if not (request.path_prefix or request.roles or request.languages):
        return None
    roles = {ROLES[name] for name in request.roles}
    return np.array(
        [
            path.startswith(request.path_prefix or "")
            and (not roles or role in roles)
            and (not request.languages or language in request.languages)
            for path, role, language in zip(index.paths, index.roles.tolist(), index.iterate_languages(), strict=True)
        ],
        "?",
    )


def _list_degradations(project: Project) -> tuple[str, ...]:
    """Return a message for each missing part of the index."""
    done_count, total = project.files.pair
    if project.indexing and done_count < total:
        return (f"{project.name}: {done_count:,} of {total:,} files can be searched so far",)
    return ()


def _render_results(root: Path, results: Sequence[CodeResult], users_of: Sequence[str]) -> list[SearchResult]:
    """Return the results with their lines as they are now, except unreadable ones and those without `users_of`."""
    rendered_results = []
    for result in results:
        source = read_file(root, result.path)
        if source is None:
            continue
        text = source.decode("utf-8", "replace")
        if users_of and not contains_name(result, text, users_of):
            continue
        snippet = redact_source(extract_snippet(result, text))
        rendered_results.append(
            SearchResult(
                id=f"file:{result.path}",
                ref=None,
                kind="code",
                title=result.title,
                snippet=snippet,
                source=build_source(result),
                score=round(result.score, 4),
                reasons=list(result.reasons),
            )
        )
    return rendered_results
