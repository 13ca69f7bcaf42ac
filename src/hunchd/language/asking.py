"""Requests to a language model and their outcomes.

A failure is a value, not an exception: it is expected, and work goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# busy: told to come again later. refused: not without another key, model or setting. unreachable: nobody answers.
# cut short: the answer ended before it was whole. nonsense: an answer, but none to what was asked.
Trouble = Literal["busy", "refused", "unreachable", "cut short", "nonsense"]


@dataclass(frozen=True, slots=True)
class Question:
    """Request to a language model.

    The answer is an object that conforms to `schema` (JSON Schema).
    """

    system: str
    text: str
    schema: Mapping[str, Any]
    most: int  # tokens of the answer


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that were paid for, as far as the server has reported them."""

    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a language model."""

    content: Mapping[str, Any]  # not checked yet: a model may say anything
    used: Used = Used()


@dataclass(frozen=True, slots=True)
class Failure:
    """Request that failed, with the tokens spent on it."""

    trouble: Trouble
    message: str
    retry_after: float | None = None  # seconds, where the other side named a time
    used: Used = Used()


@dataclass(frozen=True, slots=True)
class Access:
    """Endpoint, model and key file of a language model."""

    model: str
    base_url: str
    key_file: str  # "": the key is in the environment
    timeout: float  # seconds for a whole answer


def outcome_json(outcome: Answer | Failure) -> dict[str, Any]:
    """Serialize an outcome for `outcome_of`."""
    return {"failed": isinstance(outcome, Failure), **asdict(outcome)}


def outcome_of(raw: Mapping[str, Any]) -> Answer | Failure:
    """Parse an outcome that `outcome_json` serialized."""
    used = Used(**raw["used"])
    if raw["failed"]:
        return Failure(raw["trouble"], raw["message"], raw["retry_after"], used)
    return Answer(raw["content"], used)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Named text for the model; results record the name of their prompt."""

    name: str  # changes with every change of the text or the schema
    system: str
    schema: Mapping[str, Any] = field(default_factory=dict)
