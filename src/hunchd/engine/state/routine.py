"""Command history of a project, and prediction of the next command."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from hunchd.domain.signal import CommandFinished
from hunchd.domain.workflow import Ran, Workflow
from hunchd.ingestion.workflows.habits import IDLE
from hunchd.ingestion.workflows.log import MOST
from hunchd.ingestion.workflows.steps import steps_of
from hunchd.ingestion.workflows.triggers import branch_kind, file_kind
from hunchd.prediction.next_step import Expected, Moment, NextStep

TOUCHED: Final = 6  # kinds of files saved between two commands
KNOWN_TWICE: Final = 500  # newest commands that are searched for duplicates
SHOWN_FROM: Final = 0.35  # minimum probability of a step that is shown unasked
SEEN_BEFORE: Final = 3  # minimum number of earlier runs of a step that is shown unasked
FRESH: Final = 900.0  # seconds after a command in which a next step is shown


@dataclass(slots=True)
class Routine:
    """Command history with a model of the next step.

    `unsaved` holds the commands not yet written to the log; `shown_step` is the step that the last bundle predicted.
    """

    log: deque[Ran] = field(default_factory=lambda: deque(maxlen=MOST))
    fresh: list[Ran] = field(default_factory=list)
    model: NextStep = field(default_factory=NextStep)
    examples: dict[str, str] = field(default_factory=dict)  # template → last command given
    forgotten: set[str] = field(default_factory=set)  # ids of workflows that must not be learned again
    changed: bool = False  # True if `forgotten_ids` changed since it was saved
    unmined: int = 0  # commands since the last mining
    shown: str = ""
    _touched: dict[str, None] = field(default_factory=dict)
    _late: bool = False  # older commands arrived late: the model must be trained again in order

    def saved(self, path: str) -> None:
        """Record the kind of a saved file.

        The next step may depend on it.
        """
        kind = file_kind(path)
        self._touched.pop(kind, None)
        self._touched[kind] = None
        while len(self._touched) > TOUCHED:
            del self._touched[next(iter(self._touched))]

    def ran(self, signal: CommandFinished, branch: str) -> bool:
        """Record a finished command.

        Return False if it was known or is not a command.
        """
        at = signal.at.timestamp()
        steps = steps_of(signal.command)
        if not steps or self._knows(at, steps[0].command):
            return False
        touched = tuple(self._touched) if signal.source != "history" else ()
        last = len(steps) - 1
        for number, step in enumerate(steps):
            failed = number == last and signal.exit_code != 0
            ran = Ran(at + number / 1_000, step.template, step.command, failed, branch, touched if number == 0 else ())
            if self.log and ran.at < self.log[-1].at:
                self._late = True
            else:
                self.learn(ran)
            self.log.append(ran)
            self.fresh.append(ran)
        self.unmined += len(steps)
        self._touched.clear()
        return True

    def _knows(self, at: float, command: str) -> bool:
        newest = (self.log[-number] for number in range(1, min(len(self.log), KNOWN_TWICE) + 1))
        return any(abs(ran.at - at) < 0.0005 and ran.command == command for ran in newest)

    def learn(self, ran: Ran) -> None:
        """Train the model on one command, the newest so far."""
        if self.log and ran.at - self.log[-1].at > IDLE:
            self.model.pause()
        self.model.note(ran.template, failed=ran.failed, moment=moment_of(ran.at, ran.branch, ran.touched))
        self.examples[ran.template] = ran.command

    @property
    def is_out_of_order(self) -> bool:
        """True if older commands arrived late.

        The model must then be trained again in order.
        """
        return self._late

    def take(self, log: Iterable[Ran]) -> None:
        """Replace the log; the caller trains the model on it afterwards."""
        self.log = deque(sorted(log, key=lambda ran: ran.at), maxlen=MOST)
        self.model, self._late = NextStep(), False

    def expected(self, now: datetime, branch: str, k: int = 3) -> list[Expected]:
        """Return the most probable next steps."""
        at = now.timestamp()
        if not self.log:
            return []
        if at - self.log[-1].at > IDLE:
            self.model.pause()
        return self.model.expected(k, moment=moment_of(at, branch, tuple(self._touched)))

    def to_show(self, now: datetime, branch: str) -> Expected | None:
        """Return the next step if it should be shown unasked.

        Somebody must be at work, and the step probable enough. Repeating the last command is no news, as long as
        nothing
        was changed since.
        """
        if not self.log or not 0 <= now.timestamp() - self.log[-1].at <= FRESH:
            return None
        best = next(iter(self.expected(now, branch, 1)), None)
        if best is None or best.probability < SHOWN_FROM:
            return None
        if best.step == self.log[-1].template and not self._touched:
            return None
        return best if sum(ran.template == best.step for ran in self.log) >= SEEN_BEFORE else None

    @property
    def last(self) -> Ran | None:
        return self.log[-1] if self.log else None

    def forget(self, identifier: str, workflow: Workflow) -> None:
        """Keep a workflow from being learned again.

        For a habit, drop the commands it was learned from.
        """
        self.forgotten.add(identifier)
        self.changed = True
        if workflow.origin == "habit":
            steps = {step.template for step in workflow.steps}
            kept = [
                ran for ran in self.log if not (workflow.first <= ran.at <= workflow.last and ran.template in steps)
            ]
            self.log = deque(kept, maxlen=MOST)
            self._late = True


def moment_of(at: float, branch: str, touched: Sequence[str]) -> Moment:
    """Build the model's context features of a moment, in the user's time zone."""
    local = datetime.fromtimestamp(at).astimezone()
    return Moment(branch_kind(branch) if branch else "", local.hour, local.weekday(), touched[-1] if touched else "")


def reason_of(expected: Expected, last: Ran | None, workflows: Iterable[Workflow]) -> str:
    """Explain in words why a step is predicted."""
    counted = f": {expected.followed:.0f} of {expected.seen:.0f} times" if expected.seen >= 2 else ""
    usual = "usual" if counted else "done once before"
    match expected.because:
        case "workflow":
            for workflow in workflows:
                templates = [step.template for step in workflow.steps]
                if expected.step in templates and (last is None or last.template in templates or not counted):
                    place = templates.index(expected.step) + 1
                    return f"step {place} of {len(templates)} of what was done {workflow.runs} times"
            return f"next in what you often do{counted}"
        case "hour" | "begin":
            return f"{usual} at this time{counted}"
        case "branch":
            return f"{usual} on such a branch{counted}"
        case "files":
            return f"{usual} after such changes{counted}"
        case "always":
            return "often done here" if round(expected.followed) >= SEEN_BEFORE else "done here before"
        case _ if last is not None:
            failed = " failed" if last.failed else ""
            return f"after `{last.template}`{failed}{counted}"
        case _:
            return f"often follows{counted}"
