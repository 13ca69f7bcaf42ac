"""Opener for transcripts, including those that an agent has compressed.

Among the modules that read transcripts, only this one needs a third-party library.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, Final

from hunchd.text.encodings import decode_text

_HEAD_BYTES: Final = 64


def open_transcript(file: Path) -> BinaryIO:
    """Open a transcript for reading, decompressed and in UTF-8.

    Raises OSError if the file cannot be opened.
    """
    if file.suffix != ".zst":
        opened = file.open("rb")
        if b"\0" not in opened.peek(_HEAD_BYTES)[:_HEAD_BYTES]:  # JSON in UTF-8 contains no zero bytes
            return opened
        with opened:
            return io.BytesIO(decode_text(opened.read()).encode())
    import pyarrow as pa  # takes a tenth of a second to load, and few files need it

    compressed_file = pa.OSFile(str(file), "rb")
    return io.BufferedReader(pa.CompressedInputStream(compressed_file, "zstd"))
