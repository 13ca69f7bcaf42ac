"""Statement model: its size, its checksum, and what it says of clear sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hunchd.embedding import fastembed_backend, statements
from hunchd.embedding.embedder import ModelUnavailable
from hunchd.ingestion.session_statements import NOTHING
from hunchd.ingestion.statement_classifier import LABELS


def test_damaged_statement_changes_raise_unavailable(tmp_path: Path) -> None:
    assert statements.CHANGES_FILE.stat().st_size < 600_000
    content = bytearray(statements.CHANGES_FILE.read_bytes())
    content[len(content) // 2] ^= 1
    (copy := tmp_path / "statements.npz").write_bytes(content)
    with pytest.raises(ModelUnavailable, match="damaged"):
        fastembed_backend.load_statement_model(copy)


def rate(pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
    """Rate pairs in a separate process: the model takes 100 MB, which this run would keep."""
    program = "import json, sys\nfrom hunchd.embedding import fastembed_backend as fast\n"
    program += "found = fast.load_statement_model().rate_sentences(json.loads(sys.argv[1]))\n"
    program += "print(json.dumps([list(memoryview(one).cast('f')) for one in found]))"
    line = [sys.executable, "-c", program, json.dumps(pairs)]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=100)
    return [list(map(float, one)) for one in json.loads(done.stdout)]


def test_statement_model_separates_statements_from_talk() -> None:
    stating = [
        ("what about the queue", "nats then, we don't need more than that"),
        ("", "Priya owns the billing service, ask her before you touch the invoices."),
        ("", "our staging database is a copy from last March, so never trust its counts"),
        ("", "the appliance has 256 MB of memory and no swap"),
        ("", "ich wohne in Graz und arbeite nur vormittags"),
    ]
    talking = [
        ("", "run the tests again with -v"),
        ("", "hm, still red"),
        ("", "could we perhaps try a queue instead?"),
        ("", "lol sure, let's port the whole thing to COBOL"),
        ("", "danke, das war's für heute"),
    ]
    logits = np.array(rate(stating + talking))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    nothing = shares[:, [label in NOTHING for label in LABELS]].sum(axis=1)
    assert nothing[: len(stating)].max() < nothing[len(stating) :].min(), nothing
