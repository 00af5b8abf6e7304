"""MRG_RandomStreams: the streams of T.shared_randomstreams with Theano's arguments."""

from __future__ import annotations

from typing import Any, Union

from ..tensor.shared_randomstreams import RandomStreams
from .._theano.variable import TensorVariable

__all__ = ["MRG_RandomStreams"]


class MRG_RandomStreams(RandomStreams):  # noqa: N801 - Theano's name
    """Samples the same distributions with Philox 4x32-10, so the numbers differ from MRG31k3p's."""

    def __init__(self, seed: Union[int, list[int], None] = 12345, use_cuda: Any = None) -> None:
        if isinstance(seed, (list, tuple)):
            folded = 0
            for part in seed:
                folded = (folded * 2147483647 + int(part)) % 2**64
            seed = folded
        super().__init__(seed)

    def uniform(
        self, size: Any = None, low: Any = 0.0, high: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None, nstreams: Any = None, **_: Any,
    ) -> TensorVariable:
        return super().uniform(size, low, high, ndim, dtype)

    def normal(
        self, size: Any = None, avg: Any = 0.0, std: Any = 1.0, ndim: Union[int, None] = None,
        dtype: Any = None, nstreams: Any = None, **_: Any,
    ) -> TensorVariable:
        return super().normal(size, avg, std, ndim, dtype)

    def binomial(
        self, size: Any = None, n: Any = 1, p: Any = 0.5, ndim: Union[int, None] = None,
        dtype: Any = "int64", prob: Any = None, nstreams: Any = None, **_: Any,
    ) -> TensorVariable:
        return super().binomial(size, n, p, ndim, dtype, prob)

    def multinomial(
        self, size: Any = None, n: Any = 1, pvals: Any = None, ndim: Union[int, None] = None,
        dtype: Any = "int64", nstreams: Any = None, **_: Any,
    ) -> TensorVariable:
        return super().multinomial(size, n, pvals, ndim, dtype)
