"""ONNX's operators on complex tensors: those whose specification allows them move elements, and give
numpy's in every execution; what computes with elements takes none."""

import numpy as np
import onnx.parser
import pytest

import scanloom

RANDOM = np.random.default_rng(7)
EXECUTIONS = ("interpreted", "stepped", "automatic")


def numbers(*shape, dtype):
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)


def run(text, dtype, **feeds):
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 21]>\n{text.replace("COMPLEX", dtype)}'
    ).SerializeToString()
    results = [
        scanloom.InferenceSession(model, execution=execution).run(None, feeds)
        for execution in EXECUTIONS
    ]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return results[0]


def scattered(x):
    y = x.copy()
    y[1] = x[0]
    return y


def one_hot(x):
    return np.where(np.arange(3) == np.array([[0], [2]]), x[0, 1], x[0, 0])


# By operator: the nodes that make y of x [3, 4], and what numpy makes.
MOVES = {
    "Identity": ("y = Identity(x)", lambda x: x),
    "Reshape": ("s = Constant<value_ints = [2, 6]>() y = Reshape(x, s)", lambda x: x.reshape(2, 6)),
    "Flatten": ("y = Flatten<axis = 0>(x)", lambda x: x.reshape(1, 12)),
    "Transpose": ("y = Transpose(x)", lambda x: x.T),
    "Unsqueeze": ("a = Constant<value_ints = [1]>() y = Unsqueeze(x, a)", lambda x: x[:, None]),
    "Squeeze": (
        "a = Constant<value_ints = [0]>() u = Unsqueeze(x, a) y = Squeeze(u, a)", lambda x: x),
    "Gather": ("i = Constant<value_ints = [2, 0]>() y = Gather<axis = 1>(x, i)", lambda x: x[:, [2, 0]]),
    "GatherND": (
        "i = Constant<value = int64[2, 2] {0, 1, 2, 3}>() y = GatherND(x, i)", lambda x: x[[0, 2], [1, 3]]),
    "GatherElements": (
        "i = Constant<value = int64[1, 4] {2, 1, 0, 1}>() y = GatherElements(x, i)",
        lambda x: np.take_along_axis(x, np.array([[2, 1, 0, 1]]), 0)),
    "Concat": ("y = Concat<axis = 0>(x, x)", lambda x: np.concatenate([x, x])),
    "Split": ("y, z = Split<axis = 1, num_outputs = 2>(x)", lambda x: x[:, :2]),
    "Slice": (
        "a = Constant<value_ints = [-1]>() b = Constant<value_ints = [-9]>()"
        " z = Constant<value_ints = [0]>() y = Slice(x, a, b, z, a)", lambda x: x[::-1]),
    "Expand": ("s = Constant<value_ints = [2, 3, 4]>() y = Expand(x, s)",
               lambda x: np.broadcast_to(x, (2, 3, 4))),
    "Tile": ("r = Constant<value_ints = [2, 1]>() y = Tile(x, r)", lambda x: np.tile(x, (2, 1))),
    "Pad": ("p = Constant<value_ints = [0, 1, 1, 0]>() y = Pad(x, p)", lambda x: np.pad(x, ((0, 1), (1, 0)))),
    "Where": (
        "c = Constant<value = bool[4] {1, 0, 1, 0}>() z = Constant<value_ints = [0]>() r = Gather(x, z)"
        " y = Where(c, x, r)", lambda x: np.where([True, False, True, False], x, x[0])),
    "ScatterND": (
        "i = Constant<value = int64[1, 1] {1}>() z = Constant<value_ints = [0]>() r = Gather(x, z)"
        " y = ScatterND(x, i, r)", scattered),
    "ScatterElements": (
        "i = Constant<value = int64[1, 4] {1, 1, 1, 1}>() z = Constant<value_ints = [0]>()"
        " r = Gather(x, z) y = ScatterElements(x, i, r)", scattered),
    "Compress": ("c = Constant<value = bool[3] {1, 0, 1}>() y = Compress<axis = 0>(x, c)", lambda x: x[[0, 2]]),
    "Trilu": ("y = Trilu<upper = 0>(x)", np.tril),
    "OneHot": (
        "i = Constant<value = int64[2] {0, 2}>() d = Constant<value_int = 3>() f = Flatten<axis = 0>(x)"
        " z = Constant<value_ints = [0]>() o = Constant<value_ints = [0]>() r = Gather(f, o)"
        " q = Squeeze(r, z) w = Constant<value_ints = [0, 1]>() v = Gather(q, w) y = OneHot(i, d, v)",
        one_hot),
    "ReverseSequence": (
        "n = Constant<value = int64[4] {3, 3, 1, 2}>() y = ReverseSequence<time_axis = 0, batch_axis = 1>(x, n)",
        lambda x: np.stack([x[[2, 1, 0], 0], x[[2, 1, 0], 1], x[:, 2], x[[1, 0, 2], 3]], 1)),
    "Sequence": (
        "s = SequenceConstruct(x, x) i = Constant<value_int = 1>() y = SequenceAt(s, i)", lambda x: x),
    "Optional": ("o = Optional(x) y = OptionalGetElement(o)", lambda x: x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", MOVES)
def test_moves(name, dtype):
    nodes, expected = MOVES[name]
    x = numbers(3, 4, dtype=dtype)
    found = run(f"g (COMPLEX[a, b] x) => (y) {{ {nodes} }}", dtype, x=x)[0]
    np.testing.assert_array_equal(found, expected(x))
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_blocks(dtype):
    x = numbers(1, 4, 2, 2, dtype=dtype)
    text = """g (COMPLEX[1, 4, 2, 2] x) => (y, z) {
        y = DepthToSpace<blocksize = 2>(x)
        z = SpaceToDepth<blocksize = 2>(y)
    }"""
    y, z = run(text, dtype, x=x)
    np.testing.assert_array_equal(y, x.reshape(1, 2, 2, 1, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4))
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sizes(dtype):
    text = "g (COMPLEX[a, b] x) => (s, n) { s = Shape(x) n = Size(x) }"
    s, n = run(text, dtype, x=numbers(3, 4, dtype=dtype))
    assert s.tolist() == [3, 4] and n == 12


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_loops_carry_scan_and_stack(dtype):
    """A state turns around, rows come in, both are stacked."""
    text = """g (COMPLEX[2] first, COMPLEX[t, 2] xs) => (last, firsts, lasts) {
        last, firsts, lasts = Scan<num_scan_inputs = 1, body = step (COMPLEX[2] s, COMPLEX[2] x)
            => (COMPLEX[2] n, COMPLEX[2] a, COMPLEX[4] b) {
            a = Identity(s)
            b = Concat<axis = 0>(s, x)
            n = Identity(x)
        }>(first, xs)
    }"""
    first, xs = numbers(2, dtype=dtype), numbers(6, 2, dtype=dtype)
    last, firsts, lasts = run(text, dtype, first=first, xs=xs)
    states = np.concatenate([first[None], xs])
    np.testing.assert_array_equal(last, xs[-1])
    np.testing.assert_array_equal(firsts, states[:-1])
    np.testing.assert_array_equal(lasts, np.concatenate([states[:-1], xs], 1))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_branches(dtype):
    text = """g (bool c, COMPLEX[n] x) => (y) {
        y = If<then_branch = a () => (COMPLEX[n] p) { p = Identity(x) },
                  else_branch = b () => (COMPLEX[m] q) { q = Concat<axis = 0>(x, x) }>(c)
    }"""
    x = numbers(3, dtype=dtype)
    np.testing.assert_array_equal(run(text, dtype, c=np.array(True), x=x)[0], x)
    np.testing.assert_array_equal(run(text, dtype, c=np.array(False), x=x)[0], np.tile(x, 2))


@pytest.mark.parametrize("node", ["Add(x, x)", "Mul(x, x)", "Exp(x)", "ReduceSum(x)", "MatMul(x, x)"])
def test_what_computes_takes_no_complex_numbers(node):
    """ONNX's types do not allow it."""
    text = f"g (COMPLEX[2, 2] x) => (y) {{ y = {node} }}"
    with pytest.raises((ValueError, scanloom.Error)):
        run(text, "complex64", x=numbers(2, 2, dtype="complex64"))


def test_bits_are_as_many():
    """A complex128 has two float64: BitCast does not take it for one."""
    text = "g (COMPLEX[2] x) => (y) { y = BitCast<to = 11>(x) }"
    model = onnx.parser.parse_model(
        f'<ir_version: 13, opset_import: ["" : 26]> {text.replace("COMPLEX", "complex128")}'
    )
    with pytest.raises((ValueError, scanloom.Error), match="128 bits, those of type f64 have 64"):
        scanloom.InferenceSession(model.SerializeToString())
