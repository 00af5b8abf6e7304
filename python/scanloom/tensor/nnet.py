"""Functions of neural networks."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._variable import TensorVariable, as_tensor_variable, expr_of
from ._shaping import arange, shape_padleft


def sigmoid(x: Any) -> TensorVariable:
    """1 / (1 + exp(-x))."""
    return TensorVariable(_native.sigmoid(expr_of(x)))


def hard_sigmoid(x: Any) -> TensorVariable:
    """0.2 x + 0.5, but no less than 0 and no more than 1."""
    return (as_tensor_variable(x) * 0.2 + 0.5).clip(0.0, 1.0)


ultra_fast_sigmoid = sigmoid


def softplus(x: Any) -> TensorVariable:
    """log(1 + exp(x))."""
    return TensorVariable(_native.softplus(expr_of(x)))


def relu(x: Any, alpha: Any = 0) -> TensorVariable:
    """x where it is positive, alpha x elsewhere."""
    made = as_tensor_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return TensorVariable(_native.relu(made._expr))
    zero = _native.whole(0)
    slope = _native.mul(made._expr, expr_of(alpha))
    return TensorVariable(_native.where(_native.gt(made._expr, zero), made._expr, slope))


def elu(x: Any, alpha: Any = 1) -> TensorVariable:
    made = as_tensor_variable(x)
    below = expr_of(alpha * (TensorVariable(_native.exp(made._expr)) - 1.0))
    is_above = _native.gt(made._expr, _native.whole(0))
    return TensorVariable(_native.where(is_above, made._expr, below))


def softmax(c: Any) -> TensorVariable:
    """Along the last axis. Of a vector a matrix of one row, as in Theano."""
    made = as_tensor_variable(c)
    made = shape_padleft(made) if made.ndim == 1 else made
    return TensorVariable(_native.softmax(made._expr, -1))


def logsoftmax(c: Any) -> TensorVariable:
    made = as_tensor_variable(c)
    made = shape_padleft(made) if made.ndim == 1 else made
    return TensorVariable(_native.log_softmax(made._expr, -1))


def binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """-(target log(output) + (1 - target) log(1 - output)), by element."""
    o, t = as_tensor_variable(output), as_tensor_variable(target)
    log_o, log_rest = TensorVariable(_native.log(o._expr)), TensorVariable(
        _native.log((1.0 - o)._expr)
    )
    return -(t * log_o + (1.0 - t) * log_rest)


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> TensorVariable:
    """By row, of a distribution or of the numbers of the true classes."""
    coding, true = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    logs = TensorVariable(_native.log(coding._expr))
    if true.ndim == coding.ndim:
        return -(true * logs).sum(axis=coding.ndim - 1)
    return -logs[arange(true.shape[0]), true]
