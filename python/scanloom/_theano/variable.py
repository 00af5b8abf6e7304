"""TensorVariable: an expression with Theano's operators and methods; and TensorType."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .. import _native
from .._arguments import (
    axes_of, axis_number, axis_numbers, axis_of, name_or_none, one_of, whole,
    yes_or_no,
)  # fmt: skip
from .._errors import InvalidArgument, InvalidType
from .._missing import VARIABLE, lacking
from .above import above
from .elements import elements_of
from .indexing import items_of
from .operators import Operators
from .types import dtype_name
from .unpack import refuse_misread

_Axis = Union[None, int, tuple[int, ...], list[int]]


class Tag:
    """User data attached to a variable; test_value is the only name with a meaning."""

    __module__ = "scanloom._variable"  # the former module, which pickles name


# By expression, because several Python objects may represent the same one.
_tags: "weakref.WeakValueDictionary[_native.Expr, Tag]" = weakref.WeakValueDictionary()


class TensorType:
    """The type of a variable: its dtype and, for each axis, whether its size is known to be 1.

    TensorType("float64", (False, True))("x") is a variable of that type.
    """

    __module__ = "scanloom._types"  # the former module, which pickles name

    def __init__(
        self, dtype: Any, broadcastable: Sequence[bool], name: Union[str, None] = None
    ) -> None:
        self.dtype = dtype_name(dtype)
        try:
            self.broadcastable = tuple(bool(axis) for axis in broadcastable)
        except TypeError:
            raise InvalidType(
                f"broadcastable is {broadcastable!r}, but must be a tuple, one bool per axis"
            ) from None
        self.name = name

    @property
    def ndim(self) -> int:
        return len(self.broadcastable)

    def __call__(self, name: Union[str, None] = None) -> "TensorVariable":
        """A variable of this type: an input of functions."""
        name_or_none(name, "a variable")
        sizes = [1 if is_one else -1 for is_one in self.broadcastable]
        return TensorVariable(_native.input(name or "", self.dtype, sizes))

    make_variable = __call__

    def clone(self, dtype: Any = None, broadcastable: Any = None) -> "TensorType":
        return TensorType(
            self.dtype if dtype is None else dtype,
            self.broadcastable if broadcastable is None else broadcastable,
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorType)
            and self.dtype == other.dtype
            and self.broadcastable == other.broadcastable
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.broadcastable))

    def __repr__(self) -> str:
        kinds = {(): "scalar", (False,): "vector", (False, False): "matrix"}
        kind = kinds.get(self.broadcastable, str(self.broadcastable))
        return f"TensorType({self.dtype}, {kind})"


class TensorVariable(Operators):
    """A symbolic tensor: a value that is yet to be computed.

    == and != compare identity (see T.eq for elements); < <= > >= compare elements. A boolean
    variable has no truth value, and only vectors of known length can be iterated over.
    """

    __module__ = "scanloom._variable"  # the former module, which pickles name

    __array_priority__ = 1000

    def __init__(self, expr: _native.Expr) -> None:
        self._expr = expr
        if above.watch is not None:
            above.watch(self)

    # Type, name and parts.

    @property
    def dtype(self) -> str:
        return self._expr.dtype

    @property
    def ndim(self) -> int:
        return self._expr.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return tuple(size == 1 for size in self._expr.sizes)

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.broadcastable)

    @property
    def name(self) -> Union[str, None]:
        return self._expr.name or None

    @name.setter
    def name(self, name: Union[str, None]) -> None:
        self._expr.name = name_or_none(name, "a variable") or ""

    @property
    def tag(self) -> Tag:
        tag = self.__dict__.get("_tag") or _tags.get(self._expr)
        if tag is None:
            tag = _tags[self._expr] = Tag()
        self.__dict__["_tag"] = tag
        return tag

    @property
    def shape(self) -> "TensorVariable":
        """The sizes of all axes, a vector of int64."""
        return TensorVariable(_native.shape(self._expr))

    @property
    def size(self) -> "TensorVariable":
        return self.shape.prod()

    @property
    def T(self) -> "TensorVariable":  # noqa: N802 - numpy's name
        return TensorVariable(_native.transpose(self._expr))

    @property
    def real(self) -> "TensorVariable":
        """The real part; a tensor that is not complex is returned as it is."""
        return TensorVariable(_native.real_part(self._expr))

    @property
    def imag(self) -> "TensorVariable":
        """The imaginary part; zeros for a tensor that is not complex."""
        return TensorVariable(_native.imaginary_part(self._expr))

    def conj(self) -> "TensorVariable":
        """The complex conjugate; a tensor that is not complex is returned as it is."""
        return TensorVariable(_native.conj(self._expr))

    conjugate = conj

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorVariable) and self._expr == other._expr

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._expr)

    def __str__(self) -> str:
        return self.name or f"<{self.type}>"

    def __repr__(self) -> str:
        return str(self)

    def __bool__(self) -> bool:
        # As in Theano, so that `if x:` distinguishes a variable from None. A boolean tensor here
        # would be a mistake.
        if self.dtype != "bool":
            return True
        raise InvalidType(
            f"{self} has no truth value: it is not computed yet",
            ("T.switch(condition, a, b) and ifelse(condition, a, b) choose while a function runs",),
        )

    def __len__(self) -> int:
        raise InvalidType(f"{self} has no length yet; x.shape[0] is its size as a variable")

    def __iter__(self) -> Iterator["TensorVariable"]:
        sizes = self._expr.sizes
        if len(sizes) != 1 or sizes[0] < 0:
            raise InvalidType(
                f"{self} cannot be iterated over: its length is not known before a function runs",
                ("scan(fn, sequences=x) loops over it; T.sum(x) sums it",),
            )
        return (self[i] for i in range(sizes[0]))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Called by numpy for `array + variable` and numpy.exp(variable); applies the function of
        T."""
        return above.numpy_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        return above.numpy_function(function, inputs)

    def __copy__(self) -> "TensorVariable":
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> "TensorVariable":
        """The same expression over copies of its inputs and shared variables."""
        return above.deep_copy(self, memo)

    def __reduce__(self) -> Any:
        if isinstance(self, TensorConstant):
            return TensorConstant, (self.data,)
        if _native.leaves([self._expr]) != [self._expr]:
            raise InvalidType(
                f"the expression {self} is not pickled",
                ("pickle a function of it, or write it to a file with fn.save(path)",),
            )
        return _input, (self.dtype, self.broadcastable, self.name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InvalidType(f"{self} is not an array: compute it with a function, or with .eval()")

    def __float__(self) -> float:
        raise InvalidType(f"{self} is not a number: compute it with a function, or with .eval()")

    __int__ = __index__ = __complex__ = __float__

    def eval(self, inputs_to_values: Union[dict[Any, Any], None] = None) -> Any:
        """Computes the value as an array, given the values of its inputs."""
        return above.evaluated(self, inputs_to_values)

    # Operators of one operand, and indexing.

    def __neg__(self) -> "TensorVariable":
        return TensorVariable(_native.neg(self._expr))

    def __pos__(self) -> "TensorVariable":
        return self

    def __invert__(self) -> "TensorVariable":
        return TensorVariable(_native.invert(self._expr))

    def __abs__(self) -> "TensorVariable":
        return TensorVariable(_native.abs(self._expr))

    def __getitem__(self, key: Any) -> "TensorVariable":
        """Indexing as in numpy; indices and bounds may be variables."""
        return TensorVariable(_native.subtensor(self._expr, items_of(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise InvalidType(
            "variables cannot be written to: T.set_subtensor(x[...], y) returns a new one"
        )

    # Reductions: over one axis, several, or all.

    def sum(
        self, axis: _Axis = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> "TensorVariable":
        """The sum. Booleans and integers give int64; narrow floats are accumulated in float64."""
        return self._accumulated(_native.sum, axis, keepdims, dtype, acc_dtype)

    def prod(
        self, axis: _Axis = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> "TensorVariable":
        return self._accumulated(_native.prod, axis, keepdims, dtype, acc_dtype)

    def mean(
        self, axis: _Axis = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> "TensorVariable":
        """The mean. Integers give float64; narrow floats are accumulated in float64."""
        return self._accumulated(_native.mean, axis, keepdims, dtype, acc_dtype)

    def _accumulated(
        self, function: Any, axis: _Axis, keepdims: bool, dtype: Any, acc_dtype: Any
    ) -> "TensorVariable":
        """Reduces with Theano's default acc_dtype: float64 for narrower floats and complex128 for
        complex64. The result has the narrow dtype again."""
        if self.dtype not in ("float32", "float16", "bfloat16", "complex64"):
            return self._reduced(function, axis, keepdims, dtype)
        widest = "complex128" if self.dtype == "complex64" else "float64"
        wide = self.astype(widest if acc_dtype is None else acc_dtype)
        made = wide._reduced(function, axis, keepdims)
        return made.astype(self.dtype if dtype is None else dtype)

    def max(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        return self._reduced(_native.max, axis, keepdims)

    def min(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        return self._reduced(_native.min, axis, keepdims)

    def any(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        return self._reduced(_native.any, axis, keepdims)

    def all(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        return self._reduced(_native.all, axis, keepdims)

    def argmax(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        """The int64 index of the first maximum. Without an axis, or for several, these axes are
        flattened in the tensor's order."""
        return self._index_of(_native.argmax, axis, keepdims)

    def argmin(self, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        return self._index_of(_native.argmin, axis, keepdims)

    def var(
        self, axis: _Axis = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
    ) -> "TensorVariable":
        distance = self - self.mean(axis, keepdims=True)
        if self.dtype in ("complex64", "complex128"):
            distance = abs(distance)  # as in numpy
        squares = (distance * distance).sum(axis, keepdims=keepdims)
        counts = distance.ones_like().sum(axis, keepdims=keepdims)
        return squares / (counts - ddof).astype(squares.dtype)

    def std(
        self, axis: _Axis = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False
    ) -> "TensorVariable":
        return TensorVariable(_native.sqrt(self.var(axis, ddof, keepdims)._expr))

    def norm(self, L: Any, axis: _Axis = None, keepdims: bool = False) -> "TensorVariable":
        """The L-norm. 0 counts nonzero elements, infinity is the greatest magnitude and -infinity
        the smallest."""
        size = abs(self)
        if isinstance(L, TensorVariable) or not isinstance(L, (int, float, np.number)) or L != L:
            raise InvalidType(f"the order of a norm must be a number, not {L!r:.80}")
        if L == 0:
            zero = as_tensor_variable(np.zeros((), self.dtype))
            differs = TensorVariable(_native.neq(self._expr, zero._expr))
            return differs.astype(size.dtype).sum(axis, keepdims=keepdims)
        if L == float("inf"):
            return size.max(axis, keepdims)
        if L == -float("inf"):
            return size.min(axis, keepdims)
        if L == 1:
            return size.sum(axis, keepdims=keepdims)
        powers = (size**L).sum(axis, keepdims=keepdims)
        return TensorVariable(_native.sqrt(powers._expr)) if L == 2 else powers ** (1.0 / L)

    def cumsum(self, axis: Union[int, None] = None) -> "TensorVariable":
        """The cumulative sum; without an axis, of the flattened tensor."""
        return self._cumulated(_native.cumsum, axis)

    def cumprod(self, axis: Union[int, None] = None) -> "TensorVariable":
        return self._cumulated(_native.cumprod, axis)

    def sort(self, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None) -> Any:
        """Sorts in ascending order, NaN last; without an axis, sorts the flattened tensor."""
        check_order(kind, order)
        return self._cumulated(_native.sort, axis)

    def argsort(
        self, axis: Union[int, None] = -1, kind: str = "quicksort", order: Any = None
    ) -> "TensorVariable":
        """The int64 indices that sort the tensor; the order of equal elements is kept."""
        check_order(kind, order)
        return self._cumulated(_native.argsort, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> "TensorVariable":
        return above.diagonal(self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> "TensorVariable":
        """The sum of the diagonal; with more than two axes, of every matrix along axis1 and
        axis2."""
        return self.diagonal(offset, axis1, axis2).sum(axis=-1)

    def repeat(self, repeats: Any, axis: Union[int, None] = None) -> "TensorVariable":
        return above.repeat(self, repeats, axis)

    def nonzero(self) -> tuple["TensorVariable", ...]:
        """The indices of the nonzero elements, one vector per axis."""
        where = [
            TensorVariable(_native.arange(_native.whole(0), size._expr, _native.whole(1)))
            for size in (self.shape[axis] for axis in range(self.ndim))
        ]
        mask = as_tensor_variable(_mask_of(self))
        grids = []
        for axis, numbers in enumerate(where):
            pattern = ["x"] * self.ndim
            pattern[axis] = 0  # type: ignore[call-overload]
            grid = numbers.dimshuffle(*pattern)
            grids.append(TensorVariable(_native.broadcast_to(grid._expr, self.shape._expr))[mask])
        return tuple(grids)

    def nonzero_values(self) -> "TensorVariable":
        """The nonzero elements, as a vector."""
        return self[_mask_of(self)]

    def compress(self, condition: Any, axis: Union[int, None] = None) -> "TensorVariable":
        return above.compress(condition, self, axis)

    def choose(self, choices: Any, mode: str = "raise") -> "TensorVariable":
        return above.choose(self, choices, mode)

    def ptp(self, axis: Union[int, None] = None) -> "TensorVariable":
        """The maximum minus the minimum."""
        return self.max(axis) - self.min(axis)

    def round(self, mode: Union[str, None] = "half_to_even") -> "TensorVariable":
        return above.round(self, mode)

    def dot(self, right: Any) -> "TensorVariable":
        """numpy.dot."""
        return _binary(_native.dot, self, right)

    # Shapes.

    def reshape(self, *shape: Any, ndim: Union[int, None] = None) -> "TensorVariable":
        """x.reshape((2, 3)), x.reshape(2, 3), x.reshape(vector, ndim=2); one size may be -1."""
        if len(shape) == 2 and isinstance(shape[0], (list, tuple, TensorVariable)):
            if not isinstance(shape[0], TensorVariable) or shape[0].ndim == 1:
                return self.reshape(shape[0], ndim=shape[1])
        wanted = sizes_of(shape[0] if len(shape) == 1 else shape)
        if ndim is not None and wanted.sizes[0] < 0:
            sizes = [TensorVariable(wanted)[i]._expr for i in range(ndim)]
            wanted = _native.shape_of(sizes)
        if ndim is not None and wanted.sizes[0] != ndim:
            raise InvalidArgument(f"reshape to {wanted.sizes[0]} sizes, but ndim is {ndim}")
        return TensorVariable(_native.reshape(self._expr, wanted))

    def flatten(self, ndim: int = 1) -> "TensorVariable":
        """Flattens to ndim axes; the last one takes all remaining axes."""
        return TensorVariable(_native.flatten(self._expr, whole(ndim, "ndim")))

    ravel = flatten

    def dimshuffle(self, *pattern: Any) -> "TensorVariable":
        """Permutes axes; "x" inserts an axis of size 1; axes left out must be of size 1."""
        if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
            pattern = tuple(pattern[0])
        order = []
        for axis in pattern:
            if axis == "x":
                order.append(-1)
            elif isinstance(axis, (int, np.integer)) and 0 <= axis < self.ndim:
                order.append(int(axis))
            else:
                raise InvalidArgument(
                    f"dimshuffle of {self}: {axis!r} is neither 'x' nor one of its"
                    f" {self.ndim} axes, counted from 0"
                )
        return TensorVariable(_native.dimshuffle(self._expr, order))

    def transpose(self, *axes: Any) -> "TensorVariable":
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = tuple(axes[0])
        if not axes:
            return self.T
        return self.dimshuffle(*axes_of(self, axes))

    def swapaxes(self, axis1: int, axis2: int) -> "TensorVariable":
        axes = list(range(self.ndim))
        first, second = axis_of(self, axis1), axis_of(self, axis2)
        axes[first], axes[second] = second, first
        return self.dimshuffle(*axes)

    def squeeze(self) -> "TensorVariable":
        """Removes the axes that are known to be of size 1."""
        axes = [axis for axis, is_one in enumerate(self.broadcastable) if is_one]
        return TensorVariable(_native.squeeze(self._expr, axes))

    # Elements.

    def astype(self, dtype: Any) -> "TensorVariable":
        return TensorVariable(_native.cast(self._expr, dtype_name(dtype)))

    def clip(self, a_min: Any, a_max: Any) -> "TensorVariable":
        return TensorVariable(_native.clip(self._expr, expr_of(a_min), expr_of(a_max)))

    def zeros_like(self, dtype: Any = None) -> "TensorVariable":
        zeros = TensorVariable(_native.zeros_like(self._expr))
        return zeros if dtype is None else zeros.astype(dtype)

    def ones_like(self, dtype: Any = None) -> "TensorVariable":
        ones = TensorVariable(_native.ones_like(self._expr))
        return ones if dtype is None else ones.astype(dtype)

    def fill(self, value: Any) -> "TensorVariable":
        """A tensor of this shape and dtype, filled with `value`."""
        number = expr_of(value)
        return TensorVariable(_native.full(_native.shape(self._expr), number)).astype(self.dtype)

    def take(
        self, indices: Any, axis: Union[int, None] = None, mode: str = "raise"
    ) -> "TensorVariable":
        """The elements, rows or slices at these indices; "wrap" or "clip" corrects bad indices."""
        return above.take(self, indices, axis, mode)

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            return lacking("a variable", name, VARIABLE, dir(self))

    def copy(self, name: Union[str, None] = None) -> "TensorVariable":
        return self

    def _reduced(
        self, function: Any, axis: _Axis, keepdims: bool, dtype: Any = None
    ) -> "TensorVariable":
        source = self if dtype is None else self.astype(dtype)
        if isinstance(axis, (list, tuple)) and not axis:
            return source
        result = TensorVariable(function(source._expr, axis_numbers(axis), yes_or_no(keepdims, "keepdims")))
        return result if dtype is None else result.astype(dtype)

    def _cumulated(self, function: Any, axis: Union[int, None]) -> "TensorVariable":
        source = self.flatten() if axis is None else self
        return TensorVariable(function(source._expr, 0 if axis is None else axis_number(axis)))

    def _index_of(self, function: Any, axis: _Axis, keepdims: bool) -> "TensorVariable":
        if axis is None or (isinstance(axis, (list, tuple)) and not axis):
            return TensorVariable(function(self._expr, None, yes_or_no(keepdims, "keepdims")))
        named = axis if isinstance(axis, (list, tuple)) else [axis]
        listed = sorted({axis_of(self, each) for each in named})  # as in Theano
        if len(listed) == 1:
            return TensorVariable(function(self._expr, listed[0], yes_or_no(keepdims, "keepdims")))
        kept = [i for i in range(self.ndim) if i not in listed]
        lines = self.dimshuffle(*kept, *listed)
        lines = lines.reshape([*(self.shape[i] for i in kept), lines.shape[len(kept) :].prod()])
        found = TensorVariable(function(lines._expr, len(kept), False))
        if not keepdims:
            return found
        return found.dimshuffle(*(kept.index(i) if i in kept else "x" for i in range(self.ndim)))


class TensorConstant(TensorVariable):
    """A variable with a known value, `data`."""

    __module__ = "scanloom._variable"  # the former module, which pickles name

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        super().__init__(_native.constant(value))
        self.data = value


Variable = TensorVariable  # Theano's base class of all variables


def _input(dtype: str, broadcastable: Any, name: Union[str, None]) -> TensorVariable:
    return TensorType(dtype, broadcastable)(name)


def _mask_of(x: TensorVariable) -> TensorVariable:
    return x if x.dtype == "bool" else x.astype("bool")


def check_order(kind: Any, order: Any) -> None:
    """Checks the arguments of a sort; all of numpy's kinds give the same. Raises
    InvalidArgument."""
    one_of(kind, ("quicksort", "mergesort", "heapsort", "stable", None), "kind")
    if order is not None:
        raise InvalidArgument(f"order is {order!r:.80}, but elements have no fields")


def _binary(function: Any, a: Any, b: Any) -> TensorVariable:
    return TensorVariable(function(expr_of(a), expr_of(b)))


above.binary = _binary


def expr_of(value: Any) -> _native.Expr:
    """Converts an operand; a Python number adapts its dtype to the other operand."""
    if isinstance(value, TensorVariable):
        return value._expr
    if type(value) is float:
        return _native.real(value)
    if type(value) is int and -(2**63) <= value < 2**63:
        return _native.whole(value)
    if type(value) is complex:
        return _native.complex_number(value.real, value.imag)
    return as_tensor_variable(value)._expr


def checked_equal(a: Any, b: Any, text: str, where: str) -> TensorVariable:
    """Returns the integer a. If it differs from b, the call fails with `text`, preceded by `where`;
    each {} in the text is replaced by one of the numbers."""
    return _binary(lambda one, other: _native.checked_equal(one, other, text, where), a, b)


def minimum_of(x: TensorVariable, most: int) -> TensorVariable:
    """The minimum of a vector of int64 and `most`."""
    ends = [x._expr, constant(np.array([most]))._expr]
    return TensorVariable(_native.concatenate(ends, 0)).min()


def sizes_of(shape: Any) -> _native.Expr:
    """Converts a shape (a number, a variable, or a list of them) to a vector of int64."""
    parts = shape if isinstance(shape, (list, tuple)) else [shape]
    for part in parts:
        if isinstance(part, (float, bool, str, np.floating)) or part is None:
            raise InvalidType(f"{part!r} is not a size: sizes are integers")
    return _native.shape_of([expr_of(part) for part in parts])


def constant(
    x: Any, name: Union[str, None] = None, ndim: Union[int, None] = None, dtype: Any = None
) -> TensorVariable:
    """A tensor of fixed elements. A Python number takes the smallest type that holds it (0 int8,
    1. float32, 0.1 float64); a numpy value keeps its type. Raises InvalidType."""
    if isinstance(x, TensorVariable):
        raise InvalidType(
            f"{x} is already a variable; a constant is made from an array or a number"
        )
    array = elements_of(x)
    if dtype is not None:
        array = array.astype(dtype_name(dtype))
    if ndim is not None:
        array = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    made = TensorConstant(array)
    made.name = name
    return made


def as_tensor_variable(
    x: Any, name: Union[str, None] = None, ndim: Union[int, None] = None
) -> TensorVariable:
    """Returns a variable unchanged, an array or number as a constant, a list of variables stacked.

    `ndim` prepends axes. Raises InvalidType.
    """
    if not isinstance(x, TensorVariable):
        refuse_misread(x, "an argument")
    if isinstance(x, (list, tuple)) and any(part is x for part in x):
        raise InvalidType("a list that contains itself is not a tensor")
    if isinstance(x, (list, tuple)) and any(isinstance(part, TensorVariable) for part in x):
        parts = [expr_of(part) for part in x]
        x = TensorVariable(_native.stack(parts, 0))
    if not isinstance(x, TensorVariable):
        return constant(x, name, ndim)
    if ndim is not None and x.ndim < ndim:
        x = x.dimshuffle(*["x"] * (ndim - x.ndim), *range(x.ndim))
    made: TensorVariable = x
    if name is not None:
        made.name = name
    return made
