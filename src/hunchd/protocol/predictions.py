"""JSON responses with the files, memories and commands predicted to be needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from hunchd.domain.context import Prediction
from hunchd.protocol.responses import Fraction


class PredictedFileAnswer(Struct, frozen=True, kw_only=True):
    path: str
    score: float
    confidence: Fraction
    reasons: list[str]


class PredictedMemoryAnswer(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    title: str
    confidence: Fraction
    reasons: list[str]


class PredictedCommandAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    command: Annotated[str, Meta(description="varying parts are placeholders: `git commit -m <arg>`")]
    example: Annotated[str, Meta(description="the command as last used")]
    confidence: Fraction
    reasons: list[str]
    workflow: Annotated[str | None, Meta(description="id of the workflow that it runs")] = None


class PredictionAnswer(Struct, frozen=True, kw_only=True):
    predicted_files: list[PredictedFileAnswer]
    predicted_memories: list[PredictedMemoryAnswer]
    predicted_commands: list[PredictedCommandAnswer]
    confidence: Fraction
    degraded: list[str] = []


def predict_memory(identifier: str, kind: str, title: str, confidence: float, *reasons: str) -> PredictedMemoryAnswer:
    return PredictedMemoryAnswer(
        id=identifier, kind=kind, title=title, confidence=round(confidence, 4), reasons=list(reasons)
    )


def prediction_answer(
    prediction: Prediction,
    *,
    k: int,
    episode_id: Callable[[str], str] = str,
    memories: Sequence[PredictedMemoryAnswer] = (),
    commands: Sequence[PredictedCommandAnswer] = (),
) -> PredictionAnswer:
    """Build the response with the best `k` files, memories and commands.

    `episode_id` maps a commit to the id of the memory that stores it. `memories` are listed together with the
    predicted memories; a memory that occurs in both is listed once.
    """
    episodes = [
        predict_memory(episode_id(unit.sha), "episode", unit.subject, unit.confidence, *unit.reasons)
        for unit in prediction.units
    ]
    ranked_memories = sorted([*episodes, *memories], key=lambda memory: -memory.confidence)
    ranked_memories = list({memory.id: memory for memory in reversed(ranked_memories)}.values())[::-1]
    return PredictionAnswer(
        predicted_files=[
            PredictedFileAnswer(
                path=file.path,
                score=round(file.score, 4),
                confidence=round(file.confidence, 4),
                reasons=list(file.reasons),
            )
            for file in prediction.files[:k]
        ],
        predicted_memories=ranked_memories[:k],
        predicted_commands=list(commands[:k]),
        confidence=round(prediction.confidence, 4),
    )
