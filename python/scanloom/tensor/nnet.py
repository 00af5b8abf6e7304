"""Functions for neural networks."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable, expr_of
from .._missing import NNET, refuse
from ._classes import (
    confusion_matrix,
    crossentropy_categorical_1hot,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_argmax_1hot_with_bias,
    prepend_1_to_each_row,
    prepend_scalar_to_each_row,
    sigmoid_binary_crossentropy,
    softmax_with_bias,
)
from ._normalization import (
    batch_normalization,
    batch_normalization_test,
    batch_normalization_train,
)
from ._shaping import arange, set_subtensor, shape_padleft, zeros

__all__ = [
    "batch_normalization", "batch_normalization_test", "batch_normalization_train",
    "binary_crossentropy", "categorical_crossentropy", "confusion_matrix", "conv2d",
    "crossentropy_categorical_1hot", "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_argmax_1hot_with_bias", "elu",
    "hard_sigmoid", "logsoftmax", "prepend_1_to_each_row", "prepend_scalar_to_each_row", "relu",
    "selu", "sigmoid", "sigmoid_binary_crossentropy", "softmax", "softmax_graph",
    "softmax_with_bias", "softplus", "softsign", "ultra_fast_sigmoid",
]  # fmt: skip


def sigmoid(x: Any) -> TensorVariable:
    """1 / (1 + exp(-x))."""
    return TensorVariable(_native.sigmoid(expr_of(x)))


def hard_sigmoid(x: Any) -> TensorVariable:
    """0.2 x + 0.5, clipped to [0, 1]."""
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
    """x where it is positive, else alpha (exp(x) - 1)."""
    made = as_tensor_variable(x)
    # Avoid an infinity in the branch that is not taken: its gradient would be 0 times infinity.
    negative = _native.minimum(made._expr, _native.whole(0))
    below = expr_of(alpha * TensorVariable(_native.expm1(negative)))
    is_above = _native.gt(made._expr, _native.whole(0))
    return TensorVariable(_native.where(is_above, made._expr, below))


def selu(x: Any) -> TensorVariable:
    """elu with the slope and scale that preserve means and deviations."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def softsign(x: Any) -> TensorVariable:
    """x / (1 + |x|)."""
    made = as_tensor_variable(x)
    return made / (1.0 + abs(made))


def softmax(c: Any) -> TensorVariable:
    """softmax over the last axis. A vector gives a matrix of one row, as in Theano."""
    made = as_tensor_variable(c)
    made = shape_padleft(made) if made.ndim == 1 else made
    return TensorVariable(_native.softmax(made._expr, -1))


softmax_graph = softmax


def logsoftmax(c: Any) -> TensorVariable:
    """log(softmax(x)) over the last axis, without overflow; a vector is one row."""
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
    """The cross-entropy of each row of probabilities with a distribution or the index of a class."""
    coding, true = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    logs = TensorVariable(_native.log(coding._expr))
    if true.ndim == coding.ndim:
        return -(true * logs).sum(axis=coding.ndim - 1)
    return -logs[arange(true.shape[0]), true]


def conv2d(
    input: Any,  # noqa: A002
    filters: Any,
    input_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    image_shape: Any = None,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    **_: Any,
) -> TensorVariable:
    """Convolves images [batch, channels, rows, columns] with filters [filters, channels, rows,
    columns].

    border_mode: "valid", "full", "half", or the padding with zeros, one number or two.
    filter_flip: True convolves, False correlates. The shapes are optional.
    """
    images, weights = as_tensor_variable(input), as_tensor_variable(filters)
    if images.ndim != 4 or weights.ndim != 4:
        raise InvalidArgument(f"conv2d takes 4 axes each, not {images.ndim} and {weights.ndim}")
    if num_groups != 1:
        raise InvalidArgument("conv2d has one group of channels only")
    steps, spread = _pair("subsample", subsample), _pair("filter_dilation", filter_dilation)
    if filter_flip:
        weights = weights[:, :, ::-1, ::-1]
    borders = _borders(border_mode, weights, spread)
    if borders is not None:
        top, left = borders
        rows, columns = images.shape[2], images.shape[3]
        around = (images.shape[0], images.shape[1], rows + 2 * top, columns + 2 * left)
        inside = zeros(around, images.dtype)[:, :, top : top + rows, left : left + columns]
        images = set_subtensor(inside, images)
    return TensorVariable(_native.conv2d(images._expr, weights._expr, steps, spread))


def _pair(name: str, given: Any) -> list[int]:
    listed = list(given) if isinstance(given, (list, tuple)) else [given, given]
    if len(listed) != 2 or not all(isinstance(one, int) and one >= 1 for one in listed):
        raise InvalidArgument(f"conv2d: {name} is {given!r}, but must be two positive integers")
    return listed


def _borders(mode: Any, weights: TensorVariable, spread: list[int]) -> Any:
    """The padding of zeros above and to the left; None if there is none."""
    if mode == "valid":
        return None
    if mode in ("full", "half"):
        reach = [(weights.shape[2 + axis] - 1) * spread[axis] for axis in range(2)]
        return reach if mode == "full" else [(one + 1) // 2 for one in reach]
    listed = list(mode) if isinstance(mode, (list, tuple)) else [mode, mode]
    if len(listed) == 2 and all(isinstance(one, int) and one >= 0 for one in listed):
        return listed
    raise InvalidArgument(
        f"conv2d: border_mode is {mode!r}, but must be 'valid', 'full', 'half', or numbers"
    )


def __getattr__(name: str) -> Any:
    return refuse("T.nnet", name, NNET, globals())
