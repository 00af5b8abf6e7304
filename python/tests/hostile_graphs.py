"""Hostile graphs: each makes one mistake, or exceeds a limit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import onnx
from onnx import TensorProto, helper

from loop_models import parse

MODEL, ARGUMENT, UNSUPPORTED = "invalid_model", "invalid_argument", "unsupported"
LIMIT, MEMORY, NOT_FOUND = "limit_reached", "out_of_memory", "not_found"
HUGE, LEAST = 2**63 - 1, -(2**63)


@dataclasses.dataclass(frozen=True)
class Hostile:
    """`make` gives bytes or a path; `words` are parts of the message; no feeds: loading fails."""

    name: str
    make: Callable[[Any], Any]
    codes: tuple[str, ...]
    words: tuple[str, ...]
    feeds: Optional[dict[str, Any]] = None
    limits: Optional[dict[str, Any]] = None  # of scanloom.RunOptions
    executions: tuple[str, ...] = ("automatic", "interpreted")


def text(name: str, graph: str, *words: str, codes: Any = MODEL, opset: int = 21,
         feeds: Any = None, limits: Any = None) -> Hostile:
    """A model in onnx's text form."""
    codes = (codes,) if isinstance(codes, str) else codes
    return Hostile(name, lambda _: parse(graph, opset), codes, words, feeds, limits)


PLAIN = "g (float[2] x) => (float[2] y) { [minus] y = Neg(x) }"


def changed(name: str, change: Callable[[onnx.ModelProto], Any], *words: str, codes: Any = MODEL,
            graph: str = PLAIN, feeds: Any = None) -> Hostile:
    """A sound model, after `change`."""

    def make(_: Any) -> bytes:
        model = onnx.load_from_string(parse(graph, 21))
        change(model)
        return model.SerializeToString()

    codes = (codes,) if isinstance(codes, str) else codes
    return Hostile(name, make, codes, words, feeds)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


# --- tensors --------------------------------------------------------------------------------


def tensor(name: str, fill: Callable[[TensorProto], Any], *words: str, codes: Any = MODEL) -> Hostile:
    """An initialiser 'w' of 3 floats, after `fill`."""

    def change(model: onnx.ModelProto) -> None:
        made = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[3])
        fill(made)

    graph = "g (float[3] x) => (float[3] y) { [minus] y = Neg(x) }"
    return changed(f"tensor_{name}", change, "tensor 'w'", *words, codes=codes, graph=graph)


def typed(kind: int, dims: list[int], **data: list[Any]) -> Callable[[TensorProto], None]:
    def fill(made: TensorProto) -> None:
        made.data_type = kind
        made.dims[:] = dims
        for field, values in data.items():
            if field == "raw_data":
                made.raw_data = bytes(values)
            else:
                getattr(made, field).extend(values)

    return fill


def tensors() -> list[Hostile]:
    t = TensorProto
    return [
        tensor("raw_short", typed(t.FLOAT, [3], raw_data=[0] * 11), "11 bytes", "needs 12"),
        tensor("raw_empty", typed(t.FLOAT, [3], raw_data=[]), "3"),
        tensor("raw_short_int4", typed(t.INT4, [5], raw_data=[0] * 2), "2 bytes", "needs 3"),
        tensor("raw_short_int2", typed(t.INT2, [9], raw_data=[0] * 2), "2 bytes", "needs 3"),
        tensor("raw_short_complex", typed(t.COMPLEX128, [1], raw_data=[0] * 15), "15", "needs 16"),
        tensor("raw_strings", typed(t.STRING, [1], raw_data=[65]), "raw data cannot hold strings"),
        tensor("few_floats", typed(t.FLOAT, [3], float_data=[1, 2]), "float_data", "2", "3"),
        tensor("many_floats", typed(t.FLOAT, [3], float_data=[1] * 4), "float_data", "4", "3"),
        tensor("few_doubles", typed(t.DOUBLE, [3], double_data=[1]), "double_data", "1", "3"),
        tensor("few_longs", typed(t.INT64, [2], int64_data=[1]), "int64_data", "1", "2"),
        tensor("few_unsigned", typed(t.UINT64, [2], uint64_data=[1]), "uint64_data", "1", "2"),
        tensor("few_bytes", typed(t.INT8, [2], int32_data=[1]), "int32_data", "1", "2"),
        tensor("few_strings", typed(t.STRING, [2], string_data=[b"a"]), "string_data", "1", "2"),
        tensor("odd_complex", typed(t.COMPLEX64, [2], float_data=[1, 2, 3]), "3 values", "4"),
        tensor("few_int4", typed(t.UINT4, [5], int32_data=[1, 2]), "2 values", "needs 3"),
        tensor("field_of_another_type", typed(t.FLOAT, [1], int64_data=[1]), "float_data", "0", "1"),
        tensor("int8_out_of_range", typed(t.INT8, [1], int32_data=[200]), "200", "int8"),
        tensor("uint16_out_of_range", typed(t.UINT16, [1], int32_data=[-1]), "-1", "uint16"),
        tensor("bool_of_two", typed(t.BOOL, [1], int32_data=[2]), "2", "bool"),
        tensor("float16_out_of_range", typed(t.FLOAT16, [1], int32_data=[1 << 16]), "65536"),
        tensor("type_zero", typed(0, [1], float_data=[1]), "element type 0"),
        tensor("type_99", typed(99, [1], float_data=[1]), "element type 99"),
        tensor("type_negative", typed(-1, [1], float_data=[1]), "element type -1"),
        tensor("size_negative", typed(t.FLOAT, [2, -3]), "axis 1", "-3"),
        tensor("size_least", typed(t.FLOAT, [LEAST]), "axis 0", str(LEAST)),
        tensor("product_overflows", typed(t.FLOAT, [2**32, 2**32]), "4294967296", "more elements"),
        tensor("product_wraps_to_zero", typed(t.FLOAT, [2**32, 2**32, 2**32]), "more elements"),
        tensor("product_of_three", typed(t.FLOAT, [HUGE, 3, 1]), str(HUGE), "more elements"),
        tensor("dims_beyond_data", typed(t.FLOAT, [1 << 39], float_data=[1]), str(1 << 39)),
        tensor("strings_beyond_data", typed(t.STRING, [1 << 39], string_data=[b"a"]), str(1 << 39)),
        tensor("rank_100000", typed(t.FLOAT, [1] * 100_000, float_data=[1]), "100000 axes",
               codes=UNSUPPORTED),
    ]


