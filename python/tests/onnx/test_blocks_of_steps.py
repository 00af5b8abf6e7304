"""Rows that exist only to be scanned by one loop are made in blocks of steps, in memory that does not
grow with the sequence. Every way to execute gives the interpreter's bits, whatever the length, and
wherever a loop ends."""

import numpy as np
import pytest

import scanloom
from loop_models import parse

RANDOM = np.random.default_rng(7)
# Of steps at least: a step's product has 1 KB, and what is made of it as much.
BLOCK = 128
WAYS = [
    {"threads": 1},
    {"threads": 2},
    {"threads": 7},
    {"threads": 1, "execution": "compiled"},
    {"threads": 1, "execution": "stepped"},
]

# Four gates of 64; the state's matrix is small, so that its products are no rows of the inputs'.
CELL = """g (float[T,4,20] xs, float[4,64] h0, float[20,64] w, float[64] b, float[64,64] r)
      => (float[4,64] h, float[T,4,64] ys) {{
      h, ys = Scan <num_scan_inputs = 1, scan_input_directions = [{0}], scan_output_directions = [{0}],
        body = step (float[4,64] h1, float[4,20] x) => (float[4,64] h2, float[4,64] y) {{
          p = MatMul(x, w)
          q = Add(p, b)
          s = MatMul(h1, r)
          t = Add(q, s)
          h2 = Tanh(t)
          y = Identity(h2)
        }}> (h0, xs)
    }}"""

# Ends after step `last`, over rows that are made outside.
STOPPING = parse(
    """g (float[T,3] xs, float[256] h0, float[3,256] w, int64 last) => (float[256] h, float[256] sums) {
      p = MatMul(xs, w)
      rows = Tanh(p)
      one = Constant <value = int64 {1}> ()
      yes = Constant <value = bool {1}> ()
      n = Shape <start = 0, end = 1> (xs)
      zero = Constant <value = int64[1] {0}> ()
      trips = Squeeze(n, zero)
      h, sums = Loop <body = step (int64 i, bool go, float[256] h1, float[256] s1)
                            => (bool go2, float[256] h2, float[256] s2) {
          row = Gather <axis = 0> (rows, i)
          a = Sub(row, h1)
          h2 = Abs(a)
          s2 = Add(s1, h2)
          go2 = Less(i, last)
        }> (trips, yes, h0, h0)
    }"""
)


# Rows that several others are made of, reduced with and without their axis; walked along axis 1, and
# backwards; two ports read rows of one input.
NORMALISED = parse(
    """g (float[3,T,40] xs, float[T,40] zs, float[3,40] h0) => (float[3,40] h, float[T,3,40] ys) {
      last = Constant <value = int64[1] {-1}> ()
      one = Constant <value = int64[1] {1}> ()
      mean = ReduceMean <keepdims = 1> (xs, last)
      apart = Sub(xs, mean)
      square = Mul(apart, apart)
      spread = ReduceMean <keepdims = 0> (square, last)
      axis = Unsqueeze(spread, last)
      root = Sqrt(axis)
      rows = Div(apart, root)
      chances = LogSoftmax <axis = 1> (zs)
      best = ReduceMax <keepdims = 0> (zs, one)
      h, ys = Scan <num_scan_inputs = 3, scan_input_axes = [1, 0, 0], scan_input_directions = [1, 0, 1],
        body = step (float[3,40] h1, float[3,40] x, float[40] z, float m) => (float[3,40] h2, float[3,40] y) {
          a = Mul(h1, x)
          b = Add(a, z)
          c = Sub(b, m)
          h2 = Tanh(c)
          y = Identity(h2)
        }> (h0, rows, chances, best)
    }"""
)


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32) / 4


def cell_feeds(steps: int) -> dict[str, np.ndarray]:
    return {"xs": array(steps, 4, 20), "h0": array(4, 64), "w": array(20, 64), "b": array(64), "r": array(64, 64)}


def expect_equal(sessions, given: dict[str, np.ndarray]) -> None:
    expected = sessions[0].run(None, given)
    for session in sessions[1:]:
        for _ in range(2):
            for got, wanted in zip(session.run(None, given), expected):
                np.testing.assert_array_equal(got, wanted)


def every_way(model: bytes):
    ways = [{"execution": "interpreted"}, *WAYS]
    return [scanloom.InferenceSession(model, **way) for way in ways]


@pytest.mark.parametrize("backwards", [0, 1])
def test_lengths_around_the_ends_of_blocks(backwards):
    sessions = every_way(parse(CELL.format(backwards)))
    for steps in (0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 1, 3 * BLOCK + 7, 1500):
        expect_equal(sessions, cell_feeds(steps))


def test_rows_that_several_are_made_of():
    sessions = every_way(NORMALISED)
    for steps in (0, 1, 2, 39, 40, 41, 130, 170, 171, 500, 1501):
        given = {"xs": array(3, steps, 40), "zs": array(steps, 40), "h0": array(3, 40)}
        expect_equal(sessions, given)
    assert sessions[1].explain().count("are made in blocks of") == 3


@pytest.mark.parametrize("steps", [BLOCK + 1, 2 * BLOCK + 1, 3 * BLOCK])
def test_loops_that_end_early(steps):
    sessions = every_way(STOPPING)
    given = {"xs": array(steps, 3), "h0": array(256), "w": array(3, 256)}
    block = -(-steps // max(steps // BLOCK, 1))
    first = (steps - 1) % block + 1
    for last in (0, 5, first - 2, first - 1, first, first + 1, first + block - 1, steps):
        expect_equal(sessions, {**given, "last": np.int64(last)})


def test_memory_does_not_grow_with_the_sequence():
    model = parse(CELL.format(0).replace(", float[T,4,64] ys", "").replace("h, ys =", "h, _ ="))
    session = scanloom.InferenceSession(model, threads=1)
    for steps in (2_000, 50_000):  # all rows would be 51 MB
        session.run(None, cell_feeds(steps), scanloom.RunOptions(max_memory=1 << 20))
    assert "made in blocks of" in session.explain()


def test_pieces_of_a_stream_give_the_bits_of_the_whole():
    session = scanloom.InferenceSession(parse(CELL.format(0)), threads=1)
    given = cell_feeds(1200)
    _, whole = session.run(None, given)
    for cuts in ([300, 900], [1, BLOCK, 2 * BLOCK + 1]):
        stream, pieces = session.stream(), []
        for first, last in zip([0, *cuts], [*cuts, 1200]):
            piece = {name: given[name] for name in ("w", "b", "r")}
            piece["xs"] = given["xs"][first:last]
            if first == 0:
                piece["h0"] = given["h0"]
            pieces.append(stream.push(piece, ["ys"])[0])
        np.testing.assert_array_equal(np.concatenate(pieces), whole)
