"""Next-step predictor: contexts, noise and probabilities."""

from __future__ import annotations

import random

from hunchd.prediction.next_step import NextStepPredictor, StepContext

PATH = ("tag", "build", "upload", "announce")


def taught(*, noise: float, runs: int = 40, seed: int = 1) -> NextStepPredictor:
    """Return a model trained on the path with noise in between."""
    chance = random.Random(seed)
    model = NextStepPredictor()
    for _ in range(runs):
        for step in PATH:
            model.learn_step(step)
            while chance.random() < noise:
                model.learn_step(chance.choice(("ls", "cat", "status")))
        for _ in range(4):
            model.learn_step(chance.choice(("ls", "cat", "status", "edit", "diff")))
    return model


def test_constant_successor_is_predicted_with_high_probability() -> None:
    model = taught(noise=0.0)
    model.learn_step("tag")

    [best] = model.predict_steps(1)

    assert best.step == "build"
    assert best.probability > 0.7


def test_step_is_predicted_through_noise() -> None:
    model = taught(noise=0.4)
    for step in ("tag", "ls", "build", "cat", "ls"):
        model.learn_step(step)

    assert "upload" in [one.step for one in model.predict_steps(2)]


def test_branch_context_decides_prediction() -> None:
    model = NextStepPredictor()
    release, other = StepContext(branch="release/*"), StepContext(branch="main")
    chance = random.Random(2)
    for _ in range(80):
        moment, after = chance.choice(((release, "deploy production"), (other, "deploy staging")))
        model.learn_step("test", step_context=moment)
        model.learn_step(after, step_context=moment)
    model.learn_step("test", step_context=release)

    assert model.predict_steps(1, step_context=release)[0].step == "deploy production"
    assert model.predict_steps(1, step_context=other)[0].step == "deploy staging"


def test_failure_and_success_predict_different_steps() -> None:
    model = NextStepPredictor()
    for _ in range(20):
        for failed, after in ((True, "debug"), (False, "commit")):
            model.learn_step("test", has_failed=failed)
            model.learn_step(after)
    model.learn_step("test", has_failed=True)

    assert model.predict_steps(1)[0].step == "debug"


def test_probabilities_sum_to_at_most_one() -> None:
    model = taught(noise=0.3)
    for step in ("tag", "status"):
        model.learn_step(step)
        told = model.predict_steps(50)
        assert sum(one.probability for one in told) <= 1.0 + 1e-9
        assert [one.probability for one in told] == sorted((one.probability for one in told), reverse=True)


def test_empty_model_predicts_nothing() -> None:
    assert NextStepPredictor().predict_steps(3) == []
