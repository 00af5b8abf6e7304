"""Sequences, optionals and strings: in and out, through loops and branches, both ways of running."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import scanloom
from onnx import TensorProto, helper
from onnx.parser import parse_model

EXECUTIONS = ("automatic", "interpreted")


def model(graph: str, opset: int = 20, domains: str = "") -> bytes:
    header = f'<ir_version: 10, opset_import: ["" : {opset}{domains}]>\n'
    return parse_model(header + graph).SerializeToString()


def run(graph: str | bytes, feeds: dict[str, Any], **options: Any) -> list[Any]:
    """The outputs, which both ways of running agree on."""
    source = graph if isinstance(graph, bytes) else model(graph)
    results = [
        scanloom.InferenceSession(source, execution=execution, **options).run(None, feeds)
        for execution in EXECUTIONS
    ]
    for one, other in zip(*results):
        assert_same(one, other)
    return results[0]


def error_of(graph: str | bytes, feeds: dict[str, Any], kind: type[Exception]) -> str:
    """Returns the message of the error, which both executions must raise."""
    source = graph if isinstance(graph, bytes) else model(graph)
    texts = []
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(source, execution=execution)
        with pytest.raises(kind) as caught:
            session.run(None, feeds)
        texts.append(str(caught.value))
    return "\n".join(texts)


def assert_same(got: Any, wanted: Any) -> None:
    if wanted is None or isinstance(wanted, list):
        assert type(got) is type(wanted)
        assert len(got or ()) == len(wanted or ())
        for one, other in zip(got or (), wanted or ()):
            assert_same(one, other)
        return
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    assert got.dtype.kind == wanted.dtype.kind or (got.dtype == object and wanted.dtype.kind == "U")
    np.testing.assert_array_equal(got, wanted)


def f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


A, B, C = f32(1, 2), f32(3), f32(4, 5, 6)


def test_a_sequence_is_made_and_handed_out_as_a_list() -> None:
    (items,) = run(
        "g (float[N] a, float[M] b) => (seq(float[K]) s) { s = SequenceConstruct(a, b) }",
        {"a": A, "b": B},
    )
    assert_same(items, [A, B])


def test_items_are_read_inserted_and_erased() -> None:
    graph = """g (seq(float[N]) s, float[M] x) => (float[?] first, float[?] last, int64 n, seq(float[?]) t) {
      zero = Constant <value = int64 {0}> ()
      minus = Constant <value = int64 {-1}> ()
      first = SequenceAt(s, zero)
      last = SequenceAt(s, minus)
      more = SequenceInsert(s, x, zero)
      t = SequenceErase(more, minus)
      n = SequenceLength(t)
    }"""
    first, last, n, t = run(graph, {"s": [A, B], "x": C})
    assert_same(first, A)
    assert_same(last, B)
    assert n == 2
    assert_same(t, [C, A])


def test_tensors_are_split_and_joined() -> None:
    graph = """g (float[5,2] x, int64[2] sizes) => (seq(float[?,?]) ones, seq(float[?,?]) parts, float[?,?] back, float[?,?,?] stacked) {
      two = Constant <value = int64 {2}> ()
      ones = SplitToSequence <keepdims = 0> (x)
      chunks = SplitToSequence(x, two)
      parts = SplitToSequence <axis = 1> (x, sizes)
      back = ConcatFromSequence <axis = 0> (chunks)
      stacked = ConcatFromSequence <axis = -1, new_axis = 1> (ones2)
      ones2 = SplitToSequence(x)
    }"""
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    ones, parts, back, stacked = run(graph, {"x": x, "sizes": np.array([0, 2])})
    assert_same(ones, list(x))
    assert_same(parts, [x[:, :0], x])
    assert_same(back, x)
    assert_same(stacked, np.stack([row[None] for row in x], -1))


GROWING = """g (int64 n, float[2] x) => (seq(float[2]) all, float[?,?] stacked) {
  yes = Constant <value = bool {1}> ()
  empty = SequenceEmpty()
  all = Loop <body = step (int64 i, bool c, seq(float[2]) before) => (bool d, seq(float[2]) after) {
    d = Identity(c)
    k = Cast <to = 1> (i)
    row = Add(x, k)
    after = SequenceInsert(before, row)
  }> (n, yes, empty)
  stacked = ConcatFromSequence <axis = 0, new_axis = 1> (all)
}"""


@pytest.mark.parametrize("steps", [1, 2, 17])
def test_a_loop_carries_a_growing_sequence(steps: int) -> None:
    rows = [A + np.float32(i) for i in range(steps)]
    items, stacked = run(GROWING, {"n": np.int64(steps), "x": A})
    assert_same(items, rows)
    assert_same(stacked, np.stack(rows))


def test_growing_takes_linear_time() -> None:
    """100,000 inserts: copying the list in each would take 5 thousand million steps."""
    for execution in EXECUTIONS:
        session = scanloom.InferenceSession(model(GROWING), execution=execution)
        options = scanloom.RunOptions()
        options.deadline = 30
        items, stacked = session.run(None, {"n": np.int64(100000), "x": A}, options)
        assert len(items) == 100000
        assert_same(stacked[-1], A + np.float32(99999))


def test_a_sequence_of_no_steps_stays_as_it_was() -> None:
    graph = GROWING.replace(", float[?,?] stacked", "").replace(
        "stacked = ConcatFromSequence <axis = 0, new_axis = 1> (all)", ""
    )
    assert_same(run(graph, {"n": np.int64(0), "x": A})[0], [])


def test_the_outer_sequence_is_not_changed_by_what_is_made_from_it() -> None:
    graph = """g (seq(float[N]) s, int64 n, float[M] x) => (seq(float[?]) t, seq(float[?]) s2, seq(float[?]) u) {
      yes = Constant <value = bool {1}> ()
      t = Loop <body = step (int64 i, bool c, seq(float[N]) before) => (bool d, seq(float[N]) after) {
        d = Identity(c)
        both = SequenceInsert(s, x)
        zero = Constant <value = int64 {0}> ()
        one = SequenceAt(both, zero)
        after = SequenceInsert(before, one)
      }> (n, yes, s)
      s2 = Identity(s)
      u = SequenceInsert(s, x)
    }"""
    t, s2, u = run(graph, {"s": [A, B], "n": np.int64(3), "x": C})
    assert_same(t, [A, B, A, A, A])
    assert_same(s2, [A, B])
    assert_same(u, [A, B, C])


def test_one_sequence_carried_twice() -> None:
    graph = """g (seq(float[N]) s, int64 n, float[M] x) => (seq(float[?]) t, seq(float[?]) u) {
      yes = Constant <value = bool {1}> ()
      t, u = Loop <body = step (int64 i, bool c, seq(float[N]) a, seq(float[N]) b) => (bool d, seq(float[N]) a2, seq(float[N]) b2) {
        d = Identity(c)
        a2 = SequenceInsert(b, x)
        b2 = Identity(b)
      }> (n, yes, s, s)
    }"""
    t, u = run(graph, {"s": [A], "n": np.int64(3), "x": B})
    assert_same(t, [A, B])
    assert_same(u, [A])


def test_branches_yield_and_capture_sequences() -> None:
    graph = """g (seq(float[N]) s, bool which, float[M] x) => (seq(float[?]) t, int64 n) {
      t = If (which) <
        then_branch = more () => (seq(float[N]) y) { y = SequenceInsert(s, x) },
        else_branch = less () => (seq(float[N]) z) { z = SequenceErase(s) }
      >
      n = SequenceLength(s)
    }"""
    assert_same(run(graph, {"s": [A, B], "which": True, "x": C})[0], [A, B, C])
    t, n = run(graph, {"s": [A, B], "which": False, "x": C})
    assert_same(t, [A])
    assert n == 2


def test_a_sequence_of_another_tensor_in_each_step() -> None:
    """Items whose sizes grow are read, changed, and joined in a loop in a loop."""
    graph = """g (int64 n) => (float[?] all) {
      yes = Constant <value = bool {1}> ()
      empty = SequenceEmpty()
      none = Constant <value_floats = [0.0]> ()
      s, x = Loop <body = step (int64 i, bool c, seq(float[?]) before, float[?] x) => (bool d, seq(float[?]) after, float[?] y) {
        d = Identity(c)
        y = Concat <axis = 0> (x, x)
        after = SequenceInsert(before, y)
      }> (n, yes, empty, none)
      all = ConcatFromSequence <axis = 0> (s)
    }"""
    (joined,) = run(graph, {"n": np.int64(6)})
    assert joined.shape == (2 + 4 + 8 + 16 + 32 + 64,)


def test_sequence_map_goes_over_items() -> None:
    graph = """g (seq(float[N]) s, seq(float[N]) t, float[1] k) => (seq(float[?]) y, seq(int64[?]) n) {
      y, n = SequenceMap <body = one (float[N] a, float[N] b, float[1] c) => (float[N] d, int64[1] m) {
        e = Add(a, b)
        d = Mul(e, c)
        m = Shape(a)
      }> (s, t, k)
    }"""
    y, n = run(graph, {"s": [A, B, C], "t": [A, B, C], "k": f32(2)})
    assert_same(y, [4 * A, 4 * B, 4 * C])
    assert_same(n, [np.array([2]), np.array([1]), np.array([3])])
    y, n = run(graph, {"s": [], "t": [], "k": f32(2)})
    assert_same(y, [])
    text = error_of(graph, {"s": [A, B], "t": [A], "k": f32(2)}, scanloom.InvalidArgument)
    assert text.count("input 0 has 2 items, input 1 't' has 1") == 2


def test_sequence_map_captures_outer_values() -> None:
    graph = """g (seq(float[N]) s, float[1] k, seq(float[N]) other) => (seq(float[?]) y) {
      y = SequenceMap <body = one (float[N] a) => (float[N] d) {
        zero = Constant <value = int64 {0}> ()
        o = SequenceAt(other, zero)
        b = Mul(a, k)
        d = Add(b, o)
      }> (s)
    }"""
    (y,) = run(graph, {"s": [A, C], "k": f32(2), "other": [B]})
    assert_same(y, [2 * A + 3, 2 * C + 3])


# Optionals.


def test_optionals_come_in_and_go_out() -> None:
    graph = """g (optional(float[N]) o) => (bool has, optional(float[N]) p) {
      has = OptionalHasElement(o)
      p = Identity(o)
    }"""
    has, p = run(graph, {"o": A})
    assert has and has.dtype == bool
    assert_same(p, A)
    has, p = run(graph, {"o": None})
    assert not has
    assert p is None


def test_an_optional_sequence() -> None:
    graph = """g (optional(seq(float[N])) o) => (seq(float[?]) s) {
      has = OptionalHasElement(o)
      s = If (has) <
        then_branch = yes () => (seq(float[N]) y) { y = OptionalGetElement(o) },
        else_branch = no () => (seq(float[N]) z) { z = SequenceEmpty() }
      >
    }"""
    assert_same(run(graph, {"o": [A, B]})[0], [A, B])
    assert_same(run(graph, {"o": []})[0], [])
    assert_same(run(graph, {"o": None})[0], [])


def test_an_empty_optional_has_no_element() -> None:
    graph = "g (optional(float[N]) o) => (float[?] x) { x = OptionalGetElement(o) }"
    assert_same(run(graph, {"o": A})[0], A)
    text = error_of(graph, {"o": None}, scanloom.InvalidArgument)
    assert text.count("the optional is empty: it has no element to return") == 2
    assert text.count("OptionalGetElement") == 2


def test_optionals_are_made() -> None:
    graph = "g (float[N] x) => (optional(float[N]) o) { o = Optional(x) }"
    assert_same(run(graph, {"x": A})[0], A)
    node = helper.make_node(
        "Optional", [], ["o"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    )
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    made = helper.make_model(
        helper.make_graph([node], "g", [], [helper.make_value_info("o", kind)]),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10,
    )
    assert run(made.SerializeToString(), {}) == [None]


def test_a_state_that_starts_as_an_optional() -> None:
    graph = """g (optional(float[2]) o, int64 n) => (float[2] x) {
      yes = Constant <value = bool {1}> ()
      x = Loop <body = step (int64 i, bool c, optional(float[2]) before) => (bool d, float[2] after) {
        d = Identity(c)
        has = OptionalHasElement(before)
        after = If (has) <
          then_branch = go () => (float[2] y) { v = OptionalGetElement(before) y = Add(v, v) },
          else_branch = start () => (float[2] z) { z = Constant <value_floats = [1.0, 2.0]> () }
        >
      }> (n, yes, o)
    }"""
    assert_same(run(graph, {"o": None, "n": np.int64(3)})[0], f32(4, 8))
    assert_same(run(graph, {"o": f32(5, 6), "n": np.int64(2)})[0], f32(20, 24))


# Strings.


def test_strings_in_and_out() -> None:
    graph = "g (string[N] a, string[N] b) => (string[N] c) { c = StringConcat(a, b) }"
    texts = np.array(["\u00e4", "", "x\0y"], object)
    (c,) = run(graph, {"a": texts, "b": ["1", "2", "3"]})
    assert c.dtype == object
    assert c.tolist() == ["\u00e41", "2", "x\0y3"]
    (c,) = run(graph, {"a": np.array(["a", "bc"]), "b": np.array([b"d", b"e"])})
    assert c.tolist() == ["ad", "bce"]


def test_strings_are_moved_and_compared() -> None:
    graph = """g (string[2,N] a, string[N] b, bool[N] w) => (string[N,2] t, bool[2,N] e, string[2,N] c, string[M] f, string[2,1] g, string[4,N] h) {
      t = Transpose(a)
      e = Equal(a, b)
      c = Where(w, a, b)
      minus = Constant <value_ints = [-1]> ()
      f = Reshape(a, minus)
      zero = Constant <value_ints = [0]> ()
      g = Gather <axis = 1> (a, zero)
      h = Concat <axis = 0> (a, c)
    }"""
    a = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    b = np.array(["a", "e", "f"], object)
    w = np.array([True, False, True])
    t, e, c, f, g, h = run(graph, {"a": a, "b": b, "w": w})
    assert t.tolist() == a.T.tolist()
    assert e.tolist() == (a == b).tolist()
    assert c.tolist() == np.where(w, a, b).tolist()
    assert f.tolist() == a.reshape(-1).tolist()
    assert g.tolist() == a[:, :1].tolist()
    assert h.tolist() == np.concatenate([a, c]).tolist()


@pytest.mark.parametrize("length", [0, 1, 4])
def test_strings_are_scanned_carried_and_stacked(length: int) -> None:
    graph = """g (string[1] s, string[T,2] x) => (string[?] last, string[T,2] rows, string[2,T] columns) {
      last, rows, columns = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1], scan_output_directions = [0, 1],
        body = step (string[1] h, string[2] a) => (string[1] h2, string[2] r, string[2] q) {
          r = StringConcat(h, a)
          q = Identity(r)
          more = Constant <value_strings = ["x"]> ()
          h2 = StringConcat(h, more)
      }> (s, x)
    }"""
    x = np.array([[f"{i}a", f"{i}b"] for i in range(length)], object).reshape(length, 2)
    last, rows, columns = run(graph, {"s": ["s"], "x": x})
    wanted = [["s" + "x" * i + one for one in row] for i, row in enumerate(x)]
    assert last.tolist() == ["s" + "x" * length]
    assert rows.tolist() == wanted
    assert columns.shape == (2, length)
    assert columns.T[::-1].tolist() == wanted


def test_a_branch_on_strings() -> None:
    graph = """g (string[N] x, string[N] y) => (string[N] z) {
      same = Equal(x, y)
      n = Cast <to = 7> (same)
      least = ReduceMin <keepdims = 0> (n)
      all = Cast <to = 9> (least)
      z = If (all) <
        then_branch = t () => (string[N] a) { k = Constant <value_string = "!"> () a = StringConcat(x, k) },
        else_branch = e () => (string[N] b) { b = Identity(y) }
      >
    }"""
    assert run(graph, {"x": ["a"], "y": ["a"]})[0].tolist() == ["a!"]
    assert run(graph, {"x": ["a"], "y": ["b"]})[0].tolist() == ["b"]


def test_string_initialisers_in_bodies() -> None:
    step = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["d"]),
            helper.make_node("StringConcat", ["before", "suffix"], ["after"]),
        ],
        "step",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.STRING, [None]),
        ],
        [
            helper.make_tensor_value_info("d", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.STRING, [None]),
        ],
        [helper.make_tensor("suffix", TensorProto.STRING, [1], [b"-"])],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "start"], ["y"], body=step)],
        "g",
        [helper.make_tensor_value_info("n", TensorProto.INT64, [])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [None])],
        [helper.make_tensor("start", TensorProto.STRING, [2], [b"a", b"b"])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (y,) = run(made.SerializeToString(), {"n": np.int64(3)})
    assert y.tolist() == ["a---", "b---"]


def test_numbers_become_strings_and_back() -> None:
    graph = "g (float[N] x) => (string[N] s, float[N] y) { s = Cast <to = 8> (x) y = Cast <to = 1> (s) }"
    x = np.array([1, -0.5, 3.1415927, 1e20, np.inf, np.nan], np.float32)
    s, y = run(graph, {"x": x})
    assert s.tolist() == [str(value) for value in x]
    np.testing.assert_array_equal(y, x)
    text = error_of(
        "g (string[N] x) => (int32[N] y) { y = Cast <to = 6> (x) }",
        {"x": ["1", "one"]},
        scanloom.InvalidArgument,
    )
    assert text.count("'one' is not a valid i32") == 2


def test_words_are_normalised_split_and_matched() -> None:
    graph = """g (string[N] x) => (string[?] words, string[M,K] parts, int64[M] counts, bool[N] match) {
      words = StringNormalizer <case_change_action = "UPPER", stopwords = ["and"]> (x)
      parts, counts = StringSplit <delimiter = "-"> (x)
      match = RegexFullMatch <pattern = "[a-z]+(-[a-z]+)*"> (x)
    }"""
    words, parts, counts, match = run(graph, {"x": ["to-be", "AND", "or"]})
    assert words.tolist() == ["TO-BE", "OR"]
    assert parts.tolist() == [["to", "be"], ["AND", ""], ["or", ""]]
    assert counts.tolist() == [2, 1, 1]
    assert match.tolist() == [True, False, True]


def test_sequences_of_strings() -> None:
    graph = """g (seq(string[N]) s) => (string[?] x, seq(string[N]) t) {
      x = ConcatFromSequence <axis = 0> (s)
      t = SequenceErase(s)
    }"""
    x, t = run(graph, {"s": [["a", "b"], np.array(["c"], object)]})
    assert x.tolist() == ["a", "b", "c"]
    assert [item.tolist() for item in t] == [["a", "b"]]


def one_node(node: onnx.NodeProto, kinds: dict[str, int], opset: int, ml: int = 0) -> bytes:
    """A model of one node on vectors."""
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, kinds[name], ["N"]) for name in node.input],
        [helper.make_tensor_value_info(name, kinds[name], [None]) for name in node.output],
    )
    opsets = [helper.make_opsetid("", opset)]
    if ml:
        opsets.append(helper.make_opsetid("ai.onnx.ml", ml))
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def test_labels_of_every_version() -> None:
    texts = {"x": TensorProto.STRING, "y": TensorProto.INT64}
    numbers = {"x": TensorProto.INT64, "y": TensorProto.STRING}

    def encoder(**attributes: Any) -> onnx.NodeProto:
        return helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **attributes)

    classes = encoder(classes_strings=["a", "b"], default_int64=7, default_string="?")
    (y,) = run(one_node(classes, texts, 18, 1), {"x": ["b", "c", "a"]})
    assert y.tolist() == [1, 7, 0]
    (y,) = run(one_node(classes, numbers, 18, 1), {"x": np.array([1, 2, 0])})
    assert y.tolist() == ["b", "?", "a"]
    pairs = encoder(keys_strings=["a", "b"], values_int64s=[5, 6])
    (y,) = run(one_node(pairs, texts, 18, 2), {"x": ["b", "c", "a"]})
    assert y.tolist() == [6, -1, 5]
    back = encoder(keys_int64s=[5, 6], values_strings=["a", "b"])
    (y,) = run(one_node(back, numbers, 18, 2), {"x": np.array([6, 0])})
    assert y.tolist() == ["b", "_Unused"]
    tensors = encoder(
        keys_tensor=helper.make_tensor("k", TensorProto.STRING, [2], [b"a", b"b"]),
        values_tensor=helper.make_tensor("v", TensorProto.INT64, [2], [1, 2]),
        default_tensor=helper.make_tensor("d", TensorProto.INT64, [1], [9]),
    )
    (y,) = run(one_node(tensors, texts, 21, 4), {"x": ["b", "c"]})
    assert y.tolist() == [2, 9]


def test_grams_are_counted() -> None:
    node = helper.make_node(
        "TfIdfVectorizer",
        ["x"],
        ["y"],
        mode="TF",
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=1,
        ngram_counts=[0, 2],
        ngram_indexes=[0, 2, 3],
        pool_strings=["to", "be", "to", "be"],
    )
    kinds = {"x": TensorProto.STRING, "y": TensorProto.FLOAT}
    (y,) = run(one_node(node, kinds, 18), {"x": "to be or not to be".split()})
    assert y.tolist() == [2, 0, 2, 2]


# Programs of random operations, against plain lists.


class Program:
    """Random insertions, erasures, reads and joins, written as ONNX and done with lists."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.names = 0

    def name(self, line: str) -> str:
        self.names += 1
        name = f"v{self.names}"
        self.lines.append(f"{name} = {line}")
        return name

    def number(self, value: int) -> str:
        return self.name(f"Constant <value = int64 {{{value}}}> ()")

    def grow(self, sequences: list[str], items: list[str], steps: int) -> list[Any]:
        """Returns one action per step: functions from lists and arrays to the same."""
        actions: list[Any] = []
        for _ in range(steps):
            sequence = str(self.random.choice(sequences))
            item = str(self.random.choice(items))
            kind = self.random.integers(5)
            if kind == 0:
                made = self.name(f"SequenceInsert({sequence}, {item})")
                actions.append((made, lambda v, s=sequence, x=item: v[s] + [v[x]]))
                sequences.append(made)
            elif kind == 1:
                made = self.name(f"SequenceInsert({sequence}, {item}, {self.number(0)})")
                actions.append((made, lambda v, s=sequence, x=item: [v[x]] + v[s]))
                sequences.append(made)
            elif kind == 2:
                longer = self.name(f"SequenceInsert({sequence}, {item})")
                made = self.name(f"SequenceErase({longer}, {self.number(0)})")
                actions.append((longer, lambda v, s=sequence, x=item: v[s] + [v[x]]))
                actions.append((made, lambda v, s=longer: v[s][1:]))
                sequences.append(made)
            elif kind == 3:
                longer = self.name(f"SequenceInsert({sequence}, {item})")
                made = self.name(f"SequenceAt({longer}, {self.number(-1)})")
                half = self.name(f"Add({made}, {item})")
                actions.append((longer, lambda v, s=sequence, x=item: v[s] + [v[x]]))
                actions.append((made, lambda v, s=longer: v[s][-1]))
                actions.append((half, lambda v, m=made, x=item: v[m] + v[x]))
                items.append(half)
            else:
                longer = self.name(f"SequenceInsert({sequence}, {item})")
                made = self.name(f"ConcatFromSequence <axis = 0> ({longer})")
                cut = self.name(f"Slice({made}, {self.number1(0)}, {self.number1(3)})")
                actions.append((longer, lambda v, s=sequence, x=item: v[s] + [v[x]]))
                actions.append((made, lambda v, s=longer: np.concatenate(v[s])))
                actions.append((cut, lambda v, m=made: v[m][:3]))
                items.append(cut)
        return actions

    def number1(self, value: int) -> str:
        return self.name(f"Constant <value_ints = [{value}]> ()")


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_do_what_lists_do(seed: int) -> None:
    program = Program(seed)
    inner = program.grow(["a", "b", "outer"], ["x"], 6)
    sequences = ["a", "b"] + [name for name, _ in inner if "Sequence" in _line(program, name)]
    next_a, next_b = (str(program.random.choice(sequences)) for _ in range(2))
    steps = int(program.random.integers(4))
    body = "\n".join(program.lines)
    graph = f"""g (seq(float[?]) outer, float[3] x, int64 n) => (seq(float[?]) p, seq(float[?]) q, seq(float[?]) same) {{
      yes = Constant <value = bool {{1}}> ()
      p, q = Loop <body = step (int64 i, bool c, seq(float[?]) a, seq(float[?]) b) => (bool d, seq(float[?]) a2, seq(float[?]) b2) {{
        d = Identity(c)
        {body}
        a2 = Identity({next_a})
        b2 = Identity({next_b})
      }}> (n, yes, outer, outer)
      same = Identity(outer)
    }}"""
    fed = [np.float32([1, 2, 3]), np.float32([4, 5, 6])]
    x = np.float32([0.5, 0.25, 0.125])
    values: dict[str, Any] = {"outer": list(fed), "x": x, "a": list(fed), "b": list(fed)}
    for _ in range(steps):
        for name, action in inner:
            values[name] = action(values)
        values["a"], values["b"] = values[next_a], values[next_b]
    p, q, same = run(graph, {"outer": fed, "x": x, "n": np.int64(steps)})
    assert_same(p, values["a"])
    assert_same(q, values["b"])
    assert_same(same, fed)


