"""Store process with fake models: the pairs they get are recorded in a file. Everything else is real."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tests.daemon.running import SOURCES

# Python runs this before anything else: only in the store process it puts fakes in the place of the models.
FAKES = """
import hashlib, json, sys

if "hunchd.daemon.store_process" in sys.orig_argv:
    from hunchd.embedding import fastembed_backend as fast

    def note(line):
        with open({log!r}, "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\\n")

    class Embedder:
        name, dimensions = "minilm-int8", 384

        def embed(self, texts):
            return [hashlib.shake_128(text.encode()).digest(384 * 4 // 2).hex().encode()[:384 * 4] for text in texts]

    class Statements:
        def rate_sentences(self, pairs):
            return [json.dumps(pair).encode() for pair in pairs]

    class Reader:
        def rate_pairs(self, pairs):
            note(["read", *pairs])
            return [0.97 if "stereo" in a + b and "mono" in a + b else 0.03 for a, b in pairs]

    def load_reader(embed):
        note(["loaded"])
        if {broken!r}:
            raise OSError("no such file")
        return Reader()

    fast.load_contradiction_model, fast.load_embedder = load_reader, lambda name: Embedder()
    fast.load_statement_model = Statements
"""


class FakeModels:
    """Fake models: `environment` makes a daemon or a store process use them; `loads` and `pairs` are their calls."""

    def __init__(self, folder: Path, *, broken: bool = False) -> None:
        self._log = folder / "read.jsonl"
        shim = folder / "fakes"
        shim.mkdir()
        (shim / "sitecustomize.py").write_text(FAKES.format(log=str(self._log), broken=broken))
        self.environment: Mapping[str, str] = {"PYTHONPATH": os.pathsep.join((str(shim), str(SOURCES)))}

    @property
    def loads(self) -> int:
        return sum(what == "loaded" for what, *_ in self._lines())

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs in the order in which they were judged."""
        return [(a, b) for what, *pairs in self._lines() if what == "read" for a, b in pairs]

    def _lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []
