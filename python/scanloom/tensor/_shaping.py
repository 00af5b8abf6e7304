"""Creation, reshaping and rearrangement of tensors; reading and writing parts of them."""

from __future__ import annotations

from typing import Any, Union

from .. import _native
from .._arguments import axes_of, axis_number, axis_of, whole
from .._theano.config import config
from .._errors import InvalidArgument, InvalidType
from .._theano.types import dtype_name
from .._theano.variable import (
    TensorVariable, as_tensor_variable, checked_equal, expr_of, minimum_of, sizes_of,
)  # fmt: skip


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> TensorVariable:
    """arange(stop) or arange(start, stop, step); integers give int64."""
    if stop is None:
        start, stop = 0, start
    made = TensorVariable(_native.arange(expr_of(start), expr_of(stop), expr_of(step)))
    return made if dtype is None else made.astype(dtype)


def zeros(shape: Any, dtype: Any = None) -> TensorVariable:
    """Zeros of that shape; the default dtype is config.floatX."""
    name = config.floatX if dtype is None else dtype_name(dtype)
    return TensorVariable(_native.zeros(sizes_of(shape), name))


def ones(shape: Any, dtype: Any = None) -> TensorVariable:
    """Ones of that shape; the default dtype is config.floatX."""
    name = config.floatX if dtype is None else dtype_name(dtype)
    one = _native.cast(_native.real(1.0), name)
    return TensorVariable(_native.full(sizes_of(shape), one))


def zeros_like(model: Any, dtype: Any = None, opt: bool = False) -> TensorVariable:
    """Zeros of the shape of a tensor; the default dtype is the tensor's."""
    return as_tensor_variable(model).zeros_like(dtype)


def ones_like(model: Any, dtype: Any = None, opt: bool = False) -> TensorVariable:
    """Ones of the shape of a tensor; the default dtype is the tensor's."""
    return as_tensor_variable(model).ones_like(dtype)


def fill(a: Any, b: Any) -> TensorVariable:
    """A tensor of the shape of a, filled with b."""
    return TensorVariable(_native.full(_native.shape(expr_of(a)), expr_of(b)))


def alloc(value: Any, *shape: Any) -> TensorVariable:
    """Broadcasts `value` to that shape."""
    sizes = shape[0] if len(shape) == 1 else shape
    return TensorVariable(_native.full(sizes_of(sizes), as_tensor_variable(value)._expr))


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> TensorVariable:
    """A matrix with ones on the k-th diagonal above the main one, zeros elsewhere."""
    height, width = (TensorVariable(sizes_of(size))[0] for size in (n, n if m is None else m))
    rows = arange(height).dimshuffle(0, "x")
    columns = arange(width).dimshuffle("x", 0)
    ones_there = TensorVariable(_native.eq((rows + k)._expr, columns._expr))
    return ones_there.astype(config.floatX if dtype is None else dtype)


def identity_like(x: Any) -> TensorVariable:
    """A matrix of the shape and dtype of x with ones on the diagonal, zeros elsewhere."""
    model = as_tensor_variable(x)
    return eye(model.shape[0], model.shape[1], dtype=model.dtype)


def shape(x: Any) -> TensorVariable:
    """The sizes of all axes, a vector of int64."""
    return as_tensor_variable(x).shape


def unbroadcast(x: Any, *axes: int) -> TensorVariable:
    """Returns x: axes that turn out to be of size 1 always broadcast."""
    axes_of(as_tensor_variable(x), axes)
    return as_tensor_variable(x)


def addbroadcast(x: Any, *axes: int) -> TensorVariable:
    """Returns x with these axes known to be of size 1; the run fails if they are not."""
    made = as_tensor_variable(x)
    there = [axis_of(made, axis) for axis in axes]
    return made.reshape([1 if i in there else made.shape[i] for i in range(made.ndim)])


def patternbroadcast(x: Any, broadcastable: Any) -> TensorVariable:
    """Returns x with axes known to be of size 1 where the pattern is True; the run fails if not."""
    made = as_tensor_variable(x)
    if not isinstance(broadcastable, (list, tuple)) or len(broadcastable) != made.ndim:
        raise InvalidArgument(
            f"the pattern of {made} is {broadcastable!r:.80}, but must have one bool per axis"
        )
    return addbroadcast(made, *[i for i, is_one in enumerate(broadcastable) if is_one])


def reshape(x: Any, newshape: Any, ndim: Union[int, None] = None) -> TensorVariable:
    """The elements, in row-major order, in another shape; one size may be -1, which is inferred."""
    return as_tensor_variable(x).reshape(newshape, ndim=ndim)