def _line(program: Program, name: str) -> str:
    """The operator that makes a sequence, if one does."""
    (line,) = (line for line in program.lines if line.startswith(f"{name} = "))
    return line if "SequenceInsert" in line or "SequenceErase" in line else ""


# Mistakes, limits, and what is said about types.


def test_types_are_spelled_as_onnxruntime_does() -> None:
    graph = """g (seq(float[N]) s, optional(seq(int64[N])) o, string[N] t) => (seq(float[N]) u) { u = Identity(s) }"""
    session = scanloom.InferenceSession(model(graph))
    assert [one.type for one in session.get_inputs()] == [
        "seq(tensor(float))",
        "optional(seq(tensor(int64)))",
        "tensor(string)",
    ]
    assert session.get_outputs()[0].type == "seq(tensor(float))"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (A, "must be a list for a sequence"),
        (None, "must be a list for a sequence"),
        ([A, None], "s[1]"),
        ([A, np.array(["a"])], "s[1]"),
        ([A, np.array([1.0])], "item 1 of feed 's' is double, not float"),
        ([A, f32([1], [2])], "item 1 of feed 's' has sizes [2,1], the model needs [?]"),
    ],
)
def test_wrong_lists_are_refused(value: Any, text: str) -> None:
    graph = "g (seq(float[N]) s) => (int64 n) { n = SequenceLength(s) }"
    assert text in error_of(graph, {"s": value}, scanloom.InvalidArgument)


