"""Parent side of the pipe to a helper process.

The helper process is started on demand and ends when it is idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import UNSET, Raw

from hunchd.domain import errors
from hunchd.protocol.pipe import (
    MAX_LINE_BYTES,
    STOP_GRACE_SECONDS,
    CallFrame,
    ReplyFrame,
    decode,
    encode,
    encode_frame,
)

logger = logging.getLogger(__name__)

# A process that is silent during a call gets a ping at each check and is killed after this many unanswered ones. Checks
# are counted instead of time, which jumps when a machine sleeps. Before its first response a process loads libraries,
# for minutes on an overloaded machine.
CHECK_INTERVAL_SECONDS: Final = 15.0  # seconds
MAX_UNANSWERED_CHECKS, MAX_UNANSWERED_CHECKS_AT_START = 4, 20

_ERRORS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HunchError)
}
_END_OF_STREAM: Final = object()

AnswerT = TypeVar("AnswerT")


class _ProcessEnded(errors.Unavailable):
    """Raised if a helper process ends during a call.

    It is unknown how much of the call was executed.
    """


class HelperProcess:
    """Client of a helper process.

    The process is started by the first call, and again by the first call after it has ended. At most one instance of
    the process runs at a time.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        check_interval: float = CHECK_INTERVAL_SECONDS,
    ) -> None:
        self.name = name
        self._check_interval = check_interval  # seconds
        self._argv = tuple(argv)
        self._env = dict(env) if env is not None else None
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._start_lock = asyncio.Lock()
        self._inboxes: dict[int, asyncio.Queue[Any]] = {}
        self._last_number = 0
        self._is_ending = False
        self._is_stopped = False
        self._has_heard = False  # True if anything has arrived since the last check
        self.starts = 0
        self.failures = 0  # number of times it ended unexpectedly

    @property
    def pid(self) -> int | None:
        """Process ID, or None if the process is not running."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def has_idled_out(self) -> bool:
        """True if the process ended on its own because it was idle."""
        return self._is_ending and self.pid is None

    @property
    def pending_calls(self) -> int:
        """Number of calls and streams in progress."""
        return len(self._inboxes)

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | Raw,
        answer: type[AnswerT],
        *,
        timeout: float = 60.0,
        retry: bool = False,
    ) -> AnswerT:
        """Call a method and return its result, decoded to the type `answer`.

        Raises the error that the method raised, or Unavailable if the process fails or takes longer than `timeout`
        seconds. Set `retry` only for methods that change nothing: if the process ends during the call, the call is
        then repeated once in a new process, within what remains of `timeout`.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            try:
                return decode(await self._call(method, params, deadline), answer)
            except _ProcessEnded:
                if not retry:
                    raise
            return decode(await self._call(method, params, deadline), answer)
        except TimeoutError:
            raise errors.Unavailable(f"{self.name} did not answer '{method}' within {timeout:.0f} s") from None

    async def _call(self, method: str, params: Mapping[str, Any] | Raw, deadline: float) -> Raw:
        async with asyncio.timeout_at(deadline):
            number, inbox = await self._send_call(method, params)
            try:
                return _raise_or_return(await inbox.get())
            except asyncio.CancelledError:
                self._send(CallFrame(c=number))
                raise
            finally:
                self._discard_inbox(number)

    async def stream(
        self, method: str, params: Mapping[str, Any] | Raw, item_type: type[AnswerT]
    ) -> AsyncGenerator[AnswerT, None]:
        """Yield the items of a streaming method, decoded to the type `item_type`.

        Items are requested only as fast as they are consumed.
        """
        number, inbox = await self._send_call(method, params)
        is_finished = False
        try:
            while (item := await inbox.get()) is not _END_OF_STREAM:
                is_finished = isinstance(item, Exception)
                yield decode(_raise_or_return(item), item_type)
                self._send(CallFrame(a=number))
            is_finished = True
        finally:
            if not is_finished:
                self._send(CallFrame(c=number))
            self._discard_inbox(number)

    async def stop(self) -> None:
        """Close the pipe and wait for the process to end.

        If it does not end in time, it is killed. No further calls are possible afterwards.
        """
        self._is_stopped = True
        async with self._start_lock:
            await self._end_process()

    async def _send_call(self, method: str, params: Mapping[str, Any] | Raw) -> tuple[int, asyncio.Queue[Any]]:
        async with self._start_lock:
            await self._ensure_running()
            self._last_number += 1
            number = self._last_number
            inbox: asyncio.Queue[Any] = asyncio.Queue()
            self._inboxes[number] = inbox
            self._send(CallFrame(i=number, m=method, p=encode(params)))
        process = self._process
        if process is not None and process.stdin is not None:
            try:
                await process.stdin.drain()
            except ConnectionError:  # the process ended; the reader reports that
                pass
            except asyncio.CancelledError:
                self._send(CallFrame(c=number))
                self._discard_inbox(number)
                raise
        return number, inbox

    async def _ensure_running(self) -> None:
        if self._is_stopped:
            raise errors.Unavailable(f"{self.name} is stopping")
        if self._process is not None and self._process.returncode is None and not self._is_ending:
            return
        await self._end_process()
        self._is_ending = self._has_heard = False
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._env,
                limit=MAX_LINE_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise errors.Unavailable(f"{self.name} cannot be started: {error}") from error
        self.starts += 1
        self._reader = asyncio.create_task(self._read_frames(self._process), name=f"{self.name}-reader")

    async def _end_process(self) -> None:
        process, reader = self._process, self._reader
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        self._is_ending = True
        try:
            async with asyncio.timeout(STOP_GRACE_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if reader is not None:
            await reader
        self._process = None

    async def _read_frames(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        watch = asyncio.create_task(self._watch_responsiveness(process), name=f"{self.name}-watch")
        try:
            while frame := await process.stdout.readline():
                self._has_heard = True
                self._handle_frame(decode(frame, ReplyFrame))
        except Exception:  # whatever cannot be read: otherwise the reader would stop, and calls would hang
            logger.exception("%s sent an unreadable frame; killing it", self.name)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
        watch.cancel()
        if not self._is_ending:
            self.failures += 1
            logger.warning("%s ended unexpectedly (exit status %s)", self.name, code)
        for inbox in self._inboxes.values():
            inbox.put_nowait(_ProcessEnded(f"{self.name} ended during the call (exit status {code})"))

    async def _watch_responsiveness(self, process: asyncio.subprocess.Process) -> None:
        """Kill the process if it stops responding during a call.

        Otherwise later calls would have to wait as well.
        """
        unanswered_count, limit = 0, MAX_UNANSWERED_CHECKS_AT_START
        while unanswered_count < limit:
            await asyncio.sleep(self._check_interval)
            if self._has_heard:
                self._has_heard, unanswered_count, limit = False, 0, MAX_UNANSWERED_CHECKS
            elif self._inboxes or unanswered_count:
                unanswered_count += 1
                self._send(CallFrame(q=1))
        logger.error("%s is not responding; killing it", self.name)
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    def _handle_frame(self, frame: ReplyFrame) -> None:
        if frame.bye is not None:
            if not self._inboxes and self._process is not None and self._process.stdin is not None:
                self._is_ending = True
                self._process.stdin.close()
            return
        inbox = self._inboxes.get(frame.i) if frame.i is not None else None
        if inbox is None:
            return
        if frame.e is not None:
            error = _ERRORS.get(frame.e.code, errors.HunchError)(frame.e.message)
            error.hint = frame.e.hint
            inbox.put_nowait(error)
        else:
            inbox.put_nowait(_END_OF_STREAM if frame.end is not None else frame.s if frame.r is UNSET else frame.r)

    def _send(self, frame: CallFrame) -> None:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(encode_frame(frame))

    def _discard_inbox(self, number: int) -> None:
        self._inboxes.pop(number, None)


def _raise_or_return(item: Any) -> Raw:
    if isinstance(item, Exception):
        raise item
    raw: Raw = item
    return raw
