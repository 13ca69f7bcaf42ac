"""The parent's side of the pipe to a helper process.

The process is started on demand and ends when idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

from hunchd.domain import errors
from hunchd.protocol.pipe import LONGEST_LINE, STOP_GRACE, line

logger = logging.getLogger(__name__)

# A process that is silent during a call gets a ping at each check and is killed after this many unanswered ones. Checks
# are counted instead of time, which jumps when a machine sleeps. Before its first response a process loads libraries,
# for minutes on an overloaded machine.
LOOK: Final = 15.0  # seconds
LOOKS_IN_VAIN, LOOKS_AT_START = 4, 20

_ERRORS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HunchError)
}
_END: Final = object()


class _Ended(errors.Unavailable):
    """The process ended during a call.

    How much of the call was executed is unknown.
    """


class Child:
    """Client of a helper process.

    Starts it on the first call and again after it ended, never twice at once.
    """

    def __init__(
        self, argv: Sequence[str], *, name: str, env: Mapping[str, str] | None = None, look: float = LOOK
    ) -> None:
        self.name = name
        self._look = look  # seconds
        self._argv = tuple(argv)
        self._env = dict(env) if env is not None else None
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Queue[Any]] = {}
        self._next = 0
        self._leaving = False
        self._stopped = False
        self._heard = False  # anything since the last check
        self.starts = 0
        self.failures = 0  # times it ended unexpectedly

    @property
    def pid(self) -> int | None:
        """The process id while the process runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def rests(self) -> bool:
        """Return True if the process ended by itself because it was idle."""
        return self._leaving and self.pid is None

    @property
    def calls(self) -> int:
        """Number of calls and streams in progress."""
        return len(self._waiting)

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float = 60.0,
        again: bool = False,
    ) -> Any:
        """Call a method and return its result.

        Raises the error that the method raised, or Unavailable if the process fails or takes longer than `timeout`
        seconds.
        `again`: for methods that change nothing. If the process ends meanwhile, the call is retried once in a new
        process,
        within what is left of `timeout`.
        """
        until = asyncio.get_running_loop().time() + timeout
        try:
            try:
                return await self._call(method, params, until)
            except _Ended:
                if not again:
                    raise
            return await self._call(method, params, until)
        except TimeoutError:
            raise errors.Unavailable(f"{self.name} did not answer '{method}' in {timeout:.0f} s") from None

    async def _call(self, method: str, params: Mapping[str, Any] | None, until: float) -> Any:
        async with asyncio.timeout_at(until):
            number, inbox = await self._ask(method, params)
            try:
                return _result(await inbox.get())
            except asyncio.CancelledError:
                self._send({"c": number})
                raise
            finally:
                self._done_with(number)

    async def stream(self, method: str, params: Mapping[str, Any] | None = None) -> AsyncGenerator[Any, None]:
        """Yield the items of a streaming method.

        They are requested at the speed at which they are consumed.
        """
        number, inbox = await self._ask(method, params)
        finished = False
        try:
            while (item := await inbox.get()) is not _END:
                finished = isinstance(item, Exception)
                yield _result(item)
                self._send({"a": number})
            finished = True
        finally:
            if not finished:
                self._send({"c": number})
            self._done_with(number)

    async def stop(self) -> None:
        """Close the pipe and wait.

        Kill the process if it does not end in time. No call may follow.
        """
        self._stopped = True
        async with self._starting:
            await self._end()

    async def _ask(self, method: str, params: Mapping[str, Any] | None) -> tuple[int, asyncio.Queue[Any]]:
        async with self._starting:
            await self._ensure()
            self._next += 1
            number = self._next
            inbox: asyncio.Queue[Any] = asyncio.Queue()
            self._waiting[number] = inbox
            self._send({"i": number, "m": method, "p": params or {}})
        process = self._process
        if process is not None and process.stdin is not None:
            try:
                await process.stdin.drain()
            except ConnectionError:  # it ended; the reader reports that
                pass
            except asyncio.CancelledError:
                self._send({"c": number})
                self._done_with(number)
                raise
        return number, inbox

    async def _ensure(self) -> None:
        if self._stopped:
            raise errors.Unavailable(f"{self.name} is stopping")
        if self._process is not None and self._process.returncode is None and not self._leaving:
            return
        await self._end()
        self._leaving = self._heard = False
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._env,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise errors.Unavailable(f"{self.name} cannot be started: {error}") from error
        self.starts += 1
        self._reader = asyncio.create_task(self._read(self._process), name=f"{self.name}-reader")

    async def _end(self) -> None:
        process, reader = self._process, self._reader
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        self._leaving = True
        try:
            async with asyncio.timeout(STOP_GRACE):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if reader is not None:
            await reader
        self._process = None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        watch = asyncio.create_task(self._watch(process), name=f"{self.name}-watch")
        try:
            while told := await process.stdout.readline():
                self._heard = True
                self._take(json.loads(told))
        except Exception:  # anything unreadable: the reader would stop, and calls would hang
            logger.exception("%s sent an unreadable frame; killing it", self.name)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
        watch.cancel()
        if not self._leaving:
            self.failures += 1
            logger.warning("%s ended unexpectedly (exit status %s)", self.name, code)
        for inbox in self._waiting.values():
            inbox.put_nowait(_Ended(f"{self.name} ended during the call (exit status {code})"))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Kill a process that stops responding during a call.

        Later calls would wait as well.
        """
        silent, patience = 0, LOOKS_AT_START
        while silent < patience:
            await asyncio.sleep(self._look)
            if self._heard:
                self._heard, silent, patience = False, 0, LOOKS_IN_VAIN
            elif self._waiting or silent:
                silent += 1
                self._send({"q": 1})
        logger.error("%s is not responding; killing it", self.name)
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    def _take(self, frame: dict[str, Any]) -> None:
        if "q" in frame:
            return
        if "bye" in frame:
            if not self._waiting and self._process is not None and self._process.stdin is not None:
                self._leaving = True
                self._process.stdin.close()
            return
        inbox = self._waiting.get(frame["i"])
        if inbox is None:
            return
        if "e" in frame:
            inbox.put_nowait(_error(frame["e"]))
        elif "end" in frame:
            inbox.put_nowait(_END)
        else:
            inbox.put_nowait(frame["r"] if "r" in frame else frame["s"])

    def _send(self, frame: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(line(frame))

    def _done_with(self, number: int) -> None:
        self._waiting.pop(number, None)


def _result(item: Any) -> Any:
    if isinstance(item, Exception):
        raise item
    return item


def _error(frame: Mapping[str, str]) -> errors.HunchError:
    return _ERRORS.get(frame["code"], errors.HunchError)(frame["message"])