def flatten(x: Any, ndim: int = 1, outdim: Union[int, None] = None) -> TensorVariable:
    """Flattens to ndim axes; the last one takes all remaining axes."""
    return as_tensor_variable(x).flatten(ndim if outdim is None else outdim)


def transpose(x: Any, axes: Any = None) -> TensorVariable:
    """Reverses the axes, or permutes them by `axes`."""
    return as_tensor_variable(x).transpose(*(axes or ()))


def swapaxes(x: Any, axis1: int, axis2: int) -> TensorVariable:
    """Swaps two axes."""
    return as_tensor_variable(x).swapaxes(axis1, axis2)


def squeeze(x: Any) -> TensorVariable:
    """Removes the axes that are known to be of size 1."""
    return as_tensor_variable(x).squeeze()


def shape_padleft(x: Any, n_ones: int = 1) -> TensorVariable:
    """Prepends axes of size 1."""
    made = as_tensor_variable(x)
    return made.dimshuffle(*["x"] * whole(n_ones, "n_ones"), *range(made.ndim))


def shape_padright(x: Any, n_ones: int = 1) -> TensorVariable:
    """Appends axes of size 1."""
    made = as_tensor_variable(x)
    return made.dimshuffle(*range(made.ndim), *["x"] * whole(n_ones, "n_ones"))


def shape_padaxis(x: Any, axis: int) -> TensorVariable:
    """Inserts an axis of size 1 at that position of the result."""
    return TensorVariable(_native.expand_dims(expr_of(x), [axis_number(axis)]))


def concatenate(tensor_list: Any, axis: int = 0) -> TensorVariable:
    """Concatenates tensors along an axis."""
    if not isinstance(tensor_list, (list, tuple)):
        raise InvalidType(f"concatenate takes a list of variables, not {tensor_list!r:.80}")
    parts = [expr_of(x) for x in tensor_list]
    return TensorVariable(_native.concatenate(parts, axis_number(axis)))


def join(axis: int, *tensors: Any) -> TensorVariable:
    """Concatenates tensors along an axis; like concatenate, but with the axis first."""
    return concatenate(tensors, axis)


def stack(*tensors: Any, axis: int = 0) -> TensorVariable:
    """stack([a, b], axis=0): stacks tensors of one shape along a new axis; also stack(a, b)."""
    parts = list(tensors)
    if parts and isinstance(parts[0], (list, tuple)):
        axis = parts[1] if len(parts) == 2 else axis
        parts = list(parts[0])
    return TensorVariable(_native.stack([expr_of(x) for x in parts], axis_number(axis)))


stacklists = as_tensor_variable


def roll(x: Any, shift: Any, axis: Union[int, None] = None) -> TensorVariable:
    """Shifts elements by `shift` positions; those that leave at one end enter at the other."""
    made = as_tensor_variable(x)
    if axis is None:
        return roll(made.flatten(), shift, 0).reshape(made.shape) if made.ndim != 1 else roll(
            made, shift, 0
        )
    axis = axis_of(made, axis)
    size = made.shape[axis]
    # The remainder by the size of an empty axis is undefined.
    cut = (size - shift) % TensorVariable(_native.maximum(size._expr, _native.whole(1)))
    before = (slice(None),) * axis
    return concatenate([made[(*before, slice(cut, None))], made[(*before, slice(None, cut))]], axis)


def tile(x: Any, reps: Any, ndim: Union[int, None] = None) -> TensorVariable:
    """Repeats the whole of x, reps[i] times along axis i; shorter shapes are padded in front."""
    made = as_tensor_variable(x)
    counts = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    rank = max(len(counts), made.ndim, ndim or 0)
    counts = [1] * (rank - len(counts)) + counts
    made = shape_padleft(made, rank - made.ndim) if rank > made.ndim else made
    for axis, count in enumerate(counts):
        if isinstance(count, int) and count == 1:
            continue
        wide = shape_padaxis(made, axis)
        sizes = [wide.shape[i] for i in range(wide.ndim)]
        sizes[axis] = as_tensor_variable(count).astype("int64")
        repeated = alloc(wide, *sizes)
        whole = [made.shape[i] for i in range(rank)]
        whole[axis] = whole[axis] * count
        made = repeated.reshape(whole)
    return made


def repeat(x: Any, repeats: Any, axis: Union[int, None] = None) -> TensorVariable:
    """Repeats every element `repeats` times; a vector gives a number for each position of the
    axis."""
    made = as_tensor_variable(x)
    if axis is None:
        made, axis = made.flatten(), 0
    axis = axis_of(made, axis)
    times = as_tensor_variable(repeats)
    if times.ndim == 1:
        return made.take(_repeated(times.astype("int64")), axis)
    if times.ndim > 1:
        raise InvalidArgument(f"repeat takes a number or a vector, not {times.ndim} axes")
    wide = shape_padaxis(made, axis + 1)
    sizes = [wide.shape[i] for i in range(wide.ndim)]
    sizes[axis + 1] = as_tensor_variable(repeats).astype("int64")
    whole = [made.shape[i] for i in range(made.ndim)]
    whole[axis] = whole[axis] * repeats
    return alloc(wide, *sizes).reshape(whole)


