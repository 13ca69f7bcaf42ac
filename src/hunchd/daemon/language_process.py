"""The language process: sends requests to an external model.

Keeps the front small. Ends when idle.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

from hunchd.language import claude
from hunchd.language.asking import Access, Question, outcome_json
from hunchd.protocol.helper import serve

IDLE_AFTER: Final = 30.0  # seconds


def main() -> int:
    """Serve until the pipe closes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    serve({"ask": answered}, idle_after=IDLE_AFTER)
    return 0


async def answered(asked: dict[str, Any]) -> dict[str, Any]:
    return outcome_json(await claude.asked(Question(**asked["question"]), Access(**asked["access"])))


if __name__ == "__main__":
    sys.exit(main())
