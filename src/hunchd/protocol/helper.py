"""Helper side of the pipe between a helper process and its parent process.

The helper serves each call in a separate task and ends when its parent does.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import inspect
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import Raw, Struct, defstruct
from msgspec.structs import asdict

from hunchd.domain import errors
from hunchd.protocol.pipe import (
    MAX_LINE_BYTES,
    STOP_GRACE_SECONDS,
    SWITCH_INTERVAL_SECONDS,
    CallFrame,
    Failure,
    ReplyFrame,
    decode,
    encode,
    encode_frame,
)

logger = logging.getLogger(__name__)

# Items of one stream in flight: enough to keep both sides busy, few enough to bound memory.
STREAM_WINDOW: Final = 4
# Fits a response of forty memories in one write; the default of 64 kB would take two or three, each with a wait.
PIPE_BUFFER_BYTES: Final = 1024 * 1024

# A handler's parameters and their types define the call; it returns or yields values that can be encoded.
Handler = Callable[..., Awaitable[Any] | AsyncIterator[Any]]


def serve(
    handlers: Mapping[str, Handler], *, idle_seconds: float | None = None, is_busy: Callable[[], bool] = lambda: False
) -> None:
    """Serve calls until the pipe closes.

    After `idle_seconds` without a call, the helper offers to end by sending `bye`, unless `is_busy()` returns True.
    """
    pipe = _reserve_pipe()
    _die_with_parent()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    asyncio.run(_Server(handlers, pipe, idle_seconds, is_busy).run())


class _Server:
    def __init__(
        self, handlers: Mapping[str, Handler], pipe: int, idle_seconds: float | None, is_busy: Callable[[], bool]
    ) -> None:
        self._handlers = {name: (handler, _build_params(handler)) for name, handler in handlers.items()}
        self._pipe = pipe
        self._idle_seconds = idle_seconds
        self._is_busy = is_busy
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._credits: dict[int, asyncio.Semaphore] = {}
        self._last_activity = time.monotonic()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(self._pipe, "wb", buffering=0)
        )
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        idle_task = asyncio.create_task(self._announce_idle(), name="bye")
        while frame := await reader.readline():
            self._handle_frame(decode(frame, CallFrame))
        idle_task.cancel()
        for task in list(self._tasks.values()):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=STOP_GRACE_SECONDS / 2)

    def _handle_frame(self, frame: CallFrame) -> None:
        if frame.q is not None:
            self._writer.write(encode_frame(ReplyFrame(q=1)))
            return
        self._last_activity = time.monotonic()
        if frame.a is not None:
            if credit := self._credits.get(frame.a):
                credit.release()
        elif frame.c is not None:
            if task := self._tasks.get(frame.c):
                task.cancel()
        elif frame.i is not None:
            number = frame.i
            task = asyncio.create_task(self._run_call(number, frame.m, frame.p), name=f"call-{frame.m}")
            self._tasks[number] = task
            task.add_done_callback(lambda _: self._forget_call(number))

    def _forget_call(self, number: int) -> None:
        self._tasks.pop(number, None)
        self._credits.pop(number, None)
        self._last_activity = time.monotonic()

    async def _run_call(self, number: int, method: str, params: Raw) -> None:
        try:
            if method not in self._handlers:
                raise errors.NotFound(f"the helper process has no method '{method}'")
            handler, of = self._handlers[method]
            outcome = handler(**asdict(decode(params, of)))
            if isinstance(outcome, AsyncIterator):
                credit = self._credits[number] = asyncio.Semaphore(STREAM_WINDOW)
                async for item in outcome:
                    await credit.acquire()
                    await self._send(ReplyFrame(i=number, s=encode(item)))
                await self._send(ReplyFrame(i=number, end=1))
            else:
                await self._send(ReplyFrame(i=number, r=encode(await outcome)))
        except errors.HunchError as error:
            await self._send(ReplyFrame(i=number, e=Failure(error.code, error.message, error.hint)))
        except Exception as error:  # a bug in a handler fails one call, not the process
            logger.exception("%s failed", method)
            await self._send(ReplyFrame(i=number, e=Failure("error", f"{type(error).__name__}: {error}")))

    async def _send(self, frame: ReplyFrame) -> None:
        with contextlib.suppress(ConnectionError):  # the parent died; the closed pipe ends this process
            self._writer.write(encode_frame(frame))
            await self._writer.drain()

    async def _announce_idle(self) -> None:
        while self._idle_seconds is not None:
            await asyncio.sleep(
                min(self._idle_seconds, max(0.05, self._last_activity + self._idle_seconds - time.monotonic()))
            )
            if not self._tasks and not self._is_busy() and time.monotonic() - self._last_activity >= self._idle_seconds:
                self._last_activity = time.monotonic()
                await self._send(ReplyFrame(bye=1))


def _build_params(handler: Handler) -> type[Struct]:
    """Return a Struct type for decoding the parameters of a handler."""
    parameters = inspect.signature(handler, eval_str=True).parameters.values()
    return defstruct(
        "Params",
        [
            (one.name, one.annotation)
            if one.default is inspect.Parameter.empty
            else (one.name, one.annotation, one.default)
            for one in parameters
        ],
    )


def _reserve_pipe() -> int:
    """Reserve the pipe for frames and return its file descriptor.

    From then on, anything printed to standard output goes to standard error instead.
    """
    pipe = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # the user's limit for pipe buffers may be exhausted
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BUFFER_BYTES)
    return pipe


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies.

    This is necessary because the parent may die without closing the pipe. SIGINT is ignored: the parent handles it.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
