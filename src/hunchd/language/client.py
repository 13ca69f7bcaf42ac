"""Client for the language process, which runs for one job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from hunchd.config.settings import LanguageSettings
from hunchd.domain.errors import HunchError
from hunchd.language.model_requests import ModelAnswer, ModelEndpoint, ModelFailure, ModelOutcome, ModelRequest
from hunchd.protocol.child import HelperProcess

ANSWER_SECONDS: Final = 60.0  # timeout of a whole answer; no request waits for it
_START_GRACE_SECONDS: Final = 15.0  # seconds in addition to the answer's timeout, for process start and imports


class LanguageClient:
    """Client that sends questions to the language process."""

    def __init__(self, child: HelperProcess, access: ModelEndpoint) -> None:
        self._child = child
        self.endpoint = access

    async def ask(self, question: ModelRequest) -> ModelAnswer | ModelFailure:
        """Ask the model; return its answer or the failure.

        Errors of the helper process are returned as a ModelFailure as well.
        """
        params = {"question": question, "access": self.endpoint}
        timeout = self.endpoint.timeout + _START_GRACE_SECONDS
        try:
            outcome = await self._child.call("ask", params, ModelOutcome, timeout=timeout)
        except HunchError as error:
            return ModelFailure("unreachable", error.message)
        return outcome.answer or outcome.failure or ModelFailure("nonsense", "the language process returned no answer")


def create_language_client(child: HelperProcess, settings: LanguageSettings) -> LanguageClient | None:
    """Create the client from the settings.

    Returns None if the language model is switched off.
    """
    if not settings.enabled:
        return None
    access = ModelEndpoint(settings.model, settings.base_url, settings.key_file, ANSWER_SECONDS, settings.provider)
    return LanguageClient(child, access)


def build_process_arguments() -> Sequence[str]:
    """Return the command line of the language process."""
    return (sys.executable, "-m", "hunchd.daemon.language_process")