# --- sparse tensors -------------------------------------------------------------------------


def sparse(name: str, dims: list[int], at: Any, values: Any, *words: str, kind: int = TensorProto.INT64,
           codes: Any = MODEL) -> Hostile:
    at = np.array(at, np.int64)

    def change(model: onnx.ModelProto) -> None:
        made = model.graph.sparse_initializer.add(dims=dims)
        made.values.CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values))
        made.indices.CopyFrom(helper.make_tensor("at", kind, at.shape, at.ravel()))

    return changed(f"sparse_{name}", change, "sparse tensor 'w'", *words, codes=codes)


def sparse_tensors() -> list[Hostile]:
    def many(model: onnx.ModelProto) -> None:
        """Each is small enough, all of them are not."""
        for index in range(40):
            made = model.graph.sparse_initializer.add(dims=[1 << 26])
            made.values.CopyFrom(helper.make_tensor(f"w{index}", TensorProto.FLOAT, [1], [1.0]))
            made.indices.CopyFrom(helper.make_tensor("at", TensorProto.INT64, [1], [0]))

    return [
        changed("sparse_many", many, "sparse tensor 'w2'", str(1 << 29), codes=LIMIT),
        sparse("index_negative", [4], [-1], [1.0], "-1", "[4]"),
        sparse("index_past_end", [4], [4], [1.0], "4", "[4]"),
        sparse("index_huge", [4], [HUGE], [1.0], str(HUGE)),
        sparse("row_past_end", [2, 3], [[1, 3]], [1.0], "3", "axis of 3"),
        sparse("more_indices", [4], [0, 1], [1.0], "[2]", "1 value"),
        sparse("fewer_indices", [4], [0], [1.0, 2.0], "[1]", "2 values"),
        sparse("columns", [2, 3], [[0, 1, 2]], [1.0], "[1,3]", "2 axes"),
        sparse("index_type", [4], [0], [1.0], "i32", kind=TensorProto.INT32),
        sparse("size_negative", [-4], [0], [1.0], "-4"),
        sparse("size_overflows", [2**40, 2**40], [0], [1.0], str(2**40)),
        sparse("dense_is_huge", [2**38], [0], [1.0], str(2**38), codes=UNSUPPORTED),
    ]


# --- attributes -----------------------------------------------------------------------------


def attribute(name: str, change: Callable[[onnx.AttributeProto], Any], *words: str,
              graph: str = "g (float[2,3] x) => (float[K] y) { [pick] y = Softmax <axis = 0> (x) }",
              codes: Any = MODEL) -> Hostile:
    return changed(f"attribute_{name}", lambda m: change(m.graph.node[0].attribute[0]), *words,
                   graph=graph, codes=codes)


def set_kind(kind: int, **fields: Any) -> Callable[[onnx.AttributeProto], None]:
    def change(made: onnx.AttributeProto) -> None:
        made.ClearField("i")
        made.type = kind
        for field, value in fields.items():
            if isinstance(value, list):
                getattr(made, field).extend(value)
            else:
                setattr(made, field, value)

    return change


