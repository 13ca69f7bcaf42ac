"""Integer version of the model: equal to the shipped graph, independent of the batch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hunchd.embedding import fastembed_backend
from hunchd.embedding.protobuf import GraphBuilder, read_tensors
from hunchd.embedding.quantized_model import build_integer_model


def test_tensors_round_trip_through_protobuf() -> None:
    graph = GraphBuilder()
    whole = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    graph.add_constant("bytes", whole)
    graph.add_constant("numbers", np.array([0.5, -2.0], np.float32))
    [made] = graph.add_node("Mul", "asked", "numbers", axis=-1, epsilon=1e-12)
    read = read_tensors(graph.build_model({"asked": (1, ("batch", 2))}, made, "answer"))
    assert sorted(read) == ["bytes", "numbers"]
    assert np.array_equal(read["bytes"], whole)
    assert read["numbers"].tolist() == [0.5, -2.0]


@pytest.mark.parametrize("broken", [b"\x3a\xff\xff\x03", b"\x3a\x05\x2a", b"\x0b", b"\x80"])
def test_truncated_model_raises_value_error(broken: bytes) -> None:
    with pytest.raises(ValueError):
        read_tensors(broken)


def test_unknown_model_raises_value_error() -> None:
    graph = GraphBuilder()
    graph.add_constant("val_1_q", np.zeros((2, 2), np.int8))
    with pytest.raises(ValueError, match="1 matrices"):
        build_integer_model(graph.build_model({}, "val_1_q", "answer"), is_signed=True)


def test_unsigned_weights_are_shifted_by_zero_point() -> None:
    shipped = fastembed_backend.locate_model_file().read_bytes()
    signed, plain = (read_tensors(build_integer_model(shipped, is_signed=signed)) for signed in (True, False))
    name = "3.query.key.value"
    assert signed[f"{name}.weights"].dtype == np.int8
    assert plain[f"{name}.weights"].dtype == np.uint8
    assert np.array_equal(signed[f"{name}.weights"].astype(int), plain[f"{name}.weights"].astype(int) - 128)
    assert set(plain[f"{name}.zeros"].tolist()) == {128}


@pytest.mark.slow
def test_integer_vectors_match_shipped_graph() -> None:
    """Run in a separate process: the shipped graph takes 300 MB, which this run would keep."""
    program = """
import numpy as np, onnxruntime as ort
from hunchd.embedding import fastembed_backend as fast
texts = ["how does the session cookie work", "a wheel", "Fix the parser: a token may end in the middle of a line " * 20]
model = fast.load_embedder()
alone = np.array([np.frombuffer(model.embed([text])[0], "<f4") for text in texts])
together = np.array([np.frombuffer(vector, "<f4") for vector in model.embed(texts)])
shipped = ort.InferenceSession(str(fast.locate_model_file()), providers=["CPUExecutionProvider"])
for own, text in zip(alone, texts):
    read = model._model.model.tokenizer.encode(text)
    ids = np.array([read.ids])
    said = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean = shipped.run(None, said)[0][0].mean(axis=0)
    print(own @ mean / np.linalg.norm(mean))
print(float(np.array_equal(alone, together)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    *cosines, same = (float(figure) for figure in done.stdout.split())
    assert min(cosines) > 0.97
    assert same == 1.0