def _repeated(times: TensorVariable) -> TensorVariable:
    """Each index of a vector, repeated as often as its element says."""
    ends = times.cumsum()
    whole = times.sum()
    # The elements of an index begin where those of the previous one end; several may end together.
    marks = zeros((whole + 1,), "int64")[ends[:-1]]
    return inc_subtensor(marks, as_tensor_variable(1).astype("int64"))[:-1].cumsum()


def _mended(index: TensorVariable, size: Any, mode: str) -> TensorVariable:
    """Corrects an index that may be outside an axis of that size. Raises InvalidArgument."""
    if mode == "raise":
        # Reading a missing element is the error, but an index counted from the end is valid. All
        # the elements are a single one: a broadcast view if the shapes of arguments give the size.
        zeros_there = alloc(as_tensor_variable(0).astype("int8"), size)
        inside = TensorVariable(_native.where((index < 0)._expr, expr_of(size), index._expr))
        found: TensorVariable = index.astype("int64") + zeros_there[inside]
        return found
    if mode == "wrap":
        return TensorVariable(_native.remainder(index._expr, expr_of(size)))
    if mode == "clip":
        return index.clip(0, size - 1)
    raise InvalidArgument(f"mode is {mode!r}, but must be 'raise', 'wrap' or 'clip'")


def take(a: Any, indices: Any, axis: Union[int, None] = None, mode: str = "raise") -> TensorVariable:
    """The elements, rows or slices at these indices; without an axis, of the flattened tensor.

    mode: for an index out of bounds, "raise" an error, "wrap" it around, or "clip" it.
    """
    made, where = as_tensor_variable(a), as_tensor_variable(indices)
    if axis is None:
        made, axis = made.flatten(), 0
    axis = axis_of(made, axis)
    if mode != "raise":
        where = _mended(where, made.shape[axis], mode)
    return made[(slice(None),) * axis + (where,)]


def choose(a: Any, choices: Any, mode: str = "raise") -> TensorVariable:
    """For each element of the integer tensor a, the element of choices[a]; shapes broadcast."""
    numbers = as_tensor_variable(a)
    if isinstance(choices, (list, tuple)):
        listed = [as_tensor_variable(choice) for choice in choices]
    else:
        stacked = as_tensor_variable(choices)
        if stacked.ndim == 0 or stacked._expr.sizes[0] < 0:
            raise InvalidArgument("the number of choices must be known: write them as a list")
        listed = [stacked[i] for i in range(stacked._expr.sizes[0])]
    if not listed:
        raise InvalidArgument("choose has no choices")
    numbers = _mended(numbers.astype("int64"), len(listed), mode)
    made = listed[-1]._expr
    for i, choice in enumerate(listed[:-1] or listed):
        made = _native.where(_native.eq(numbers._expr, _native.whole(i)), choice._expr, made)
    return TensorVariable(made)


def split(x: Any, splits_size: Any, n_splits: int, axis: int = 0) -> list[TensorVariable]:
    """Splits along an axis into n_splits parts of the given sizes, which must add up to its
    size."""
    made = as_tensor_variable(x)
    axis = axis_of(made, axis)
    if isinstance(splits_size, (list, tuple)) and len(splits_size) != n_splits:
        raise InvalidArgument(f"split into {n_splits} parts, but {len(splits_size)} sizes")
    sizes = as_tensor_variable(splits_size).astype("int64")
    before = (slice(None),) * axis
    size = made.shape[axis]
    least = checked_equal(
        minimum_of(sizes, 0), 0, "the size of a part is {}, but must be at least {}", "split"
    )
    whole_size = checked_equal(
        sizes.sum(),
        size,
        f"the parts have {{}} elements in total, but axis {axis} has {{}}",
        "split",
    )
    parts, start = [], whole_size - size + least
    for i in range(n_splits):
        stop = start + sizes[i]
        parts.append(made[(*before, slice(start, stop))])
        start = stop
    return parts


