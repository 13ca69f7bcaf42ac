"""A helper process starts on demand, answers, streams with backpressure, and ends when it should."""

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hunchd.domain.errors import HunchError, NotFound, Unavailable
from hunchd.protocol.child import MAX_UNANSWERED_CHECKS, HelperProcess

SCRIPT = textwrap.dedent(
    """
    import asyncio, os, sys, time
    from hunchd.domain.errors import NotFound
    from hunchd.protocol.helper import serve

    made = 0

    async def double(n: int):
        print("noise on standard output")
        return n * 2

    async def missing():
        raise NotFound("no such thing", hint="look elsewhere")

    async def broken():
        raise RuntimeError("a bug")

    async def echo(value: object):
        return value

    async def pid():
        return os.getpid()

    async def slow():
        await asyncio.sleep(60)

    async def die():
        os._exit(9)

    async def die_once(file: str):
        if not os.path.exists(file):
            open(file, "w").close()
            os._exit(9)
        return os.getpid()

    async def count(n: int):
        global made
        for number in range(n):
            made = number + 1
            yield number

    async def made_so_far():
        return made

    handlers = {f.__name__: f for f in (double, missing, broken, echo, pid, slow, die, die_once, count, made_so_far)}
    serve(handlers, idle_seconds=float(sys.argv[1]))
    """
)


@pytest.fixture
async def child(tmp_path: Path) -> AsyncIterator[HelperProcess]:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    made = HelperProcess([sys.executable, str(script), "60"], name="helper")
    yield made
    await made.stop()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_call_with_prints_keeps_pipe_intact(child: HelperProcess) -> None:
    assert await asyncio.gather(*(child.call("double", {"n": n}, int) for n in range(5))) == [0, 2, 4, 6, 8]
    assert child.starts == 1


async def test_call_error_keeps_its_class(child: HelperProcess) -> None:
    with pytest.raises(NotFound, match="no such thing") as refused:
        await child.call("missing", {}, int)
    assert refused.value.hint == "look elsewhere"
    with pytest.raises(HunchError, match="RuntimeError: a bug"):
        await child.call("broken", {}, int)
    with pytest.raises(NotFound, match="no method"):
        await child.call("nothing", {}, int)
    assert child.pending_calls == 0


async def test_call_serialized_json_is_decoded_once(child: HelperProcess) -> None:
    said = {"said": "na\u00efve \n line", "half": "\ud83d", "beside": [1, None]}
    assert await child.call("echo", {"value": said}, object) == said


async def test_stream_slow_reader_applies_backpressure(child: HelperProcess) -> None:
    stream = child.stream("count", {"n": 1000}, int)
    assert await anext(stream) == 0
    assert await child.call("made_so_far", {}, int) < 10
    assert [item async for item in stream] == list(range(1, 1000))


async def test_stream_abandoned_is_cancelled(child: HelperProcess) -> None:
    stream = child.stream("count", {"n": 1000}, int)
    await anext(stream)
    await stream.aclose()
    assert child.pending_calls == 0
    assert await child.call("double", {"n": 4}, int) == 8


async def test_process_crash_fails_calls_then_restarts(child: HelperProcess) -> None:
    first = await child.call("pid", {}, int)
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("die", {}, int)
    assert await child.call("pid", {}, int) != first
    assert (child.starts, child.failures) == (2, 1)


async def test_call_with_retry_repeats_once_after_crash(child: HelperProcess, tmp_path: Path) -> None:
    first = await child.call("pid", {}, int)
    answered = await child.call("die_once", {"file": str(tmp_path / "died")}, int, retry=True)
    assert answered not in (None, first)
    assert (child.starts, child.failures, child.pending_calls) == (2, 1, 0)
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("die", {}, int, retry=True)
    assert (child.starts, child.failures, child.pending_calls) == (3, 3, 0)


async def test_slow_call_times_out_process_survives(child: HelperProcess) -> None:
    with pytest.raises(Unavailable, match="did not answer 'slow'"):
        await child.call("slow", {}, int, timeout=0.05)
    assert await child.call("double", {"n": 1}, int) == 2


async def test_unresponsive_process_is_killed_and_replaced(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "60"], name="helper", check_interval=0.05)
    first = await child.call("pid", {}, int)
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("double", {"n": 1}, int)
    assert not is_alive(first)
    assert await child.call("double", {"n": 2}, int) == 4
    assert (child.starts, child.failures, child.pending_calls) == (2, 1, 0)
    await child.stop()


async def test_slow_process_answering_pings_survives(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "60"], name="helper", check_interval=0.25)
    first = await child.call("pid", {}, int)
    with pytest.raises(Unavailable, match="did not answer 'slow'"):
        await child.call("slow", {}, int, timeout=0.25 * (MAX_UNANSWERED_CHECKS + 3))
    assert await child.call("pid", {}, int) == first
    await child.stop()


async def test_call_with_full_pipe_times_out(child: HelperProcess) -> None:
    pid = await child.call("pid", {}, int)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="did not answer 'echo'"):
        await child.call("echo", {"value": "much" * 1_000_000}, str, timeout=0.1)
    assert child.pending_calls == 0  # or it would never be let go as idle
    os.kill(pid, signal.SIGCONT)
    assert await child.call("double", {"n": 3}, int) == 6


async def test_stop_ends_process(child: HelperProcess) -> None:
    pid = await child.call("pid", {}, int)
    await child.stop()
    assert not is_alive(pid)
    with pytest.raises(Unavailable, match="stopping"):
        await child.call("pid", {}, int)


async def test_idle_process_exits_and_restarts_on_call(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "0.1"], name="helper")
    first = await child.call("pid", {}, int)
    async with asyncio.timeout(5):
        while child.pid is not None:
            await asyncio.sleep(0.02)
    assert not is_alive(first)
    assert await child.call("pid", {}, int) != first
    assert child.failures == 0
    await child.stop()


async def test_child_dies_with_parent(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    parent = tmp_path / "parent.py"
    parent.write_text(
        textwrap.dedent(
            f"""
            import asyncio, os, signal, sys
            from hunchd.protocol.child import HelperProcess

            async def main():
                child = HelperProcess([sys.executable, {str(script)!r}, "60"], name="helper")
                print(await child.call("pid", {{}}, int), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

            asyncio.run(main())
            """
        )
    )
    process = await asyncio.create_subprocess_exec(sys.executable, str(parent), stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    async with asyncio.timeout(5):
        while is_alive(int(out)):
            await asyncio.sleep(0.02)
