"""A faulty node is an error only if it is run: not in the region of a branch that is not taken, nor
in the body of a loop that takes no step."""

import numpy as np
import pytest

import scanloom
from loop_models import parse

EXECUTIONS = ("automatic", "stepped", "interpreted")

# What the data decide, fed wrong: nodes that make y from the inputs, and the inputs.
FAULTY = {
    "index_outside": ("y = Gather(x, i)", {"i": np.array([7])}),
    "element_index_outside": ("y = GatherElements(x, i)", {"i": np.array([7])}),
    "axis_outside": ("y = CumSum(x, a)", {"a": np.array(7)}),
    "shape_that_does_not_fit": ("y = Reshape(x, i)", {"i": np.array([5, 5])}),
    "too_many": ("y, j = TopK(x, i)", {"i": np.array([9])}),
    "sizes_that_do_not_broadcast": ("y = Add(x, z)", {"z": np.zeros(5, np.float32)}),
    "product_of_sizes_that_do_not_fit": (
        "m = Reshape(z, i) y = MatMul(x, m)",
        {"z": np.zeros(5, np.float32), "i": np.array([5, 1])},
    ),
    "unequal_lengths": (
        """y = Scan <num_scan_inputs = 2, body = b (float p, float q) => (float r) { r = Add(p, q) }>
        (x, z)""",
        {"z": np.zeros(5, np.float32)},
    ),
    "unequal_lengths_nested": (
        """n = Size(x) t = Cast <to = 9> (n) o = Cast <to = 1> (n)
        l, y = Loop (n, t, o) <body = in (int64 k2, bool c2, float h3) => (bool d2, float g, float[A] u) {
          d2 = Identity(c2)
          g = Identity(h3)
          u = Scan <num_scan_inputs = 2,
              body = s (float p, float q) => (float r) { r = Add(p, q) }> (x, z)
        }>""",
        {"z": np.zeros(5, np.float32)},
    ),
}
DEFAULTS = {
    "x": np.arange(3, dtype=np.float32),
    "i": np.array([0]),
    "a": np.array(0),
    "z": np.zeros(3, np.float32),
}
INPUTS = "float[N] x, int64[K] i, int64 a, float[M] z"


def branch(nodes):
    return parse(
        f"""g (bool flag, {INPUTS}) => (float[R] w) {{
          y0 = If (flag) <then_branch = t () => (float[R1] y) {{ {nodes} }},
                          else_branch = e () => (float[R2] v) {{ v = Neg(x) }}>
          w = Flatten <axis = 0> (y0)
        }}"""
    )


def loop(nodes):
    return parse(
        f"""g (int64 steps, {INPUTS}) => (float[N] last) {{
          yes = Constant <value = bool {{1}}> ()
          last = Loop (steps, yes, x) <body = b (int64 k, bool c, float[N] h)
              => (bool d, float[N] h2) {{
            d = Identity(c)
            {nodes}
            total = ReduceSum <keepdims = 0> (y)
            h2 = Add(h, total)
          }}>
        }}"""
    )


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", FAULTY)
def test_a_side_that_is_not_taken(case, execution):
    nodes, wrong = FAULTY[case]
    session = scanloom.InferenceSession(branch(nodes), execution=execution)
    feeds = {**DEFAULTS, **wrong}
    [y] = session.run(None, {**feeds, "flag": np.array(False)})
    np.testing.assert_array_equal(y, -feeds["x"][np.newaxis])
    with pytest.raises(scanloom.Error):
        session.run(None, {**feeds, "flag": np.array(True)})


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", FAULTY)
def test_a_loop_of_no_steps(case, execution):
    nodes, wrong = FAULTY[case]
    session = scanloom.InferenceSession(loop(nodes), execution=execution)
    feeds = {**DEFAULTS, **wrong}
    [last] = session.run(None, {**feeds, "steps": np.array(0)})
    np.testing.assert_array_equal(last, feeds["x"])
    with pytest.raises(scanloom.Error):
        session.run(None, {**feeds, "steps": np.array(2)})
