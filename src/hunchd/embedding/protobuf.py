"""Minimal Protocol Buffers codec for ONNX, without I/O.

It reads the tensors of a model and writes a small model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOAT: Final = 1  # ONNX's numbers for tensor types
INT32: Final = 6
INT64: Final = 7
_TYPES: Final[Mapping[int, Any]] = {FLOAT: np.float32, 2: np.uint8, 3: np.int8, INT32: np.int32, INT64: np.int64}
_NUMBERS: Final = {np.dtype(kind): number for number, kind in _TYPES.items()}
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5  # wire types


def read_tensors(model: bytes) -> dict[str, Array]:
    """Return the initializers of an ONNX model, keyed by name.

    The arrays are views of `model`. Raises ValueError if `model` is not an ONNX model.
    """
    tensors: dict[str, Array] = {}
    for number, graph in _iterate_fields(memoryview(model)):
        if number == 7:
            for inner, tensor in _iterate_fields(graph):
                if inner == 5:
                    name, array = _read_tensor(tensor)
                    tensors[name] = array
    return tensors


def _read_tensor(message: memoryview) -> tuple[str, Array]:
    dims: list[int] = []
    name, kind, raw = "", 0, memoryview(b"")
    for number, value in _iterate_fields(message):
        if number == 1:
            dims += [value] if isinstance(value, int) else _read_varints(value)
        elif number == 2:
            kind = int(value)
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    if kind not in _TYPES:
        return name, np.zeros(0)
    array = np.frombuffer(raw, _TYPES[kind])
    return name, array.reshape(dims) if array.size else array


def _iterate_fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field in a message.

    A value is an integer or a memory view.
    """
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
        elif wire in (_LENGTH, _FIXED64, _FIXED32):
            size, at = _read_varint(message, at) if wire == _LENGTH else (8 if wire == _FIXED64 else 4, at)
            if at + size > len(message):
                raise ValueError("the message ends in the middle of a field")
            yield number, message[at : at + size]
            at += size
        else:
            raise ValueError(f"unsupported protobuf wire type {wire}")


def _read_varints(data: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        values.append(value)
    return values


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("the message ends in the middle of a number")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


class GraphBuilder:
    """Builder for an ONNX graph, and for the model that contains it."""

    def __init__(self) -> None:
        self._encoded_parts: list[bytes] = []
        self._node_count = 0

    def add_constant(self, name: str, array: Array) -> str:
        """Add a constant tensor and return its name."""
        tensor = b"".join(_encode_number(1, size) for size in array.shape) + _encode_number(2, _NUMBERS[array.dtype])
        self._encoded_parts.append(
            _encode_bytes(5, tensor + _encode_text(8, name) + _encode_bytes(9, np.ascontiguousarray(array).tobytes()))
        )
        return name

    def add_node(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: float) -> list[str]:
        """Append a node and return the names of its outputs.

        An attribute is encoded as an integer or a float according to its type.
        """
        self._node_count += 1
        output_names = [f"{kind}_{self._node_count}_{number}" for number in range(outputs)]
        node = b"".join(_encode_text(1, name) for name in inputs) + b"".join(
            _encode_text(2, name) for name in output_names
        )
        node += _encode_text(4, kind) + (_encode_text(7, domain) if domain else b"")
        node += b"".join(_encode_bytes(5, _encode_attribute(name, value)) for name, value in attributes.items())
        self._encoded_parts.append(_encode_bytes(1, node))
        return output_names

    def build_model(
        self, inputs: Mapping[str, tuple[int, Sequence[str | int]]], output: str, exported_name: str
    ) -> bytes:
        """Return the encoded model, with typed inputs and one output.

        `inputs` maps each name to its type and shape; `output` is exported as `exported_name`.
        """
        self._encoded_parts.append(
            _encode_bytes(1, _encode_text(1, output) + _encode_text(2, exported_name) + _encode_text(4, "Identity"))
        )
        parts = [*self._encoded_parts, _encode_text(2, "hunchd")]
        parts += [_encode_bytes(11, _encode_value_info(name, kind, shape)) for name, (kind, shape) in inputs.items()]
        parts.append(
            _encode_bytes(
                12, _encode_text(1, exported_name) + _encode_bytes(2, _encode_bytes(1, _encode_number(1, FLOAT)))
            )
        )
        operators = [
            _encode_bytes(8, _encode_text(1, domain) + _encode_number(2, v)) for domain, v in (("", 17), (MICROSOFT, 1))
        ]
        # Joined once: the weights are 23 MB.
        size = _encode_varint(7 << 3 | _LENGTH) + _encode_varint(sum(map(len, parts)))
        return b"".join((_encode_number(1, 8), *operators, size, *parts))


MICROSOFT: Final = "com.microsoft"


def _encode_attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _encode_text(1, name) + _encode_number(3, value) + _encode_number(20, 2)
    return (
        _encode_text(1, name) + _encode_varint(2 << 3 | _FIXED32) + np.float32(value).tobytes() + _encode_number(20, 1)
    )


def _encode_value_info(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(
        _encode_bytes(1, _encode_text(2, one) if isinstance(one, str) else _encode_number(1, one)) for one in shape
    )
    return _encode_text(1, name) + _encode_bytes(2, _encode_bytes(1, _encode_number(1, kind) + _encode_bytes(2, sizes)))


def _encode_text(number: int, text: str) -> bytes:
    return _encode_bytes(number, text.encode())


def _encode_bytes(number: int, content: bytes) -> bytes:
    return _encode_varint(number << 3 | _LENGTH) + _encode_varint(len(content)) + content


def _encode_number(number: int, value: int) -> bytes:
    return _encode_varint(number << 3 | _VARINT) + _encode_varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _encode_varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
