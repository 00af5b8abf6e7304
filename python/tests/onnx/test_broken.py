"""Broken models and feeds: the error names the node, the operand and both numbers."""

import dataclasses
import re
from typing import Any, Optional

import numpy as np
import onnx
import onnx.parser
import pytest

import scanloom
from loop_models import parse

MODEL, ARGUMENT = scanloom.InvalidModel, scanloom.InvalidArgument
EITHER = (MODEL, ARGUMENT)


@dataclasses.dataclass(frozen=True)
class Broken:
    """`words` are parts of the message, all of which must be there. No feeds: loading fails."""

    name: str
    model: bytes
    words: tuple[str, ...]
    feeds: Optional[dict[str, Any]] = None
    kind: Any = MODEL


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def at_load(name: str, graph: str, *words: str, kind: Any = MODEL) -> Broken:
    return Broken(name, parse(graph), words, None, kind)


def at_run(name: str, graph: str, feeds: dict[str, Any], *words: str, kind: Any = EITHER) -> Broken:
    return Broken(name, parse(graph), words, feeds, kind)


SUM_BODY = """body = step (float[2] h1, float[2] x1) => (float[2] n, float[2] y1) {
  n = Add(h1, x1)
  y1 = Identity(n)
}"""


def scan(attributes: str, body: str = SUM_BODY, x: str = "[T,2]") -> str:
    return f"""g (float[2] h0, float{x} x) => (float[2] h, float[T,2] y) {{
      [rows] h, y = Scan <{attributes} {body}> (h0, x)
    }}"""


def body(formals: str, yields: str, nodes: str) -> str:
    return f"body = step ({formals}) => ({yields}) {{ {nodes} }}"


def broken_scans() -> list[Broken]:
    one = "num_scan_inputs = 1,"
    node = "node 'rows' (Scan-16)"
    state = "float[2] h1, float[2] x1"
    integer = body(state, "int64[2] n, float[2] y1", "n = Cast <to = 7> (h1) y1 = Neg(h1)")
    two = """g (float[2] h0, float[T,2] x, float[S,2] w) => (float[2] h) {
      [rows] h = Scan <num_scan_inputs = 2,
        body = step (float[2] p, float[2] r, float[2] q) => (float[2] n) {
          s = Add(p, r)
          n = Add(s, q)
        }> (h0, x, w)
    }"""
    return [
        at_load("scan_axis", scan(one + "scan_input_axes = [2],"), node, "'x'", "axis 2", "[-2, 2)"),
        at_load(
            "scan_output_axis",
            scan(one + "scan_output_axes = [-3],"),
            node,
            "scan output 0",
            "axis -3",
            "[-2, 2)",
        ),
        at_load(
            "scan_axes_count",
            scan(one + "scan_input_axes = [0, 1],"),
            node,
            "'scan_input_axes' has 2",
            "1 scan input",
        ),
        at_load(
            "scan_direction",
            scan(one + "scan_input_directions = [2],"),
            node,
            "'scan_input_directions'",
            "2 at position 0",
            "0 or 1",
        ),
        at_load("scan_no_inputs", scan("num_scan_inputs = 0,"), node, "is 0", "at least 1"),
        at_load("scan_many_inputs", scan("num_scan_inputs = 3,"), node, "is 3", "2 inputs"),
        at_load("scan_unstated", scan(""), node, "'num_scan_inputs' is missing"),
        at_load(
            "scan_no_body",
            "g (float[2] h, float[T,2] x) => (float[2] y) { [rows] y = Scan <num_scan_inputs = 1> (h, x) }",
            node,
            "'body' is missing",
        ),
        at_load(
            "scan_formals",
            scan(one, body("float[2] h1", "float[2] n, float[2] y1", "n = Neg(h1) y1 = Neg(h1)")),
            node,
            "1 input",
            "2 are needed",
        ),
        at_load(
            "scan_yields",
            scan(one, body(state, "float[2] n", "n = Add(h1, x1)")),
            node,
            "1 output",
            "2 are needed",
        ),
        at_load("scan_state_type", scan(one, integer), node, "state 'h1'", "float", "int64"),
        at_load("scan_of_a_scalar", scan(one, x=""), node, "scan input 0 'x'", "axis 0"),
        at_run(
            "scan_lengths",
            two,
            {"h0": zeros(2), "x": zeros(9, 2), "w": zeros(7, 2)},
            node,
            "scan input 1 'w' has 7 steps on axis 0",
            "scan input 0 'x' has 9",
        ),
    ]


