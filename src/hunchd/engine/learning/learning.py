"""Background learning tasks: from signals, from stored memories, from code."""

from __future__ import annotations

from collections.abc import Callable

from hunchd.domain.facts import Change
from hunchd.domain.signal import Signal
from hunchd.engine.answering.line_reading import LineReading
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.contradicting import Contradicting
from hunchd.engine.learning.fixing import Fixing
from hunchd.engine.learning.habits import Habits
from hunchd.engine.learning.indexing import Indexing
from hunchd.engine.learning.judging import Judging
from hunchd.engine.learning.mining import Mining
from hunchd.engine.learning.projects import Projects
from hunchd.engine.learning.upkeep import Upkeep
from hunchd.engine.state.absorbing import Effect
from hunchd.engine.state.events import Events
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project, Tree
from hunchd.prediction.session import SessionEvent


class Learning:
    """Container of the learning tasks.

    `renewed` is called when a project's models are current.
    """

    def __init__(
        self,
        parts: Parts,
        memories: Memories,
        projects: Projects,
        indexing: Indexing,
        events: Events,
        judging: Judging | None,
        *,
        renewed: Callable[[Project], None],
    ) -> None:
        self.contradicting = Contradicting(
            memories,
            parts.hot,
            parts.store,
            now=parts.now,
            judging=judging,
            reads=parts.settings.embedding.reads_pairs,
        )
        self._fixing = Fixing(memories, projects.known, parts)
        self._mining = Mining(memories, projects.known, parts, events)
        self._habits = Habits(memories, projects.known, parts)
        self._upkeep = Upkeep(indexing, projects.known, renewed, self._mining.note)
        self._lines = LineReading()  # of the files that are open

    def open(self, tasks: Tasks) -> None:
        """Start the background tasks."""
        tasks.start("upkeep", self._upkeep.run)
        tasks.start("line reading", self._lines.run)
        tasks.start("fixes", self._fixing.run)
        tasks.start("past fixes", self._fixing.past.run)
        tasks.start("patterns", self._mining.run)
        tasks.start("contradictions", self.contradicting.run)
        tasks.start("habits", self._habits.run)

    def happened(self, signal: Signal, effect: Effect, project: Project, tree: Tree) -> None:
        """Pass an applied signal to the tasks."""
        self._upkeep.note(project, effect)
        if effect.prefetch:
            self._lines.note(project, tree)
        self._fixing.note(project, effect.happened)
        self._habits.note(project, tree, signal)

    def moved(self, project: Project) -> None:
        """Catch up with a project whose branch or newest commit changed."""
        self._upkeep.note(project, Effect(catch_up=True))

    def indexed(self, project: Project) -> None:
        """Replay the session into a new model."""
        self._mining.note(project)
        self._lines.note(project, project.main)
        if project.predictor is not None:
            for tree in project.trees.values():
                for path, at in tree.opened.items():
                    project.predictor.note(SessionEvent("opened", int(at.timestamp()), path))

    def recalled(self, project: Project) -> None:
        """Schedule work after the project's memories were loaded."""
        self._habits.look_at(project)

    def noticed(self, change: Change, owner: Project | None) -> None:
        """Pass a change of memories to the tasks and to the project that owns them.

        The project is updated in between, as some tasks need its previous state.
        """
        self.contradicting.note(change)
        if owner is not None:
            self._mining.noticed(owner, change)
            self._fixing.past.noticed(owner, change)
            owner.notice(change)
            self._habits.noticed(owner)

    def forget_project(self, identifier: str) -> None:
        self._mining.forget_project(identifier)
        self._fixing.past.forget_project(identifier)