def attributes() -> list[Hostile]:
    a = onnx.AttributeProto
    node = "node 'pick'"

    def twice(model: onnx.ModelProto) -> None:
        node = model.graph.node[0]
        node.attribute.append(node.attribute[0])

    def both(made: onnx.AttributeProto) -> None:
        made.f = 1.0

    def many(model: onnx.ModelProto) -> None:
        for index in range(5000):
            model.graph.node[0].attribute.add(name=f"a{index}", type=a.INT, i=1)

    soft = "g (float[2,3] x) => (float[K] y) { [pick] y = Softmax <axis = 0> (x) }"
    return [
        attribute("real_for_integer", set_kind(a.FLOAT, f=1.0), node, "'axis'", "a float", "an integer"),
        attribute("text_for_integer", set_kind(a.STRING, s=b"1"), node, "'axis'", "a string"),
        attribute("list_for_integer", set_kind(a.INTS, ints=[1]), node, "'axis'", "a list of integers"),
        attribute("declared_otherwise", set_kind(a.FLOAT, i=1), node, "'axis'", "a float", "an integer"),
        attribute("two_values", both, node, "'axis'", "an integer, but holds a float"),
        attribute("kind_99", lambda m: set_kind_number(m, 99), node, "'axis'", "99"),
        attribute("kind_negative", lambda m: set_kind_number(m, -1), node, "'axis'", "-1"),
        attribute("reference_outside_functions", lambda m: setattr(m, "ref_attr_name", "outer"),
                  node, "'axis'", "'outer'"),
        changed("attribute_twice", twice, node, "'axis' appears twice", graph=soft),
        changed("attribute_5000", many, "5001", "1000", graph=soft),
        attribute("axis_huge", lambda m: setattr(m, "i", HUGE), node, str(HUGE), "[-2, 2)"),
        attribute("axis_least", lambda m: setattr(m, "i", LEAST), node, str(LEAST), "[-2, 2)"),
        text("cast_to_nothing", "g (float[2] x) => (float[2] y) { [as] y = Cast <to = 0> (x) }",
             "node 'as'", "0"),
        text("cast_to_unknown", "g (float[2] x) => (float[2] y) { [as] y = Cast <to = 99> (x) }",
             "node 'as'", "99"),
        text("constant_of_nothing", "g () => (float[2] y) { [k] y = Constant () }", "node 'k'", "value"),
        text("constant_of_two",
             "g () => (float[K] y) { [k] y = Constant <value_ints = [1], value_float = 1.0> () }",
             "node 'k'", "value"),
        changed("body_is_a_tensor", body_is_a_tensor, "node 'choice'", "'then_branch'", "a graph",
                graph="g (float[2] x, bool p) => (float[2] y) { [choice] y = If <then_branch = t () "
                "=> (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }> (p) }"),
    ]


def set_kind_number(made: onnx.AttributeProto, number: int) -> None:
    """A number that the enumeration lacks; proto2 keeps it as an unknown field."""
    made.ClearField("type")
    varint = number % 2**64
    encoded = bytearray(b"\xa0\x01")
    while varint > 127:
        encoded.append(varint & 127 | 128)
        varint >>= 7
    made.MergeFromString(bytes(encoded) + bytes([varint]))


def body_is_a_tensor(model: onnx.ModelProto) -> None:
    branch = model.graph.node[0].attribute[0]
    branch.ClearField("g")
    branch.type = onnx.AttributeProto.TENSOR
    branch.t.CopyFrom(helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0]))


# --- names and structure --------------------------------------------------------------------


