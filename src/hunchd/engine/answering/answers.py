"""Read path: request, focus, prediction, bundle; most bundles are prefetched."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from hunchd.assembly.assemble import assemble
from hunchd.assembly.rendering import title_of
from hunchd.config.settings import ContextSettings
from hunchd.domain.context import Bundle, Focus, Piece, Prediction
from hunchd.domain.errors import HunchError, InvalidInput
from hunchd.domain.facts import holds_in_every_project, is_over, is_told
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory
from hunchd.domain.signal import FileOpened, Signal
from hunchd.engine.answering import scoreboard
from hunchd.engine.answering.bundles import Bundles, Key, size_of
from hunchd.engine.answering.fact_index import FactIndex
from hunchd.engine.answering.fact_pieces import words_at_hand, words_in
from hunchd.engine.answering.near_topics import nearest_topics
from hunchd.engine.answering.pieces import Known, pieces
from hunchd.engine.answering.predicted_errors import asked_errors, predicted_errors
from hunchd.engine.answering.prefetch_figures import prefetch_metrics, prefetch_status
from hunchd.engine.answering.reviewing import missing_pieces
from hunchd.engine.answering.workflow_pieces import predicted_commands, predicted_workflows, workflow_pieces
from hunchd.engine.state import collaborators
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import AppliedSignal, Feature, Features
from hunchd.engine.state.known_errors import candidates
from hunchd.engine.state.parts import Tasks
from hunchd.engine.state.project import Own, Project, Tree
from hunchd.ingestion.episodes import episode_id
from hunchd.ingestion.outputs import unprefixed
from hunchd.ingestion.redaction import redacted_name
from hunchd.protocol.answers import prediction_json
from hunchd.protocol.paths import relative_path
from hunchd.protocol.requests import ContextRequest, PredictRequest
from hunchd.retrieval.wording import said
from hunchd.store.hot import HotHit, HotTier
from hunchd.text.words import terms

logger = logging.getLogger(__name__)

# Puts the files of a prediction for a question into the order of code search.
Reorder = Callable[[Prediction, Focus, Project, int], Prediction]

MOMENT = 600  # seconds for which relative ages stay valid
LONGEST_UNREST = 0.5  # seconds after which bundles are built although files are still being opened (by a tool)
QUIET = 0.06  # seconds without another open before bundles are prefetched: a person cannot ask sooner
FOUND = 4  # memories that a query may add
LOOKED_AT = 24  # … out of this many best matches
NAMED_BY = {Kind.PATTERN: 2, Kind.WORKFLOW: 1}  # minimum title words that a query must contain
LONGEST_ERROR = 4_000  # characters at the end of an error whose words lead to facts
NAMED = 40  # predicted files listed by name only, below those with signatures
SURE = 0.5  # confidence from which a predicted file is not replaced
HOT_SCORE = 6.0  # BM25 score of a full match; relevance is the fraction of it
# Share of the query's terms from which the score counts fully, and below which a match is ignored.
WHOLE_SHARE = 0.5
LEAST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Wish:
    """Request to prefetch the bundle of a file.

    "" is the branch before any file is opened.
    """

    project: Project
    tree: Tree
    path: str


class Answers(Feature):
    """Feature that answers context and prediction requests and prefetches bundles."""

    def __init__(
        self,
        settings: ContextSettings,
        hot: HotTier,
        events: Events,
        own: Own,
        *,
        secret: bytes,
        now: Callable[[], datetime],
        list_problems: Callable[[Iterable[Project]], tuple[str, ...]],
        features: Features,
        scoreboard_file: Path,
        reorder: Reorder | None = None,
    ) -> None:
        self._settings = settings
        self._hot = hot
        self._events = events
        self._own = own
        self._reorder = reorder
        self._secret = secret
        self._now = now
        self._list_problems = list_problems
        self._features = features
        self._board_file = scoreboard_file
        self.board = scoreboard.Scoreboard()
        self.bundles = Bundles(dropped=lambda size: self.board.wasted(size, self._now().timestamp()))
        self._fact_indexes: dict[str, FactIndex] = {}  # by project id; "" is the user's own
        self._wish: Wish | None = None
        self._wished = asyncio.Event()

    def context(self, request: ContextRequest, project: Project, tree: Tree) -> Bundle:
        """Return the bundle for a request, from the cache if possible."""
        if request.budget > self._settings.max_budget:
            raise InvalidInput(f"'budget' must be at most {self._settings.max_budget} tokens", field="budget")
        began = time.perf_counter()
        project.asked = time.monotonic()
        key = replace(self._key(self._focus(request, project, tree), request.budget, project), told=request.told)
        bundle = self.bundles.take(key)
        warm = bundle is not None
        if bundle is None:
            bundle = self.bundles.keep(key, self._build(key, project), ahead=False)
        if not _is_wanting(bundle, project):
            self.board.asked(self._now().timestamp(), warm=warm)
            self.bundles.answered(warm=warm, seconds=time.perf_counter() - began)
            self._features.on_bundle_served(bundle, project.id)
        return bundle

    def predict(self, request: PredictRequest, project: Project, tree: Tree) -> dict[str, Any]:
        """Return the likely files and memories in the API's form."""
        asked = ContextRequest(
            project=request.project,
            file=request.file_opened,
            open_files=request.open_files,
            branch=request.branch,
            query=request.query,
            errors=(unprefixed(request.error),) if request.error else (),
            file_called="file_opened",
        )
        focus = self._focus(asked, project, tree)
        if focus.file and not request.open_files:  # files opened earlier may be opened again
            focus = replace(focus, open_files=(), visited=focus.open_files)
        prediction = with_companions(self._prediction(focus, project, request.k), focus, project, request.k)
        found = [
            {
                "id": memory.id,
                "kind": str(memory.kind),
                "title": memory.title,
                "confidence": round(relevance, 4),
                "reasons": ["matches what you asked"],
            }
            for memory, relevance in self._found(focus)
        ]
        found += project.patterns.predicted(focus.file)
        now = self._now()
        found += predicted_errors(project, focus, request.error, now)
        return prediction_json(
            prediction,
            k=request.k,
            episode_id=lambda sha: episode_id(project.id, sha),
            memories=[*found, *predicted_workflows(project, focus, now)],
            commands=predicted_commands(project, tree, request.k, now),
        )

    def wish(self, project: Project, tree: Tree, path: str | None) -> None:
        """Request a prefetch of the bundle of `path`; the newest request wins."""
        if path is not None:
            self._wish = Wish(project, tree, path)
            self._wished.set()

    async def build_ahead(self) -> None:
        """Prefetch the bundles of the focus and of the next likely files, forever."""
        while True:
            await self._wished.wait()
            began = time.monotonic()
            while self._wished.is_set() and time.monotonic() - began < LONGEST_UNREST:
                self._wished.clear()
                await asyncio.sleep(QUIET)
            self._wished.clear()
            if self._wish is not None:
                await self._warm(self._wish)
            if self.board.due(self._now().timestamp()):
                await self.keep_board()

    def start(self, tasks: Tasks) -> None:
        self.board = scoreboard.Scoreboard.load(self._board_file)
        tasks.start("prefetch", self.build_ahead)

    async def stop(self) -> None:
        """Count unused prefetched bundles as wasted and store the metrics."""
        self.bundles.drop()
        await self.keep_board()

    async def keep_board(self) -> None:
        """Write the prefetch metrics to their file."""
        told = self.board.told(self._now().timestamp())
        if told is not None:
            try:
                await asyncio.to_thread(scoreboard.keep, self._board_file, told)
            except (OSError, HunchError) as error:
                logger.warning("prefetch metrics could not be saved: %s", error)

    def before_signal(self, signal: Signal, project: Project, tree: Tree) -> None:
        """Record whether an opened file was predicted."""
        if isinstance(signal, FileOpened) and signal.path not in tree.opened:
            self.board.opened(project.id, signal.path, self._now().timestamp())

    def on_signal(self, applied: AppliedSignal) -> None:
        self.wish(applied.project, applied.tree, applied.effect.prefetch)

    def on_model_updated(self, project: Project) -> None:
        self.wish(project, project.main, next(reversed(project.main.opened), ""))

    async def forget_project(self, project_id: str) -> None:
        self.bundles.forget(project_id)
        self._fact_indexes.pop(project_id, None)
        self.board.forget(project_id)

    def status(self) -> dict[str, Any]:
        return {"prefetch": prefetch_status(self.bundles, self.board, self._now().timestamp())}

    def metrics(self) -> str:
        return prefetch_metrics(self.bundles, self.board, self._now().timestamp())

    async def _warm(self, wish: Wish) -> None:
        project, tree = wish.project, wish.tree
        if project.predictor is None:
            return
        opened = tree.at_hand()
        bundle = self._warm_one(wish, opened)
        self._events.tell("context_ready", project=project.id, file=wish.path or None, tokens=bundle.token_count)
        likely = [(str(item.source["path"]), item.score) for item in bundle.items if item.kind == "file"]
        now = self._now().timestamp()
        self.board.suggest(project.id, likely[: scoreboard.RANKS], now)
        for path, _ in likely[: self.board.depth(now)]:
            await asyncio.sleep(0)
            if self._wish is not wish:  # the developer has moved on
                return
            self._warm_one(Wish(project, tree, path), (*(open for open in opened if open != path), path))
        if not wish.path and opened:  # a branch switch changes what the open files need
            self._warm_one(Wish(project, tree, opened[-1]), opened)

    def _warm_one(self, wish: Wish, opened: tuple[str, ...]) -> Bundle:
        focus = Focus(
            project=wish.project.id,
            file=wish.path or None,
            open_files=tuple(path for path in opened if path != wish.path),
            branch=wish.tree.branch,
            errors=tuple(error.text for error in wish.project.fresh_errors(self._now())),
            author=wish.tree.user,
        )
        key = self._key(focus, self._settings.budget, wish.project)
        known = self.bundles.peek(key)
        if known is not None:
            return known
        bundle = self.bundles.keep(key, self._build(key, wish.project), ahead=True)
        self.board.built(size_of(bundle), self._now().timestamp())
        return bundle

    def _focus(self, request: ContextRequest, project: Project, tree: Tree) -> Focus:
        """Build the focus from the request, completed from the session's state."""
        file = relative_path(request.file, tree.root, field=request.file_called) if request.file else None
        named = [relative_path(path, tree.root, field=request.open_files_called) for path in request.open_files]
        opened = named or request.changed or tree.at_hand()
        errors = request.errors or tuple(error.text for error in project.fresh_errors(self._now()))
        return Focus(
            project=project.id,
            file=file,
            open_files=tuple(path for path in opened if path != file),
            branch=redacted_name(request.branch) if request.branch else tree.branch,
            activity=request.activity,
            query=request.query,
            errors=errors,
            author=tree.user,
            is_change=bool(request.changed) and not named,
        )

    def _key(self, focus: Focus, budget: int, project: Project) -> Key:
        moment = int(self._now().timestamp()) // MOMENT
        return Key(focus, budget, project.revision, moment, self._list_problems([project]))

    def _build(self, key: Key, project: Project) -> Bundle:
        focus, now = key.focus, self._now()
        prediction = self._prediction(focus, project, self._settings.likely_files + NAMED)
        errors = (*asked_errors(project, focus.errors, now), *project.fresh_errors(now))
        known = Known(
            project=project.id,
            focus=focus,
            prediction=prediction,
            views=project.code.views([file.path for file in prediction.files[: self._settings.likely_files]])
            if project.code is not None
            else {},
            used=project.code.uses(focus.file) if project.code is not None and focus.file else (),
            errors=errors,
            fixes=project.fixes.shown(error.memory for error in errors),
            candidates=candidates(errors, project),
            facts=[fact for fact in self._relevant_facts(project, focus) if is_told(fact, now)],
            conflicts=tuple(project.conflicts.values()),
            profile=tuple(self._own.profile.values()),
            found=self._found(focus),
            now=now,
            past_units=self._settings.past_units,
            outlined=self._settings.likely_files,
        )
        offered = [
            *pieces(known),
            *missing_pieces(project, focus, now),
            *project.patterns.pieces(focus),
            *collaborators.pieces(project, now),
            *workflow_pieces(project, focus, now),
        ]
        return assemble(
            _header(focus, project),
            [piece for piece in offered if not _is_told(piece, key.told)],
            key.budget,
            focus.activity,
            degraded=key.degraded,
            # They were in the first bundle.
            topics=() if key.told else nearest_topics(project.topics, focus, prediction),
            secret=self._secret,
        )

    def _relevant_facts(self, project: Project, focus: Focus) -> list[Memory]:
        """Return the facts that may concern the focus; the cost does not grow with those that do not."""
        words = words_at_hand(focus) | words_in(" ".join(error[-LONGEST_ERROR:] for error in focus.errors))
        found: list[Memory] = []
        for key, facts in ((project.id, project.facts), ("", self._own.facts)):
            index = self._fact_indexes.setdefault(key, FactIndex(words_in))
            index.sync(facts)
            relevant = index.relevant(words)
            found += relevant if key else filter(holds_in_every_project, relevant)
        return found

    def _prediction(self, focus: Focus, project: Project, k: int) -> Prediction:
        if project.predictor is None:
            return Prediction()
        if focus.branch == project.main.trunk:  # its name says nothing about the work: `devel`, `unstable`
            focus = replace(focus, branch="")
        prediction = project.predictor.predict(focus, now=int(self._now().timestamp()), k=k)
        return prediction if self._reorder is None else self._reorder(prediction, focus, project, k)

    def _found(self, focus: Focus) -> Sequence[tuple[Memory, float]]:
        """Return cached memories that match the words of the question, with relevance."""
        if not focus.query:
            return ()
        filters = Filters(project=focus.project, kinds=(Kind.DOCUMENT, Kind.PATTERN, Kind.WORKFLOW, Kind.EPISODE))
        asked, found, now = terms(focus.query), [], self._now()
        for hit in self._hot.search(focus.query, filters, LOOKED_AT):
            memory = self._hot.get(hit.memory_id)
            if memory is not None and not is_over(memory, now) and (relevance := _relevance(hit, memory, asked)):
                found.append((memory, relevance))
        return sorted(found, key=lambda one: -one[1])[:FOUND]


