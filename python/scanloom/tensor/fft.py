"""Discrete Fourier transforms: Theano's rfft and irfft, and numpy's fft and ifft."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._errors import InvalidArgument
from .._theano.variable import TensorVariable, as_tensor_variable
from ._elementwise import imag, real
from ._shaping import stack

_NORMS = {None: "backward", "backward": "backward", "forward": "forward", "ortho": "ortho"}


def _one_axis(
    kind: str, x: Any, n: Union[Any, None], axis: int, norm: Union[str, None]
) -> TensorVariable:
    if norm not in _NORMS:
        raise InvalidArgument(f"{kind}: norm is {norm!r}, not one of {tuple(_NORMS)}")
    made = as_tensor_variable(x)
    length = None if n is None else as_tensor_variable(n)._expr
    return TensorVariable(_native.fourier(made._expr, kind, length, axis, _NORMS[norm]))


def fft(
    x: Any, n: Union[Any, None] = None, axis: int = -1, norm: Union[str, None] = None
) -> TensorVariable:
    """The Fourier transform along one axis, complex, as numpy.fft.fft gives it.

    `n` is the length, an integer or a scalar variable: x is padded with zeros or cut to it.
    """
    return _one_axis("fft", x, n, axis, norm)


def ifft(
    x: Any, n: Union[Any, None] = None, axis: int = -1, norm: Union[str, None] = None
) -> TensorVariable:
    """The inverse Fourier transform along one axis, complex, as numpy.fft.ifft gives it.

    `n` is the length, an integer or a scalar variable: x is padded with zeros or cut to it.
    """
    return _one_axis("ifft", x, n, axis, norm)


def _norm_of(kind: str, norm: Union[str, None]) -> Union[str, None]:
    """Theano's word for a norm as numpy's: "no_norm" leaves the inverse as it is."""
    if norm not in (None, "ortho", "no_norm"):
        raise InvalidArgument(f"{kind}: norm is {norm!r}, not None, 'ortho' or 'no_norm'")
    if norm == "no_norm":
        return "forward" if kind == "irfft" else None
    return norm


def rfft(inp: Any, norm: Union[str, None] = None) -> TensorVariable:
    """The Fourier transforms of real numbers along all axes but the first, as in Theano.

    The last axis becomes one of n // 2 + 1 elements, which determine the others, followed by an
    axis for the real and imaginary parts. `norm`: "ortho" divides by the square root of the number
    of elements of a transform.
    """
    x = as_tensor_variable(inp)
    if x.ndim < 2:
        raise InvalidArgument(f"rfft of {x}, which has {x.ndim} axes: batches and at least one more")
    scale = _norm_of("rfft", norm)
    y = _one_axis("rfft", x, None, -1, scale)
    for axis in range(1, x.ndim - 1):
        y = fft(y, axis=axis, norm=scale)
    return stack([real(y), imag(y)], axis=x.ndim)


def irfft(inp: Any, norm: Union[str, None] = None, is_odd: bool = False) -> TensorVariable:
    """The real numbers of which `inp` is the result of rfft, as in Theano.

    `is_odd`: their last axis has an odd number of elements. `norm`: None divides by the number of
    elements of a transform, "ortho" by its square root, "no_norm" by nothing.
    """
    x = as_tensor_variable(inp)
    if x.ndim < 3:
        raise InvalidArgument(f"irfft of {x}, which has {x.ndim} axes, not at least 3")
    scale = _norm_of("irfft", norm)
    y = x[..., 0] + x[..., 1] * 1j
    for axis in range(1, x.ndim - 2):
        y = ifft(y, axis=axis, norm=scale)
    length = 2 * (y.shape[-1] - 1) + (1 if is_odd else 0)
    return _one_axis("irfft", y, length, -1, scale)
