"""A door without a lock, for clients that cannot be told a token: passes each request on to the daemon with the token
added, and changes nothing else but the port in Host and Origin. For tests on a throw-away home only."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from hunchd.protocol.rendezvous import read


async def main(rendezvous: Path) -> None:
    server = await asyncio.start_server(lambda reader, writer: passed_on(reader, writer, rendezvous), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rendezvous: Path) -> None:
    """One request a connection, so that heads are easily told from bodies."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length.group(1))) if length else await chunked(reader, head)
        told = read(rendezvous)
        assert told is not None
        ours, theirs = writer.get_extra_info("sockname")[1], told.url.rpartition(":")[2]
        lines = head.rstrip(b"\r\n").split(b"\r\n")
        kept = [
            re.sub(rb":%d$" % ours, b":" + theirs.encode(), line)
            for line in lines
            if not re.match(rb"(connection|authorization|transfer-encoding|content-length):", line, re.IGNORECASE)
        ]
        kept += [b"Connection: close", b"Authorization: Bearer " + told.token.encode()]
        kept += [b"Content-Length: %d" % len(body)] if body or head.startswith(b"POST") else []
        answers, questions = await asyncio.open_connection("127.0.0.1", int(theirs))
        questions.write(b"\r\n".join(kept) + b"\r\n\r\n" + body)
        while part := await answers.read(65_536):
            writer.write(part)
            await writer.drain()
        questions.close()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # a client that left
    finally:
        writer.close()


async def chunked(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if b"chunked" not in head.lower():
        return b""
    parts = []
    while length := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(length))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
