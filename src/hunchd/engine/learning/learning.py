"""What is learnt beside the two paths, each by a task of its own: of what happens, of what is kept, of the code."""

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
    """`renewed` is told when a project's models are true again."""

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
        tasks.start("upkeep", self._upkeep.run)
        tasks.start("line reading", self._lines.run)
        tasks.start("fixes", self._fixing.run)
        tasks.start("past fixes", self._fixing.past.run)
        tasks.start("patterns", self._mining.run)
        tasks.start("contradictions", self.contradicting.run)
        tasks.start("habits", self._habits.run)

    def happened(self, signal: Signal, effect: Effect, project: Project, tree: Tree) -> None:
        """A signal took effect."""
        self._upkeep.note(project, effect)
        if effect.prefetch:
            self._lines.note(project, tree)
        self._fixing.note(project, effect.happened)
        self._habits.note(project, tree, signal)

    def moved(self, project: Project) -> None:
        """Its branch or its newest commit is another one."""
        self._upkeep.note(project, Effect(catch_up=True))

    def indexed(self, project: Project) -> None:
        """A new model does not know the session yet."""
        self._mining.note(project)
        self._lines.note(project, project.main)
        if project.predictor is not None:
            for tree in project.trees.values():
                for path, at in tree.opened.items():
                    project.predictor.note(SessionEvent("opened", int(at.timestamp()), path))

    def recalled(self, project: Project) -> None:
        """What was kept of the project before this start is at hand again."""
        self._habits.look_at(project)

    def noticed(self, change: Change, owner: Project | None) -> None:
        """Something was kept, changed or forgotten; the project that owns it is told in between."""
        self.contradicting.note(change)
        if owner is not None:
            self._mining.noticed(owner, change)
            self._fixing.past.noticed(owner, change)
            owner.notice(change)
            self._habits.noticed(owner)

    def forget_project(self, identifier: str) -> None:
        self._mining.forget_project(identifier)
        self._fixing.past.forget_project(identifier)
