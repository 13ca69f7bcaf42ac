"""Client of the language process, which lives for one job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from hunchd.config.settings import LanguageSettings
from hunchd.domain.errors import HunchError
from hunchd.language.model_requests import ModelAnswer, ModelEndpoint, ModelFailure, ModelRequest, outcome_from_json
from hunchd.protocol.child import HelperProcess

_START_GRACE_SECONDS: Final = 15.0  # seconds in addition to the answer's timeout, for process start and imports


class LanguageClient:
    """Client that sends questions to the language process."""

    def __init__(self, child: HelperProcess, access: ModelEndpoint) -> None:
        self._child = child
        self.endpoint = access

    async def ask(self, question: ModelRequest) -> ModelAnswer | ModelFailure:
        """Ask the model; return its answer or the failure.

        Errors of the helper process become a Failure as well.
        """
        params = {"question": asdict(question), "access": asdict(self.endpoint)}
        try:
            return outcome_from_json(
                await self._child.call("ask", params, timeout=self.endpoint.timeout + _START_GRACE_SECONDS)
            )
        except HunchError as error:
            return ModelFailure("unreachable", error.message)


def create_language_client(child: HelperProcess, settings: LanguageSettings) -> LanguageClient | None:
    """Create the client from the settings.

    Returns None if it is switched off.
    """
    if not settings.enabled:
        return None
    access = ModelEndpoint(
        settings.model, settings.base_url, settings.key_file, settings.timeout_seconds, settings.provider
    )
    return LanguageClient(child, access)


def build_process_arguments() -> Sequence[str]:
    """Return the command line of the language process."""
    return (sys.executable, "-m", "hunchd.daemon.language_process")
