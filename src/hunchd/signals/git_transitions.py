"""Interpretation of changes in the state of a git repository, without I/O.

Two states, and the reflog entries between them, are converted to signals: checkouts, commits, merges and rewrites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hunchd.domain.signal import BranchCheckout, Commit, Merge, OperationEnded, OperationStarted, Rewrite, Signal
from hunchd.repository.layout import HeadState
from hunchd.repository.reflog import ReflogEntry

# If there are more commits between two checks, only the newest are reported: the rest is in the history.
MAX_COMMITS = 20

_SIGNAL_SOURCE = "watcher"
_MERGE_MESSAGE = re.compile(r"merge (\S+): ")
_REWRITE_MESSAGES = ("commit (amend)", "reset:", "filter-branch:")
_PICK_MESSAGE = re.compile(r"\((?:pick|reword|edit|squash|fixup|continue|merge|exec)\)")


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """State of a repository at one point in time."""

    head: HeadState
    operation: str = ""
    branch: str | None = None  # during a rebase, which detaches HEAD: the rebased branch


@dataclass(frozen=True, slots=True)
class Transition:
    """Signals to emit now, and the reflog entries of the operation in progress.

    An operation, such as a rebase or merge, is interpreted when it ends; until then its entries are kept.
    """

    signals: tuple[Signal, ...] = ()
    origin: HeadState | None = None  # HEAD as it was before the operation
    steps: tuple[ReflogEntry, ...] = ()


def compute_transition(
    before: RepositoryState,
    after: RepositoryState,
    pending: Transition,
    steps: Sequence[ReflogEntry],
    *,
    project: str,
    at: datetime,
    parents: tuple[str, ...] | None = None,
) -> Transition:
    """Return the signals for the change from one state to another, in order.

    While an operation is in progress, only its start is reported. `pending` is the previous transition; `steps` are
    the new reflog entries; `parents` are the parents of the new commit, which are needed in repositories without a
    reflog.
    """
    event = _SignalFactory(project, at)
    if after.operation and before.operation:
        return Transition((), pending.origin, (*pending.steps, *steps))
    if after.operation:
        first_own_step = next(
            (n for n, step in enumerate(steps) if _belongs_to_operation(step, after.operation)), len(steps)
        )
        start_head = HeadState(
            branch=after.branch or after.head.branch or before.head.branch,
            sha=steps[first_own_step - 1].new if first_own_step else before.head.sha,
        )
        earlier_signals = (
            _interpret_moves(before.head, start_head, steps[:first_own_step], event, parents) if first_own_step else []
        )
        return Transition(
            (*earlier_signals, event.create_began(after.operation)), start_head, tuple(steps[first_own_step:])
        )
    if before.operation:
        origin = pending.origin or before.head
        ended_event = event.create_ended(
            before.operation, before.branch or after.head.branch, origin.sha, after.head.sha
        )
        all_steps = (*pending.steps, *steps)
        if before.operation == "bisect":
            return Transition((ended_event, *_interpret_switch(origin, after.head, all_steps, event)))
        if before.operation == "rebase":
            return Transition(
                (
                    ended_event,
                    *_interpret_switch(origin, after.head, all_steps, event),
                    *_interpret_rebase(origin, after.head, all_steps, event),
                )
            )
        return Transition((ended_event, *_interpret_moves(origin, after.head, all_steps, event, parents)))
    return Transition(tuple(_interpret_moves(before.head, after.head, steps, event, parents)))


@dataclass(frozen=True, slots=True)
class _SignalFactory:
    """Factory for signals with a common project and time."""

    project: str
    at: datetime

    def create_began(self, operation: str) -> Signal:
        return OperationStarted(project=self.project, at=self.at, source=_SIGNAL_SOURCE, operation=operation)

    def create_ended(self, operation: str, branch: str | None, old: str | None, new: str | None) -> Signal:
        return OperationEnded(
            project=self.project,
            at=self.at,
            source=_SIGNAL_SOURCE,
            operation=operation,
            branch=branch,
            old=old,
            new=new,
        )

    def create_checkout(self, branch: str, previous: str | None) -> Signal:
        return BranchCheckout(project=self.project, at=self.at, source=_SIGNAL_SOURCE, branch=branch, previous=previous)

    def create_commit(self, sha: str) -> Signal:
        return Commit(project=self.project, at=self.at, source=_SIGNAL_SOURCE, sha=sha)

    def create_merge(self, sha: str, branch: str | None = None) -> Signal:
        return Merge(project=self.project, at=self.at, source=_SIGNAL_SOURCE, sha=sha, branch=branch)

    def create_rewrite(self, old: str, new: str) -> Signal:
        return Rewrite(project=self.project, at=self.at, source=_SIGNAL_SOURCE, old=old, new=new)


def _belongs_to_operation(step: ReflogEntry, operation: str) -> bool:
    """Return True if `operation` wrote the reflog entry.

    A bisection moves HEAD by checkouts, so checkouts during a bisection belong to it.
    """
    return step.message.startswith("checkout: " if operation == "bisect" else operation) or "(start)" in step.message


def _interpret_moves(
    before: HeadState,
    after: HeadState,
    steps: Sequence[ReflogEntry],
    event: _SignalFactory,
    parents: tuple[str, ...] | None,
) -> list[Signal]:
    checkout_signals = _interpret_switch(before, after, steps, event)
    if any("(finish)" in step.message for step in steps):  # a rebase that ended before it was noticed
        ended_event = event.create_ended("rebase", after.branch, before.sha, after.sha)
        return [ended_event, *checkout_signals, *_interpret_rebase(before, after, steps, event)]
    moving_steps = [step for step in steps if step.old != step.new]
    if not moving_steps:
        is_unlogged_move = after.sha is not None and after.sha != before.sha and not checkout_signals
        return [
            *checkout_signals,
            *([_interpret_unlogged_move(before, after.sha, parents, event)] if is_unlogged_move and after.sha else []),
        ]
    signals: list[Signal] = []
    switch_index = 0  # index of the branch switch among the commits
    for step in moving_steps:
        if step.message.startswith("checkout: "):
            switch_index = len(signals)
        else:
            signals.append(_interpret_step(step, event))
    newest = signals[-MAX_COMMITS:]
    switch_index = max(0, switch_index - (len(signals) - len(newest)))
    return [*newest[:switch_index], *checkout_signals, *newest[switch_index:]]


def _interpret_switch(
    before: HeadState, after: HeadState, steps: Sequence[ReflogEntry], event: _SignalFactory
) -> list[Signal]:
    """Return a checkout signal if a different branch has been checked out.

    A detached HEAD counts as the branch "". Checking out one commit after another, without a branch, is therefore
    reported as well.
    """
    if before.branch == after.branch:
        is_detached_move = after.branch is None and before.sha != after.sha
        if not is_detached_move or not any(step.message.startswith("checkout: ") for step in steps):
            return []
    return [event.create_checkout(after.branch or "", before.branch)]


def _interpret_rebase(
    before: HeadState, after: HeadState, steps: Sequence[ReflogEntry], event: _SignalFactory
) -> list[Signal]:
    if before.sha is None or after.sha is None or before.sha == after.sha:
        return []
    if steps and not any(
        _PICK_MESSAGE.search(step.message) for step in steps
    ):  # no commit was picked: the branch was fast-forwarded
        return [event.create_merge(after.sha)]
    return [event.create_rewrite(before.sha, after.sha)]


def _interpret_step(step: ReflogEntry, event: _SignalFactory) -> Signal:
    """Return the signal for one reflog entry."""
    message = step.message
    match = _MERGE_MESSAGE.match(message)
    if match or message.startswith(("commit (merge)", "pull")):
        return event.create_merge(step.new, match[1] if match else None)
    if step.old is not None and (message.startswith(_REWRITE_MESSAGES) or "(abort)" in message):
        return event.create_rewrite(step.old, step.new)
    return event.create_commit(step.new)


def _interpret_unlogged_move(
    before: HeadState, sha: str, parents: tuple[str, ...] | None, event: _SignalFactory
) -> Signal:
    """Return the signal for a movement of HEAD without a reflog entry.

    The kind of signal depends on the new commit's parents, if they can be read.
    """
    if before.sha is not None and parents is not None and before.sha not in parents:
        return event.create_rewrite(before.sha, sha)
    if parents is not None and len(parents) > 1:
        return event.create_merge(sha)
    return event.create_commit(sha)
