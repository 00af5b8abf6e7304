"""Elementwise functions. Floating-point functions convert integers to floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Union

import numpy as np

from .. import _native
from .._arguments import one_of
from .._errors import InvalidArgument
from .._theano.types import dtype_name
from .._theano.variable import TensorVariable, as_tensor_variable, expr_of


def _unary(function: Callable[[_native.Expr], _native.Expr], doc: str) -> Callable[[Any], Any]:
    def apply(x: Any) -> TensorVariable:
        return TensorVariable(function(expr_of(x)))

    apply.__doc__ = doc
    return apply


def _binary(
    function: Callable[[_native.Expr, _native.Expr], _native.Expr], doc: str
) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> TensorVariable:
        return TensorVariable(function(expr_of(a), expr_of(b)))

    apply.__doc__ = doc
    return apply


def _folded(
    function: Callable[[_native.Expr, _native.Expr], _native.Expr], doc: str
) -> Callable[..., Any]:
    def apply(a: Any, *others: Any) -> TensorVariable:
        result = expr_of(a)
        for other in others:
            result = function(result, expr_of(other))
        return TensorVariable(result)

    apply.__doc__ = doc
    return apply


# generated from include/scanloom/functions.inc
exp = _unary(_native.exp, "e to the power of every element.")
expm1 = _unary(_native.expm1, "exp(x) - 1, accurate for small x.")
log = _unary(_native.log, "The natural logarithm.")
log1p = _unary(_native.log1p, "log(1 + x), accurate for small x.")
erf = _unary(_native.erf, "The error function.")
sqrt = _unary(_native.sqrt, "The square root.")
sin = _unary(_native.sin, "The sine.")
cos = _unary(_native.cos, "The cosine.")
arcsin = _unary(_native.asin, "The inverse of the sine.")
arccos = _unary(_native.acos, "The inverse of the cosine.")
arctan = _unary(_native.atan, "The inverse of the tangent.")
sinh = _unary(_native.sinh, "The hyperbolic sine.")
cosh = _unary(_native.cosh, "The hyperbolic cosine.")
tanh = _unary(_native.tanh, "The hyperbolic tangent.")
arcsinh = _unary(_native.asinh, "The inverse of the hyperbolic sine.")
arccosh = _unary(_native.acosh, "The inverse of the hyperbolic cosine.")
arctanh = _unary(_native.atanh, "The inverse of the hyperbolic tangent.")
floor = _unary(_native.floor, "Rounded down.")
ceil = _unary(_native.ceil, "Rounded up.")
isnan = _unary(_native.is_nan, "Whether an element is NaN.")
# end
sqr = _unary(_native.square, "The square.")
tan = _unary(_native.tan, "The tangent.")
abs_ = _unary(_native.abs, "The magnitude.")
neg = _unary(_native.neg, "The negative.")
sgn = _unary(_native.sign, "-1, 0 or 1.")
isinf = _unary(_native.is_inf, "Whether each element is infinite.")
invert = _unary(_native.invert, "Logical not of booleans, bitwise not of integers.")
real = _unary(_native.real_part, "The real part; a real tensor is returned as it is.")
imag = _unary(_native.imaginary_part, "The imaginary part; zeros for a real tensor.")
conj = _unary(_native.conj, "The complex conjugate; a real tensor is returned as it is.")
angle = _unary(_native.angle, "The angle to the positive real axis, from -pi to pi.")

sub = _binary(_native.sub, "a - b.")
true_div = _binary(_native.div, "The quotient a / b; float64 for integers.")
int_div = _binary(_native.floor_divide, "a / b, rounded down.")
mod = _binary(_native.remainder, "The remainder of a / b, with the sign of b, as in Python.")
pow = _binary(_native.pow, "a to the power of b.")
maximum = _binary(_native.maximum, "The greater of a and b.")
minimum = _binary(_native.minimum, "The smaller of a and b.")
lt = _binary(_native.lt, "Whether a < b.")
le = _binary(_native.le, "Whether a <= b.")
gt = _binary(_native.gt, "Whether a > b.")
ge = _binary(_native.ge, "Whether a >= b.")
eq = _binary(_native.eq, "Whether elements are equal.")
neq = _binary(_native.neq, "Whether elements differ.")
complex = _binary(_native.make_complex, "The complex number of a real and an imaginary part.")  # noqa: A001
complex_from_polar = _binary(_native.from_polar, "The complex number of a length and an angle.")
add = _folded(_native.add, "The sum of all arguments.")
mul = _folded(_native.mul, "The product of all arguments.")
and_ = _folded(_native.bit_and, "Logical and of booleans, bitwise and of integers.")
or_ = _folded(_native.bit_or, "Logical or of booleans, bitwise or of integers.")
xor = _folded(_native.bit_xor, "Logical xor of booleans, bitwise xor of integers.")
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = and_, or_, xor, invert
floor_div, divide, mod_check = int_div, true_div, mod
square, power, sign, absolute, negative = sqr, pow, sgn, abs_, neg


def inv(x: Any) -> TensorVariable:
    """1 / x."""
    return TensorVariable(_native.div(_native.real(1.0), expr_of(x)))


def exp2(x: Any) -> TensorVariable:
    """2 to the power of every element."""
    return TensorVariable(_native.pow(_native.real(2.0), expr_of(x)))


def log2(x: Any) -> TensorVariable:
    """The base-2 logarithm."""
    return TensorVariable(_native.mul(_native.log(expr_of(x)), _native.real(1.4426950408889634)))


def log10(x: Any) -> TensorVariable:
    """The base-10 logarithm."""
    return TensorVariable(_native.mul(_native.log(expr_of(x)), _native.real(0.4342944819032518)))


def _refuse_complex(what: str, dtype: str) -> None:
    if dtype.startswith("complex"):
        raise InvalidArgument(f"{what} does not support complex numbers; use real(x), imag(x) or abs(x)")


def trunc(x: Any) -> TensorVariable:
    """Rounds towards 0."""
    value = expr_of(x)
    _refuse_complex("trunc", value.dtype)
    return TensorVariable(_native.mul(_native.sign(value), _native.floor(_native.abs(value))))


def iround(x: Any, mode: Union[str, None] = "half_to_even") -> TensorVariable:
    """Rounds to the nearest integer, as int64."""
    return round(x, mode).astype("int64")


def deg2rad(x: Any) -> TensorVariable:
    """Converts degrees to radians."""
    return TensorVariable(_native.mul(expr_of(x), _native.real(0.017453292519943295)))


def rad2deg(x: Any) -> TensorVariable:
    """Converts radians to degrees."""
    return TensorVariable(_native.mul(expr_of(x), _native.real(57.29577951308232)))


def arctan2(a: Any, b: Any) -> TensorVariable:
    """The angle of the point (b, a), from -pi to pi; the sign of zeros counts, as in numpy."""
    dtype = _native.div(expr_of(a), expr_of(b)).dtype
    _refuse_complex("arctan2", dtype)
    y, x = (_native.cast(expr_of(each), dtype) for each in (a, b))
    zero, one = (_native.cast(_native.whole(each), dtype) for each in (0, 1))
    pi, half = (_native.cast(_native.real(each), dtype) for each in (math.pi, math.pi / 2))

    def is_negative(value: _native.Expr) -> _native.Expr:
        signed = _native.where(_native.eq(value, zero), _native.div(one, value), value)
        return _native.lt(signed, zero)

    below, is_left = is_negative(y), is_negative(x)
    # In gradients, the inverse of the smallest numbers overflows even if their quotient does not.
    info = np.finfo("float32" if dtype == "bfloat16" else dtype)
    longest = _native.maximum(_native.abs(x), _native.abs(y))
    is_tiny = _native.lt(longest, _native.cast(_native.real(4 * float(info.tiny)), dtype))
    factor = _native.cast(_native.real(8 / float(info.eps)), dtype)
    scale = _native.where(is_tiny, factor, one)
    # Two infinities count as equal; replace them by their signs.
    both = _native.bit_and(_native.is_inf(x), _native.is_inf(y))
    y, x = (_native.where(both, _native.sign(each), _native.mul(each, scale)) for each in (y, x))
    # The quotient is at most 1 if |x| is the greater one; otherwise its inverse is.
    flat = _native.ge(_native.abs(x), _native.abs(y))
    of_x = _native.where(_native.bit_and(flat, _native.neq(x, zero)), x, one)
    of_y = _native.where(flat, one, y)
    right = _native.atan(_native.div(y, of_x))
    turn = _native.where(below, _native.neg(pi), pi)
    shallow = _native.where(is_left, _native.add(right, turn), right)
    quarter = _native.where(below, _native.neg(half), half)
    steep = _native.sub(quarter, _native.atan(_native.div(x, of_y)))
    return TensorVariable(_native.where(flat, shallow, steep))


def isfinite(x: Any) -> TensorVariable:
    """Whether each element is neither infinite nor NaN."""
    value = expr_of(x)
    return TensorVariable(
        _native.invert(_native.bit_or(_native.is_nan(value), _native.is_inf(value)))
    )


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> TensorVariable:
    """numpy.isclose: whether |a - b| <= atol + rtol |b|, or both are the same infinity."""
    left, right = expr_of(a), expr_of(b)
    distance = _native.abs(_native.sub(left, right))
    room = _native.add(_native.real(atol), _native.mul(_native.real(rtol), _native.abs(right)))
    near = _native.bit_and(_native.le(distance, room), isfinite(b)._expr)
    close = _native.bit_or(near, _native.eq(left, right))
    if equal_nan:
        close = _native.bit_or(
            close, _native.bit_and(_native.is_nan(left), _native.is_nan(right))
        )
    return TensorVariable(close)


def logaddexp(a: Any, *others: Any) -> TensorVariable:
    """log(exp(a) + exp(b) + ...), without overflow."""
    made = expr_of(a)
    for other in others:
        b = expr_of(other)
        dtype = _native.add(made, b).dtype
        powers = [_native.exp(_native.cast(one, dtype)) for one in (made, b)]
        made = _native.log(_native.add(*powers))  # is rewritten to a stable form
    return TensorVariable(made)


def divmod(a: Any, b: Any) -> tuple[TensorVariable, TensorVariable]:  # noqa: A001
    """The quotient rounded down, and the remainder."""
    return int_div(a, b), mod(a, b)


def identity(x: Any) -> TensorVariable:
    """x itself."""
    return as_tensor_variable(x)


tensor_copy = identity


def round(x: Any, mode: Union[str, None] = "half_to_even") -> TensorVariable:  # noqa: A001
    """Rounds to the nearest integer; ties to even, or away from 0 with "half_away_from_zero"."""
    one_of(mode, ("half_to_even", "half_away_from_zero", None), "mode")
    value = expr_of(x)
    if mode != "half_away_from_zero":
        return TensorVariable(_native.round(value))
    size = _native.abs(value)
    below = _native.floor(size)
    # Compare the fraction: adding 0.5 to the largest number below 0.5 would give 1.
    is_above = _native.ge(_native.sub(size, below), _native.real(0.5))
    rounded = _native.where(is_above, _native.add(below, _native.whole(1)), below)
    return TensorVariable(_native.mul(_native.sign(value), rounded))


def switch(condition: Any, ift: Any, iff: Any) -> TensorVariable:
    """For each element, ift where the condition is nonzero, otherwise iff; both are computed."""
    return TensorVariable(_native.where(expr_of(condition), expr_of(ift), expr_of(iff)))


where = switch


def clip(x: Any, min: Any, max: Any) -> TensorVariable:  # noqa: A002
    """Limits every element to [min, max]."""
    return TensorVariable(_native.clip(expr_of(x), expr_of(min), expr_of(max)))


def cast(x: Any, dtype: Any) -> TensorVariable:
    """Converts the elements to another dtype."""
    return TensorVariable(_native.cast(expr_of(x), dtype_name(dtype)))


for _name, _function in list(globals().items()):
    if getattr(_function, "__name__", "") == "apply":
        _function.__name__ = _function.__qualname__ = _name
