"""Benchmark of the prediction of the next command on generated command streams.

    python benchmarks/workflows.py --seeds 100-109 --noise 0 0.15 0.3 0.45

A simulated developer has some workflows (two to seven commands each; several begin alike or share commands) and runs
commands for weeks: runs of workflows, inspection commands in between, other terminals. With noise n, between two steps
of a run a foreign command occurs with probability n (repeatedly), a step is left out with n/5, two are swapped with
n/10, a run is abandoned with n/5, a command fails and is repeated with n/4. Values (messages, paths, branches,
versions)
are new each time, so their placeholders have to be recognised too.

Next step: hit@1 and hit@3, prequential over the last 60 % of the stream, on steps inside of runs ("inside") and on all
commands ("all"), beside the most popular commands and a Markov chain of order 1, both on the same templates.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

from hunchd.core.state.command_history import IDLE_SECONDS, generalize_branch
from hunchd.domain.workflow import CommandRun
from hunchd.ingestion.workflows.command_lines import parse_commands
from hunchd.prediction.next_step import NextStepPredictor, StepContext

COMMANDS = (
    "git add -A", "git add {path}", 'git commit -m "{text}"', "git push", "git push origin {branch}", "git pull",
    "git pull --rebase", "git fetch", "git checkout main", "git checkout -b {branch}", "git rebase main",
    "git stash", "git stash pop", "git tag {version}", "git push --tags", "git merge {branch}",
    "git branch -d {branch}",
    "pytest", "pytest {path}", 'pytest -k "{word}" {path}', "ruff check .", "ruff format .", "mypy src",
    "pip install -r requirements.txt", "pip install {word}", "python -m build", "twine upload dist/{version}.whl",
    "npm install", "npm run build", "npm test", "npm run lint", "npm run dev", "npm version patch", "npm publish",
    "cargo build", "cargo test", "cargo fmt", "cargo clippy", "cargo publish", "go build ./...", "go test ./...",
    "go vet ./...", "go mod tidy", "make", "make test", "make lint", "make docs", "make release", "tox -e {word}",
    "docker build -t {word} .", "docker push {word}", "docker compose up -d", "docker compose down",
    "docker compose logs", "kubectl apply -f {path}", "kubectl rollout status {word}", "kubectl get pods",
    "terraform plan", "terraform apply", "helm upgrade {word} {path}", "alembic upgrade head",
    'alembic revision -m "{text}"', "python manage.py migrate", "python manage.py makemigrations",
    "flask run", "mkdocs build", "mkdocs gh-deploy", "vim CHANGELOG.md", "bump-my-version bump minor",
    "gh pr create --fill", "gh pr checks", "gh pr merge --squash", "gh release create {version}", "./deploy.sh staging",
    "./deploy.sh production", "ansible-playbook {path}", "pre-commit run --all-files",
)  # fmt: skip
AROUND = (
    "ls", "ls -la", "cd {path}", "cd ..", "cat {path}", "git status", "git diff", "git log", "less {path}",
    "vim {path}",
    "grep -rn {word} {path}", "rg {word}", "pwd", "clear", "htop", "which {word}", "man {word}", "history", "tree",
    "head {path}", "curl {url}", "code {path}", "rm {path}", "mkdir {path}", "echo {word}", "env", "df -h", "ps aux",
)  # fmt: skip
WORDS = "login parser cache index token reader border window signal layout worker export filter search client".split()  # noqa: SIM905
STARTS = 1_750_000_000.0  # 2025-06-15


@dataclass(frozen=True)
class PlantedWorkflow:
    commands: tuple[str, ...]
    weight: float
    branch: str = ""  # "" for any
    hour: int = -1


@dataclass(frozen=True)
class StreamCommand:
    """Command of the stream; `inside` of a run, and not its first step."""

    ran: CommandRun
    inside: bool


@dataclass(frozen=True)
class Stream:
    planted: tuple[PlantedWorkflow, ...]
    given: tuple[StreamCommand, ...]
    whole: Counter[PlantedWorkflow]


def generate_stream(seed: int, noise: float, length: int) -> Stream:
    """Return the commands of a simulated developer."""
    chance = random.Random(seed)
    planted = _plant_workflows(chance)
    commands: list[StreamCommand] = []
    whole: Counter[PlantedWorkflow] = Counter()
    at = STARTS + chance.random() * 86_400
    branch = "main"
    while len(commands) < length:
        at = _next_session(chance, at)
        branch = chance.choice(("main", f"feature/{chance.choice(WORDS)}", f"fix/{chance.choice(WORDS)}", "release/2"))
        for _ in range(chance.randint(1, 4)):
            for line in _looking_around(chance, noise):
                at += chance.uniform(3, 120)
                commands += _make_command(chance, line, at, branch, False)
            hour = int(at % 86_400 // 3_600)
            weights = [one.weight * _weigh_trigger(one, branch, hour) for one in planted]
            if not any(weights):
                continue
            run = chance.choices(planted, weights)[0]
            before = len(commands)
            lines, is_whole = _make_run(chance, run, noise)
            for number, (line, own) in enumerate(lines):
                at += chance.uniform(3, 200)
                failed = own and chance.random() < noise / 4
                commands += _make_command(
                    chance, line, at, branch, own and number > 0 and len(commands) > before, failed
                )
                if failed:
                    at += chance.uniform(20, 300)
                    commands += _make_command(chance, line, at, branch, False)
            whole[run] += is_whole
    return Stream(planted, tuple(commands), whole)


def _plant_workflows(chance: random.Random) -> tuple[PlantedWorkflow, ...]:
    """Return five to nine workflows; a third begin or end like another one."""
    step_lists: list[tuple[str, ...]] = []
    for _ in range(chance.randint(5, 9)):
        steps = chance.sample(COMMANDS, chance.randint(2, 7))
        if step_lists and chance.random() < 0.35:
            other = chance.choice(step_lists)
            steps = [*other[: chance.randint(1, len(other) - 1)], *(one for one in steps if one not in other)][:7]
        if len({_template(one) for one in steps}) == len(steps) > 1:
            step_lists.append(tuple(steps))
    triggers = [("", -1), ("", -1), ("release/2", -1), ("", 9), ("", 16)]
    return tuple(
        PlantedWorkflow(steps, 1 / (1 + rank) ** 0.7, *chance.choice(triggers))
        for rank, steps in enumerate(dict.fromkeys(step_lists))
    )


def _weigh_trigger(one: PlantedWorkflow, branch: str, hour: int) -> float:
    """Return True if a workflow is due; one with a trigger mostly runs then."""
    due = (not one.branch or one.branch == branch) and (one.hour < 0 or abs(one.hour - hour) <= 1)
    return 1.0 if due else 0.08


def _next_session(chance: random.Random, at: float) -> float:
    at += chance.uniform(IDLE_SECONDS + 60, 4 * 3_600)
    hour = at % 86_400 / 3_600
    return at + (24 - hour + 8 + chance.random()) * 3_600 if not 8 <= hour <= 18 else at


def _looking_around(chance: random.Random, noise: float) -> Iterator[str]:
    while chance.random() < 0.35 + noise / 2:
        yield _make_noise(chance)


def _make_noise(chance: random.Random) -> str:
    """Return a foreign command: mostly inspection, sometimes a step of another workflow."""
    if chance.random() < 0.15:
        return chance.choice(COMMANDS)
    return chance.choices(AROUND, [1 / (1 + rank) for rank in range(len(AROUND))])[0]


def _make_run(chance: random.Random, run: PlantedWorkflow, noise: float) -> tuple[list[tuple[str, bool]], bool]:
    """Return the lines of one run and if it is whole and in order.

    Each line comes with a flag that it is a step.
    """
    steps = list(run.commands)
    remaining = [one for one in steps if chance.random() >= noise / 5]
    if len(remaining) > 1 and chance.random() < noise / 10:
        place = chance.randrange(len(remaining) - 1)
        remaining[place], remaining[place + 1] = remaining[place + 1], remaining[place]
    if chance.random() < noise / 5:
        remaining = remaining[: chance.randint(0, len(remaining))]
    lines: list[tuple[str, bool]] = []
    for number, one in enumerate(remaining):
        while number and chance.random() < noise:
            lines.append((_make_noise(chance), False))
        lines.append((one, True))
    return lines, remaining == steps


def _make_command(
    chance: random.Random, line: str, at: float, branch: str, inside: bool, failed: bool = False
) -> Iterator[StreamCommand]:
    word = chance.choice(WORDS)
    text = " ".join(chance.sample(WORDS, 3))
    path = f"{chance.choice(('src', 'tests', 'docs'))}/{word}.{chance.choice(('py', 'ts', 'md'))}"
    filled = line.format(
        word=word,
        text=text,
        path=path,
        branch=f"feature/{word}",
        version=f"v{chance.randint(0, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 9)}",
        url=f"https://example.org/{word}",
    )
    for command in parse_commands(filled):
        yield StreamCommand(CommandRun(at, command.template, command.text, failed, branch), inside)


def _template(line: str) -> str:
    return next(_make_command(random.Random(0), line, 0.0, "", False)).ran.template


class Popular:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, step: str) -> None:
        self.counts[step] += 1

    def expected(self) -> list[str]:
        return [step for step, _ in self.counts.most_common(3)]


class Markov:
    """Markov chain of order 1; unseen steps are filled up with frequent ones."""

    def __init__(self) -> None:
        self.after: dict[str, Counter[str]] = defaultdict(Counter)
        self.popular = Popular()
        self.last = ""

    def note(self, step: str) -> None:
        self.after[self.last][step] += 1
        self.popular.note(step)
        self.last = step

    def expected(self) -> list[str]:
        likely = [step for step, _ in self.after[self.last].most_common(3)]
        return [*likely, *(step for step in self.popular.expected() if step not in likely)][:3]


def measure_next_steps(stream: Stream) -> dict[str, float]:
    """Return the hit rates of the models, step by step."""
    popular, markov, own = Popular(), Markov(), NextStepPredictor()
    hits: dict[str, list[float]] = defaultdict(list)
    log: list[CommandRun] = []
    begin = int(len(stream.given) * 0.4)
    spent = 0.0
    for number, one in enumerate(stream.given):
        ran = one.ran
        began = time.perf_counter()
        if log and ran.at - log[-1].at > IDLE_SECONDS:
            own.clear_recent()
        hour = int(ran.at % 86_400 // 3_600)
        moment = StepContext(generalize_branch(ran.branch), hour, int(ran.at // 86_400 + 3) % 7)
        expected_steps = [each.step for each in own.predict_steps(3, step_context=moment)]
        spent += time.perf_counter() - began
        if number >= begin:
            for name, expected_names in (
                ("popular", popular.expected()),
                ("markov", markov.expected()),
                ("own", expected_steps),
            ):
                for kind in ("all", "inside") if one.inside else ("all",):
                    hits[f"{name} {kind} @1"].append(ran.template in expected_names[:1])
                    hits[f"{name} {kind} @3"].append(ran.template in expected_names)
        popular.note(ran.template)
        markov.note(ran.template)
        began = time.perf_counter()
        own.learn_step(ran.template, has_failed=ran.failed, step_context=moment)
        spent += time.perf_counter() - began
        log.append(ran)
    return {name: mean(expected_steps) for name, expected_steps in hits.items()} | {
        "ms a step": spent / len(stream.given) * 1_000
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-4", help="FIRST-LAST (0-4)")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.15, 0.3, 0.45])
    parser.add_argument("--length", type=int, default=1_500, help="commands of a stream (1,500)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    for noise in options.noise:
        seeds = range(int(first), int(last or first) + 1)
        rows = [measure_next_steps(generate_stream(seed, noise, options.length)) for seed in seeds]
        summary = {name: round(mean(row[name] for row in rows), 3) for name in rows[0]}
        print(json.dumps({"noise": noise, "streams": len(rows)} | summary) if options.json else _table(noise, summary))


def _table(noise: float, summary: dict[str, float]) -> str:
    return f"noise {noise:.2f}: " + ", ".join(f"{name} {value:g}" for name, value in summary.items())


if __name__ == "__main__":
    main()