def old_opset(version: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = version

    return change

def many_opsets(model: onnx.ModelProto) -> None:
    for index in range(3000):
        model.opset_import.add(domain=f"d{index}", version=1)


def map_input(key: int, value: onnx.TypeProto) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        map_type = model.graph.input[0].type.map_type
        map_type.key_type = key
        map_type.value_type.CopyFrom(value)

    return change


def maps() -> list[Hostile]:
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    numbers = helper.make_sequence_type_proto(number)
    text, integer = TensorProto.STRING, TensorProto.INT64
    keys = ("graph input 0 'x'", "other keys than int64 or strings")
    return [
        changed("input_is_a_map", map_input(integer, number), "node 'minus'", "operand 0 'x'",
                "must be a numeric tensor, not map("),
        changed("map_of_float_keys", map_input(TensorProto.FLOAT, number), *keys, codes=UNSUPPORTED),
        changed("map_of_unknown_keys", map_input(99, number), *keys, codes=UNSUPPORTED),
        changed("map_to_sequences", map_input(text, numbers), "graph input 0 'x'",
                "values that are sequences", codes=UNSUPPORTED),
        changed("map_to_no_type", map_input(text, onnx.TypeProto()), "graph input 0 'x'", "no type"),
    ]


def structure() -> list[Hostile]:
    def twice_input(model: onnx.ModelProto) -> None:
        model.graph.input.append(model.graph.input[0])

    def nameless_input(model: onnx.ModelProto) -> None:
        model.graph.input[0].name = ""

    def untyped_input(model: onnx.ModelProto) -> None:
        model.graph.input[0].ClearField("type")

    def twice_initialiser(model: onnx.ModelProto) -> None:
        for _ in range(2):
            model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]))

    def initialiser_is_made(model: onnx.ModelProto) -> None:
        model.graph.initializer.append(helper.make_tensor("y", TensorProto.FLOAT, [2], [1.0, 2.0]))

    def nameless_initialiser(model: onnx.ModelProto) -> None:
        model.graph.initializer.append(helper.make_tensor("", TensorProto.FLOAT, [1], [1.0]))

    def huge_size(model: onnx.ModelProto) -> None:
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = HUGE

    def no_graph(model: onnx.ModelProto) -> None:
        model.ClearField("graph")

    def no_opset_of_domain(model: onnx.ModelProto) -> None:
        model.graph.node[0].domain = "ai.onnx.ml"

    def missing_function(model: onnx.ModelProto) -> None:
        model.graph.node[0].domain = "own"
        model.opset_import.add(domain="own", version=1)

    def self_cycle(model: onnx.ModelProto) -> None:
        model.graph.node[0].input[0] = "y"

    def long_cycle(model: onnx.ModelProto) -> None:
        del model.graph.node[:]
        count = 20_000
        for i in range(count):
            model.graph.node.add(op_type="Neg", input=[f"v{(i + 1) % count}"], output=[f"v{i}"])
        model.graph.output[0].name = "v0"

    def output_of_nothing(model: onnx.ModelProto) -> None:
        model.graph.output[0].name = ""

    return [
        changed("input_twice", twice_input, "input 1 'x'", "has the same name as graph input 0"),
        changed("input_without_name", nameless_input, "input 0", "no name"),
        changed("input_without_type", untyped_input, "input 0 'x'", "type"),
        changed("initialiser_twice", twice_initialiser, "'w'", "has the same name as"),
        changed("initialiser_without_name", nameless_initialiser, "initialiser", "no name"),
        changed("initialiser_is_made_too", initialiser_is_made, "node 'minus'", "'y'",
                "has the same name as"),
        changed("declared_size_huge", huge_size, "node 'minus'", str(HUGE), "2^40"),
        changed("no_graph", no_graph, "no graph"),
        changed("domain_not_imported", no_opset_of_domain, "Neg", codes=(MODEL, UNSUPPORTED)),
        changed("function_missing", missing_function, "own.Neg", codes=UNSUPPORTED),
        changed("opset_0", old_opset(0), "version 0", "'ai.onnx'", codes=UNSUPPORTED),
        changed("opset_negative", old_opset(-5), "version -5", codes=UNSUPPORTED),
        changed("opset_least", old_opset(LEAST), str(LEAST), codes=UNSUPPORTED),
        changed("opsets_3000", many_opsets, "3001", "1000"),
        changed("cycle_of_one", self_cycle, "node 'minus'", "depend on each other"),
        changed("cycle_of_20000", long_cycle, "depend on each other", "'v0'", "and 19995 more"),
        changed("output_without_name", output_of_nothing, "output 0"),
        text("shadowing_node",
             """g (float[2] x, bool p) => (float[2] y) {
               [choice] y = If <then_branch = t () => (float[2] x) { [hide] x = Neg(y0) },
                 else_branch = e () => (float[2] b) { b = Abs(y0) }> (p)
               y0 = Neg(x)
             }""", "'hide'", "'x'"),
        text("formal_twice",
             """g (int64 n, float[2] v0) => (float[2] v) {
               [turns] v = Loop <body = step (int64 i, bool i, float[2] v1) => (bool d, float[2] w) {
                 d = Identity(i) w = Neg(v1) }> (n, , v0)
             }""", "node 'turns'", "input 1 'i'", "another"),
        text("body_reads_later_value",
             """g (int64 n, float[2] v0) => (float[2] v) {
               [turns] v = Loop <body = step (int64 i, bool c, float[2] v1) => (bool d, float[2] w) {
                 d = Identity(c) [late] w = Add(v1, v) }> (n, , v0)
             }""", "'turns'"),
        text("body_value_read_outside",
             """g (int64 n, float[2] v0) => (float[2] z) {
               [turns] v = Loop <body = step (int64 i, bool c, float[2] v1) => (bool d, float[2] w) {
                 d = Identity(c) w = Neg(v1) }> (n, , v0)
               [read] z = Neg(w)
             }""", "node 'read'", "'w'"),
    ]