def tri(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> TensorVariable:
    """Ones where the column is at most the row plus k, zeros elsewhere."""
    height, width = (TensorVariable(sizes_of(size))[0] for size in (n, n if m is None else m))
    below: TensorVariable = (
        arange(width).dimshuffle("x", 0) <= arange(height).dimshuffle(0, "x") + k
    )
    return below.astype(config.floatX if dtype is None else dtype)


def moveaxis(x: Any, source: Any, destination: Any) -> TensorVariable:
    """Moves axes to other positions; the others keep their order."""
    made = as_tensor_variable(x)
    old, new = (list(at) if isinstance(at, (list, tuple)) else [at] for at in (source, destination))
    old, new = axes_of(made, old), axes_of(made, new)
    if len(old) != len(new):
        raise InvalidArgument(f"moveaxis from {source!r} to {destination!r}: not one to one")
    order = [axis for axis in range(made.ndim) if axis not in old]
    for place, axis in sorted(zip(new, old)):
        order.insert(place, axis)
    return made.dimshuffle(*order)


def rollaxis(x: Any, axis: int, start: int = 0) -> TensorVariable:
    """numpy.rollaxis: moves the axis to before the one at `start`."""
    made = as_tensor_variable(x)
    axis, start = axis_of(made, axis), whole(start, "start")
    start = start + made.ndim if start < 0 else start
    return moveaxis(made, axis, start - 1 if axis < start else start)


def horizontal_stack(*args: Any) -> TensorVariable:
    """Concatenates matrices horizontally."""
    return concatenate(args, 1)


def vertical_stack(*args: Any) -> TensorVariable:
    """Concatenates matrices vertically."""
    return concatenate(args, 0)


def empty(shape: Any, dtype: Any = None) -> TensorVariable:
    """Zeros: memory is never left uninitialized."""
    return zeros(shape, dtype)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
    """The elements whose axis2 index is `offset` more than their axis1 index, along a last axis."""
    made, offset = as_tensor_variable(a), whole(offset, "an offset")
    if made.ndim < 2:
        raise InvalidArgument(f"the diagonal of {made}, which has {made.ndim} axes, not 2 or more")
    pair = axes_of(made, [axis1, axis2])
    matrix = made.dimshuffle(*(i for i in range(made.ndim) if i not in pair), *pair)
    rows, columns = matrix.shape[-2], matrix.shape[-1]
    skipped, first = max(-offset, 0), max(offset, 0)
    count = _native.minimum((rows - skipped)._expr, (columns - first)._expr)
    along = arange(TensorVariable(count))
    return matrix[(..., along + skipped, along + first)]


def diag(v: Any, k: int = 0) -> TensorVariable:
    """A matrix with the vector v on its k-th diagonal, or the k-th diagonal of the matrix v."""
    made = as_tensor_variable(v)
    if made.ndim == 2:
        return diagonal(made, k)
    if made.ndim != 1:
        raise InvalidArgument(f"diag takes a vector or a matrix, not {made.ndim} axes")
    size = made.shape[0] + abs(whole(k, "k"))
    along = arange(made.shape[0])
    zero = zeros((size, size), made.dtype)
    return TensorVariable(
        _native.set_subtensor(zero[along + max(-k, 0), along + max(k, 0)]._expr, made._expr)
    )


def tril(m: Any, k: Any = 0) -> TensorVariable:
    """Keeps the elements whose column is at most their row plus k; the others are zeros."""
    matrix = as_tensor_variable(m)
    rows = arange(matrix.shape[-2]).dimshuffle(0, "x") + k
    columns = arange(matrix.shape[-1]).dimshuffle("x", 0)
    zero = _native.zeros_like(matrix._expr)
    return TensorVariable(_native.where((columns <= rows)._expr, matrix._expr, zero))


def triu(m: Any, k: Any = 0) -> TensorVariable:
    """Keeps the elements whose column is at least their row plus k; the others are zeros."""
    matrix = as_tensor_variable(m)
    rows = arange(matrix.shape[-2]).dimshuffle(0, "x") + k
    columns = arange(matrix.shape[-1]).dimshuffle("x", 0)
    zero = _native.zeros_like(matrix._expr)
    return TensorVariable(_native.where((columns >= rows)._expr, matrix._expr, zero))


def set_subtensor(
    x: TensorVariable, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False
) -> TensorVariable:
    """The tensor that x = whole[...] is a part of, with that part replaced by y."""
    return TensorVariable(_native.set_subtensor(_part(x), expr_of(y)))


def inc_subtensor(
    x: TensorVariable, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False,
    set_instead_of_inc: bool = False,
) -> TensorVariable:
    """Same as set_subtensor, but adds y to the part; repeated indices add up."""
    write = _native.set_subtensor if set_instead_of_inc else _native.increment_subtensor
    return TensorVariable(write(_part(x), expr_of(y)))


def _part(x: Any) -> _native.Expr:
    if not isinstance(x, TensorVariable):
        raise InvalidType(f"{x!r:.80} is not a part of a variable: write set_subtensor(x[...], y)")
    return x._expr