def test_wrong_texts_are_refused() -> None:
    graph = "g (string[N] s) => (string[N] t) { t = Identity(s) }"
    assert "must hold strings" in error_of(graph, {"s": A}, scanloom.InvalidArgument)
    assert "holds a int" in error_of(graph, {"s": ["a", 1]}, scanloom.InvalidArgument)
    graph = "g (float[N] s) => (float[N] t) { t = Identity(s) }"
    assert "holds strings" in error_of(graph, {"s": ["a"]}, scanloom.InvalidArgument)


def test_positions_outside_name_both_numbers() -> None:
    graph = "g (seq(float[N]) s, int64 k) => (float[?] x) { x = SequenceAt(s, k) }"
    text = error_of(graph, {"s": [A, B], "k": np.int64(2)}, scanloom.InvalidArgument)
    assert text.count("(SequenceAt-11)") == 2
    assert text.count("position 2 is outside [-2, 2)") == 2


def test_items_of_another_type_are_refused_when_loading() -> None:
    graph = "g (seq(float[N]) s, int64[N] x) => (seq(float[N]) t) { t = SequenceInsert(s, x) }"
    with pytest.raises(scanloom.InvalidModel, match="operand 1 'item' of sequence_insert is i64"):
        scanloom.InferenceSession(model(graph))