def broken_loops() -> list[Broken]:
    node = "node 'turns' (Loop-16)"
    formals = "int64 i, bool c, float[2] v1"
    ignored = "d = Identity(c)"

    def loop(inner: str, trip: str = "int64 n") -> str:
        return f"""g ({trip}, float[2] v0) => (float[2] v) {{
          [turns] v = Loop <{inner}> (n, , v0)
        }}"""

    right = body(formals, "bool d, float[2] w", ignored + " w = Neg(v1)")
    double = body(formals, "bool d, double[2] w", ignored + " w = Cast <to = 11> (v1)")
    rows = """g (int64 n, float[A] v0) => (float[B] v, float[K,C] y) {
      [turns] v, y = Loop <body = step (int64 i, bool c, float[D] v1) =>
          (bool d, float[E] w, float[F] r) {
        d = Identity(c)
        w = Concat <axis = 0> (v1, v1)
        r = Neg(w)
      }> (n, , v0)
    }"""
    index = """g (int64 n, float[3] a) => (float v) {
      zero = Constant <value = float {0.0}> ()
      [turns] v = Loop <body = step (int64 i, bool c, float s) => (bool d, float w) {
        d = Identity(c)
        [pick] w = Gather(a, i)
      }> (n, , zero)
    }"""
    return [
        at_load(
            "loop_formals", loop(body("int64 i, bool c", "bool d", ignored)), node, "2 inputs", "3 are"
        ),
        at_load("loop_yields", loop(body(formals, "bool d", ignored)), node, "1 output", "2 are"),
        at_load("loop_trip_type", loop(right, "float n"), node, "'n'", "float", "int64"),
        at_load("loop_trip_size", loop(right, "int64[3] n"), node, "'n'", "3 elements", "1 is"),
        at_load("loop_state_type", loop(double), node, "state 'v1'", "float", "double"),
        at_run("loop_rows", rows, {"n": 3, "v0": zeros(2)}, node, "step 1", "[8]", "[4]"),
        at_run("loop_index", index, {"n": 5, "a": zeros(3)}, "'pick'", "index 3", "3 elements"),
    ]


def broken_branches() -> list[Broken]:
    node = "node 'choice' (If-16)"

    def branch(then: str, otherwise: str, p: str = "bool p") -> str:
        return f"""g (float[2] x, {p}) => (float[2] y) {{
          [choice] y = If <then_branch = t () => {then}, else_branch = e () => {otherwise}> (p)
        }}"""

    neg, absolute = "(float[2] a) { a = Neg(x) }", "(float[2] b) { b = Abs(x) }"
    double = "(double[2] b) { b = Cast <to = 11> (x) }"
    two = "(float[2] a, float[2] k) { a = Neg(x) k = Neg(x) }"
    return [
        at_load("if_condition", branch(neg, absolute, "float p"), node, "'p'", "float", "boolean"),
        at_load("if_types", branch(neg, double), node, "output 0", "float", "double"),
        at_load("if_outputs", branch(two, absolute), node, "then_branch", "2 outputs", "1 are"),
        at_load(
            "if_half",
            "g (float[2] x, bool p) => (float[2] y) {"
            "[choice] y = If <then_branch = t () => (float[2] a) { a = Neg(x) }> (p) }",
            node,
            "'else_branch' is missing",
        ),
    ]


