"""One long sequence on one thread and on two: what speculation gains, and what it costs where it
never agrees. Run it by hand on a machine with two idle cores:

    build/venv/bin/python bench/speculation.py --steps 1000000 10000000

Each loop is run in order and speculated, by sessions that take turns of 5 ms or one run, as in the
zoo (docs/zoo.md); the times are minima. The results are compared bit for bit first, and `explain`
says how often guesses agreed. The exit status is 1 if any result differs."""

import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np

import scanloom
from graph import BOOL, F64, I64, Graph
from workloads import cascade

UINT8 = 2  # as in onnx.TensorProto
QUOTE = ord('"')
HIDDEN = 48  # units of the GRUs
SECONDS_OF_TURN = 5e-3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--only", nargs="+", default=list(LOOPS), choices=list(LOOPS))
    parser.add_argument("--rounds", type=int, default=15, help="turns of each, at most")
    parser.add_argument("--seconds", type=float, default=20, help="for each loop, about")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def write_average(path, rate):
    graph = Graph()
    start, xs = graph.input("start", []), graph.input("xs", ["steps"])
    body = graph.body()
    state, x = body.input("state", []), body.input("x", [])
    old, new = body.constant(np.float32(rate)), body.constant(np.float32(1 - rate))
    after = body("Add", body("Mul", old, state), body("Mul", new, x))
    body.output(after, [])
    body.output(after, [])
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"])
    graph.save(path)


def write_sum(path):
    graph = Graph()
    start, xs = graph.input("start", []), graph.input("xs", ["steps"])
    body = graph.body()
    after = body("Add", body.input("state", []), body.input("x", []))
    body.output(after, [])
    body.output(after, [])
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"])
    graph.save(path)


def write_garch(path):
    """The conditional variances of GARCH(1,1)."""
    graph = Graph()
    start, xs = graph.input("start", [], F64), graph.input("xs", ["steps"], F64)
    body = graph.body()
    variance, x = body.input("variance", [], F64), body.input("x", [], F64)
    omega, alpha, beta = (body.constant(np.float64(number)) for number in (0.02, 0.08, 0.9))
    fresh = body("Add", omega, body("Mul", alpha, body("Mul", x, x)))
    after = body("Add", fresh, body("Mul", beta, variance))
    body.output(after, [], F64)
    body.output(after, [], F64)
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"], F64)
    graph.save(path)


def write_viterbi(path, states=8):
    """The scores of the states, relative to the best one, and their predecessors."""
    move = np.log(np.random.default_rng(5).dirichlet(np.ones(states), states)).astype(np.float32)
    graph = Graph()
    start, xs = graph.input("start", [states]), graph.input("xs", ["steps", states])
    body = graph.body()
    score, seen = body.input("score", [states]), body.input("seen", [states])
    moved = body("Add", body("Unsqueeze", score, body.constant(np.array([1]))), body.constant(move))
    after = body("Add", body("ReduceMax", moved, axes=[0], keepdims=0), seen)
    body.output(body("Sub", after, body("ReduceMax", after, axes=[0], keepdims=1)), [states])
    body.output(body("ArgMax", moved, axis=0, keepdims=0), [states], 7)
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps", states], 7)
    graph.save(path)


def write_gru(path, scale):
    """A GRU written out; with small weights it contracts, with large ones it is chaotic."""
    random = np.random.default_rng(6)
    weights = (scale * random.standard_normal((HIDDEN, 3 * HIDDEN)) / np.sqrt(HIDDEN)).astype(np.float32)
    projection = random.standard_normal((1, 3 * HIDDEN)).astype(np.float32)
    graph = Graph()
    start, xs = graph.input("start", [1, HIDDEN]), graph.input("xs", ["steps", 1, 1])
    body = graph.body()
    state, x = body.input("state", [1, HIDDEN]), body.input("x", [1, 1])
    z_x, r_x, n_x = body.many("Split", body("MatMul", x, body.constant(projection)), outputs=3, axis=1)
    z_h, r_h, n_h = body.many("Split", body("MatMul", state, body.constant(weights)), outputs=3, axis=1)
    z, r = body("Sigmoid", body("Add", z_x, z_h)), body("Sigmoid", body("Add", r_x, r_h))
    n = body("Tanh", body("Add", n_x, body("Mul", r, n_h)))
    after = body("Add", n, body("Mul", z, body("Sub", state, n)))
    body.output(after, [1, HIDDEN])
    body.output(body("ReduceSum", after, body.constant(np.array([0, 1])), keepdims=0), [])
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"])
    graph.save(path)


def write_quotes(path):
    """Whether a character is inside of quotes: a flag that each quote turns."""
    graph = Graph()
    start, xs = graph.input("start", [], BOOL), graph.input("xs", ["steps"], UINT8)
    body = graph.body()
    state, x = body.input("state", [], BOOL), body.input("x", [], UINT8)
    after = body("Xor", state, body("Equal", x, body.constant(np.uint8(QUOTE))))
    body.output(after, [], BOOL)
    body.output(after, [], BOOL)
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"], BOOL)
    graph.save(path)