LOOP_OF_KINDS = """g (seq(float[N]) s, int64 n) => (seq({kind}) t{stack}) {{
  yes = Constant <value = bool {{1}}> ()
  t{name} = Loop <body = step (int64 i, bool c, seq(float[N]) a) => (bool d, seq({kind}) b{row}) {{
    d = Identity(c)
    b = {made}
    {more}
  }}> (n, yes, s)
}}"""


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (
            "g (float[N] s, int64 k) => (float[N] x) { x = SequenceAt(s, k) }",
            "operand 0 'sequence' of sequence_at must be a sequence, not f32[N]",
        ),
        (
            "g (float[N] a, int64[N] b) => (seq(float[N]) s) { s = SequenceConstruct(a, b) }",
            "item 1 is i64[N], but the items of the sequence are f32[N]",
        ),
        (
            "g (seq(float[N]) s) => (seq(float[N]) t) { t = Neg(s) }",
            "must be a numeric tensor",
        ),
        (
            "g (seq(float[N]) s) => (float[N] x) { x = ConcatFromSequence(s) }",
            "attribute 'axis' is missing",
        ),
        (
            "g (seq(float[N]) s) => (float[N] x) { x = ConcatFromSequence <axis = 2> (s) }",
            "axis 2 is outside [-1, 1)",
        ),
        ("g () => (optional(float[N]) o) { o = Optional() }", "attribute 'type' is needed"),
        (
            "g (float[N] s) => (seq(float[N]) t) { t = SequenceMap <body = b (float[N] a) => (float[N] c) { c = Neg(a) }> (s) }",
            "input 0 's' is float, but a sequence is needed",
        ),
        (
            "g (seq(float[N]) s) => (seq(float[N]) t) { t = SequenceMap <body = b (float[N] a) => (seq(float[N]) c) { c = SequenceConstruct(a) }> (s) }",
            "body output 0 is sequence(float), but a tensor is needed",
        ),
        (
            'g (string[N] x) => (bool[N] y) { y = RegexFullMatch <pattern = "(a"> (x) }',
            "the pattern '(a' is not an RE2 expression",
        ),
        (
            'g (string[N] x) => (string[N] y) { y = StringNormalizer <case_change_action = "TITLE"> (x) }',
            "attribute 'case_change_action' is 'TITLE'",
        ),
        (
            "g (complex64[N] x) => (string[N] y) { y = Cast <to = 8> (x) }",
            "elements of type c64 have no text",
        ),
        (
            LOOP_OF_KINDS.format(
                kind="int64[N]", stack="", name="", row="", made="SequenceConstruct(m)", more="m = Shape(k) k = SequenceAt(a, i)"
            ),
            "state 'a' is sequence(float) before the first step, but the body makes it sequence(int64)",
        ),
        (
            LOOP_OF_KINDS.format(
                kind="float[N]", stack=", seq(float[N]) u", name=", u", row=", seq(float[N]) r", made="Identity(a)", more="r = Identity(a)"
            ),
            "body output 2 is sequence(float), but only tensors can be stacked",
        ),
    ],
)
def test_models_that_mix_kinds_are_refused(graph: str, text: str) -> None:
    with pytest.raises(scanloom.Error) as caught:
        scanloom.InferenceSession(model(graph))
    assert text in str(caught.value)


