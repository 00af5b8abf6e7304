"""Small ONNX models, each about one rule of loops and branches, with feeds to run them on.

onnxruntime returns uninitialised memory where a body yields one value twice, or a formal; cases
that are compared with it yield copies, the others state what is right."""

from __future__ import annotations

import dataclasses
from typing import Optional

import numpy as np
import onnx
import onnx.parser

Feeds = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Case:
    """A model and feeds. `peer_agrees`: onnxruntime follows the same rule for it."""

    name: str
    model: bytes
    feeds: Feeds
    peer_agrees: bool = True
    expected: Optional[tuple[np.ndarray, ...]] = None  # what the rule gives, where worth stating


def parse(graph: str, opset: int = 18) -> bytes:
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>\n'
    return onnx.parser.parse_model(header + graph).SerializeToString()


# The sum h of the rows of x from h0 on, and all sums on the way.
SUM = parse(
    """g (float[T,N] x, float[N] h0) => (float[N] h, float[T,N] y) {
      h, y = Scan <num_scan_inputs = 1,
        body = step (float[N] h1, float[N] x1) => (float[N] n, float[N] y1) {
          n = Add(h1, x1)
          y1 = Identity(n)
        }> (h0, x)
    }"""
)


def _randoms(*shape: int) -> np.ndarray:
    seed = sum((i + 1) * size for i, size in enumerate(shape)) + 7 * len(shape)
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _number(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def _integer(value: int) -> np.ndarray:
    return np.array(value, np.int64)


_SUM_BODY = """body = step (float[N] h, float[N] x) => (float[N] next, float[N] row) {
  next = Add(h, x)
  row = Identity(next)
}"""


def _scan(attributes: str, x: str, y: str, body: str = _SUM_BODY) -> bytes:
    return parse(
        f"""g (float{x} x, float[N] h0) => (float[N] h, float{y} y) {{
          h, y = Scan <num_scan_inputs = 1, {attributes} {body}> (h0, x)
        }}"""
    )


def _scan_cases() -> list[Case]:
    cases = []
    for steps in (0, 1, 2, 17):
        x, h0 = _randoms(steps, 3), _randoms(3)
        feeds = {"x": x, "h0": h0}
        empty = None if steps else (h0, x)
        forward = _scan("", "[T, N]", "[T, N]")
        cases.append(Case(f"scan_sum_{steps}", forward, feeds, steps > 0, empty))
        reverse = _scan("scan_input_directions = [1],", "[T, N]", "[T, N]")
        cases.append(Case(f"scan_reverse_{steps}", reverse, feeds, steps > 0, empty))
    feeds = {"x": _randoms(9, 3), "h0": _randoms(3)}
    across = {"x": _randoms(3, 9), "h0": _randoms(3)}
    prepend = _scan("scan_output_directions = [1],", "[T, N]", "[T, N]")
    both = "scan_input_directions = [1], scan_output_directions = [1],"
    cases += [
        Case("scan_prepend", prepend, feeds),
        Case("scan_reverse_prepend", _scan(both, "[T, N]", "[T, N]"), feeds),
        Case("scan_axis_1", _scan("scan_input_axes = [1],", "[N, T]", "[T, N]"), across),
        Case("scan_axis_last", _scan("scan_input_axes = [-1],", "[N, T]", "[T, N]"), across),
        Case("scan_output_axis_1", _scan("scan_output_axes = [1],", "[T, N]", "[N, T]"), feeds),
        Case("scan_output_axis_last", _scan("scan_output_axes = [-1],", "[T, N]", "[N, T]"), feeds),
        Case(
            "scan_all_axes_last",
            _scan(
                "scan_input_axes = [-1], scan_output_axes = [-1], scan_input_directions = [1],",
                "[N, T]",
                "[N, T]",
            ),
            across,
        ),
    ]
    return cases


def _scan_port_cases() -> list[Case]:
    swapped = """g (float[T] x, float[2] a0, float[2] b0) => (float[2] a, float[2] b, float[T,2] y) {
      a, b, y = Scan <num_scan_inputs = 1,
        body = step (float[2] a1, float[2] b1, float x1) => (float[2] b2, float[2] a2, float[2] y1) {
          b2 = Identity(b1)
          a2 = Identity(a1)
          y1 = Add(a1, x1)
        }> (a0, b0, x)
    }"""
    twice = """g (float[T,2] x, float[2] h0) => (float[2] h, float[2] k, float[T,2] y, float[T,2] z) {
      h, k, y, z = Scan <num_scan_inputs = 1,
        body = step (float[2] h1, float[2] k1, float[2] x1) =>
            (float[2] n, float[2] n, float[2] n, float[2] n) {
          s = Sub(h1, k1)
          n = Add(s, x1)
        }> (h0, h0, x)
    }"""
    formals = """g (float[T,2] x, float[2] h0) => (float[2] h, float[T,2] y, float[T,2] z) {
      h, y, z = Scan <num_scan_inputs = 1,
        body = step (float[2] h1, float[2] x1) => (float[2] n, float[2] h1, float[2] x1) {
          n = Add(h1, x1)
        }> (h0, x)
    }"""
    map_only = """g (float[T,2] x) => (float[T,2] y) {
      y = Scan <num_scan_inputs = 1,
        body = step (float[2] x1) => (float[2] y1) { y1 = Tanh(x1) }> (x)
    }"""
    captured = """g (float[T,2] x, float[2] h0, float[2] w) => (float[2] h, float[T,2] y) {
      scale = Exp(w)
      h, y = Scan <num_scan_inputs = 1,
        body = step (float[2] h1, float[2] x1) => (float[2] n, float[2] y1) {
          m = Mul(h1, scale)
          n = Add(m, x1)
          y1 = Identity(n)
        }> (h0, x)
    }"""
    nested = """g (float[T,S] x, float h0) => (float h, float[T,S] y) {
      h, y = Scan <num_scan_inputs = 1,
        body = outer (float h1, float[S] row) => (float h2, float[S] y1) {
          h2, y1 = Scan <num_scan_inputs = 1,
            body = inner (float h3, float x3) => (float h4, float y4) {
              p = Mul(h3, x3)
              q = Add(p, h1)
              h4 = Tanh(q)
              y4 = Identity(h4)
            }> (h1, row)
        }> (h0, x)
    }"""
    two_inputs = """g (float[T,2] x, float[2,T] w, float[2] h0) => (float[2] h, float[2,T] y) {
      h, y = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
          scan_output_axes = [1],
        body = step (float[2] h1, float[2] x1, float[2] w1) => (float[2] n, float[2] y1) {
          p = Mul(x1, w1)
          n = Add(h1, p)
          y1 = Identity(n)
        }> (h0, x, w)
    }"""
    x, h0 = _randoms(7, 2), _randoms(2)
    sums = np.cumsum(np.concatenate([h0[None], x]), axis=0, dtype=np.float32)
    formals_result = (sums[-1], sums[:-1], x)
    pair = {"x": _randoms(7), "a0": _randoms(2), "b0": _randoms(2) + 1}
    return [
        Case("states_swapped", parse(swapped), pair),
        Case("states_swapped_even", parse(swapped), {**pair, "x": _randoms(8)}),
        Case("one_value_yielded_often", parse(twice), {"x": x, "h0": h0}, False, (x[-1], x[-1], x, x)),
        Case("formals_yielded", parse(formals), {"x": x, "h0": h0}, False, formals_result),
        Case("scan_map", parse(map_only), {"x": x}),
        Case("outer_names", parse(captured), {"x": x, "h0": h0, "w": _randoms(2)}),
        Case("scan_in_scan", parse(nested), {"x": _randoms(4, 5), "h0": _number(0.5)}),
        Case(
            "two_scan_inputs", parse(two_inputs), {"x": x, "w": _randoms(2, 7), "h0": h0}
        ),
    ]


def _filter_cases() -> list[Case]:
    ema = """g (float[T] x, float h0) => (float h, float[T] y) {
      a = Constant <value = float {0.1}> ()
      b = Constant <value = float {0.9}> ()
      h, y = Scan <num_scan_inputs = 1,
        body = step (float h1, float x1) => (float n, float y1) {
          p = Mul(a, x1)
          q = Mul(b, h1)
          n = Add(p, q)
          y1 = Identity(n)
        }> (h0, x)
    }"""
    biquad = """g (float[T] x, float u0, float v0) => (float u, float v, float[T] y) {
      b0 = Constant <value = float {0.2}> ()
      b1 = Constant <value = float {0.4}> ()
      b2 = Constant <value = float {0.2}> ()
      a1 = Constant <value = float {-0.5}> ()
      a2 = Constant <value = float {0.3}> ()
      u, v, y = Scan <num_scan_inputs = 1,
        body = step (float u1, float v1, float x1) => (float u2, float v2, float y1) {
          p = Mul(b0, x1)
          y1 = Add(p, u1)
          q = Mul(b1, x1)
          r = Mul(a1, y1)
          s = Sub(q, r)
          u2 = Add(s, v1)
          k = Mul(b2, x1)
          l = Mul(a2, y1)
          v2 = Sub(k, l)
        }> (u0, v0, x)
    }"""
    rnn = """g (float[T,1,8] x, float[1,16] h0, float[8,16] w, float[16,16] r) =>
        (float[1,16] h, float[T,1,16] y) {
      h, y = Scan <num_scan_inputs = 1,
        body = step (float[1,16] h1, float[1,8] x1) => (float[1,16] n, float[1,16] y1) {
          p = MatMul(x1, w)
          q = MatMul(h1, r)
          s = Add(p, q)
          n = Tanh(s)
          y1 = Identity(n)
        }> (h0, x)
    }"""
    lanes = """g (float[T,5] x, float[5] h0) => (float[5] h, float[T,5] y) {
      h, y = Scan <num_scan_inputs = 1,
        body = step (float[5] h1, float[5] x1) => (float[5] n, float[5] z) {
          p = Sigmoid(h1)
          q = Mul(p, x1)
          n = Tanh(q)
          z = Exp(n)
        }> (h0, x)
    }"""
    signal = {"x": _randoms(1000), "h0": _number(0.25)}
    zeros = {"u0": _number(0), "v0": _number(0)}
    weights = {"w": _randoms(8, 16) / 4, "r": _randoms(16, 16) / 4}
    return [
        Case("ema", parse(ema), signal),
        Case("ema_empty", parse(ema), {**signal, "x": _randoms(0)}, False, (_number(0.25), _randoms(0))),
        Case("biquad", parse(biquad), {"x": _randoms(501), **zeros}),
        Case("rnn", parse(rnn), {"x": _randoms(20, 1, 8), "h0": _randoms(1, 16), **weights}),
        Case("lanes", parse(lanes), {"x": _randoms(33, 5), "h0": _randoms(5)}),
    ]


_LOOP_BODY = """body = step (int64 i, bool c, float[2] v) => (bool more, float[2] next, float[2] row) {
  one = Constant <value = float {1.0}> ()
  next = Add(v, one)
  total = ReduceSum <keepdims = 0> (next)
  ten = Constant <value = float {10.0}> ()
  more = Less(total, ten)
  row = Identity(v)
}"""


def _loop(trip: str, condition: str) -> bytes:
    return parse(
        f"""g (int64 n, bool go, float[2] v0) => (float[2] v, float[K,2] y) {{
          v, y = Loop <{_LOOP_BODY}> ({trip}, {condition}, v0)
        }}"""
    )


def _loop_cases() -> list[Case]:
    feeds = {"n": _integer(3), "go": np.array(True), "v0": np.zeros(2, np.float32)}
    many, none, negative = ({**feeds, "n": _integer(n)} for n in (100, 0, -2))
    twelve = (np.full(2, 12, np.float32), np.arange(12, dtype=np.float32)[:, None].repeat(2, 1))
    stop = {**feeds, "go": np.array(False)}
    return [
        Case("loop_trip_and_condition", _loop("n", "go"), feeds),
        Case("loop_condition_ends", _loop("n", "go"), many),
        Case("loop_no_trips", _loop("n", "go"), none),
        Case("loop_negative_trips", _loop("n", "go"), negative),
        Case("loop_never_begins", _loop("n", "go"), stop),
        Case("loop_trip_only", _loop("n", ""), {**feeds, "n": _integer(12)}, False, twelve),
        Case("loop_condition_only", _loop("", "go"), feeds),
        Case("loop_condition_only_false", _loop("", "go"), stop),
    ]


def _loop_port_cases() -> list[Case]:
    numbers = """g (int64 n) => (int64[K] y, int64 last) {
      zero = Constant <value = int64 {0}> ()
      last, y = Loop <body = step (int64 i, bool c, int64 s) => (bool c, int64 i2, int64 i) {
          i2 = Add(s, i)
        }> (n, , zero)
    }"""
    counter = """g (int64 n) => (int64 count) {
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      count = Loop <body = step (int64 i, bool c, int64 s) => (bool c2, int64 s2) {
          c2 = Identity(c)
          s2 = Add(s, one)
        }> (n, , zero)
    }"""
    growing = """g (int64 n, float[A] s0) => (float[B] s) {
      s = Loop <body = step (int64 i, bool c, float[D] v) => (bool c2, float[E] w) {
          c2 = Identity(c)
          f = Cast <to = 1> (i)
          shape = Constant <value = int64[1] {1}> ()
          row = Reshape(f, shape)
          w = Concat <axis = 0> (v, row)
        }> (n, , s0)
    }"""
    in_loop = """g (float[3] x, int64 n) => (float[3] y) {
      y = Loop <body = outer (int64 i, bool c, float[3] v) => (bool c2, float[3] w) {
          c2 = Identity(c)
          w = Loop <body = inner (int64 j, bool d, float[3] p) => (bool d2, float[3] q) {
              d2 = Identity(d)
              f = Cast <to = 1> (i)
              g = Cast <to = 1> (j)
              s = Add(f, g)
              q = Add(p, s)
            }> (i, , v)
        }> (n, , x)
    }"""
    collatz = """g (int64 start) => (int64 last, int64[K] path) {
      true = Constant <value = bool {1}> ()
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      three = Constant <value = int64 {3}> ()
      last, path = Loop <body = step (int64 i, bool c, int64 v) => (bool more, int64 w, int64 v) {
          rest = Mod(v, two)
          odd = Equal(rest, one)
          w = If <then_branch = up () => (int64 a) { t = Mul(v, three) a = Add(t, one) },
                  else_branch = down () => (int64 b) { b = Div(v, two) }> (odd)
          more = Less(one, w)
        }> (, true, start)
    }"""
    swap = """g (int64 n, float[2] a0, float[2] b0) => (float[2] a, float[2] b) {
      a, b = Loop <body = step (int64 i, bool c, float[2] a1, float[2] b1) =>
          (bool c2, float[2] b1, float[2] a1) { c2 = Identity(c) }> (n, , a0, b0)
    }"""
    numbered = (np.arange(4), _integer(6))
    path = [27]
    while path[-1] != 1:
        path.append(path[-1] * 3 + 1 if path[-1] % 2 else path[-1] // 2)
    walk = (_integer(1), np.array(path[:-1]))
    state = {"s0": _randoms(2)}
    a0, b0 = _randoms(2), _randoms(2) + 3
    pair = {"a0": a0, "b0": b0}
    return [
        Case("step_number_stacked", parse(numbers), {"n": _integer(4)}, False, numbered),
        Case("counter", parse(counter), {"n": _integer(1000)}),
        Case("growing_state", parse(growing), {"n": _integer(5), **state}),
        Case("growing_state_not", parse(growing), {"n": _integer(0), **state}),
        Case("loop_in_loop", parse(in_loop), {"x": _randoms(3), "n": _integer(4)}),
        Case("while_with_branches", parse(collatz), {"start": _integer(27)}, False, walk),
        Case("formals_swapped_3", parse(swap), {"n": _integer(3), **pair}, False, (b0, a0)),
        Case("formals_swapped_4", parse(swap), {"n": _integer(4), **pair}, False, (a0, b0)),
    ]


def _branch_cases() -> list[Case]:
    nested = """g (float[N] x, bool p, bool q) => (float[N] y) {
      y = If <then_branch = t () => (float[N] a) {
            e = Exp(x)
            a = If <then_branch = tt () => (float[N] b) { b = Neg(e) },
                    else_branch = te () => (float[N] c) { c = Sqrt(e) }> (q)
          },
          else_branch = f () => (float[N] d) { d = Abs(x) }> (p)
    }"""
    sizes = """g (float[N] x, bool p) => (float[M] y) {
      y = If <then_branch = t () => (float[A] a) { a = Concat <axis = 0> (x, x) },
              else_branch = f () => (float[B] b) { b = Tanh(x) }> (p)
    }"""
    x = _randoms(4)
    truth = {True: np.array(True), False: np.array(False)}
    cases = [
        Case(f"branch_{p}_{q}".lower(), parse(nested), {"x": x, "p": truth[p], "q": truth[q]})
        for p in truth
        for q in truth
    ]
    return cases + [
        Case(f"branch_sizes_{p}".lower(), parse(sizes), {"x": x, "p": truth[p]}) for p in truth
    ]


def cases() -> list[Case]:
    """All cases, with names that are unique."""
    return [
        *_scan_cases(),
        *_scan_port_cases(),
        *_filter_cases(),
        *_loop_cases(),
        *_loop_port_cases(),
        *_branch_cases(),
    ]
