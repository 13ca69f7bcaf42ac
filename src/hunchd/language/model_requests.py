"""Requests to a language model and their outcomes.

A failure is a value, not an exception, because failures are expected and work continues after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

# busy: retry later. refused: needs another key, model or setting. unreachable: no server answers.
# cut short: the answer is incomplete. nonsense: the answer does not match the request.
FailureKind = Literal["busy", "refused", "unreachable", "cut short", "nonsense"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Request to a language model.

    The answer is an object that conforms to `schema` (JSON Schema).
    """

    system: str
    text: str
    schema: Mapping[str, Any]
    most: int  # maximum number of tokens in the answer


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that were charged, as far as the server has reported them."""

    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Answer from a language model."""

    content: Mapping[str, Any]  # not validated yet
    used: TokenUsage = TokenUsage()


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """Failure of a request, with the tokens spent on it."""

    trouble: FailureKind
    message: str
    retry_after: float | None = None  # seconds, if the server named a time
    used: TokenUsage = TokenUsage()


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Endpoint, model and key file of a language model."""

    model: str
    base_url: str
    key_file: str  # "": the key is in the environment
    timeout: float  # seconds for a whole answer
    provider: str = "anthropic"  # or "openai": any server with OpenAI's chat completions API


class ModelOutcome(Struct, frozen=True):
    """Outcome of a request, as sent by the language process.

    Either the answer or the failure is set.
    """

    answer: ModelAnswer | None = None
    failure: ModelFailure | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for the model.

    The name of the prompt is stored with the results.
    """

    name: str  # changes whenever the text or the schema does
    system: str
    schema: Mapping[str, Any] = field(default_factory=dict)
