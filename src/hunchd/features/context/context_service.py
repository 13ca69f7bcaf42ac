"""Service that answers context requests: it builds the focus, predicts, and assembles a bundle.

The focus describes what the user is working on. Most bundles are prefetched.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hunchd.assembly.assemble import assemble
from hunchd.assembly.fencing import show_name
from hunchd.assembly.rendering import render_title
from hunchd.config.app_paths import replace_private_file
from hunchd.config.settings import ContextSettings
from hunchd.consolidation.aging import ERASE_AFTER
from hunchd.core.memory.hidden_work import HiddenWork
from hunchd.core.state import collaborators
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import AppliedSignal, Feature, Features, StatusFields
from hunchd.core.state.known_errors import describe_possible_errors
from hunchd.core.state.project import Project, UserState, WorkingTree
from hunchd.domain.code import FileView
from hunchd.domain.context import Bundle, ContextCandidate, Focus, Prediction
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange, holds_in_every_project, is_over, is_presentable
from hunchd.domain.filters import Filters
from hunchd.domain.kinds import describe, select_kinds
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.domain.signal import FileOpened, Signal
from hunchd.features.context import prefetch_metrics
from hunchd.features.context.bundle_cache import BundleCache, BundleKey, estimate_size
from hunchd.features.context.candidates import CandidateInput, build_candidates
from hunchd.features.context.fact_candidates import extract_words, words_at_hand
from hunchd.features.context.fact_index import FactIndex
from hunchd.features.context.file_candidates import FileLinks
from hunchd.features.context.near_topics import nearest_topics
from hunchd.features.context.predicted_errors import asked_errors, predict_errors
from hunchd.features.context.prefetch_figures import build_prefetch_status, render_prefetch_metrics
from hunchd.features.context.review import iterate_missing_candidates
from hunchd.features.context.workflow_candidates import build_workflow_candidates, predict_commands
from hunchd.ingestion.episodes import make_episode_id
from hunchd.ingestion.redaction import redact_name
from hunchd.ingestion.skeleton import DEFINITION_KINDS
from hunchd.ingestion.terminal_output import strip_output_prefixes
from hunchd.prediction.file_table import TEST, classify_path
from hunchd.prediction.words import has_test_name
from hunchd.protocol.paths import to_relative_path
from hunchd.protocol.predictions import PredictionAnswer, predict_memory, prediction_answer
from hunchd.protocol.requests import ContextRequest, PredictRequest
from hunchd.protocol.responses import FocusAnswer, OpenedFileAnswer, OpenFileAnswer, format_iso
from hunchd.retrieval.question_words import filter_said
from hunchd.store.memory_cache import CacheHit, MemoryCache
from hunchd.text.identifiers import is_distinctive
from hunchd.text.words import extract_terms

logger = logging.getLogger(__name__)

# Function that reorders the files predicted for a question as code search ranks them.
Reorder = Callable[[Prediction, Focus, Project, int], Prediction]

MOMENT_SECONDS = 600  # seconds for which relative ages stay valid
MAX_DEBOUNCE_SECONDS = 0.5  # seconds after which bundles are built although files are still being opened (by a tool)
DEBOUNCE_SECONDS = 0.06  # seconds without an opened file before prefetching: no person can ask sooner
MAX_QUERY_MATCHES = 4  # maximum number of memories that a question adds
QUERIED_KINDS = select_kinds(lambda one: one.answers_queries)
MAX_QUERY_HITS = 24  # number of best matches among which they are chosen
LONGEST_ERROR = 4_000  # characters at the end of an error in which words of facts are searched for
MAX_LIKELY_FILES = 10  # predicted files shown with signatures under "Likely next"
MAX_PAST_UNITS = 2  # past episodes shown
MAX_NAMED_FILES = 30  # predicted files listed by name only, below those with signatures
_RECEIVER = re.compile(r"\(\s*&?(?:'\w+\s+)?(?:mut\s+)?self\b")  # the head of a method, outside of its class
MIN_CONFIDENT = 0.5  # confidence from which a companion does not replace a predicted file
FULL_MATCH_SCORE = 6.0  # BM25 score of a full match; relevance is the fraction of it
# Share of the query's terms from which the score counts fully, and below which a match is ignored.
FULL_TERM_SHARE = 0.5
MIN_TERM_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class PrefetchRequest:
    """Request to prefetch the bundle for a file.

    If `path` is "", the bundle is for a branch on which no file has been opened yet.
    """

    project: Project
    tree: WorkingTree
    path: str


class ContextService(Feature):
    """Feature that answers context and prediction requests and prefetches bundles."""

    def __init__(
        self,
        settings: ContextSettings,
        memory_cache: MemoryCache,
        events: EventBus,
        user_state: UserState,
        *,
        secret: bytes,
        now: Callable[[], datetime],
        list_problems: Callable[[Iterable[Project]], tuple[str, ...]],
        features: Features,
        scoreboard_file: Path,
        hidden_work: HiddenWork,
        reorder: Reorder | None = None,
    ) -> None:
        self._settings = settings
        self._memory_cache = memory_cache
        self._events = events
        self._user_state = user_state
        self._reorder = reorder
        self._secret = secret
        self._now = now
        self._list_problems = list_problems
        self._features = features
        self._metrics_file = scoreboard_file
        self._hidden_work = hidden_work
        self.scoreboard = prefetch_metrics.PrefetchMetrics()
        self.bundles = BundleCache(on_unused=lambda size: self.scoreboard.record_unused(size, self._now().timestamp()))
        self._fact_indexes: dict[str, FactIndex] = {}  # by project id; "" is the user's own
        self._prefetch_request: PrefetchRequest | None = None
        self._prefetch_requested = asyncio.Event()

    def get_context(self, request: ContextRequest, project: Project, tree: WorkingTree) -> Bundle:
        """Return the bundle for a request, from the cache if possible."""
        began = time.perf_counter()
        project.last_request_at = time.monotonic()
        key = replace(
            self._build_key(self._build_focus(request, project, tree), request.budget, project),
            shown_items=request.already_shown,
        )
        bundle = self.bundles.get(key)
        is_hit = bundle is not None
        if bundle is None:
            bundle = self.bundles.put(key, self._build_bundle(key, project), is_prefetched=False)
        if not _is_still_indexing(bundle, project):
            self.scoreboard.record_request(self._now().timestamp(), is_hit=is_hit)
            self.bundles.record_answer(is_hit=is_hit, seconds=time.perf_counter() - began)
            self._features.on_bundle_served(bundle, project.id)
        return bundle

    def predict(self, request: PredictRequest, project: Project, tree: WorkingTree) -> PredictionAnswer:
        """Return the files, memories and commands that are likely to be needed next."""
        context_request = ContextRequest(
            project=request.project,
            file=request.file_opened,
            open_files=request.open_files,
            branch=request.branch,
            query=request.query,
            errors=(strip_output_prefixes(request.error),) if request.error else (),
            file_field="file_opened",
        )
        focus = self._build_focus(context_request, project, tree)
        if focus.file and not request.open_files:  # files opened earlier may be opened again
            focus = replace(focus, open_files=(), visited=focus.open_files)
        prediction = add_companions(self._predict(focus, project, request.k), focus, project, request.k)
        memories = [
            predict_memory(memory.id, memory.kind, memory.title, relevance, "matches what you asked")
            for memory, relevance in self._search_cached(focus)
        ]
        memories += project.patterns.predict_for_path(focus.file)
        now = self._now()
        memories += predict_errors(project, focus, request.error, now)
        return prediction_answer(
            prediction,
            k=request.k,
            episode_id=lambda sha: make_episode_id(project.id, sha),
            memories=memories,
            commands=predict_commands(project, tree, request.k, now),
        )

    def request_prefetch(self, project: Project, tree: WorkingTree, path: str | None) -> None:
        """Request that the bundle for `path` be prefetched.

        A later request replaces an earlier one. Does nothing if `path` is None.
        """
        if path is not None:
            self._prefetch_request = PrefetchRequest(project, tree, path)
            self._prefetch_requested.set()

    async def run_prefetch(self) -> None:
        """Prefetch bundles for the current file and the likely next ones, until cancelled."""
        while True:
            await self._prefetch_requested.wait()
            began = time.monotonic()
            while self._prefetch_requested.is_set() and time.monotonic() - began < MAX_DEBOUNCE_SECONDS:
                self._prefetch_requested.clear()
                await asyncio.sleep(DEBOUNCE_SECONDS)
            self._prefetch_requested.clear()
            if self._prefetch_request is not None:
                await self._prefetch(self._prefetch_request)
            if self.scoreboard.is_save_due(self._now().timestamp()):
                await self.save_metrics()

    def start(self, tasks: TaskSupervisor) -> None:
        self.scoreboard = prefetch_metrics.PrefetchMetrics.load(self._metrics_file)
        tasks.start("prefetch", self.run_prefetch)

    async def stop(self) -> None:
        """Count prefetched bundles that were never used as wasted, and save the metrics."""
        self.bundles.clear()
        await self.save_metrics()

    async def save_metrics(self) -> None:
        """Write the prefetch metrics to their file, if they have changed."""
        payload = self.scoreboard.dump(self._now().timestamp())
        if payload is not None:
            try:
                await asyncio.to_thread(replace_private_file, self._metrics_file, payload)
            except (OSError, HunchError) as error:
                logger.warning("could not save the prefetch metrics: %s", error)

    def before_signal(self, signal: Signal, project: Project, tree: WorkingTree) -> None:
        """Record whether the file that is being opened had been predicted."""
        if isinstance(signal, FileOpened) and signal.path not in tree.open_files:
            self.scoreboard.record_open(project.id, signal.path, self._now().timestamp(), tree.open_files)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        self.request_prefetch(applied_signal.project, applied_signal.tree, applied_signal.effect.prefetch)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        """Record which past work the user has hidden or wants to see again.

        Predictions would otherwise suggest hidden work, because git still contains it.
        """
        work = [one for one in change.memories if one.kind is Kind.EPISODE]
        if project is None or not work:
            return
        # Episodes that were archived at night, because nobody used them, may be suggested again from history.
        if put_away := [one.id for one in work if one.status is Status.ARCHIVED and ERASE_AFTER not in one.source]:
            self._hidden_work.put_away(project.id, put_away)
        hidden_ids = self._hidden_work.list_hidden(project.id)
        if shown_again := [one.id for one in work if one.status is Status.ACTIVE and one.id in hidden_ids]:
            self._hidden_work.show_again(project.id, shown_again)

    async def hide_forgotten_work(self, forgotten: Iterable[Memory]) -> None:
        """Keep what the user forgets from being found in the project again.

        Past work is kept out of predictions, too.
        """
        for one in forgotten:
            if one.kind in (Kind.EPISODE, Kind.WORKFLOW, Kind.PATTERN) and one.project is not None:
                await self._hidden_work.forget(one.project, [one.id])

    def on_model_updated(self, project: Project) -> None:
        self.request_prefetch(project, project.main, next(reversed(project.main.open_files), ""))

    async def forget_project(self, project_id: str) -> None:
        self.bundles.forget_project(project_id)
        self._hidden_work.forget_project(project_id)
        self._fact_indexes.pop(project_id, None)
        self.scoreboard.forget_project(project_id)

    def get_focus(self, project: Project, tree: WorkingTree) -> FocusAnswer:
        """Return the open files, and the recently opened files with their predictions.

        A prediction states the rank and the probability that the file had before it was opened.
        """
        opens = [each for each in reversed(self.scoreboard.last_opens) if each.project == project.id]
        return FocusAnswer(
            branch=tree.branch,
            open_files=[OpenFileAnswer(path=path, at=format_iso(at)) for path, at in reversed(tree.open_files.items())],
            opened=[
                OpenedFileAnswer(
                    path=each.path,
                    at=format_iso(datetime.fromtimestamp(each.at, UTC)),
                    rank=each.rank,
                    probability=None if each.probability is None else float(each.probability),
                )
                for each in opens
            ],
            ready_files=self.bundles.list_prefetched(project.id),
        )

    def status(self) -> StatusFields:
        return {"prefetch": build_prefetch_status(self.bundles, self.scoreboard, self._now().timestamp())}

    def metrics(self) -> str:
        return render_prefetch_metrics(self.bundles, self.scoreboard, self._now().timestamp())

    async def _prefetch(self, request: PrefetchRequest) -> None:
        project, tree = request.project, request.tree
        if project.predictor is None:
            return
        active_files = tree.list_active_files()
        bundle = self._prefetch_bundle(request, active_files)
        self._events.publish("context_ready", project=project.id, file=request.path or None, tokens=bundle.token_count)
        likely = sorted(bundle.list_files(), key=lambda pair: -pair[1])
        now = self._now().timestamp()
        self.scoreboard.record_suggestions(project.id, likely[: prefetch_metrics.MAX_RANKS], now)
        for path, _ in likely[: self.scoreboard.get_prefetch_depth(now)]:
            await asyncio.sleep(0)
            if self._prefetch_request is not request:  # the developer has moved on
                return
            self._prefetch_bundle(
                PrefetchRequest(project, tree, path), (*(open for open in active_files if open != path), path)
            )
        if not request.path and active_files:  # a branch switch changes what the open files need
            self._prefetch_bundle(PrefetchRequest(project, tree, active_files[-1]), active_files)

    def _prefetch_bundle(self, request: PrefetchRequest, open_files: tuple[str, ...]) -> Bundle:
        focus = Focus(
            project=request.project.id,
            file=request.path or None,
            open_files=tuple(path for path in open_files if path != request.path),
            branch=request.tree.branch,
            errors=tuple(error.text for error in request.project.list_fresh_errors(self._now())),
            author=request.tree.user_email,
        )
        key = self._build_key(focus, self._settings.budget, request.project)
        cached_bundle = self.bundles.peek(key)
        if cached_bundle is not None:
            return cached_bundle
        bundle = self.bundles.put(key, self._build_bundle(key, request.project), is_prefetched=True)
        self.scoreboard.record_prefetch(estimate_size(bundle), self._now().timestamp())
        return bundle

    def _build_focus(self, request: ContextRequest, project: Project, tree: WorkingTree) -> Focus:
        """Build the focus for a request, and fill gaps from the state of the working tree."""
        file = to_relative_path(request.file, tree.root, field=request.file_field) if request.file else None
        requested_files = [
            to_relative_path(path, tree.root, field=request.open_files_field) for path in request.open_files
        ]
        open_files = requested_files or request.changed or tree.list_active_files()
        errors = request.errors or tuple(error.text for error in project.list_fresh_errors(self._now()))
        return Focus(
            project=project.id,
            file=file,
            open_files=tuple(path for path in open_files if path != file),
            branch=redact_name(request.branch) if request.branch else tree.branch,
            activity=request.activity,
            query=request.query,
            errors=errors,
            author=tree.user_email,
            is_change=bool(request.changed) and not requested_files,
            changed_names=request.changed_names,
        )

    def _build_key(self, focus: Focus, budget: int, project: Project) -> BundleKey:
        moment = int(self._now().timestamp()) // MOMENT_SECONDS
        return BundleKey(focus, budget, project.revision, moment, self._list_problems([project]))

    def _build_bundle(self, key: BundleKey, project: Project) -> Bundle:
        focus, now = key.focus, self._now()
        prediction = self._predict(focus, project, MAX_LIKELY_FILES + MAX_NAMED_FILES)
        views = (
            project.code.load_views([file.path for file in prediction.files[:MAX_LIKELY_FILES]])
            if project.code is not None
            else {}
        )
        errors = (*asked_errors(project, focus.errors, now), *project.list_fresh_errors(now))
        candidate_input = CandidateInput(
            project=project.id,
            focus=focus,
            prediction=prediction,
            links=_select_links(project, focus, views),
            errors=errors,
            fixes=project.fixes.best_for(error.memory for error in errors),
            candidates=describe_possible_errors(errors, project),
            facts=[fact for fact in self._relevant_facts(project, focus) if is_presentable(fact, now)],
            conflicts=tuple(project.conflicts.values()),
            profile=tuple(self._user_state.profile.values()),
            matches=self._search_cached(focus),
            now=now,
            has_package_tests=project.predictor is not None and project.predictor.has_tests_beside(focus.file or ""),
            past_units=MAX_PAST_UNITS,
            outline_count=MAX_LIKELY_FILES,
        )
        offered_candidates = [
            *build_candidates(candidate_input),
            *iterate_missing_candidates(project, focus, now),
            *project.patterns.build_candidates(focus),
            *collaborators.build_collaborator_candidates(project, now),
            *build_workflow_candidates(project, focus, now),
        ]
        return assemble(
            _render_header(focus, project),
            [piece for piece in offered_candidates if not _is_already_shown(piece, key.shown_items)],
            key.budget,
            focus.activity,
            degradations=key.degraded,
            # The first bundle of a session has shown the topics already.
            topics=() if key.shown_items else nearest_topics(project.topics, focus, prediction, project=project.name),
            secret=self._secret,
        )

    def _relevant_facts(self, project: Project, focus: Focus) -> list[Memory]:
        """Return the facts that may concern the focus, in constant time."""
        words = words_at_hand(focus) | extract_words(" ".join(error[-LONGEST_ERROR:] for error in focus.errors))
        relevant_facts: list[Memory] = []
        for key, facts in ((project.id, project.facts), ("", self._user_state.facts)):
            index = self._fact_indexes.setdefault(key, FactIndex(extract_words))
            index.sync(facts)
            relevant = index.select_relevant(words)
            relevant_facts += relevant if key else filter(holds_in_every_project, relevant)
        return relevant_facts

    def _predict(self, focus: Focus, project: Project, k: int) -> Prediction:
        if project.predictor is None:
            return Prediction()
        if focus.branch == project.main.trunk:  # its name says nothing about the work: `devel`, `unstable`
            focus = replace(focus, branch="")
        prediction = project.predictor.predict(focus, now=int(self._now().timestamp()), k=k)
        if hidden_ids := self._hidden_work.list_hidden(project.id):
            units = (one for one in prediction.units if make_episode_id(project.id, one.sha) not in hidden_ids)
            precedent = prediction.precedent
            if precedent is not None and make_episode_id(project.id, precedent.sha) in hidden_ids:
                precedent = None
            prediction = replace(prediction, units=tuple(units), precedent=precedent)
        return prediction if self._reorder is None else self._reorder(prediction, focus, project, k)

    def _search_cached(self, focus: Focus) -> Sequence[tuple[Memory, float]]:
        """Return the cached memories that match the question, best first.

        Each memory comes with its relevance, from 0 to 1. Returns nothing if the focus has no question.
        """
        if not focus.query:
            return ()
        filters = Filters(project=focus.project, kinds=QUERIED_KINDS)
        query_terms, matches, now = extract_terms(focus.query), [], self._now()
        for hit in self._memory_cache.search(focus.query, filters, MAX_QUERY_HITS):
            memory = self._memory_cache.get(hit.memory_id)
            if (
                memory is not None
                and not is_over(memory, now)
                and (relevance := _score_relevance(hit, memory, query_terms))
            ):
                matches.append((memory, relevance))
        return sorted(matches, key=lambda one: -one[1])[:MAX_QUERY_MATCHES]


def _select_links(project: Project, focus: Focus, views: Mapping[str, FileView]) -> dict[str, FileLinks]:
    """Map each path in `views` to the definitions that link it to the open file.

    Returns an empty dictionary if no file is open, or the files have not been parsed yet.
    """
    predictor, here = project.predictor, focus.file
    if predictor is None or here is None or project.code is None:
        return {}
    own_views = project.code.load_views([here])
    own_names = {name for view in own_views.values() for name in _list_defined_names(view)}
    links: dict[str, FileLinks] = {}
    for path, view in views.items() if own_views else ():
        here_names = _list_defined_names(view) if can_use_definitions(here, path) else ()
        there_names = own_names if can_use_definitions(path, here) else ()
        links[path] = FileLinks(
            used_here=predictor.select_used_names(here, path, here_names),
            used_there=predictor.select_used_names(path, here, there_names),
        )
    return links


def can_use_definitions(user: str, definer: str) -> bool:
    """Return False if equal names in two files are a coincidence.

    Only tests use what tests define, and what a file with the name of a test defines, only those beside it use.
    """
    if not classify_path(definer) & TEST:
        return True
    is_beside = user.rpartition("/")[0] == definer.rpartition("/")[0]
    return bool(classify_path(user) & TEST) and (is_beside or not has_test_name(definer))


def _list_defined_names(view: FileView) -> set[str]:
    """Return the names in a file whose use elsewhere proves that it is this definition which is used.

    A method may be called on an object of any type, and a single lower-case word may be anything.
    """
    return {
        line.name
        for line in view.lines
        if line.kind in DEFINITION_KINDS
        and line.kind != "method"
        and line.outer < 0
        and not _RECEIVER.search(line.text)
        and is_distinctive(line.name)
        and not (line.name.islower() and "_" not in line.name)
    }


def _is_still_indexing(bundle: Bundle, project: Project) -> bool:
    """Return True if a bundle is empty because indexing has not finished.

    In that case, clients repeat the request ten times a second, so such a request does not count as answered.
    """
    return not any(item.tier <= 2 for item in bundle.items) and project.state == "indexing"


def add_companions(prediction: Prediction, focus: Focus, project: Project, k: int) -> Prediction:
    """Extend the prediction for a file that is not in the history yet.

    The files that usually changed when similar files were new are added, and the `k` most likely files are kept.
    For a file with a history, the prediction is returned unchanged.
    """
    if not focus.file or project.predictor is None or project.predictor.has_file(focus.file):
        return prediction
    confident_paths = {file.path for file in prediction.files if file.confidence >= MIN_CONFIDENT} | {
        *focus.open_files,
        focus.file,
    }
    more = project.patterns.predict_companions(focus.file, confident_paths)
    others = [file for file in prediction.files if file.path not in {one.path for one in more}]
    files = tuple(sorted([*others, *more], key=lambda file: -file.confidence)[:k])
    return replace(prediction, files=files, confidence=max((file.confidence for file in files), default=0.0))


def _is_already_shown(piece: ContextCandidate, shown_items: Collection[tuple[str, str]]) -> bool:
    """Return True if the reader has already been shown this candidate.

    A candidate that has changed has a different title.
    """
    return bool(shown_items) and any((piece.id, render_title(piece, text)) in shown_items for _, text in piece.forms)


def _score_relevance(hit: CacheHit, memory: Memory, query_terms: Sequence[str]) -> float:
    """Score from 0 to 1 how well a memory matches a question.

    `query_terms` are the terms of the question. For a pattern or workflow, only its title counts, because the rest
    of its text may contain any word.
    """
    share = hit.share
    if (minimum_words := describe(memory.kind).min_title_words) is not None:
        title_word_count = len(filter_said(query_terms, memory.title))
        share = (
            min(share, title_word_count / len(query_terms))
            if title_word_count >= min(minimum_words, len(query_terms)) > 0
            else 0.0
        )
    return 0.0 if share < MIN_TERM_SHARE else min(1.0, hit.score / FULL_MATCH_SCORE) * min(1.0, share / FULL_TERM_SHARE)


def _render_header(focus: Focus, project: Project) -> str:
    place = show_name(redact_name(focus.file or project.name))
    if focus.is_change:
        open_file_count = len(focus.open_files)
        place = f"{place} · uncommitted change of {open_file_count} file{'s' if open_file_count > 1 else ''}"
    return f"{place} · branch {show_name(focus.branch)}" if focus.branch else place
