"""Comparison of our token counts with o200k, cl100k and Claude's vocabulary, over given files.

    pip install tiktoken rs-bpe            # in an environment of its own: neither is a dependency of hunchd
    PYTHONPATH=src python benchmarks/tokens/compare.py claude.json FILE…

`claude.json` is a file of the npm package `@anthropic-ai/tokenizer` 0.0.4.
"""

import base64
import json
import sys
import time
from pathlib import Path

import tiktoken
from rs_bpe.bpe import openai

from hunchd.assembly.token_counter import count_tokens


def claude(path: Path) -> tiktoken.Encoding:
    published = json.loads(path.read_text())
    _, offset, *tokens = published["bpe_ranks"].split(" ")
    ranks = {base64.b64decode(token): rank for rank, token in enumerate(tokens, int(offset))}
    return tiktoken.Encoding("claude", pat_str=published["pat_str"], mergeable_ranks=ranks, special_tokens={})


def main(vocabulary: str, *paths: str) -> None:
    published = claude(Path(vocabulary))
    o200k, cl100k = openai.o200k_base(), openai.cl100k_base()
    print(f"{'file':40} {'o200k':>8} {'cl100k':>8} {'claude':>8} {'ours':>8} {'error':>7} {'MB/s':>6}")
    for path in paths:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        true = (o200k.count(text), cl100k.count(text), len(published.encode(text, disallowed_special=())))
        begin = time.process_time()
        ours = count_tokens(text)
        speed = len(text.encode()) / 1e6 / max(time.process_time() - begin, 1e-9)
        error = 100 * (ours / max(*true, 1) - 1)
        print(f"{path[-40:]:40} {true[0]:8} {true[1]:8} {true[2]:8} {ours:8} {error:+6.1f}% {speed:6.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
