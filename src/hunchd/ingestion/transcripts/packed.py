"""Transcripts that an agent has compressed; the only module here that needs a library to read them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO


def open_transcript(file: Path) -> BinaryIO:
    """Open a transcript for reading, decompressed. Raises OSError."""
    if file.suffix != ".zst":
        return file.open("rb")
    import pyarrow as pa  # loads for a tenth of a second, and only few files need it

    compressed_file = pa.OSFile(str(file), "rb")
    return io.BufferedReader(pa.CompressedInputStream(compressed_file, "zstd"))