def write_automaton(path, table):
    """An automaton: table[state, kind of character]. The states are the rows."""
    graph = Graph()
    start, xs = graph.input("start", [], I64), graph.input("xs", ["steps"], UINT8)
    body = graph.body()
    state, x = body.input("state", [], I64), body.input("x", [], UINT8)
    kind = body("Cast", body("Equal", x, body.constant(np.uint8(QUOTE))), to=I64)
    index = body("Add", body("Mul", state, body.constant(np.int64(2))), kind)
    after = body("Gather", body.constant(np.array(table, np.int64).ravel()), index)
    body.output(after, [], I64)
    body.output(after, [], I64)
    _, rows = graph.scan(body, [start], [xs])
    graph.output(rows, ["steps"], I64)
    graph.save(path)


def text(n):
    """Characters of which every sixteenth is a quote."""
    random = np.random.default_rng(8)
    return np.where(random.random(n) < 1 / 16, QUOTE, ord("a")).astype(np.uint8)


def noise(*shape, dtype=np.float32):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


# name: (how the model is written, feeds for so many steps, the largest number of steps)
LOOPS = {
    "EMA 0.9": (
        lambda path: write_average(path, 0.9),
        lambda n: {"start": np.float32(0), "xs": noise(n)}, 10_000_000,
    ),
    "EMA 0.999": (
        lambda path: write_average(path, 0.999),
        lambda n: {"start": np.float32(0), "xs": noise(n)}, 10_000_000,
    ),
    "biquad cascade": (cascade.write, cascade.feeds, 10_000_000),
    "GARCH": (
        write_garch, lambda n: {"start": np.float64(1), "xs": noise(n, dtype=np.float64)}, 10_000_000,
    ),
    "Viterbi": (
        write_viterbi, lambda n: {"start": np.zeros(8, np.float32), "xs": noise(n, 8)}, 10_000_000,
    ),
    "GRU that contracts": (
        lambda path: write_gru(path, 0.3),
        lambda n: {"start": np.zeros((1, HIDDEN), np.float32), "xs": noise(n, 1, 1)}, 10_000_000,
    ),
    "quotes": (
        write_quotes, lambda n: {"start": np.bool_(False), "xs": text(n)}, 10_000_000,
    ),
    "CSV automaton": (
        lambda path: write_automaton(path, [[0, 1], [1, 2], [0, 1]]),
        lambda n: {"start": np.int64(0), "xs": text(n)}, 10_000_000,
    ),
    "counter modulo 5": (
        lambda path: write_automaton(path, [[i, (i + 1) % 5] for i in range(5)]),
        lambda n: {"start": np.int64(0), "xs": text(n)}, 10_000_000,
    ),
    "cumulative sum": (
        write_sum, lambda n: {"start": np.float32(0), "xs": noise(n)}, 10_000_000,
    ),
    "chaotic GRU": (
        lambda path: write_gru(path, 8),
        lambda n: {"start": np.zeros((1, HIDDEN), np.float32), "xs": noise(n, 1, 1)}, 10_000_000,
    ),
}


def least_of_turn(run):
    """Returns the least of the times of runs, in seconds, that together take SECONDS_OF_TURN."""
    least, begin = np.inf, time.perf_counter()
    while True:
        start = time.perf_counter()
        run()
        end = time.perf_counter()
        least = min(least, end - start)
        if end - begin > SECONDS_OF_TURN:
            return least


def chunks_of(session):
    lines = [line.strip() for line in session.explain().splitlines()]
    return "; ".join(line[10:].strip() for line in lines if line.startswith("chunks"))


def measure(name, steps, options, folder):
    """Prints a row; returns whether the results are equal."""
    write, feeds_of, most = LOOPS[name]
    if steps > most:
        return True
    path = folder / f"{name.replace(' ', '_')}.onnx"
    write(path)
    feeds = feeds_of(steps)
    in_order = scanloom.InferenceSession(path, threads=1)
    ahead = scanloom.InferenceSession(path, threads=options.threads)
    alone = scanloom.InferenceSession(path, threads=options.threads, speculate=False)
    sessions = [in_order, ahead, alone]
    equal = True
    for _ in range(3):  # learns
        first, *others = [session.run(None, feeds) for session in sessions]
        equal &= all(
            a.tobytes() == b.tobytes() for other in others for a, b in zip(first, other)
        )
    del first, others
    best, begin = [np.inf] * 3, time.perf_counter()
    for _ in range(options.rounds):
        for i, session in enumerate(sessions):
            best[i] = min(best[i], least_of_turn(lambda: session.run(None, feeds)))
        if time.perf_counter() - begin > options.seconds:
            break
    times = " ".join(f"{1e3 * each:9.3f}" for each in best)
    print(f"{name:20} {steps:9} {times} {best[0] / best[1]:6.2f} {best[2] / best[1]:6.2f}"
          f"  {'equal' if equal else 'DIFFERENT'}  {chunks_of(ahead)}", flush=True)
    return equal


def main():
    options = arguments()
    print(f"{'loop':20} {'steps':>9} {'1 thread':>9} {'ahead':>9} {'in order':>9} {'gain':>6}"
          f" {'':>6}  (ms)")
    with tempfile.TemporaryDirectory() as folder:
        equal = [
            measure(name, steps, options, pathlib.Path(folder))
            for name in options.only for steps in options.steps
        ]
    sys.exit(not all(equal))


if __name__ == "__main__":
    main()
