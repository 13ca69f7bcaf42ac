"""Command history of a project, and prediction of the next command.

A step is the template of a command: the command without the parts that vary from run to run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from hunchd.domain.signal import CommandFinished
from hunchd.domain.workflow import CommandRun
from hunchd.ingestion.workflows.command_lines import parse_commands
from hunchd.ingestion.workflows.command_log import MAX_COMMANDS
from hunchd.prediction.next_step import NextStepPredictor, PredictedStep, StepContext

IDLE_SECONDS: Final = 1_800.0  # seconds of inactivity, after which unrelated work begins
MAX_TOUCHED_KINDS: Final = 6  # kinds of files saved between two commands
DUPLICATE_WINDOW: Final = 500  # newest commands that are searched for duplicates
MIN_SHOWN_PROBABILITY: Final = 0.35  # minimum probability of a step that is shown without being asked for
MIN_EARLIER_RUNS: Final = 3  # minimum number of earlier runs of such a step
FRESH_SECONDS: Final = 900.0  # seconds after a command during which the next step is shown


@dataclass(slots=True)
class CommandHistory:
    """Commands run in a project, with a model for the next step.

    `unsaved` contains the commands not yet written to the log; `shown_step` is the step that the last bundle predicted.
    """

    log: deque[CommandRun] = field(default_factory=lambda: deque(maxlen=MAX_COMMANDS))
    unsaved: list[CommandRun] = field(default_factory=list)
    model: NextStepPredictor = field(default_factory=NextStepPredictor)
    examples: dict[str, str] = field(default_factory=dict)  # template → last command given
    appended: int = 0  # commands appended to the log since it was last rewritten
    shown_step: str = ""
    _touched_kinds: dict[str, None] = field(default_factory=dict)
    _has_late_commands: bool = False  # the model must be trained again, because older commands arrived late

    def record_save(self, path: str) -> None:
        """Record the kind of a saved file.

        The next step may depend on it.
        """
        kind = classify_file(path)
        self._touched_kinds.pop(kind, None)
        self._touched_kinds[kind] = None
        while len(self._touched_kinds) > MAX_TOUCHED_KINDS:
            del self._touched_kinds[next(iter(self._touched_kinds))]

    def record_command(self, signal: CommandFinished, branch: str) -> bool:
        """Record a finished command.

        Returns False if it has already been recorded or is not a command.
        """
        at = signal.at.timestamp()
        commands = parse_commands(signal.command)
        if not commands or self._is_duplicate(at, commands[0].text):
            return False
        touched_kinds = tuple(self._touched_kinds) if signal.source != "history" else ()
        last = len(commands) - 1
        for number, command in enumerate(commands):
            has_failed = number == last and signal.exit_code != 0
            ran = CommandRun(
                at + number / 1_000,
                command.template,
                command.text,
                has_failed,
                branch,
                touched_kinds if number == 0 else (),
            )
            if self.log and ran.at < self.log[-1].at:
                self._has_late_commands = True
            else:
                self.learn(ran)
            self.log.append(ran)
            self.unsaved.append(ran)
        self._touched_kinds.clear()
        return True

    def _is_duplicate(self, at: float, command: str) -> bool:
        newest = (self.log[-number] for number in range(1, min(len(self.log), DUPLICATE_WINDOW) + 1))
        return any(abs(ran.at - at) < 0.0005 and ran.command == command for ran in newest)

    def learn(self, ran: CommandRun) -> None:
        """Train the model on a command that is newer than all those learned before."""
        if self.log and ran.at - self.log[-1].at > IDLE_SECONDS:
            self.model.clear_recent()
        self.model.learn_step(
            ran.template, has_failed=ran.failed, step_context=build_moment(ran.at, ran.branch, ran.touched)
        )
        self.examples[ran.template] = ran.command

    @property
    def is_out_of_order(self) -> bool:
        """True if the model must be retrained in order.

        This is the case after older commands arrived late.
        """
        return self._has_late_commands

    def replace_log(self, log: Iterable[CommandRun]) -> None:
        """Replace the log; the caller must then train the model on it."""
        self.log = deque(sorted(log, key=lambda ran: ran.at), maxlen=MAX_COMMANDS)
        self.model, self._has_late_commands = NextStepPredictor(), False

    def predict_next(self, now: datetime, branch: str, k: int = 3) -> list[PredictedStep]:
        """Return the `k` most probable next steps.

        Returns an empty list if no command has been recorded.
        """
        at = now.timestamp()
        if not self.log:
            return []
        if at - self.log[-1].at > IDLE_SECONDS:
            self.model.clear_recent()
        return self.model.predict_steps(k, step_context=build_moment(at, branch, tuple(self._touched_kinds)))

    def suggest_next(self, now: datetime, branch: str) -> PredictedStep | None:
        """Return the next step if it should be shown unprompted, or None.

        It should be shown if a command ran recently and the step is probable enough and has often been run before.
        Repeating the last command is not suggested unless files have been saved since.
        """
        if not self.log or not 0 <= now.timestamp() - self.log[-1].at <= FRESH_SECONDS:
            return None
        best = next(iter(self.predict_next(now, branch, 1)), None)
        if best is None or best.probability < MIN_SHOWN_PROBABILITY:
            return None
        if best.step == self.log[-1].template and not self._touched_kinds:
            return None
        return best if sum(ran.template == best.step for ran in self.log) >= MIN_EARLIER_RUNS else None

    @property
    def last(self) -> CommandRun | None:
        return self.log[-1] if self.log else None


def build_moment(at: float, branch: str, touched_kinds: Sequence[str]) -> StepContext:
    """Build the context features for a point in time.

    The hour and weekday are in the user's time zone.
    """
    local = datetime.fromtimestamp(at).astimezone()
    return StepContext(
        generalize_branch(branch) if branch else "",
        local.hour,
        local.weekday(),
        touched_kinds[-1] if touched_kinds else "",
    )


def explain_step(prediction: PredictedStep, last: CommandRun | None) -> str:
    """Explain in words why a step is predicted."""
    frequency = (
        f": {prediction.step_count:.0f} of {prediction.context_count:.0f} times"
        if prediction.context_count >= 2
        else ""
    )
    usual = "usual" if frequency else "done once before"
    match prediction.view:
        case "hour" | "begin":
            return f"{usual} at this time{frequency}"
        case "branch":
            return f"{usual} on such a branch{frequency}"
        case "files":
            return f"{usual} after such changes{frequency}"
        case "always":
            return "often done here" if round(prediction.step_count) >= MIN_EARLIER_RUNS else "done here before"
        case _ if last is not None:
            failure = " failed" if last.failed else ""
            return f"after `{last.template}`{failure}{frequency}"
        case _:
            return f"often follows{frequency}"


def generalize_branch(branch: str) -> str:
    """Generalize a branch name: `feature/login` becomes `feature/*`.

    In a name without a folder, digits become `#`.
    """
    folder, slash, _ = branch.partition("/")
    return f"{folder}/*" if slash else "".join("#" if each.isdigit() else each for each in branch)


def classify_file(path: str) -> str:
    """Return the kind of a file: "tests", or else its extension, or else its name."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if "test" in name.lower() or "/tests/" in f"/{path}" or "/test/" in f"/{path}":
        return "tests"
    return f"*.{ending}" if dot and stem and len(ending) <= 8 else name[:40]