def broken_graphs() -> list[Broken]:
    return [
        at_load(
            "unknown_operator",
            "g (float[2] a) => (float[2] y) { [strange] y = Frobnicate(a) }",
            "Frobnicate (1 node)",
            kind=scanloom.Unsupported,
        ),
        at_load(
            "missing_name",
            "g (float[2] a) => (float[2] y) { [sum] y = Add(a, nowhere) }",
            "node 'sum' (Add-14)",
            "input 1 'nowhere'",
        ),
        at_load(
            "cycle",
            "g (float[2] a) => (float[2] y) { [one] p = Add(a, q) [two] q = Neg(p) y = Neg(q) }",
            "'one'",
            "'two'",
        ),
        at_load(
            "name_made_twice",
            "g (float[2] a) => (float[2] y) { [one] y = Neg(a) [two] y = Abs(a) }",
            "node 'two' (Abs-13)",
            "output 0 'y' has the same name as output 0 of node 'one' (Neg-13)",
        ),
        at_load(
            "output_of_nothing", "g (float[2] a) => (float[2] z) { y = Neg(a) }", "output 0 'z'"
        ),
        at_load(
            "few_inputs",
            "g (float[2] a) => (float[2] y) { [sum] y = Add(a) }",
            "node 'sum'",
            "1 input",
            "at least 2",
        ),
        at_load(
            "many_inputs",
            "g (float[2] a) => (float[2] y) { [minus] y = Neg(a, a) }",
            "node 'minus'",
            "2 inputs",
            "at most 1",
        ),
        at_load(
            "many_outputs",
            "g (float[2] a) => (float[2] y, float[2] z) { [minus] y, z = Neg(a) }",
            "node 'minus'",
            "2 outputs",
            "at most 1",
        ),
    ]


def broken_operands() -> list[Broken]:
    two = "g (float[2,3] a, float[2,4] b) => (float[N,M] y)"
    return [
        at_load(
            "product",
            "g (float[2,3] a, float[4,5] b) => (float[2,5] y) { [product] y = MatMul(a, b) }",
            "node 'product' (MatMul-13)",
            "sizes 3 and 4",
        ),
        at_run(
            "product_of_feeds",
            "g (float[N,K] a, float[L,M] b) => (float[N,M] y) { [product] y = MatMul(a, b) }",
            {"a": zeros(2, 3), "b": zeros(4, 5)},
            "node 'product' (MatMul-13)",
            "sizes 3 and 4",
        ),
        at_run(
            "broadcast",
            "g (float[N] a, float[M] b) => (float[K] y) { [sum] y = Add(a, b) }",
            {"a": zeros(3), "b": zeros(4)},
            "node 'sum' (Add-14)",
            "3 and 4 on axis 0",
        ),
        at_load(
            "mixed_types",
            "g (float[N] a, double[N] b) => (float[N] y) { [sum] y = Add(a, b) }",
            "node 'sum' (Add-14)",
            "operand 1 'b'",
            "f64",
            "f32",
        ),
        at_load("concat", two + "{ [join] y = Concat <axis = 0> (a, b) }", "'join'", "3 and 4"),
        at_load(
            "concat_axis", two + "{ [join] y = Concat <axis = 2> (a, b) }", "'join'", "2", "[-2, 2)"
        ),
    ]


def broken_shapes() -> list[Broken]:
    return [
        at_run(
            "index",
            "g (float[3] a, int64[N] i) => (float[N] y) { [pick] y = Gather(a, i) }",
            {"a": zeros(3), "i": [0, 5]},
            "node 'pick' (Gather-13)",
            "index 5",
            "3 elements",
            kind=ARGUMENT,
        ),
        at_run(
            "reshape",
            "g (float[N] a, int64[2] s) => (float[A,B] y) { [fold] y = Reshape(a, s) }",
            {"a": zeros(5), "s": [2, 3]},
            "node 'fold' (Reshape-14)",
            "5 elements",
            "6",
        ),
        at_load(
            "permutation",
            "g (float[2,3] a) => (float[A,B] y) { [turn] y = Transpose <perm = [0, 2]> (a) }",
            "node 'turn'",
            "axis 2",
            "[0, 2)",
        ),
        at_load(
            "permutation_from_the_end",
            "g (float[2,3] a) => (float[A,B] y) { [turn] y = Transpose <perm = [-1, 0]> (a) }",
            "node 'turn'",
            "axis -1",
            "[0, 2)",
        ),
        at_load(
            "squeeze",
            """g (float[2,3] a) => (float[3] y) {
              s = Constant <value_ints = [0]> ()
              [thin] y = Squeeze(a, s)
            }""",
            "node 'thin'",
            "axis 0",
            "size 2, not 1",
        ),
        at_load(
            "split",
            """g (float[5] a) => (float[A] p, float[B] q) {
              s = Constant <value_ints = [2, 2]> ()
              [cut] p, q = Split <axis = 0> (a, s)
            }""",
            "node 'cut'",
            "4 elements",
            "5",
        ),
        at_load(
            "convolution",
            "g (float[1,3,9] x, float[2,4,3] w) => (float[1,2,M] y) { [filter] y = Conv(x, w) }",
            "node 'filter' (Conv-11)",
            "3 channels",
            "4",
        ),
        at_run(
            "greatest",
            "g (float[4] a, int64[1] k) => (float[K] v, int64[K] i) { [best] v, i = TopK(a, k) }",
            {"a": zeros(4), "k": [5]},
            "node 'best' (TopK-11)",
            "k is 5",
            "4 elements",
        ),
        at_run(
            "slice_step",
            """g (float[4] a, int64[1] step) => (float[K] v) {
              s = Constant <value_ints = [0]> ()
              e = Constant <value_ints = [2]> ()
              [part] v = Slice(a, s, e, s, step)
            }""",
            {"a": zeros(4), "step": [0]},
            "node 'part' (Slice-13)",
            "axis 0 is 0",
        ),
    ]


