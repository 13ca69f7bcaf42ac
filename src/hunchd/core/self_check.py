"""Checks of `hunch doctor`, run for the web page in a separate process."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import msgspec

from hunchd.domain.errors import Unavailable
from hunchd.protocol.settings_answers import CheckAnswer

_TIMEOUT_SECONDS: Final = 60.0
_running = asyncio.Lock()  # one at a time, however often a page asks


async def run_doctor(*, fix: bool) -> list[CheckAnswer]:
    """Run the checks of `hunch doctor`, optionally with safe fixes.

    Raises Unavailable if the checks do not finish in time or their output cannot be parsed.
    """
    command = [sys.executable, "-m", "hunchd.cli", "doctor", "--json", *(["--fix"] if fix else [])]
    async with _running:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_SECONDS)
            return msgspec.json.decode(output, type=list[CheckAnswer])
        except (TimeoutError, msgspec.DecodeError) as error:
            raise Unavailable("the checks did not finish", hint="run `hunch doctor` in a terminal") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
