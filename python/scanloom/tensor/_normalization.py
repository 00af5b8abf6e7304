"""Batch normalization, with the statistics of the batch or with given ones."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable
from ._shaping import addbroadcast


def batch_normalization(
    inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any, mode: str = "low_mem"
) -> TensorVariable:
    """(inputs - mean) gamma / std + beta."""
    middle = as_tensor_variable(mean)
    scale: TensorVariable = as_tensor_variable(gamma) / std
    return (as_tensor_variable(inputs) - middle) * scale + as_tensor_variable(beta)


def batch_normalization_test(
    inputs: Any, gamma: Any, beta: Any, mean: Any, var: Any, axes: Any = "per-activation",
    epsilon: float = 1e-4,
) -> TensorVariable:
    """Normalizes with a given mean and variance."""
    x = as_tensor_variable(inputs)
    over = _axes(x, axes)
    scale, shift, middle, spread = (_beside(x, over, p) for p in (gamma, beta, mean, var))
    return (x - middle) * (scale / _root(spread + epsilon)) + shift


def batch_normalization_train(
    inputs: Any, gamma: Any, beta: Any, axes: Any = "per-activation", epsilon: float = 1e-4,
    running_average_factor: float = 0.1, running_mean: Any = None, running_var: Any = None,
) -> tuple[TensorVariable, ...]:
    """Normalizes with the statistics of the batch.

    Returns the result, the mean and 1 / the deviation, followed by the next values of running_mean
    and running_var if these are given.

    axes: "per-activation", only the first axis; "spatial", all except the second; or a list.
    """
    x = as_tensor_variable(inputs)
    over = _axes(x, axes)
    scale, shift = _beside(x, over, gamma), _beside(x, over, beta)
    mean, var = x.mean(axis=over, keepdims=True), x.var(axis=over, keepdims=True)
    inverse = 1.0 / _root(var + epsilon)
    made = [(x - mean) * (scale * inverse) + shift, mean, inverse]
    kept = 1.0 - running_average_factor
    if running_mean is not None:
        made.append(kept * _beside(x, over, running_mean) + running_average_factor * mean)
    if running_var is not None:
        count = as_tensor_variable(1.0)
        for axis in over:
            count = count * x.shape[axis]
        unbiased = (count / (count - 1.0)).astype(x.dtype) * var
        made.append(kept * _beside(x, over, running_var) + running_average_factor * unbiased)
    return tuple(made)


def _root(x: TensorVariable) -> TensorVariable:
    return TensorVariable(_native.sqrt(x._expr))


def _axes(x: TensorVariable, axes: Any) -> list[int]:
    if axes == "per-activation":
        return [0]
    if axes == "spatial":
        return [0, *range(2, x.ndim)]
    listed = sorted(axes) if isinstance(axes, (list, tuple)) else []
    if not listed or not all(isinstance(a, int) and 0 <= a < x.ndim for a in listed):
        raise InvalidArgument(
            f"axes is {axes!r}, but must be 'per-activation', 'spatial' or a list of those of {x}"
        )
    return listed


def _beside(x: TensorVariable, over: list[int], given: Any) -> TensorVariable:
    """Reshapes a parameter to the rank of x, with size 1 along the axes in `over`."""
    made: Union[TensorVariable, Any] = as_tensor_variable(given)
    if made.ndim == x.ndim:
        return addbroadcast(made, *over)
    if made.ndim != x.ndim - len(over):
        raise InvalidArgument(
            f"{made} has {made.ndim} axes; a parameter has {x.ndim}, or {x.ndim - len(over)}"
        )
    rest = iter(range(made.ndim))
    return made.dimshuffle(*["x" if axis in over else next(rest) for axis in range(x.ndim)])