def broken_feeds() -> list[Broken]:
    fixed = "g (float[2,3] a) => (float[2,3] y) { y = Neg(a) }"
    pair = "g (float[N] a, float[N] b) => (float[N] y) { y = Add(a, b) }"
    return [
        at_run("rank", fixed, {"a": zeros(6)}, "'a' has rank 2", "rank 1", kind=ARGUMENT),
        at_run("size", fixed, {"a": zeros(2, 4)}, "'a' has size 3 on axis 1", "4", kind=ARGUMENT),
        at_run("type", fixed, {"a": np.zeros((2, 3))}, "'a' is float", "double", kind=ARGUMENT),
        at_run("absent", fixed, {}, "'a' (tensor(float)) is not fed", kind=ARGUMENT),
        at_run("unknown", fixed, {"a": zeros(2, 3), "q": 1}, "no input 'q'", "are: a", kind=ARGUMENT),
        at_run(
            "symbol",
            pair,
            {"a": zeros(2), "b": zeros(1)},
            "'b' has 1 for 'N' on axis 0",
            "'a' has 2",
            kind=ARGUMENT,
        ),
    ]


def with_initialiser(change: Any) -> bytes:
    model = onnx.load_from_string(parse("g (float[3] a) => (float[3] y) { y = Add(a, w) }"))
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    change(tensor)
    model.graph.initializer.append(tensor)
    return model.SerializeToString()


def broken_files() -> list[Broken]:
    def short(tensor: onnx.TensorProto) -> None:
        tensor.ClearField("float_data")
        tensor.raw_data = b"1234"

    def negative(tensor: onnx.TensorProto) -> None:
        tensor.dims[0] = -3

    def huge(tensor: onnx.TensorProto) -> None:
        tensor.dims[:] = [1 << 40, 1 << 40]

    def far(tensor: onnx.TensorProto) -> None:
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "../weights.bin"

    plain = parse("g (float[2] a) => (float[2] y) { y = Neg(a) }")
    no_opset = onnx.load_from_string(plain)
    del no_opset.opset_import[:]
    strange_type = onnx.load_from_string(plain)
    strange_type.graph.input[0].type.tensor_type.elem_type = 77
    return [
        Broken("no_model", b"this is not a model at all", ("neither an ONNX model nor the XML",)),
        Broken("empty", b"", ("is empty: it has 0 bytes",)),
        Broken("cut_off", plain[:-5], ("malformed",)),
        Broken("no_opset", no_opset.SerializeToString(), ("operator set",)),
        Broken("element_type", strange_type.SerializeToString(), ("input 0 'a'", "77")),
        Broken("short_tensor", with_initialiser(short), ("tensor 'w'", "4 bytes", "needs 12")),
        Broken("negative_size", with_initialiser(negative), ("tensor 'w'", "axis 0", "-3")),
        Broken("huge_size", with_initialiser(huge), ("tensor 'w'", "1099511627776")),
        Broken("outside_data", with_initialiser(far), ("tensor 'w'", "../weights.bin"), kind=EITHER),
    ]


