"""Hostile requests: models that nest, call, loop or grow without end, sizes that no machine has, data
outside the model's folder, and wrong feeds."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from hostile_graphs import (
    ARGUMENT, HUGE, LEAST, LIMIT, MEMORY, MODEL, NOT_FOUND, UNSUPPORTED, Hostile, changed, text, zeros,
)
from loop_models import parse

EITHER = (MODEL, ARGUMENT)
TOO_MUCH = (MODEL, ARGUMENT, LIMIT, MEMORY)


# --- functions ------------------------------------------------------------------------------


def functions_model(made: list[onnx.FunctionProto], call: str = "f0") -> bytes:
    model = onnx.load_from_string(parse("g (float[2] x) => (float[2] y) { [call] y = Neg(x) }", 21))
    model.graph.node[0].op_type = call
    model.graph.node[0].domain = "own"
    model.opset_import.add(domain="own", version=1)
    model.functions.extend(made)
    return model.SerializeToString()


def function(name: str, calls: list[str], **extra: Any) -> onnx.FunctionProto:
    """A chain of calls from 'a' to 'b'; a name without a dot is a function of the model."""
    values = ["a", *(f"v{i}" for i in range(1, len(calls))), "b"]
    nodes = [
        helper.make_node(op, [values[i]], [values[i + 1]], name=f"{name}_{i}",
                         domain="own" if op[0] == "f" else "")
        for i, op in enumerate(calls)
    ]
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, sets, **extra)


def functions() -> list[Hostile]:
    def case(name: str, make: Callable[[], bytes], codes: Any, *words: str) -> Hostile:
        codes = (codes,) if isinstance(codes, str) else codes
        return Hostile(f"function_{name}", lambda _: make(), codes, words)

    def laughs() -> bytes:
        """Each calls the one below it twice: 2^40 nodes."""
        made = [function(f"f{i}", [f"f{i + 1}"] * 2) for i in range(40)]
        return functions_model([*made, function("f40", ["Neg"])])

    def constants() -> bytes:
        """A megabyte of typed numbers, asked for 2^17 times."""
        made = [function(f"f{i}", [f"f{i + 1}"] * 2) for i in range(17)]
        last = function("f17", ["Neg"])
        numbers = np.ones(1 << 18, np.float32)
        kept = helper.make_tensor("k", TensorProto.FLOAT, [1 << 18], numbers)
        last.node.add(op_type="Constant", output=["unused"]).attribute.append(
            helper.make_attribute("value", kept)
        )
        return functions_model([*made, last])

    def deep() -> bytes:
        made = [function(f"f{i}", [f"f{i + 1}"]) for i in range(10_000)]
        return functions_model([*made, function("f10000", ["Neg"])])

    def ring() -> bytes:
        return functions_model([function(f"f{i}", [f"f{(i + 1) % 100}"]) for i in range(100)])

    def missing_output() -> bytes:
        made = function("f0", ["Neg"])
        made.output[0] = "nowhere"
        return functions_model([made])

    def many_inputs() -> bytes:
        made = function("f0", ["Neg"])
        del made.input[:]
        made.node[0].input[0] = "absent"
        return functions_model([made])

    def cycle_inside() -> bytes:
        made = function("f0", ["Neg", "Abs"])
        made.node[0].input[0] = "b"
        return functions_model([made])

    def outer_name() -> bytes:
        made = function("f0", ["Neg"])
        made.node[0].input[0] = "x"
        return functions_model([made])

    def attribute_without_value() -> bytes:
        made = function("f0", ["Elu"], attributes=["slope"])
        made.node[0].attribute.add(name="alpha", type=onnx.AttributeProto.INT, ref_attr_name="other")
        return functions_model([made])

    return [
        case("calls_itself", lambda: functions_model([function("f0", ["f0"])]), (MODEL, LIMIT), "f0"),
        case("calls_in_a_ring", ring, (MODEL, LIMIT), "own.f"),
        case("two_to_the_40", laughs, LIMIT, "262144 nodes", "f3"),
        case("one_constant_2_to_17_times", constants, LIMIT, "262144 nodes"),
        case("10000_deep", deep, LIMIT, "1000 deep"),
        case("output_of_nothing", missing_output, MODEL, "'nowhere'", "function 'f0'"),
        case("more_inputs_than_it_has", many_inputs, MODEL, "node 'call'", "1 input", "0"),
        case("cycle_inside", cycle_inside, MODEL, "'f0_0'", "'f0_1'"),
        case("reads_an_outer_name", outer_name, MODEL, "'f0_0'", "'x'"),
        case("reference_to_nothing", attribute_without_value, MODEL, "'alpha'", "'other'"),
    ]


# --- nesting --------------------------------------------------------------------------------


def message(field: int, inner: bytes) -> bytes:
    """A field of a message, written by hand: libraries refuse to nest this deep."""
    return head(field, len(inner)) + inner


def head(field: int, size: int) -> bytes:
    """Returns the tag and length that precede that many bytes of a message."""
    return varint(field << 3 | 2) + varint(size)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def node_bytes(op: str, inputs: list[str], output: str, **bodies: bytes) -> bytes:
    made = b"".join(message(1, name.encode()) for name in inputs)
    made += message(2, output.encode()) + message(4, op.encode())
    for role, graph in bodies.items():
        made += message(5, message(1, role.encode()) + message(6, graph) + b"\xa0\x01\x05")
    return message(1, made)


def nested_branches(depth: int, reads: int = 1) -> bytes:
    """If in If: each then_branch holds the next one, the innermost reads values of the main graph."""
    def output(name: str) -> bytes:
        return message(12, message(1, name.encode()))

    names = [f"k{i}" for i in range(reads)]
    inner = node_bytes("Sum", names, "r") + message(2, b"innermost") + output("r")
    other = node_bytes("Abs", ["x"], "e") + message(2, b"other") + output("e")
    otherwise = message(5, message(1, b"else_branch") + message(6, other) + b"\xa0\x01\x05")
    role, kind = message(1, b"then_branch"), b"\xa0\x01\x05"
    heads, tails, size = [], [inner], len(inner)
    for level in range(depth):
        name = f"v{level}"
        node = message(1, b"p") + message(2, name.encode()) + message(4, b"If")
        attribute = role + head(6, size)
        whole = len(attribute) + size + len(kind)
        branch = head(5, whole)
        node_size = len(node) + len(branch) + whole + len(otherwise)
        heads.append(head(1, node_size) + node + branch + attribute)
        tails.append(kind + otherwise + message(2, b"level") + output(name))
        size += len(heads[-1]) + len(tails[-1])
    inner = b"".join(heads[::-1] + tails)
    made = b"".join(node_bytes("Neg", ["x"], name) for name in names)
    x = onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]).SerializeToString()
    p = onnx.helper.make_tensor_value_info("p", TensorProto.BOOL, []).SerializeToString()
    graph = made + inner + message(11, x) + message(11, p)
    return b"\x08\x0a" + message(7, graph) + message(8, message(1, b"") + b"\x10\x15")


def nested_types(depth: int) -> bytes:
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [1]).SerializeToString()
    for _ in range(depth):
        kind = message(4, message(1, kind))
    x = message(1, b"x") + message(2, kind)
    graph = message(2, b"g") + message(11, x) + message(12, x)
    return b"\x08\x0a" + message(7, graph) + message(8, message(1, b"") + b"\x10\x15")


def nesting() -> list[Hostile]:
    def case(name: str, make: Callable[[], bytes], codes: Any, *words: str) -> Hostile:
        return Hostile(f"nesting_{name}", lambda _: make(), codes, words)

    return [
        case("10000_branches", lambda: nested_branches(10_000), (LIMIT, MODEL), "1000"),
        case("1001_branches", lambda: nested_branches(1001), (LIMIT, MODEL), "1000"),
        case("5000_names_through_500_branches", lambda: nested_branches(500, 5000), (LIMIT,),
             str(1 << 20), "names"),
        case("10000_types", lambda: nested_types(10_000), (LIMIT, MODEL, UNSUPPORTED), "x"),
    ]


# --- loops ----------------------------------------------------------------------------------


def endless(formals: str, results: str, nodes: str, outside: str, trip: str = "") -> str:
    """Loop without an end of its own."""
    outputs = "float[A] v, float[B,C] rows" if results else "float[A] v"
    return f"""g ({outside}) => ({outputs}) {{
      yes = Constant <value = bool {{1}}> ()
      [turns] v{results} = Loop <body = step (int64 i, bool c, {formals}) => {nodes}> ({trip}, yes, v0)
    }}"""


def loops() -> list[Hostile]:
    plain = endless("float[2] v1", "", "(bool d, float[2] w) { d = Identity(c) w = Neg(v1) }",
                    "float[2] v0")
    grows = endless("float[D] v1", "", "(bool d, float[E] w) { d = Identity(c) "
                    "w = Concat <axis = 0> (v1, v1) }", "float[M] v0")
    counted = endless("float[2] v1", ", rows", "(bool d, float[2] w, float[2] r) { d = Identity(c) "
                      "w = Neg(v1) r = Abs(v1) }", "int64 n, float[2] v0", "n")
    inner = """g (int64 n, float[2] v0) => (float[2] v) {
      [outer] v = Loop <body = step (int64 i, bool c, float[2] v1) => (bool d, float[2] w) {
        d = Identity(c)
        [inner] w = Loop <body = deep (int64 j, bool e, float[2] v2) => (bool f, float[2] u) {
          f = Identity(e) u = Neg(v2) }> (n, , v1)
      }> (n, , v0)
    }"""
    two, one = {"v0": zeros(2)}, {"v0": zeros(1)}
    far, near = {"n": np.int64(HUGE), **two}, {"deadline": 0.3, "max_steps": 1 << 62}

    def case(name: str, graph: str, feeds: Any, limits: Any, codes: Any, *words: str) -> Hostile:
        return text(f"loop_{name}", graph, *words, codes=codes, feeds=feeds, limits=limits)

    unlimited = case("endless_unlimited", plain, two, {}, LIMIT, "100000000", "max_steps", "'turns'")
    return [
        dataclasses.replace(unlimited, executions=("automatic",)),  # 1e8 steps are too many otherwise
        case("endless_step_limit", plain, two, {"max_steps": 5000}, LIMIT, "5000", "'turns'"),
        case("endless_deadline", plain, two, near, LIMIT, "0.3"),
        case("grows_without_end", grows, one, {"max_memory": 1 << 24}, LIMIT, "'w'", "memory budget"),
        case("int64_max_deadline", inner, far, near, LIMIT, "0.3"),
        case("int64_max_step_limit", counted, far, {"max_steps": 1000}, (LIMIT, MEMORY), "turns"),
        case("int64_max_memory", counted, far, {"max_memory": 1 << 22}, (LIMIT, MEMORY), "turns"),
        case("int64_max_nested", inner, far, {"max_steps": 1000}, LIMIT, "1000", "'inner'"),
        case("rows_beyond_memory", counted, {"n": np.int64(1 << 40), **two}, {"max_memory": 1 << 24},
             (LIMIT, MEMORY), "turns"),
    ]


# --- sizes ----------------------------------------------------------------------------------


def sizes() -> list[Hostile]:
    x4 = "g (float[4] x, int64[K] s) => (float[A] y)"

    def at_run(name: str, graph: str, feeds: Any, *words: str, codes: Any = TOO_MUCH) -> Hostile:
        return text(f"size_{name}", graph, *words, codes=codes, feeds=feeds)

    def with_sizes(name: str, node: str, values: list[int], *words: str) -> Hostile:
        """`node` reads x of 4 floats and sizes s."""
        feeds = {"x": zeros(4), "s": np.array(values, np.int64)}
        graph = f"g (float[4] x, int64[{len(values)}] s) => (float y) {{ [make] m = {node} y = ReduceSum" \
                " <keepdims = 0> (m) }"
        return at_run(name, graph, feeds, "make", *words)

    def fixed(name: str, node: str, values: list[int], *words: str) -> Hostile:
        """The same with sizes that are constants: found when loading, or when running."""
        listed = ", ".join(map(str, values))
        graph = f"g (float[4] x) => (float[A] y) {{ s = Constant <value_ints = [{listed}]> ()" \
                f" [make] y = {node} }}"
        return text(f"fixed_{name}", graph, "make", *words, codes=TOO_MUCH, feeds={"x": zeros(4)})

    return [
        with_sizes("fill_2_to_60", "ConstantOfShape(s)", [1 << 30, 1 << 30], str(1 << 30)),
        with_sizes("fill_2_to_39", "ConstantOfShape(s)", [1 << 39], str(1 << 39)),
        with_sizes("fill_negative", "ConstantOfShape(s)", [2, -3], "-3"),
        with_sizes("fill_least", "ConstantOfShape(s)", [LEAST], str(LEAST)),
        with_sizes("fill_wraps", "ConstantOfShape(s)", [1 << 32, 1 << 32], str(1 << 32)),
        with_sizes("expand_huge", "Expand(x, s)", [1 << 40, 4], str(1 << 40)),
        with_sizes("expand_greatest", "Expand(x, s)", [HUGE, 4], str(HUGE)),
        with_sizes("expand_negative", "Expand(x, s)", [-1, 4], "-1"),
        with_sizes("tile_huge", "Tile(x, s)", [1 << 61], str(1 << 61)),
        with_sizes("tile_negative", "Tile(x, s)", [-2], "-2"),
        with_sizes("tile_many_axes", "Tile(x, s)", [1, 1], "2", "1"),
        with_sizes("reshape_overflow", "Reshape(x, s)", [1 << 62, 4], str(1 << 62)),
        with_sizes("reshape_two_unknown", "Reshape(x, s)", [-1, -1], "two axes", "0 and 1"),
        with_sizes("reshape_negative", "Reshape(x, s)", [-2, 2], "-2"),
        with_sizes("reshape_by_zero", "Reshape <allowzero = 1> (x, s)", [0, -1], "4 elements", "0"),
        with_sizes("pad_huge", "Pad(x, s)", [1 << 61, 1 << 61], str(1 << 61)),
        with_sizes("pad_greatest", "Pad(x, s)", [HUGE, 0], str(HUGE)),
        with_sizes("pad_away", "Pad(x, s)", [-3, -3], "axis 0 of 4", "-2"),
        with_sizes("gather_least", "Gather(x, s)", [LEAST], str(LEAST), "4"),
        with_sizes("gather_greatest", "Gather(x, s)", [HUGE], str(HUGE), "4"),
        fixed("fill_2_to_60", "ConstantOfShape(s)", [1 << 30, 1 << 30], str(1 << 30)),
        # The results alone are too large; nothing is said of the node that makes them.
        text("fixed_fill_2_to_39", f"g () => (float[A] y) {{ s = Constant <value_ints = [{1 << 39}]> ()"
             " y = ConstantOfShape(s) }", str(4 << 39), "memory budget", codes=(LIMIT, MEMORY), feeds={}),
        fixed("tile_huge", "Tile(x, s)", [1 << 61], str(1 << 61)),
        fixed("expand_negative", "Expand(x, s)", [-1, 4], "-1"),
        fixed("unsqueeze_axis_twice", "Unsqueeze(x, s)", [0, 0], "0"),
        fixed("unsqueeze_axis_least", "Unsqueeze(x, s)", [LEAST], str(LEAST)),
        fixed("reshape_two_unknown", "Reshape(x, s)", [-1, -1], "two axes", "0 and 1"),
        at_run("range_huge", "g (int64 n) => (int64[A] y) { z = Constant <value_int = 0> () "
               "o = Constant <value_int = 1> () [make] y = Range(z, n, o) }", {"n": np.int64(HUGE)},
               "make", str(HUGE)),
        at_run("range_of_no_step", "g (int64 n) => (int64[A] y) { z = Constant <value_int = 0> () "
               "o = Constant <value_int = 1> () [make] y = Range(z, o, n) }", {"n": np.int64(0)},
               "make", "delta 0"),
        at_run("range_nan", "g (float n) => (float[A] y) { z = Constant <value_float = 0.0> () "
               "o = Constant <value_float = 1.0> () [make] y = Range(z, n, o) }",
               {"n": np.float32(np.nan)}, "make", "nan"),
        at_run("range_infinite", "g (float n) => (float[A] y) { z = Constant <value_float = 0.0> () "
               "o = Constant <value_float = 1.0> () [make] y = Range(z, n, o) }",
               {"n": np.float32(np.inf)}, "make", "inf"),
        at_run("greatest_of_huge", "g (float[4] x, int64[1] k) => (float[A] v, int64[A] i) "
               "{ [make] v, i = TopK(x, k) }", {"x": zeros(4), "k": [HUGE]}, "make", str(HUGE)),
        at_run("greatest_of_negative", "g (float[4] x, int64[1] k) => (float[A] v, int64[A] i) "
               "{ [make] v, i = TopK(x, k) }", {"x": zeros(4), "k": [-1]}, "make", "-1"),
        at_run("split_sum", "g (float[4] x, int64[2] s) => (float[A] p, float[B] q) "
               "{ [make] p, q = Split <axis = 0> (x, s) }", {"x": zeros(4), "s": [HUGE, 5]}, "make"),
        at_run("split_negative", "g (float[4] x, int64[2] s) => (float[A] p, float[B] q) "
               "{ [make] p, q = Split <axis = 0> (x, s) }", {"x": zeros(4), "s": [-1, 5]}, "make", "-1"),
        # Of a scalar nothing but the lengths of the lists says that they are wrong.
        at_run("pad_of_a_scalar", "g (float x, int64[K] s) => (float y) { [make] y = Pad(x, s) }",
               {"x": np.float32(1), "s": np.full(2000, 7)}, "make", "2000 pads", "0 axes"),
        at_run("slice_by_tables", "g (float x, int64[A,B] s, int64[C] e) => (float y) "
               "{ [make] y = Slice(x, s, e) }",
               {"x": np.float32(1), "s": np.zeros((2, 3), np.int64), "e": np.zeros(3, np.int64)},
               "make", "2 axes"),
        at_run("reshape_to_one", "g (float[N] x, int64[K] s) => (float[A] y) { [make] m = Reshape(x, s) "
               "o = Constant <value_ints = [1]> () y = Reshape(m, o) }",
               {"x": zeros(0), "s": np.zeros(0, np.int64)}, "make", "0 elements", "1"),
        at_run("expand_by_a_table", "g (float[N] x, int64[A,B] s) => (float y) { [make] m = Expand(x, s) "
               "y = ReduceSum <keepdims = 0> (m) }",
               {"x": zeros(2), "s": np.ones((1, 2), np.int64)}, "make", "2 axes"),
        text("convolution_stride_0", "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,A] y) "
             "{ [make] y = Conv <strides = [0]> (x, w) }", "make", "0"),
        text("convolution_dilation_huge", "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,A] y) "
             f"{{ [make] y = Conv <dilations = [{HUGE}]> (x, w) }}", "make", str(HUGE), codes=TOO_MUCH),
        text("convolution_pads_huge", "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,A] y) "
             f"{{ [make] y = Conv <pads = [{HUGE}, {HUGE}]> (x, w) }}", "make", codes=TOO_MUCH),
        text("convolution_pads_negative", "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,A] y) "
             "{ [make] y = Conv <pads = [-1, 0]> (x, w) }", "make", "-1"),
        text("convolution_group_0", "g (float[1,1,9] x, float[1,1,3] w) => (float[1,1,A] y) "
             "{ [make] y = Conv <group = 0> (x, w) }", "make", "0"),
        text("convolution_few_strides", "g (float[1,1,9,9] x, float[1,1,3,3] w) => (float[1,1,A,B] y) "
             "{ [make] y = Conv <strides = [1]> (x, w) }", "make", "1", "2"),
        text("transpose_twice", "g (float[2,3] x) => (float[A,B] y) "
             "{ [make] y = Transpose <perm = [0, 0]> (x) }", "make", "0"),
        text("transpose_short", "g (float[2,3] x) => (float[A,B] y) "
             "{ [make] y = Transpose <perm = [0]> (x) }", "make", "1", "2"),
    ]


# --- external data --------------------------------------------------------------------------


def external(name: str, location: str, codes: Any, *words: str, size: int = 3,
             prepare: Callable[[pathlib.Path], Any] = lambda folder: None, **entries: str) -> Hostile:
    def make(folder: pathlib.Path) -> pathlib.Path:
        model = onnx.load_from_string(parse(f"g (float[{size}] x) => (float[{size}] y) "
                                            "{ [sum] y = Add(x, w) }", 21))
        made = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[size])
        made.data_location = TensorProto.EXTERNAL
        for key, value in {"location": location, **entries}.items():
            made.external_data.add(key=key, value=value)
        inside = folder / "model"
        inside.mkdir()
        (folder / "secret.bin").write_bytes(bytes(12))
        (inside / "weights.bin").write_bytes(bytes(12))
        prepare(inside)
        path = inside / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return Hostile(f"external_{name}", make, codes if isinstance(codes, tuple) else (codes,),
                   ("tensor 'w'", *words))


def external_data() -> list[Hostile]:
    def linked(target: str) -> Callable[[pathlib.Path], None]:
        return lambda folder: os.symlink(target, folder / "link.bin")

    def sparse_file(folder: pathlib.Path) -> None:
        with open(folder / "large.bin", "wb") as file:
            file.truncate(1 << 36)

    past = str(2**64 - 1)
    return [
        external("above", "../secret.bin", EITHER, "../secret.bin"),
        external("above_in_the_middle", "sub/../../secret.bin", EITHER, "secret.bin"),
        external("absolute", "/etc/passwd", EITHER, "/etc/passwd", "relative"),
        external("link_leaves", "link.bin", EITHER, "link.bin", prepare=linked("../secret.bin")),
        external("link_absolute", "link.bin", EITHER, "link.bin", prepare=linked("/etc/passwd")),
        external("link_loops", "link.bin", (NOT_FOUND, *EITHER), "link.bin", prepare=linked("link.bin")),
        external("link_of_a_folder", "up/secret.bin", EITHER, "secret.bin",
                 prepare=lambda folder: os.symlink("..", folder / "up")),
        external("device", "link.bin", EITHER, "link.bin", prepare=linked("/dev/zero")),
        external("folder", "sub", (NOT_FOUND, *EITHER), "sub",
                 prepare=lambda folder: (folder / "sub").mkdir()),
        external("pipe", "pipe.bin", (NOT_FOUND, *EITHER), "pipe.bin",
                 prepare=lambda folder: os.mkfifo(folder / "pipe.bin")),
        external("missing", "nothing.bin", NOT_FOUND, "nothing.bin"),
        external("empty_location", "", EITHER, "location"),
        external("zero_byte", "weights.bin\0.txt", EITHER, "zero byte"),
        external("offset_past_end", "weights.bin", MODEL, "13", "12", offset="13"),
        external("offset_hides_data", "weights.bin", MODEL, "8", "12", offset="4"),
        external("offset_overflows", "weights.bin", MODEL, past, offset=past, length="12"),
        external("offset_negative", "weights.bin", MODEL, "offset", "'-4'", offset="-4"),
        external("offset_in_words", "weights.bin", MODEL, "offset", "'four'", offset="four"),
        external("offset_of_21_digits", "weights.bin", MODEL, "offset", offset="9" * 21),
        external("length_past_end", "weights.bin", MODEL, "16", "12", length="16"),
        external("length_huge", "weights.bin", MODEL, past, length=past, offset="4"),
        external("length_short", "weights.bin", MODEL, "8 bytes", "needs 12", length="8"),
        external("length_hexadecimal", "weights.bin", MODEL, "length", "'0xc'", length="0xc"),
        # 64 GB of holes: the file is too short for the shape, or too long for the address space.
        external("shape_beyond_file", "large.bin", EITHER, size=1 << 36, prepare=sparse_file),
    ]


# --- feeds ----------------------------------------------------------------------------------


def feeds() -> list[Hostile]:
    graph = "g (float[N,3] x, int64[N] i, bool p) => (float[N,3] y) { y = Neg(x) }"
    good = {"x": zeros(2, 3), "i": np.zeros(2, np.int64), "p": np.array(True)}

    def case(name: str, words: tuple[str, ...], codes: Any = ARGUMENT, **given: Any) -> Hostile:
        merged = {key: value for key, value in {**good, **given}.items() if value is not ...}
        return text(f"feed_{name}", graph, *words, codes=codes, feeds=merged)

    records = np.zeros(2, [("a", "i4"), ("b", "i4")])
    return [
        case("missing", ("'x'", "not fed"), x=...),
        case("of_no_input", ("no input 'z'",), z=zeros(1)),
        case("rank", ("'x'", "rank 2", "rank 1"), x=zeros(6)),
        case("size", ("'x'", "size 3 on axis 1", "4"), x=zeros(2, 4)),
        case("wider_type", ("'x'", "float", "double"), x=np.zeros((2, 3))),
        case("narrower_type", ("'i'", "int64", "int32"), i=np.zeros(2, np.int32)),
        case("number_for_a_boolean", ("'p'", "bool"), p=np.array(1.5)),
        case("records", ("'i'",), (ARGUMENT, UNSUPPORTED), i=records),
        case("dates", ("'i'",), (ARGUMENT, UNSUPPORTED), i=np.zeros(2, "datetime64[s]")),
        case("objects", ("'i'",), i=np.array([None, 3], object)),
        case("nothing", ("'i'",), i=None),
        case("ragged", ("'i'",), i=[[1], [1, 2]]),
        case("huge_number", ("'i'",), i=[2**70, 1]),
        case("texts", ("'x'",), (ARGUMENT, UNSUPPORTED), x=np.array([["a", "b", "c"]] * 2)),
        case("a_dictionary", ("'i'",), i={"a": 1}),
        case("a_list_for_a_tensor", ("'x'",), x=[zeros(2, 3), zeros(2, 4)]),
        case("complex", ("'x'", "complex"), x=np.zeros((2, 3), np.complex64)),
    ]
