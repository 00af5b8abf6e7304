"""Functions written in onnxscript, whose loops and branches become Loop, Scan and If. Needs
onnxscript. The expected results are computed by numpy."""

import numpy as np
from _making import make_all
from onnxscript import FLOAT, INT64, script
from onnxscript import opset17 as op


def random(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@script()
def doubling(x: FLOAT[16], limit: FLOAT) -> FLOAT[16]:
    y = x
    below = op.ReduceSum(op.Abs(y), keepdims=0) < limit
    while below:
        y = y + y
        below = op.ReduceSum(op.Abs(y), keepdims=0) < limit
    return y


@script()
def decayed(x: FLOAT["T", 8]) -> FLOAT[8]:  # noqa: F821
    steps = op.Squeeze(op.Shape(x, end=1, start=0))
    zero = op.Constant(value_int=0)
    state = op.Gather(x, zero, axis=0)
    for i in range(steps):
        row = op.Gather(x, i, axis=0)
        state = state * 0.9 + row * 0.1
    return state


@script()
def signed_root(x: FLOAT[32]) -> FLOAT[32]:
    total = op.ReduceSum(x, keepdims=0)
    if total > 0.0:
        y = op.Sqrt(op.Abs(x))
    else:
        y = op.Neg(op.Sqrt(op.Abs(x)))
    return y


@script()
def fibonacci(count: INT64) -> INT64:
    a = op.Constant(value_int=0)
    b = op.Constant(value_int=1)
    for i in range(count):
        following = a + b
        a = op.Identity(b)
        b = following
    return a


@script()
def normalized(x: FLOAT[20, 64], scale: FLOAT[64], bias: FLOAT[64]) -> FLOAT[20, 64]:
    mean = op.ReduceMean(x, axes=[1])
    apart = x - mean
    variance = op.ReduceMean(apart * apart, axes=[1])
    return apart / op.Sqrt(variance + 1e-5) * scale + bias


def written(function, feeds, expected):
    def make(path):
        path.write_bytes(function.to_model_proto(ir_version=8).SerializeToString())
        return feeds, [expected]

    return make


def doubled(x, limit):
    while np.abs(x).sum() < limit:
        x = x + x
    return x


def decayed_rows(x):
    state = x[0]
    for row in x:
        state = state * np.float32(0.9) + row * np.float32(0.1)
    return state


def centred(x):
    apart = x - x.mean(1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(1, keepdims=True) + 1e-5)


X, ROWS, TABLE = random(16), random(200, 8), random(20, 64)
UNIT, ZERO = np.ones(64, np.float32), np.zeros(64, np.float32)

MODELS = {
    "while_loop": written(doubling, {"x": X, "limit": np.float32(1e4)}, doubled(X, 1e4)),
    "for_loop": written(decayed, {"x": ROWS}, decayed_rows(ROWS)),
    "branch": written(signed_root, {"x": np.abs(random(32))}, np.sqrt(np.abs(random(32)))),
    "fibonacci": written(fibonacci, {"count": np.int64(50)}, np.int64(12586269025)),
    "layer_norm": written(normalized, {"x": TABLE, "scale": UNIT, "bias": ZERO}, centred(TABLE)),
}

if __name__ == "__main__":
    make_all(MODELS)
