"""Proxy that adds the daemon's token, for clients that cannot be given one.

It changes nothing else but the port in Host and Origin. Only for tests with a throw-away home.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from hunchd.protocol.rendezvous import read_rendezvous


async def main(rendezvous: Path) -> None:
    server = await asyncio.start_server(lambda reader, writer: forward(reader, writer, rendezvous), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rendezvous: Path) -> None:
    """Forward one request for each connection, which keeps heads and bodies apart."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length.group(1))) if length else await chunked(reader, head)
        told = read_rendezvous(rendezvous)
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
        pass  # the client disconnected
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
