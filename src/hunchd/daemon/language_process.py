"""The language process: sends requests to an external language model.

A separate process is used because it keeps the front process small; it ends when it is idle.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from hunchd.language import claude, openai_compatible
from hunchd.language.model_requests import ModelEndpoint, ModelFailure, ModelOutcome, ModelRequest
from hunchd.protocol.helper import serve

IDLE_SECONDS: Final = 30.0  # seconds


def main() -> int:
    """Answer calls until the pipe is closed."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    serve({"ask": handle_ask}, idle_seconds=IDLE_SECONDS)
    return 0


async def handle_ask(question: ModelRequest, access: ModelEndpoint) -> ModelOutcome:
    send = openai_compatible.send_request if access.provider == "openai" else claude.send_request
    outcome = await send(question, access)
    return ModelOutcome(failure=outcome) if isinstance(outcome, ModelFailure) else ModelOutcome(answer=outcome)


if __name__ == "__main__":
    sys.exit(main())
