"""Next-step predictor: contexts, noise and probabilities."""

from __future__ import annotations

import random

from hunchd.prediction.next_step import Moment, NextStep

PATH = ("tag", "build", "upload", "announce")


def taught(*, noise: float, runs: int = 40, seed: int = 1) -> NextStep:
    """Return a model trained on the path with noise in between."""
    chance = random.Random(seed)
    model = NextStep()
    model.knows([PATH])
    for _ in range(runs):
        for step in PATH:
            model.note(step)
            while chance.random() < noise:
                model.note(chance.choice(("ls", "cat", "status")))
        for _ in range(4):
            model.note(chance.choice(("ls", "cat", "status", "edit", "diff")))
    return model


def test_constant_successor_is_predicted_with_high_probability() -> None:
    model = taught(noise=0.0)
    model.note("tag")

    [best] = model.expected(1)

    assert best.step == "build"
    assert best.probability > 0.7


def test_step_is_predicted_through_noise() -> None:
    model = taught(noise=0.4)
    for step in ("tag", "ls", "build", "cat", "ls"):
        model.note(step)

    assert "upload" in [one.step for one in model.expected(2)]


def test_known_workflow_predicts_unseen_step() -> None:
    model = NextStep()
    model.knows([PATH])
    for step in ("ls", "cat", "ls", "tag"):
        model.note(step)

    assert model.expected(1)[0].step == "build"


def test_branch_context_decides_prediction() -> None:
    model = NextStep()
    release, other = Moment(branch="release/*"), Moment(branch="main")
    chance = random.Random(2)
    for _ in range(60):
        moment, after = chance.choice(((release, "deploy production"), (other, "deploy staging")))
        model.note("test", moment=moment)
        model.note(after, moment=moment)
    model.note("test", moment=release)

    assert model.expected(1, moment=release)[0].step == "deploy production"
    assert model.expected(1, moment=other)[0].step == "deploy staging"


def test_failure_and_success_predict_different_steps() -> None:
    model = NextStep()
    for _ in range(20):
        for failed, after in ((True, "debug"), (False, "commit")):
            model.note("test", failed=failed)
            model.note(after)
    model.note("test", failed=True)

    assert model.expected(1)[0].step == "debug"


def test_probabilities_sum_to_at_most_one() -> None:
    model = taught(noise=0.3)
    for step in ("tag", "status"):
        model.note(step)
        told = model.expected(50)
        assert sum(one.probability for one in told) <= 1.0 + 1e-9
        assert [one.probability for one in told] == sorted((one.probability for one in told), reverse=True)


def test_empty_model_predicts_nothing() -> None:
    assert NextStep().expected(3) == []
