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
    from hunchd.protocol.pipe import SerializedJson

    made = 0

    async def double(params):
        print("noise on standard output")
        return params["n"] * 2

    async def missing(params):
        raise NotFound("no such thing")

    async def broken(params):
        raise RuntimeError("a bug")

    async def written(params):
        return SerializedJson('{"said": "na\u00efve \\\\n line", "beside": [1, null]}')

    async def pid(params):
        return os.getpid()

    async def slow(params):
        await asyncio.sleep(60)

    async def die(params):
        os._exit(9)

    async def die_once(params):
        if not os.path.exists(params["file"]):
            open(params["file"], "w").close()
            os._exit(9)
        return os.getpid()

    async def count(params):
        global made
        for n in range(params["n"]):
            made = n + 1
            yield n

    async def made_so_far(params):
        return made

    handlers = {f.__name__: f for f in (double, missing, broken, written, pid, slow, die, die_once, count, made_so_far)}
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
    assert await asyncio.gather(*(child.call("double", {"n": n}) for n in range(5))) == [0, 2, 4, 6, 8]
    assert child.starts == 1


async def test_call_error_keeps_its_class(child: HelperProcess) -> None:
    with pytest.raises(NotFound, match="no such thing"):
        await child.call("missing")
    with pytest.raises(HunchError, match="RuntimeError: a bug"):
        await child.call("broken")
    with pytest.raises(NotFound, match="no method"):
        await child.call("nothing")
    assert child.pending_calls == 0


async def test_call_serialized_json_is_decoded_once(child: HelperProcess) -> None:
    assert await child.call("written") == {"said": "na\u00efve \n line", "beside": [1, None]}


async def test_stream_slow_reader_applies_backpressure(child: HelperProcess) -> None:
    stream = child.stream("count", {"n": 1000})
    assert await anext(stream) == 0
    assert await child.call("made_so_far") < 10
    assert [item async for item in stream] == list(range(1, 1000))


async def test_stream_abandoned_is_cancelled(child: HelperProcess) -> None:
    stream = child.stream("count", {"n": 1000})
    await anext(stream)
    await stream.aclose()
    assert child.pending_calls == 0
    assert await child.call("double", {"n": 4}) == 8


async def test_process_crash_fails_calls_then_restarts(child: HelperProcess) -> None:
    first = await child.call("pid")
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("die")
    assert await child.call("pid") != first
    assert (child.starts, child.failures) == (2, 1)


async def test_call_with_retry_repeats_once_after_crash(child: HelperProcess, tmp_path: Path) -> None:
    first = await child.call("pid")
    answered = await child.call("die_once", {"file": str(tmp_path / "died")}, retry=True)
    assert answered not in (None, first)
    assert (child.starts, child.failures, child.pending_calls) == (2, 1, 0)
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("die", retry=True)
    assert (child.starts, child.failures, child.pending_calls) == (3, 3, 0)


async def test_slow_call_times_out_process_survives(child: HelperProcess) -> None:
    with pytest.raises(Unavailable, match="did not answer 'slow'"):
        await child.call("slow", timeout=0.05)
    assert await child.call("double", {"n": 1}) == 2


async def test_unresponsive_process_is_killed_and_replaced(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "60"], name="helper", check_interval=0.05)
    first = await child.call("pid")
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="helper ended"):
        await child.call("double", {"n": 1})
    assert not is_alive(first)
    assert await child.call("double", {"n": 2}) == 4
    assert (child.starts, child.failures, child.pending_calls) == (2, 1, 0)
    await child.stop()


async def test_slow_process_answering_pings_survives(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "60"], name="helper", check_interval=0.25)
    first = await child.call("pid")
    with pytest.raises(Unavailable, match="did not answer 'slow'"):
        await child.call("slow", timeout=0.25 * (MAX_UNANSWERED_CHECKS + 3))
    assert await child.call("pid") == first
    await child.stop()


async def test_call_with_full_pipe_times_out(child: HelperProcess) -> None:
    pid = await child.call("pid")
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(Unavailable, match="did not answer 'double'"):
        await child.call("double", {"n": "much" * 1_000_000}, timeout=0.1)
    assert child.pending_calls == 0  # or it would never be let go as idle
    os.kill(pid, signal.SIGCONT)
    assert await child.call("double", {"n": 3}) == 6


async def test_stop_ends_process(child: HelperProcess) -> None:
    pid = await child.call("pid")
    await child.stop()
    assert not is_alive(pid)
    with pytest.raises(Unavailable, match="stopping"):
        await child.call("pid")


async def test_idle_process_exits_and_restarts_on_call(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(SCRIPT)
    child = HelperProcess([sys.executable, str(script), "0.1"], name="helper")
    first = await child.call("pid")
    async with asyncio.timeout(5):
        while child.pid is not None:
            await asyncio.sleep(0.02)
    assert not is_alive(first)
    assert await child.call("pid") != first
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
                print(await child.call("pid"), flush=True)
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
