"""Protocol that every feature of the engine implements, and the list of features.

A feature is one capability with its own state and tasks; it learns of everything else through the methods of this
protocol. The engine creates the features and knows them only through this protocol. Features never call each other
directly: a message to the other features goes through the `Features` list, which each feature receives when it is
created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from hunchd.core.state.apply_signal import SignalEffect
from hunchd.core.state.dependencies import TaskSupervisor
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.context import Bundle
from hunchd.domain.facts import MemoryChange
from hunchd.domain.signal import Signal

# Values keyed by their field in an answer from `protocol/status_answers.py`.
StatusFields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AppliedSignal:
    """Durable signal that has changed the state of its project."""

    signal: Signal
    effect: SignalEffect
    project: Project
    tree: WorkingTree


class Feature:
    """Base class for features; its methods do nothing unless overridden.

    Only the coroutines may wait. The other methods run on the event loop between two requests and must return quickly.
    """

    # Life of the daemon

    def start(self, tasks: TaskSupervisor) -> None:
        """Restore state from disk and start the background tasks."""

    async def stop(self) -> None:
        """Stop the current work, and save the state for the next start."""

    # Signals and memories

    def before_signal(self, signal: Signal, project: Project, tree: WorkingTree) -> None:
        """Inspect a new signal before it changes anything.

        This is not called for replayed signals.
        """

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        """React to a signal, whether new or replayed from the journal."""

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        """React to memories that were added, changed or deleted.

        `project` is None for the user's own memories.
        """

    def on_session_grown(self, session: str) -> None:
        """React to new messages in a session."""

    def on_bundle_served(self, bundle: Bundle, project_id: str) -> None:
        """React to a bundle that was sent to a client."""

    # Projects

    def on_project_opened(self, project: Project) -> None:
        """React to a project that is now being watched.

        This is called after the project was added, restored at start, resumed, or moved to a different folder.
        """

    def on_project_closed(self, project: Project) -> None:
        """React to a project whose folder is no longer watched."""

    def on_project_restored(self, project: Project) -> None:
        """React to the loading of a project's stored memories after a start."""

    def on_head_moved(self, project: Project) -> None:
        """React to the checkout of a different branch or commit."""

    def on_model_loaded(self, project: Project) -> None:
        """React to a newly loaded prediction model.

        The model does not know the running session yet.
        """

    def on_model_updated(self, project: Project) -> None:
        """React to models that have caught up with the working tree and the history."""

    # Erasure

    async def leave_project(self, project_id: str) -> None:
        """End all work on a project that is about to be removed."""

    async def forget_memories(self, ids: Sequence[str]) -> None:
        """Remove every trace of erased memories from state and disk."""

    async def forget_project(self, project_id: str) -> None:
        """Remove every trace of a removed project from state and disk."""

    # Figures

    def pending_signals(self) -> int:
        """Return the number of observed signals not yet durable."""
        return 0

    def status(self) -> StatusFields:
        """Return the feature's fields in the answer to `GET /status`."""
        return {}

    def project_status(self, project: Project) -> StatusFields:
        """Return the feature's fields for one project in the answer to `GET /status`."""
        return {}

    def metrics(self) -> str:
        """Return the feature's metrics as Prometheus text."""
        return ""


class Features(Feature):
    """Features of an engine, called together.

    Each method passes its call on to every feature, in the order in which the features were added.
    """

    def __init__(self) -> None:
        self._features: list[Feature] = []

    def add(self, *features: Feature) -> None:
        """Append `features`; they are not notified of earlier events."""
        self._features.extend(features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    def pending_signals(self) -> int:
        return sum(feature.pending_signals() for feature in self)

    def status(self) -> StatusFields:
        return {name: value for feature in self for name, value in feature.status().items()}

    def project_status(self, project: Project) -> StatusFields:
        return {name: value for feature in self for name, value in feature.project_status(project).items()}

    def metrics(self) -> str:
        return "".join(feature.metrics() for feature in self)


def _make_broadcast(name: str) -> Callable[..., Any]:
    """Return a method that calls the method `name` of every feature."""
    method = getattr(Feature, name)
    if method.__annotations__["return"] != "None":
        raise TypeError(f"Features.{name} must specify how the results of the features are combined")

    def call_each(self: Features, *arguments: Any) -> None:
        for feature in self:
            getattr(feature, name)(*arguments)

    async def await_each(self: Features, *arguments: Any) -> None:
        for feature in self:
            await getattr(feature, name)(*arguments)

    return await_each if iscoroutinefunction(method) else call_each


for _name in [name for name in vars(Feature) if not name.startswith("_") and name not in vars(Features)]:
    setattr(Features, _name, _make_broadcast(_name))