def test_what_never_runs_may_not_fit() -> None:
    graph = """g (bool c, string[2] a, string[3] b) => (string[?] y) {
      y = If (c) <
        then_branch = t () => (string[K] u) { u = StringConcat(a, b) },
        else_branch = e () => (string[K] v) { v = Identity(a) }
      >
    }"""
    feeds = {"c": np.array(False), "a": ["a", "b"], "b": ["x", "y", "z"]}
    assert run(graph, feeds)[0].tolist() == ["a", "b"]
    feeds["c"] = np.array(True)
    assert "do not broadcast" in error_of(graph, feeds, scanloom.Error)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("item", ["x", "row"])
def test_sequences_count_against_the_memory_budget(execution: str, item: str) -> None:
    """Also where every item is the same tensor: the list grows."""
    graph = GROWING.replace("SequenceInsert(before, row)", f"SequenceInsert(before, {item})")
    session = scanloom.InferenceSession(model(graph), execution=execution)
    options = scanloom.RunOptions()
    options.max_memory = 1 << 22
    feeds = {"n": np.int64(1 << 40), "x": A}
    with pytest.raises(scanloom.LimitReached, match="memory budget"):
        session.run(None, feeds, options)
    feeds["n"] = np.int64(10)
    assert len(session.run(None, feeds, options)[0]) == 10


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_items_that_are_copied_to_be_in_order_count_as_well(execution: str) -> None:
    graph = GROWING.replace("[2]", "[256,256]").replace("Add(x, k)", "Transpose(x)")
    source = model(graph.replace("[?,?]", "[?,?,?]"))
    session = scanloom.InferenceSession(source, execution=execution)
    options = scanloom.RunOptions(max_memory=1 << 22)
    x = np.arange(65536, dtype=np.float32).reshape(256, 256)
    with pytest.raises(scanloom.LimitReached, match="memory budget"):
        session.run(None, {"n": np.int64(100_000), "x": x}, options)
    assert_same(session.run(None, {"n": np.int64(5), "x": x}, options)[0], [x.T] * 5)


def test_a_stream_keeps_a_sequence() -> None:
    graph = """g (seq(float[N]) s, float[N] x) => (seq(float[N]) t, int64 n) {
      t = SequenceInsert(s, x)
      n = SequenceLength(t)
    }"""
    stream = scanloom.InferenceSession(model(graph)).stream({"s": "t"})
    assert [int(stream.push({"x": A})) for _ in range(3)] == [1, 2, 3]
    stream.set("s", [A])
    assert int(stream.push({"x": A})) == 2
    stream.reset()
    assert int(stream.push({"x": A})) == 1


def test_many_threads_share_a_session() -> None:
    from concurrent.futures import ThreadPoolExecutor

    session = scanloom.InferenceSession(model(GROWING))
    with ThreadPoolExecutor(4) as pool:
        runs = list(
            pool.map(lambda n: session.run(None, {"n": np.int64(n), "x": A})[0], range(1, 60))
        )
    assert [len(items) for items in runs] == list(range(1, 60))


def test_the_model_checks_out() -> None:
    onnx.checker.check_model(onnx.load_from_string(model(GROWING)), full_check=True)
