"""OpenVINO TensorIterators and Loops whose bodies are not one of its cells: recurrences, filters,
small products, data-dependent ends, nested loops. Each has a float64 formula."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from iterator import BOOL, I64, Layers, Loop


@dataclasses.dataclass(frozen=True)
class Body:
    name: str
    about: str
    steps: int
    write: Callable[[Layers], None]
    feeds: Mapping[str, np.ndarray]
    reference: Callable[..., list[np.ndarray]]  # takes the feeds, in float64
    tolerance: float = 1e-5


def _random(seed, *shape, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def _rows(values):
    return np.stack(values)


# A counter.

COUNTER_STEPS = 20_000


def _write_counter(net):
    start = net.input("start", [1])
    loop = Loop(net, net.constant(COUNTER_STEPS, I64))
    count = loop.carried(start, [1])
    following = loop("Add", count, loop.constant([1]))
    loop.becomes(count, following)
    loop.last(following)
    net.output(*loop.close())


# h = a h + b

AFFINE_STEPS = 10_000


def _write_affine(net):
    a, b = (net.input(name, [AFFINE_STEPS, 1]) for name in ("a", "b"))
    start = net.input("h", [1, 1])
    loop = Loop(net)
    h = loop.carried(start, [1, 1])
    factor, added = (loop.scanned(outer, [1, 1]) for outer in (a, b))
    following = loop("Add", loop("Multiply", factor, h), added)
    loop.becomes(h, following)
    loop.rows(following)
    net.output(*loop.close())


def _affine(a, b, h):
    rows = []
    for factor, added in zip(a, b):
        h = factor * h[0] + added
        rows.append(h)
        h = h[None]
    return [_rows(rows)]


# An exponential moving average of 64 signals.

EMA_STEPS, EMA_WIDTH = 2_000, 64


def _write_ema(net):
    xs = net.input("xs", [EMA_STEPS, EMA_WIDTH])
    start = net.input("mean", [1, EMA_WIDTH])
    loop = Loop(net)
    mean = loop.carried(start, [1, EMA_WIDTH])
    x = loop.scanned(xs, [1, EMA_WIDTH])
    kept = loop("Multiply", mean, loop.constant(0.9))
    following = loop("Add", kept, loop("Multiply", x, loop.constant(0.1)))
    loop.becomes(mean, following)
    loop.rows(following)
    net.output(*loop.close())


def _ema(xs, mean):
    mean, rows = mean[0], []
    for x in xs:
        mean = 0.9 * mean + 0.1 * x
        rows.append(mean)
    return [_rows(rows)]


# The log-likelihood of GARCH(1,1).

GARCH_STEPS = 5_000
OMEGA, ALPHA, BETA = 0.05, 0.1, 0.85


def _write_garch(net):
    returns = net.input("returns", [GARCH_STEPS, 1])
    starts = [net.input(name, [1, 1]) for name in ("variance", "likelihood")]
    loop = Loop(net)
    x = loop.scanned(returns, [1, 1])
    variance, likelihood = (loop.carried(start, [1, 1]) for start in starts)
    square = loop("Multiply", x, x)
    term = loop("Add", loop("Log", variance), loop("Divide", square, variance))
    total = loop("Subtract", likelihood, loop("Multiply", term, loop.constant(0.5)))
    seen = loop("Add", loop("Multiply", square, loop.constant(ALPHA)), loop.constant(OMEGA))
    following = loop("Add", seen, loop("Multiply", variance, loop.constant(BETA)))
    loop.becomes(variance, following)
    loop.becomes(likelihood, total)
    loop.last(total)
    loop.rows(following)
    for result in loop.close():
        net.output(result)


def _garch(returns, variance, likelihood):
    rows = []
    for x in returns:
        likelihood = likelihood - 0.5 * (np.log(variance) + x * x / variance)
        variance = OMEGA + ALPHA * x * x + BETA * variance
        rows.append(variance)
    return [likelihood, _rows(rows)]


# A transposed biquad filter: OpenVINO is wrong on delay lines, where a state becomes another state.

BIQUAD_STEPS = 10_000
B0, B1, B2, A1, A2 = 0.0675, 0.1349, 0.0675, -1.1430, 0.4128


def _write_biquad(net):
    xs = net.input("xs", [BIQUAD_STEPS, 1])
    zero = net.constant([[0]])
    loop = Loop(net)
    x = loop.scanned(xs, [1, 1])
    first, second = (loop.carried(zero, [1, 1]) for _ in range(2))

    def times(value, factor):
        return loop("Multiply", value, loop.constant(factor))

    y = loop("Add", times(x, B0), first)
    taken = loop("Subtract", times(x, B1), times(y, A1))
    loop.becomes(first, loop("Add", taken, second))
    loop.becomes(second, loop("Subtract", times(x, B2), times(y, A2)))
    loop.rows(y)
    net.output(*loop.close())


def _biquad(xs):
    first = second = 0
    rows = []
    for x in xs:
        y = B0 * x + first
        first, second = B1 * x - A1 * y + second, B2 * x - A2 * y
        rows.append(y)
    return [_rows(rows)]


# h = tanh(x W + h R), small.

TANH_STEPS, TANH_WIDTH = 1_000, 32
TANH_W, TANH_R = (_random(seed, TANH_WIDTH, TANH_WIDTH) / np.float32(6) for seed in (61, 62))


def _write_tanh(net):
    xs = net.input("xs", [TANH_STEPS, TANH_WIDTH])
    start = net.input("h", [1, TANH_WIDTH])
    loop = Loop(net)
    h = loop.carried(start, [1, TANH_WIDTH])
    x = loop.scanned(xs, [1, TANH_WIDTH])
    products = [loop("MatMul", value, loop.constant(weights), transpose_a=False, transpose_b=False)
                for value, weights in ((x, TANH_W), (h, TANH_R))]
    following = loop("Tanh", loop("Add", *products))
    loop.becomes(h, following)
    loop.rows(following)
    net.output(*loop.close())


def _tanh(xs, h):
    w, r, rows = TANH_W.astype(np.float64), TANH_R.astype(np.float64), []
    for x in xs:
        h = np.tanh(x @ w + h @ r)
        rows.append(h)
    return [_rows(rows)]


# Running sums and maxima.

RUNNING_STEPS, RUNNING_WIDTH = 4_000, 16


def _write_running(net):
    xs = net.input("xs", [RUNNING_STEPS, RUNNING_WIDTH])
    starts = [net.input(name, [1, RUNNING_WIDTH]) for name in ("total", "most")]
    loop = Loop(net)
    x = loop.scanned(xs, [1, RUNNING_WIDTH])
    for start, kind in zip(starts, ("Add", "Maximum")):
        state = loop.carried(start, [1, RUNNING_WIDTH])
        following = loop(kind, state, x)
        loop.becomes(state, following)
        loop.rows(following)
    for result in loop.close():
        net.output(result)


def _running(xs, total, most):
    return [total + np.cumsum(xs, 0), np.maximum(most, np.maximum.accumulate(xs, 0))]


# Attention: one query per step over 48 keys.

LOOK_STEPS, KEYS, LOOK_WIDTH = 400, 48, 32


def _write_attention(net):
    xs = net.input("xs", [LOOK_STEPS, LOOK_WIDTH])
    outer = [net.input(name, [KEYS, LOOK_WIDTH]) for name in ("keys", "values")]
    start = net.input("h", [1, LOOK_WIDTH])
    loop = Loop(net)
    x = loop.scanned(xs, [1, LOOK_WIDTH])
    keys, values = (loop.captured(one, [KEYS, LOOK_WIDTH]) for one in outer)
    h = loop.carried(start, [1, LOOK_WIDTH])
    query = loop("Add", x, h)
    scores = loop("MatMul", query, keys, transpose_a=False, transpose_b=True)
    shares = loop("SoftMax", loop("Multiply", scores, loop.constant(LOOK_WIDTH**-0.5)), axis=1)
    seen = loop("MatMul", shares, values, transpose_a=False, transpose_b=False)
    following = loop("Tanh", loop("Add", seen, x))
    loop.becomes(h, following)
    loop.rows(following)
    net.output(*loop.close())


def _attention(xs, keys, values, h):
    rows = []
    for x in xs:
        scores = (x + h) @ keys.T * LOOK_WIDTH**-0.5
        shares = np.exp(scores - scores.max())
        h = np.tanh(shares / shares.sum() @ values + x)
        rows.append(h)
    return [_rows(rows)]


# Discounted returns, from the last step to the first.

RETURN_STEPS, RETURN_WIDTH = 4_000, 8


def _write_returns(net):
    rewards, going = (net.input(name, [RETURN_STEPS, RETURN_WIDTH]) for name in ("rewards", "going"))
    start = net.input("after", [1, RETURN_WIDTH])
    loop = Loop(net)
    reward, goes = (loop.scanned(one, [1, RETURN_WIDTH], reverse=True) for one in (rewards, going))
    after = loop.carried(start, [1, RETURN_WIDTH])
    later = loop("Multiply", loop("Multiply", after, goes), loop.constant(0.99))
    following = loop("Add", reward, later)
    loop.becomes(after, following)
    loop.rows(following, reverse=True)
    net.output(*loop.close())


def _returns(rewards, going, after):
    rows = []
    for reward, goes in zip(rewards[::-1], going[::-1]):
        after = reward + 0.99 * goes * after
        rows.append(after[0])
    return [_rows(rows[::-1])]


# Square roots by Newton's method, until convergence.

ROOTS, NEWTON_MOST, NEWTON_END = 64, 100, 1e-3


def _write_newton(net):
    numbers = net.input("numbers", [ROOTS])
    loop = Loop(net, net.constant(NEWTON_MOST, I64))
    a, x = loop.captured(numbers, [ROOTS]), loop.carried(numbers, [ROOTS])
    following = loop("Multiply", loop("Add", x, loop("Divide", a, x)), loop.constant(0.5))
    moved = loop("Abs", loop("Subtract", following, x))
    most = loop("ReduceMax", moved, loop.constant([0], I64), keep_dims=False)
    loop.goes_on(loop("Greater", most, loop.constant(NEWTON_END)))
    loop.becomes(x, following)
    loop.last(following)
    net.output(*loop.close())


def _newton(numbers):
    x = numbers
    for _ in range(NEWTON_MOST):
        following = 0.5 * (x + numbers / x)
        most, x = np.abs(following - x).max(), following
        if most <= NEWTON_END:
            break
    return [x]


# Early exit: a random walk that ends depending on data, after 3000 of at most 10000 steps.

WALK_STEPS, WALK_MOST = 3_000, 10_000


def _write_walk(net):
    bound = net.input("bound", [1])
    start = net.input("x", [1])
    loop = Loop(net, net.constant(WALK_MOST, I64))
    limit, x = loop.captured(bound, [1]), loop.carried(start, [1])
    following = loop("Add", x, loop.constant([0.5]))
    loop.goes_on(loop("Less", following, limit))
    loop.becomes(x, following)
    loop.rows(following)
    net.output(*loop.close())


def _walk(bound, x):
    rows = []
    while len(rows) < WALK_MOST:
        x = x + 0.5
        rows.append(x)
        if not x[0] < bound[0]:
            break
    return [_rows(rows)]


# A state that grows by a row per step.

GROWING_STEPS, GROWING_WIDTH = 300, 32


def _write_growing(net):
    xs = net.input("xs", [GROWING_STEPS, GROWING_WIDTH])
    start = net.input("rows", [1, GROWING_WIDTH])
    loop = Loop(net, net.constant(GROWING_STEPS, I64))
    rows = loop.carried(start, [-1, GROWING_WIDTH])
    x = loop.scanned(xs, [1, GROWING_WIDTH])
    following = loop("Concat", rows, loop("Multiply", x, x), axis=0)
    loop.becomes(rows, following)
    loop.last(following)
    net.output(*loop.close())


def _growing(xs, rows):
    return [np.concatenate([rows, xs * xs])]


# A TensorIterator over columns in a Loop over rounds in an If.

ROUNDS, COLUMNS, COLUMN_WIDTH = 40, 50, 8


def _write_nested(net):
    xs = net.input("xs", [COLUMNS, COLUMN_WIDTH])
    start = net.input("h", [1, COLUMN_WIDTH])
    chosen = net.input("chosen", [], BOOL)
    taken, other = Layers(net.graph.body()), Layers(net.graph.body())
    inner_xs = taken.input("xs", [COLUMNS, COLUMN_WIDTH])
    inner_h = taken.input("h", [1, COLUMN_WIDTH])
    rounds = Loop(taken, taken.constant(ROUNDS, I64))
    columns, h = rounds.captured(inner_xs, [COLUMNS, COLUMN_WIDTH]), rounds.carried(
        inner_h, [1, COLUMN_WIDTH])
    loop = Loop(rounds)
    x, state = loop.scanned(columns, [1, COLUMN_WIDTH]), loop.carried(h, [1, COLUMN_WIDTH])
    following = loop("Tanh", loop("Add", loop("Multiply", state, loop.constant(0.5)), x))
    loop.becomes(state, following)
    loop.last(following)
    (after,) = loop.close()
    rounds.becomes(h, after)
    rounds.last(after)
    then_result = taken.graph.result(*rounds.close())
    other_h = other.input("h", [1, COLUMN_WIDTH])
    else_result = other.graph.result(other("Negative", other_h))
    sides = [
        (taken.graph, [{"kind": "input", "port": 1, "layer": inner_xs.layer},
                       {"kind": "input", "port": 2, "layer": inner_h.layer},
                       {"kind": "output", "port": 0, "layer": then_result}]),
        (other.graph, [{"kind": "input", "port": 2, "layer": other_h.layer},
                       {"kind": "output", "port": 0, "layer": else_result}]),
    ]
    net.output(net.graph.branch([chosen, xs, start], 1, sides))


def _nested(xs, h, chosen):
    for _ in range(ROUNDS):
        for x in xs:
            h = np.tanh(0.5 * h + x)
    return [h]


# The cost of a run without its steps.

FEW_STEPS, FEW_WIDTH = 4, 16


def _write_few(net):
    xs = net.input("xs", [FEW_STEPS, FEW_WIDTH])
    start = net.input("h", [1, FEW_WIDTH])
    loop = Loop(net)
    h, x = loop.carried(start, [1, FEW_WIDTH]), loop.scanned(xs, [1, FEW_WIDTH])
    following = loop("Tanh", loop("Add", loop("Multiply", h, loop.constant(0.5)), x))
    loop.becomes(h, following)
    loop.rows(following)
    net.output(*loop.close())


def _few(xs, h):
    rows = []
    for x in xs:
        h = np.tanh(0.5 * h + x)
        rows.append(h)
    return [_rows(rows)]


BODIES = [
    Body("counter", "a number that counts", COUNTER_STEPS, _write_counter,
         {"start": np.zeros(1, np.float32)}, lambda start: [start + COUNTER_STEPS]),
    Body("affine", "h = a h + b, one element", AFFINE_STEPS, _write_affine,
         {"a": _random(31, AFFINE_STEPS, 1), "b": _random(32, AFFINE_STEPS, 1),
          "h": np.ones((1, 1), np.float32)}, _affine),
    Body("ema", f"exponential moving average, {EMA_WIDTH} wide", EMA_STEPS, _write_ema,
         {"xs": _random(33, EMA_STEPS, EMA_WIDTH), "mean": _random(34, 1, EMA_WIDTH)}, _ema),
    Body("garch", "log-likelihood of GARCH(1,1)", GARCH_STEPS, _write_garch,
         {"returns": _random(35, GARCH_STEPS, 1), "variance": np.ones((1, 1), np.float32),
          "likelihood": np.zeros((1, 1), np.float32)}, _garch, 1e-4),
    Body("biquad", "a biquad filter", BIQUAD_STEPS, _write_biquad,
         {"xs": _random(36, BIQUAD_STEPS, 1)}, _biquad),
    Body("tanh_product", f"h = tanh(x W + h R), width {TANH_WIDTH}", TANH_STEPS, _write_tanh,
         {"xs": _random(37, TANH_STEPS, TANH_WIDTH), "h": _random(38, 1, TANH_WIDTH)}, _tanh),
    Body("running", f"running sums and maxima, {RUNNING_WIDTH} wide", RUNNING_STEPS, _write_running,
         {"xs": _random(39, RUNNING_STEPS, RUNNING_WIDTH),
          "total": _random(40, 1, RUNNING_WIDTH), "most": _random(41, 1, RUNNING_WIDTH)},
         _running, 1e-4),
    Body("attention", f"a query per step into {KEYS} keys, width {LOOK_WIDTH}", LOOK_STEPS,
         _write_attention,
         {"xs": _random(42, LOOK_STEPS, LOOK_WIDTH), "keys": _random(43, KEYS, LOOK_WIDTH),
          "values": _random(44, KEYS, LOOK_WIDTH), "h": _random(45, 1, LOOK_WIDTH)}, _attention),
    Body("returns", f"discounted returns, backwards, {RETURN_WIDTH} wide", RETURN_STEPS,
         _write_returns,
         {"rewards": _random(46, RETURN_STEPS, RETURN_WIDTH),
          "going": np.float32(_random(47, RETURN_STEPS, RETURN_WIDTH) > -0.98),
          "after": _random(48, 1, RETURN_WIDTH)}, _returns, 1e-4),
    Body("newton", f"{ROOTS} square roots until nothing moves, per run", 1, _write_newton,
         {"numbers": _random(49, ROOTS, low=0.5, high=9)}, _newton),
    Body("early_exit", "a walk up to a bound, of unknown length", WALK_STEPS, _write_walk,
         {"bound": np.array([WALK_STEPS / 2 - 0.25], np.float32), "x": np.zeros(1, np.float32)},
         _walk),
    Body("growing", "a state that grows by a row per step", GROWING_STEPS, _write_growing,
         {"xs": _random(50, GROWING_STEPS, GROWING_WIDTH), "rows": _random(51, 1, GROWING_WIDTH)},
         _growing),
    Body("nested", "TensorIterator in Loop in If", ROUNDS * COLUMNS, _write_nested,
         {"xs": _random(52, COLUMNS, COLUMN_WIDTH), "h": _random(53, 1, COLUMN_WIDTH),
          "chosen": np.array(True)}, _nested),
    Body("few_steps", f"{FEW_STEPS} steps of {FEW_WIDTH} elements, per run", 1, _write_few,
         {"xs": _random(54, FEW_STEPS, FEW_WIDTH), "h": _random(55, 1, FEW_WIDTH)}, _few),
]


def reference(body):
    return body.reference(**{name: array.astype(np.float64) for name, array in body.feeds.items()})