CASES = [
    *broken_scans(),
    *broken_loops(),
    *broken_branches(),
    *broken_graphs(),
    *broken_operands(),
    *broken_shapes(),
    *broken_files(),
]


def test_there_are_many():
    assert len(CASES) >= 50
    assert len({case.name for case in CASES}) == len(CASES)


FEEDS = broken_feeds()


@pytest.mark.parametrize("case", FEEDS, ids=[case.name for case in FEEDS])
def test_wrong_feeds_are_named(case):
    with pytest.raises(case.kind) as caught:
        scanloom.InferenceSession(case.model, strict=True).run(None, case.feeds)
    assert all(words in str(caught.value) for words in case.words)


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_error_says_what_is_wrong(case, execution):
    if case.feeds is None:
        with pytest.raises(case.kind) as caught:
            scanloom.InferenceSession(case.model, execution=execution)
    else:
        session = scanloom.InferenceSession(case.model, execution=execution)
        with pytest.raises(case.kind) as caught:
            session.run(None, case.feeds)
    message = str(caught.value)
    for words in case.words:
        assert words in message
    first = caught.value.text
    assert not first.endswith(".") and not re.match(r"[A-Z]", first)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_check_says_the_same(case, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(case.model)
    report = scanloom.check(path)
    assert report.ok == (case.feeds is not None)
    if not report.ok:
        text = "\n".join(map(str, report.errors))
        assert all(words in text for words in case.words)


def test_check_tells_all_errors_of_a_model_at_once(tmp_path):
    graph = """g (float[2] a) => (float[2] y) {
      [one] p = Nope(a)
      [two] q = Add(p, nowhere)
      [three] y = Neither(q)
    }"""
    path = tmp_path / "model.onnx"
    path.write_bytes(parse(graph))
    message = "\n".join(map(str, scanloom.check(path).errors))
    for words in ("Nope", "nowhere", "Neither"):
        assert words in message


CHANGING_STATES = {
    "grows": ("n = Concat <axis = 0> (h1, x1)", 0, "[4]"),
    "gains_an_axis": ("a = Constant <value_ints = [0]> () n = Unsqueeze(h1, a)", 0, "[1,2]"),
    # What is not zero stays: the first step keeps both elements, the second one of them.
    "shrinks_with_the_data": (
        "s = Sub(h1, x1) i = NonZero(h1) t = Constant <value_ints = [-1]> () j = Reshape(i, t) "
        "n = Gather(s, j)",
        1,
        "[1]",
    ),
}


@pytest.mark.parametrize("execution", ["automatic", "interpreted"])
@pytest.mark.parametrize("name", CHANGING_STATES)
def test_a_state_of_scan_keeps_its_shape(name, execution):
    nodes, step, after = CHANGING_STATES[name]
    changing = body("h1, float[2] x1", "n, float[2] y1", nodes + " y1 = Neg(x1)")
    graph = scan("num_scan_inputs = 1,", changing).replace("float[2] h,", "h,")
    session = scanloom.InferenceSession(parse(graph), execution=execution)
    pattern = rf"(?s)'rows'.*state 'h1' .*\[2\].*step {step}, .*{re.escape(after)}"
    with pytest.raises(scanloom.InvalidArgument, match=pattern):
        session.run(None, {"h0": np.ones(2, np.float32), "x": np.float32([[1, 0], [0, 0], [0, 0]])})
    rest = session.run(None, {"h0": zeros(2), "x": zeros(0, 2)})
    assert [one.shape for one in rest] == [(2,), (0, 2)]


def test_damaged_bytes_never_crash():
    model = parse(scan("num_scan_inputs = 1,"))
    random = np.random.default_rng(5)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(model)
        for at in random.integers(0, len(model), size=3):
            damaged[at] = random.integers(0, 256)
        try:
            session = scanloom.InferenceSession(bytes(damaged))
            session.run(None, {"h0": zeros(2), "x": zeros(3, 2)}, scanloom.RunOptions(deadline=5))
            outcomes.add("fine")
        except scanloom.Error as error:
            outcomes.add(error.code)
    assert "invalid_model" in outcomes
    assert "internal" not in outcomes
