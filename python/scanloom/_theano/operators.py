"""The operators of variables that take two operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _native
from .above import above

if TYPE_CHECKING:
    from .variable import TensorVariable


class Operators:
    """The base of variables. The other operand may be a number, an array or a variable."""

    def __add__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.add, self, other)

    def __radd__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.add, other, self)

    def __sub__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.sub, self, other)

    def __rsub__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.sub, other, self)

    def __mul__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.mul, self, other)

    def __rmul__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.mul, other, self)

    def __truediv__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.div, self, other)

    def __rtruediv__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.div, other, self)

    def __floordiv__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.floor_divide, other, self)

    def __mod__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.remainder, self, other)

    def __rmod__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.remainder, other, self)

    def __pow__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.pow, self, other)

    def __rpow__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.pow, other, self)

    def __matmul__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.matmul, self, other)

    def __rmatmul__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.matmul, other, self)

    def __and__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_and, self, other)

    def __rand__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_and, other, self)

    def __or__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_or, self, other)

    def __ror__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_or, other, self)

    def __xor__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_xor, self, other)

    def __rxor__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.bit_xor, other, self)

    def __divmod__(self, other: Any) -> tuple["TensorVariable", "TensorVariable"]:
        return self // other, self % other

    def __lt__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.lt, self, other)

    def __le__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.le, self, other)

    def __gt__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.gt, self, other)

    def __ge__(self, other: Any) -> "TensorVariable":
        return above.binary(_native.ge, self, other)