def _is_wanting(bundle: Bundle, project: Project) -> bool:
    """Return True if the bundle is empty because the project is still being indexed.

    Clients then ask again, ten times a second; such a request does not count as answered.
    """
    return not any(item.tier <= 2 for item in bundle.items) and project.state == "indexing"


def with_companions(prediction: Prediction, focus: Focus, project: Project, k: int) -> Prediction:
    """Extend the prediction for a file that is not in the history yet.

    Adds the files that changed together with new files like it.
    """
    if not focus.file or project.predictor is None or project.predictor.has(focus.file):
        return prediction
    known = {file.path for file in prediction.files if file.confidence >= SURE} | {*focus.open_files, focus.file}
    more = project.patterns.companions(focus.file, known)
    others = [file for file in prediction.files if file.path not in {one.path for one in more}]
    files = tuple(sorted([*others, *more], key=lambda file: -file.confidence)[:k])
    return replace(prediction, files=files, confidence=max((file.confidence for file in files), default=0.0))


def _is_told(piece: Piece, told: Collection[tuple[str, str]]) -> bool:
    """Return True if the reader has this candidate already, unchanged.

    A changed one has another title.
    """
    return bool(told) and any((piece.id, title_of(piece, text)) in told for _, text in piece.forms)


def _relevance(hit: HotHit, memory: Memory, asked: Sequence[str]) -> float:
    """Score how well a memory answers a question with `query_terms`, 0..1.

    Patterns and workflows are about what their title says: the rest of their text may contain any word.
    """
    share = hit.share
    if (needed := NAMED_BY.get(memory.kind)) is not None:
        called = len(said(asked, memory.title))
        share = min(share, called / len(asked)) if called >= min(needed, len(asked)) > 0 else 0.0
    return 0.0 if share < LEAST_SHARE else min(1.0, hit.score / HOT_SCORE) * min(1.0, share / WHOLE_SHARE)


def _header(focus: Focus, project: Project) -> str:
    place = redacted_name(focus.file or project.name)
    if focus.is_change:
        changed = len(focus.open_files)
        place = f"{place} · uncommitted change of {changed} file{'s' if changed > 1 else ''}"
    return f"{place} · branch {focus.branch}" if focus.branch else place
