"""Files that are damaged at every kind of field that a model can hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from onnx import TensorProto, helper, numpy_helper

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5


def rich_model() -> bytes:
    """Runs: x [2] gives y [2]. Holds a field of every kind somewhere."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["go_on"]),
            helper.make_node("Add", ["state", "small"], ["next"], name="grow"),
        ],
        "body",
        [_info("step", TensorProto.INT64, []), _info("going", TensorProto.BOOL, []),
         _info("state", TensorProto.FLOAT, [2])],
        [_info("go_on", TensorProto.BOOL, []), _info("next", TensorProto.FLOAT, [2])],
    )
    twice = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)], ["scale"],
    )
    nodes = [
        helper.make_node("Loop", ["trips", "", "x"], ["grown"], name="turns", body=body),
        helper.make_node("Twice", ["grown"], ["doubled"], domain="own", scale=1),
        helper.make_node("Elu", ["doubled"], ["bent"], alpha=0.5),
        helper.make_node("Transpose", ["bent"], ["turned"], perm=[0]),
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.ones(2, "f4"))),
        helper.make_node("Constant", [], ["floats"], value_floats=[1.0, 2.0]),
        helper.make_node("Constant", [], ["thin"], sparse_value=_sparse("thin_values")),
        helper.make_node("Constant", [], ["texts"], value_strings=["a", "b"]),
        helper.make_node("Sum", ["turned", "k", "floats", "thin", "thick"], ["y"], doc_string="sum"),
    ]
    graph = helper.make_graph(
        nodes, "rich", [_info("x", TensorProto.FLOAT, ["N"])], [_info("y", TensorProto.FLOAT, ["N"])],
        _tensors(), value_info=[_info("k", TensorProto.FLOAT, [2]), *_other_types()],
        sparse_initializer=[_sparse("thick")], doc_string="all kinds",
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("own", 1)],
        functions=[twice], ir_version=10, producer_name="maker", producer_version="1",
        doc_string="words", domain="example", model_version=3,
    )
    helper.set_model_props(model, {"author": "someone"})
    return model.SerializeToString()


def _info(name: str, kind: int, shape: list[Any]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _sparse(name: str) -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.ones(1, np.float32), name)
    indices = numpy_helper.from_array(np.array([1], np.int64), f"{name}_at")
    return helper.make_sparse_tensor(values, indices, [2])


def _tensors() -> list[TensorProto]:
    return [
        helper.make_tensor("trips", TensorProto.INT64, [], [3]),
        helper.make_tensor("small", TensorProto.FLOAT, [2], [0.5, 0.25]),
        helper.make_tensor("doubles", TensorProto.DOUBLE, [2], [0.5, 0.25]),
        helper.make_tensor("ints", TensorProto.INT32, [2], [1, 2]),
        helper.make_tensor("unsigned", TensorProto.UINT64, [2], [1, 2]),
        helper.make_tensor("words", TensorProto.STRING, [1], [b"one"]),
        helper.make_tensor("raw", TensorProto.FLOAT, [1], b"1234", raw=True),
    ]


def _other_types() -> list[onnx.ValueInfoProto]:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    sequence = helper.make_sequence_type_proto(tensor)
    return [
        helper.make_value_info("listed", sequence),
        helper.make_value_info("perhaps", helper.make_optional_type_proto(sequence)),
        helper.make_value_info("mapped", helper.make_map_type_proto(TensorProto.INT64, tensor)),
    ]


@dataclasses.dataclass(frozen=True)
class Field:
    """One occurrence in a file: the tag starts at `at`, what it holds is [begin, end)."""

    path: str
    wire: int
    at: int
    begin: int
    end: int


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data: bytes) -> list[Field]:
    """Every field of a serialised model, depth first."""
    return list(_fields(data, 0, len(data), onnx.ModelProto.DESCRIPTOR, "model"))


def _fields(data: bytes, at: int, end: int, kind: Descriptor, path: str) -> Iterator[Field]:
    while at < end:
        tag, after = _varint(data, at)
        wire, begin = tag & 7, after
        if wire == VARINT:
            stop = _varint(data, after)[1]
        elif wire == DELIMITED:
            size, begin = _varint(data, after)
            stop = begin + size
        else:
            stop = after + (4 if wire == FIXED32 else 8)
        field = kind.fields_by_number[tag >> 3]
        yield Field(f"{path}.{field.name}", wire, at, begin, stop)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            name = field.message_type.name.removesuffix("Proto").lower()
            yield from _fields(data, begin, stop, field.message_type, name)
        at = stop


def cut_files(data: bytes) -> dict[str, bytes]:
    """One file per kind of field, ending inside of it, or just after its tag."""
    files = {}
    for field in fields(data):
        files.setdefault(f"cut_in_{field.path}", data[: (field.begin + field.end) // 2]
                         if field.end - field.begin > 1 else data[: field.begin])
    return files


def long_files(data: bytes) -> dict[str, bytes]:
    """One per kind of field with a length: the length says more than there is."""
    files = {}
    for field in fields(data):
        if field.wire == DELIMITED:
            after_tag = _varint(data, field.at)[1]
            files.setdefault(f"too_long_{field.path}",
                             data[:after_tag] + b"\xff\xff\xff\xff\x07" + data[field.begin :])
    return files


def retyped_files(data: bytes) -> dict[str, bytes]:
    """One per kind of field: its tag says another wire type."""
    files = {}
    for field in fields(data):
        changed = data[field.at] & ~7 | (FIXED64 if field.wire != FIXED64 else VARINT)
        files.setdefault(f"other_wire_type_{field.path}",
                         data[: field.at] + bytes([changed]) + data[field.at + 1 :])
    return files


def foreign_files(data: bytes) -> dict[str, bytes]:
    """Groups are no part of ONNX; wire types 6 and 7 are part of nothing."""
    return {
        "group_begins": data + b"\xf3\x07",
        "group_ends": data + b"\xf4\x07",
        "wire_type_6": data + b"\xf6\x07",
        "wire_type_7": data + b"\xf7\x07",
        "field_zero": data + b"\x00\x01",
        "endless_varint": data + b"\x08" + b"\xff" * 11,
        "tag_of_ten_bytes": data + b"\xff" * 10 + b"\x01",
    }


def flipped(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Files with one to four bits turned."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        damaged = bytearray(data)
        for _ in range(random.integers(1, 5)):
            damaged[random.integers(len(data))] ^= 1 << int(random.integers(8))
        yield bytes(damaged)
