"""Interpretation of state changes of a repository. No I/O.

The reflog steps between two states are used. Results are checkouts, commits, merges and rewrites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hunchd.domain.signal import BranchCheckout, Commit, Merge, OperationBegan, OperationEnded, Rewrite, Signal
from hunchd.repository.layout import Head
from hunchd.repository.reflog import Step

# If there are more commits between two checks, only the newest are reported: the rest is in the history.
MOST_COMMITS = 20

_SOURCE = "watcher"
_MERGED = re.compile(r"merge (\S+): ")
_REWRITING = ("commit (amend)", "reset:", "filter-branch:")
_PICKED = re.compile(r"\((?:pick|reword|edit|squash|fixup|continue|merge|exec)\)")


@dataclass(frozen=True, slots=True)
class Look:
    """State of a repository at one time."""

    head: Head
    operation: str = ""
    branch: str | None = None  # during a rebase, which detaches HEAD: the rebased branch


@dataclass(frozen=True, slots=True)
class Story:
    """Signals to emit now, and steps of the running operation."""

    signals: tuple[Signal, ...] = ()
    started: Head | None = None  # HEAD as it was before the operation
    steps: tuple[Step, ...] = ()


def movements(
    before: Look,
    after: Look,
    kept: Story,
    steps: Sequence[Step],
    *,
    project: str,
    at: datetime,
    parents: tuple[str, ...] | None = None,
) -> Story:
    """Return the signals between two states, in order.

    While an operation runs, only its beginning is reported. `steps` are the new reflog steps; `parents` are those
    of the new commit, for repositories without a reflog.
    """
    event = _Event(project, at)
    if after.operation and before.operation:
        return Story((), kept.started, (*kept.steps, *steps))
    if after.operation:
        own = next((n for n, step in enumerate(steps) if _begins(step, after.operation)), len(steps))
        started = Head(
            branch=after.branch or after.head.branch or before.head.branch,
            sha=steps[own - 1].new if own else before.head.sha,
        )
        told = _moved(before.head, started, steps[:own], event, parents) if own else []
        return Story((*told, event.began(after.operation)), started, tuple(steps[own:]))
    if before.operation:
        origin = kept.started or before.head
        ended = event.ended(before.operation, before.branch or after.head.branch, origin.sha, after.head.sha)
        every = (*kept.steps, *steps)
        if before.operation == "bisect":
            return Story((ended, *_switch(origin, after.head, every, event)))
        if before.operation == "rebase":
            return Story(
                (ended, *_switch(origin, after.head, every, event), *_rebased(origin, after.head, every, event))
            )
        return Story((ended, *_moved(origin, after.head, every, event, parents)))
    return Story(tuple(_moved(before.head, after.head, steps, event, parents)))


@dataclass(frozen=True, slots=True)
class _Event:
    """Factory of signals with a common project and time."""

    project: str
    at: datetime

    def began(self, operation: str) -> Signal:
        return OperationBegan(project=self.project, at=self.at, source=_SOURCE, operation=operation)

    def ended(self, operation: str, branch: str | None, old: str | None, new: str | None) -> Signal:
        return OperationEnded(
            project=self.project, at=self.at, source=_SOURCE, operation=operation, branch=branch, old=old, new=new
        )

    def checkout(self, branch: str, previous: str | None) -> Signal:
        return BranchCheckout(project=self.project, at=self.at, source=_SOURCE, branch=branch, previous=previous)

    def commit(self, sha: str) -> Signal:
        return Commit(project=self.project, at=self.at, source=_SOURCE, sha=sha)

    def merge(self, sha: str, branch: str | None = None) -> Signal:
        return Merge(project=self.project, at=self.at, source=_SOURCE, sha=sha, branch=branch)

    def rewrite(self, old: str, new: str) -> Signal:
        return Rewrite(project=self.project, at=self.at, source=_SOURCE, old=old, new=new)


def _begins(step: Step, operation: str) -> bool:
    """Return True if the step belongs to the operation.

    Bisect moves HEAD by checkouts.
    """
    return step.message.startswith("checkout: " if operation == "bisect" else operation) or "(start)" in step.message


def _moved(
    before: Head, after: Head, steps: Sequence[Step], event: _Event, parents: tuple[str, ...] | None
) -> list[Signal]:
    switched = _switch(before, after, steps, event)
    if any("(finish)" in step.message for step in steps):  # a rebase that ended before it was noticed
        ended = event.ended("rebase", after.branch, before.sha, after.sha)
        return [ended, *switched, *_rebased(before, after, steps, event)]
    real = [step for step in steps if step.old != step.new]
    if not real:
        moved = after.sha is not None and after.sha != before.sha and not switched
        return [*switched, *([_unlogged(before, after.sha, parents, event)] if moved and after.sha else [])]
    told: list[Signal] = []
    turn = 0  # index of the branch switch among the commits
    for step in real:
        if step.message.startswith("checkout: "):
            turn = len(told)
        else:
            told.append(_meaning(step, event))
    newest = told[-MOST_COMMITS:]
    turn = max(0, turn - (len(told) - len(newest)))
    return [*newest[:turn], *switched, *newest[turn:]]


def _switch(before: Head, after: Head, steps: Sequence[Step], event: _Event) -> list[Signal]:
    """Return a checkout signal if the branch changed.

    A detached HEAD is on the branch "": checking out one commit after another is a switch as well.
    """
    if before.branch == after.branch:
        detached = after.branch is None and before.sha != after.sha
        if not detached or not any(step.message.startswith("checkout: ") for step in steps):
            return []
    return [event.checkout(after.branch or "", before.branch)]


def _rebased(before: Head, after: Head, steps: Sequence[Step], event: _Event) -> list[Signal]:
    if before.sha is None or after.sha is None or before.sha == after.sha:
        return []
    if steps and not any(
        _PICKED.search(step.message) for step in steps
    ):  # no commit was picked: the branch was fast-forwarded
        return [event.merge(after.sha)]
    return [event.rewrite(before.sha, after.sha)]


def _meaning(step: Step, event: _Event) -> Signal:
    """Return the signal for one reflog step."""
    message = step.message
    merged = _MERGED.match(message)
    if merged or message.startswith(("commit (merge)", "pull")):
        return event.merge(step.new, merged[1] if merged else None)
    if step.old is not None and (message.startswith(_REWRITING) or "(abort)" in message):
        return event.rewrite(step.old, step.new)
    return event.commit(step.new)


def _unlogged(before: Head, sha: str, parents: tuple[str, ...] | None, event: _Event) -> Signal:
    """Return the signal for a move without a reflog.

    The new commit's parents decide, if readable.
    """
    if before.sha is not None and parents is not None and before.sha not in parents:
        return event.rewrite(before.sha, sha)
    if parents is not None and len(parents) > 1:
        return event.merge(sha)
    return event.commit(sha)
