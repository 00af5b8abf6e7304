"""Classification losses: distributions compared with class numbers, and confusion matrices."""

from __future__ import annotations

from typing import Any

from .. import _native
from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable
from ._reductions import argmax, dot
from ._shaping import alloc, arange, concatenate
from .extra_ops import unique


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> TensorVariable:
    """-log of the probability that each row gives to its true class, an index."""
    coding, true = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
    if coding.ndim != 2 or true.ndim != 1:
        raise InvalidArgument(
            f"the cost of classes takes a matrix and a vector, not {coding.ndim} and {true.ndim} axes"
        )
    logs = TensorVariable(_native.log(coding._expr))
    return -logs[arange(true.shape[0]), true]


def crossentropy_softmax_1hot(x: Any, y_idx: Any, **_: Any) -> tuple[TensorVariable, ...]:
    """The cost of each row of logits, and their softmax."""
    probabilities = TensorVariable(_native.softmax(as_tensor_variable(x)._expr, -1))
    return crossentropy_categorical_1hot(probabilities, y_idx), probabilities


def crossentropy_softmax_1hot_with_bias(
    x: Any, b: Any, y_idx: Any, **_: Any
) -> tuple[TensorVariable, ...]:
    """Same as crossentropy_softmax_1hot(x + b, y_idx)."""
    return crossentropy_softmax_1hot(as_tensor_variable(x) + b, y_idx)


def crossentropy_softmax_argmax_1hot_with_bias(
    x: Any, b: Any, y_idx: Any, **_: Any
) -> tuple[TensorVariable, ...]:
    """crossentropy_softmax_1hot_with_bias, and the most likely class of each row."""
    cost, probabilities = crossentropy_softmax_1hot_with_bias(x, b, y_idx)
    return cost, probabilities, argmax(probabilities, axis=1)


def softmax_with_bias(x: Any, b: Any) -> TensorVariable:
    """softmax(x + b)."""
    return TensorVariable(_native.softmax((as_tensor_variable(x) + b)._expr, -1))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> TensorVariable:
    """binary_crossentropy(sigmoid(output), target), by element."""
    logits, true = as_tensor_variable(output), as_tensor_variable(target)
    return TensorVariable(_native.softplus(logits._expr)) - logits * true


def prepend_scalar_to_each_row(val: Any, mat: Any) -> TensorVariable:
    """Prepends a column, filled with `val`, to the matrix."""
    matrix = as_tensor_variable(mat)
    column = alloc(as_tensor_variable(val).astype(matrix.dtype), matrix.shape[0], 1)
    return concatenate([column, matrix], axis=1)


def prepend_1_to_each_row(mat: Any) -> TensorVariable:
    """Prepends a column of ones to the matrix."""
    return prepend_scalar_to_each_row(1, mat)


def confusion_matrix(actual: Any, pred: Any) -> list[TensorVariable]:
    """[counts, classes]: how often each true class (row) was taken for each class (column)."""
    true, taken = as_tensor_variable(actual), as_tensor_variable(pred)
    if true.ndim != 1 or taken.ndim != 1:
        raise InvalidArgument(f"confusion_matrix of {true.ndim} and {taken.ndim} axes, not 1 each")
    classes = unique(concatenate([true, taken]))
    hits = [
        TensorVariable(_native.eq(x.dimshuffle(0, "x")._expr, classes.dimshuffle("x", 0)._expr))
        for x in (true, taken)
    ]
    return [dot(hits[0].astype("int64").T, hits[1].astype("int64")), classes]
