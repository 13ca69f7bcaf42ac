"""Client of the language process, which lives for one job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from hunchd.config.settings import LanguageSettings
from hunchd.domain.errors import HunchError
from hunchd.language.asking import Access, Answer, Failure, Question, outcome_of
from hunchd.protocol.child import Child

_GRACE: Final = 15.0  # seconds in addition to the answer's timeout, for process start and imports


class LanguageClient:
    """Client that sends questions to the language process."""

    def __init__(self, child: Child, access: Access) -> None:
        self._child = child
        self.access = access

    async def ask(self, question: Question) -> Answer | Failure:
        """Ask the model; return its answer or the failure.

        Errors of the helper process become a Failure as well.
        """
        asked = {"question": asdict(question), "access": asdict(self.access)}
        try:
            return outcome_of(await self._child.call("ask", asked, timeout=self.access.timeout + _GRACE))
        except HunchError as error:
            return Failure("unreachable", error.message)


def client_of(child: Child, settings: LanguageSettings) -> LanguageClient | None:
    """Create the client from the settings.

    Returns None if it is switched off.
    """
    if not settings.enabled:
        return None
    access = Access(settings.model, settings.base_url, settings.key_file, settings.timeout_seconds)
    return LanguageClient(child, access)


def arguments() -> Sequence[str]:
    """Return the command line of the language process."""
    return (sys.executable, "-m", "hunchd.daemon.language_process")
