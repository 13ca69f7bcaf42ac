"""Converter of the published Claude vocabulary into the shipped form.

    python benchmarks/tokens/make_vocabulary.py claude.json src/hunchd/assembly/vocabulary.bin

`claude.json` is a file of the npm package `@anthropic-ai/tokenizer` 0.0.4 (MIT): its tokens in the order of their
ranks, base64, separated by spaces. Ours: zlib of one length byte a token, then all tokens.
"""

import base64
import json
import sys
import zlib
from pathlib import Path

# The counter considers no longer parts of a text; the few longer tokens are white space.
LONGEST = 128  # bytes


def packed(source: str) -> bytes:
    _, _, *encoded = json.loads(source)["bpe_ranks"].split(" ")
    tokens = [base64.b64decode(token) for token in encoded]
    tokens = [token for token in tokens if len(token) <= LONGEST]
    assert len(set(tokens)) == len(tokens)
    return zlib.compress(len(tokens).to_bytes(4, "big") + bytes(map(len, tokens)) + b"".join(tokens), 9)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1]).read_text()))
