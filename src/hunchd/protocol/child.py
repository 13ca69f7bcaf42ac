"""Helper processes that come and go: JSON lines over a pipe, answers by number, streams with credit.

A frame is one line of JSON. To the child: `{"i": n, "m": method, "p": params}` asks, `{"a": n}` takes one more
item of stream n, `{"c": n}` cancels n, `{"q": 1}` asks for a sign of life, which is the same frame. From the child:
`{"i": n, "r": result}`, `{"i": n, "s": item}`, `{"i": n, "end": 1}`, `{"i": n, "e": {"code", "message"}}`, and
`{"bye": 1}` when it has been idle long enough: it still serves whatever arrives until the parent, which alone knows
what is under way, closes the pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from hunchd.domain import errors

logger = logging.getLogger(__name__)

# Fifty episodes of a big commit fit; a line beyond this is a bug, not data.
LONGEST_LINE: Final = 64 * 1024 * 1024  # bytes
# Items of one stream that may be under way unread: enough to keep both sides busy, few enough to bound memory.
STREAM_CREDIT: Final = 4
# A thread that computes gives way to one that has an answer to carry on after so long. Python's five milliseconds are
# waited several times in one answer: once behind each thing that it waits for.
GIVE_WAY_AFTER: Final = 0.0005  # seconds
# An answer of forty memories in one piece: the system's 64 kB make it two or three, with a wait between them.
PIPE_BYTES: Final = 1024 * 1024
# A process that is silent while something is asked of it is asked for a sign of life at each look, and ended after so
# many in vain. Looks are counted, not time, which jumps where a machine sleeps. Before its first word a process loads
# libraries, on a starved machine for minutes.
LOOK: Final = 15.0  # seconds
LOOKS_IN_VAIN, LOOKS_AT_START = 4, 20
STOP_GRACE: Final = 0.8  # seconds a child gets to end by itself once its pipe is closed; the daemon has 2 in all

Handler = Callable[[dict[str, Any]], Awaitable[Any] | AsyncIterator[Any]]


class Json(str):
    """An answer that is written already, as JSON on one line."""

    __slots__ = ()


_ERRORS: Final = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HunchError)
}
_END: Final = object()


class _Ended(errors.Unavailable):
    """The process ended with a call under way: what it did of it nobody knows."""


class Child:
    """The parent's side: starts the process on the first call, again after it has ended, never twice at once."""

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
        self._heard = False  # something since the last look
        self.starts = 0
        self.failures = 0  # times it ended without being asked to

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def rests(self) -> bool:
        """Whether it has ended by itself, because nothing was left for it to do."""
        return self._leaving and self.pid is None

    @property
    def calls(self) -> int:
        """Calls and streams under way."""
        return len(self._waiting)

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float = 60.0,
        again: bool = False,
    ) -> Any:
        """The answer of one method. Raises the error it raised, or Unavailable if the process fails or is too slow.

        `again`: for what changes nothing. If the process ends meanwhile, the next one is asked once, in what is left
        of `timeout` seconds.
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
        """The items that one method yields, at the pace in which they are taken."""
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
        """Close the pipe and wait; kill what does not end in time. No call may follow."""
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
            except ConnectionError:  # it ended, and the reader says so
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
            while line := await process.stdout.readline():
                self._heard = True
                self._take(json.loads(line))
        except Exception:  # whatever it sent: left alone it would never be read again
            logger.exception("%s sent what cannot be read; it is ended", self.name)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        code = await process.wait()
        watch.cancel()
        if not self._leaving:
            self.failures += 1
            logger.warning("%s ended by itself (exit status %s)", self.name, code)
        for inbox in self._waiting.values():
            inbox.put_nowait(_Ended(f"{self.name} ended while it was working (exit status {code})"))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """End a process that stands still while something is asked of it: whatever is asked next would wait as well."""
        silent, patience = 0, LOOKS_AT_START
        while silent < patience:
            await asyncio.sleep(self._look)
            if self._heard:
                self._heard, silent, patience = False, 0, LOOKS_IN_VAIN
            elif self._waiting or silent:
                silent += 1
                self._send({"q": 1})
        logger.error("%s gives no sign of life and is ended", self.name)
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
            process.stdin.write(_line(frame))

    def _done_with(self, number: int) -> None:
        self._waiting.pop(number, None)


def serve(
    handlers: Mapping[str, Handler],
    *,
    idle_after: float | None = None,
    busy: Callable[[], bool] = lambda: False,
    beside: Callable[[], Awaitable[None]] | None = None,
    at_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """The child's side: answer until the pipe closes. `idle_after` seconds without a call and not `busy()` → bye.

    `beside` runs all the while; when it fails that is logged and the process ends, for the parent to notice.
    `at_end` runs once, after the last answer.
    """
    pipe = _private_output()
    _die_with_parent()
    sys.setswitchinterval(GIVE_WAY_AFTER)
    asyncio.run(_serve(_Server(handlers, pipe, idle_after, busy), beside, at_end))


async def _serve(
    server: _Server, beside: Callable[[], Awaitable[None]] | None, at_end: Callable[[], Awaitable[None]] | None
) -> None:
    async def watched() -> None:
        assert beside is not None
        try:
            await beside()
        except Exception:  # a process whose upkeep is dead must not look alive
            logger.exception("the work beside the answers failed")
            os._exit(1)

    task = asyncio.create_task(watched(), name="beside") if beside is not None else None
    try:
        await server.run()
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if at_end is not None:
            await at_end()


class _Server:
    def __init__(
        self, handlers: Mapping[str, Handler], pipe: int, idle_after: float | None, busy: Callable[[], bool]
    ) -> None:
        self._handlers = handlers
        self._pipe = pipe
        self._idle_after = idle_after
        self._busy = busy
        self._running: dict[int, asyncio.Task[None]] = {}
        self._credit: dict[int, asyncio.Semaphore] = {}
        self._last = time.monotonic()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(self._pipe, "wb", buffering=0)
        )
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        farewell = asyncio.create_task(self._say_bye(), name="bye")
        while line := await reader.readline():
            self._take(json.loads(line))
        farewell.cancel()
        for task in list(self._running.values()):
            task.cancel()
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=STOP_GRACE / 2)

    def _take(self, frame: dict[str, Any]) -> None:
        if "q" in frame:
            self._writer.write(_line(frame))
            return
        self._last = time.monotonic()
        if "a" in frame:
            if credit := self._credit.get(frame["a"]):
                credit.release()
        elif "c" in frame:
            if task := self._running.get(frame["c"]):
                task.cancel()
        else:
            number = frame["i"]
            task = asyncio.create_task(self._answer(number, frame["m"], frame["p"]), name=f"call-{frame['m']}")
            self._running[number] = task
            task.add_done_callback(lambda _: self._finished(number))

    def _finished(self, number: int) -> None:
        self._running.pop(number, None)
        self._credit.pop(number, None)
        self._last = time.monotonic()

    async def _answer(self, number: int, method: str, params: dict[str, Any]) -> None:
        try:
            if method not in self._handlers:
                raise errors.NotFound(f"no method '{method}'")
            outcome = self._handlers[method](params)
            if isinstance(outcome, AsyncIterator):
                credit = self._credit[number] = asyncio.Semaphore(STREAM_CREDIT)
                async for item in outcome:
                    await credit.acquire()
                    await self._send({"i": number, "s": item})
                await self._send({"i": number, "end": 1})
            else:
                await self._send(_frame(number, await outcome))
        except errors.HunchError as error:
            await self._send({"i": number, "e": {"code": error.code, "message": error.message}})
        except Exception as error:  # a stranger's fault ends one call, not the process
            logger.exception("%s failed", method)
            await self._send({"i": number, "e": {"code": "error", "message": f"{type(error).__name__}: {error}"}})

    async def _send(self, frame: Mapping[str, Any] | Json) -> None:
        with contextlib.suppress(ConnectionError):  # the parent died; the closed pipe ends us
            self._writer.write(_line(frame))
            await self._writer.drain()

    async def _say_bye(self) -> None:
        while self._idle_after is not None:
            await asyncio.sleep(min(self._idle_after, max(0.05, self._last + self._idle_after - time.monotonic())))
            if not self._running and not self._busy() and time.monotonic() - self._last >= self._idle_after:
                self._last = time.monotonic()
                await self._send({"bye": 1})


def _result(item: Any) -> Any:
    if isinstance(item, Exception):
        raise item
    return item


def _error(frame: Mapping[str, str]) -> errors.HunchError:
    return _ERRORS.get(frame["code"], errors.HunchError)(frame["message"])


def _frame(number: int, outcome: Any) -> Mapping[str, Any] | Json:
    return Json(f'{{"i":{number},"r":{outcome}}}') if isinstance(outcome, Json) else {"i": number, "r": outcome}


def _line(frame: Mapping[str, Any] | Json) -> bytes:
    text = frame if isinstance(frame, Json) else json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _private_output() -> int:
    """Keep the pipe for frames: whatever prints to standard output goes to standard error instead."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a user may have used up what pipes may take
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return pipe


def _die_with_parent() -> None:
    """Ask Linux to end this process with its parent, should the parent die without closing the pipe."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
