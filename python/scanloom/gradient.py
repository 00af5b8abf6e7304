"""Gradients as expressions: of any order, through loops, branches and random draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from . import _native
from ._arguments import named_arguments
from ._errors import InvalidArgument, InvalidType, Unsupported
from ._missing import GRADIENT, refuse
from ._theano.function import function
from ._theano.shared import pairs_of
from ._theano.unpack import refuse_misread
from ._theano.variable import TensorVariable, as_tensor_variable, expr_of


class DisconnectedInputError(InvalidArgument):
    """The cost does not depend on a variable of `wrt`."""


class NullTypeGradError(InvalidArgument, TypeError):
    """A gradient passes through an operator that has none."""


class GradientError(InvalidArgument):
    """Raised by verify_grad: a gradient disagrees with central differences."""


@named_arguments
def grad(
    cost: Any,
    wrt: Any,
    consider_constant: Any = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Any = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """The gradient of a scalar cost with respect to one variable, or a list of them.

    consider_constant: variables that no gradient flows through.
    known_grads: {variable: the gradient of the cost with respect to it}; the cost may then be None.
    disconnected_inputs: "raise", "warn" or "ignore" a variable that the cost does not depend on.
        Its gradient is zeros, or None if return_disconnected is "None".
    null_gradients: "raise", or "return" None for a variable if an operator on the path to it has no
        gradient.

    Raises DisconnectedInputError, NullTypeGradError, InvalidType.
    """
    _one_of("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    _one_of("return_disconnected", return_disconnected, ("zero", "None", "Disconnected"))
    _one_of("null_gradients", null_gradients, ("raise", "return"))
    if cost is None and not known_grads:
        raise InvalidArgument("grad has neither a cost nor known_grads")
    if cost is not None:
        _check_cost(cost)
    variables = _variables(wrt, "wrt")
    fixed = [x._expr for x in _variables(consider_constant or [], "consider_constant")]
    known = _known(known_grads)
    exprs = [x._expr for x in variables]
    try:
        found = _native.gradients(None if cost is None else cost._expr, exprs, fixed, known)
    except Unsupported as error:
        if null_gradients == "raise":
            raise NullTypeGradError(error.text, error.notes) from None
        if len(variables) == 1:
            return _like(wrt, [None])
        # One variable at a time, so that those with a gradient get it.
        single = [
            grad(cost, x, consider_constant, disconnected_inputs, add_names, known_grads,
                 return_disconnected, null_gradients)
            for x in variables
        ]  # fmt: skip
        return _like(wrt, single)
    outputs = [x for x, _ in known] if cost is None else [cost._expr, *(x for x, _ in known)]
    found = _zeros_of_steps(found, outputs, variables, fixed)
    results = [
        _connected(x, gradient, disconnected_inputs, return_disconnected, outputs)
        for x, gradient in zip(variables, found)
    ]
    if add_names:
        for x, result in zip(variables, results):
            if isinstance(cost, TensorVariable) and cost.name and x.name and result is not None:
                result.name = result.name or f"(d{cost.name}/d{x.name})"
    return _like(wrt, results)


def jacobian(
    expression: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: str = "raise"
) -> Any:
    """The Jacobian of a scalar or vector; the expression's axis comes before those of wrt."""
    _one_of("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    made = _variable(expression, "the expression of a Jacobian")
    if made.ndim > 1:
        raise InvalidArgument(
            f"jacobian of {made}, which has {made.ndim} axes, but must be a vector: flatten it"
        )
    if made.ndim == 0:
        return grad(made, wrt, consider_constant, disconnected_inputs)
    variables = _variables(wrt, "wrt")
    fixed = _variables(consider_constant or [], "consider_constant")
    _check_depends(made, variables, disconnected_inputs, fixed)
    constants = [x._expr for x in fixed]
    results = [
        TensorVariable(_native.jacobian(made._expr, x._expr, constants)) for x in variables
    ]
    return _like(wrt, results)


def hessian(
    cost: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: str = "raise"
) -> Any:
    """The Hessian of a scalar cost with respect to a vector, or to each of a list of them."""
    _one_of("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    _check_cost(cost)
    variables = _variables(wrt, "wrt")
    for x in variables:
        if x.ndim != 1:
            raise InvalidArgument(f"hessian with respect to {x}, which has {x.ndim} axes, not 1")
    fixed = _variables(consider_constant or [], "consider_constant")
    _check_depends(cost, variables, disconnected_inputs, fixed)
    constants = [x._expr for x in fixed]
    results = [
        TensorVariable(_native.hessian(cost._expr, x._expr, constants)) for x in variables
    ]
    return _like(wrt, results)


def Rop(  # noqa: N802 - Theano's name
    f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """The Jacobian of f times eval_points, which have the types of wrt: one result per output."""
    _one_of("disconnected_outputs", disconnected_outputs, ("raise", "warn", "ignore"))
    outputs, variables = _variables(f, "f"), _variables(wrt, "wrt")
    points = _points(eval_points, variables, "wrt")
    found = _native.push_forward(
        [y._expr for y in outputs], [x._expr for x in variables], [p._expr for p in points]
    )
    read = [x._expr for x in (*outputs, *variables, *points)]
    results = [
        _connected(y, pushed, disconnected_outputs, return_disconnected, read, "an output of Rop")
        for y, pushed in zip(outputs, found)
    ]
    return _like(f, results)


def Lop(  # noqa: N802 - Theano's name
    f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """eval_points, which have the types of f, times the Jacobian of f: one result per variable."""
    _one_of("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    outputs, variables = _variables(f, "f"), _variables(wrt, "wrt")
    points = _points(eval_points, outputs, "f")
    fixed = _variables(consider_constant or [], "consider_constant")
    found = _native.pull_back(
        [y._expr for y in outputs], [p._expr for p in points], [x._expr for x in variables],
        [x._expr for x in fixed],
    )  # fmt: skip
    found = _zeros_of_steps(
        found, [y._expr for y in outputs], variables, [x._expr for x in fixed]
    )
    read = [y._expr for y in (*outputs, *points)]
    results = [
        _connected(x, pulled, disconnected_inputs, "zero", read)
        for x, pulled in zip(variables, found)
    ]
    return _like(wrt, results)


def disconnected_grad(x: Any) -> TensorVariable:
    """Returns x, but no gradient flows through it. It does not count as a dependency."""
    return TensorVariable(_native.disconnected(expr_of(x)))


def zero_grad(x: Any) -> TensorVariable:
    """Returns x with a gradient of zeros."""
    made = as_tensor_variable(x)
    never = _native.constant(np.asarray(False))
    return TensorVariable(_native.where(never, made._expr, _native.disconnected(made._expr)))


consider_constant = zero_grad


def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> TensorVariable:
    """Returns x; its gradient is clipped to [lower_bound, upper_bound], element by element."""
    if not lower_bound <= upper_bound:
        raise InvalidArgument(f"grad_clip to [{lower_bound}, {upper_bound}], which is empty")
    return TensorVariable(_native.clip_gradient(expr_of(x), lower_bound, upper_bound))


def grad_scale(x: Any, multiplier: float) -> TensorVariable:
    """Returns x; its gradient is multiplied by a number, for example -1 to reverse it."""
    return TensorVariable(_native.scale_gradient(expr_of(x), float(multiplier)))


def undefined_grad(x: Any) -> TensorVariable:
    """Returns x; a gradient through it raises NullTypeGradError."""
    return TensorVariable(_native.without_gradient(expr_of(x), "it is undefined"))


def grad_undefined(op: Any, x_pos: int, x: Any, comment: str = "") -> TensorVariable:
    """Same as undefined_grad, with a reason; `op` and `x_pos` are ignored."""
    return TensorVariable(_native.without_gradient(expr_of(x), comment or "it is undefined"))


grad_not_implemented = grad_undefined


def hessian_vector_product(cost: Any, wrt: Any, v: Any) -> Any:
    """The Hessian of a scalar cost times v, which has the types of wrt."""
    return Rop(grad(cost, wrt), wrt, v)


def verify_grad(
    fun: Callable[..., TensorVariable],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: Union[float, None] = None,
    out_type: Any = None,
    abs_tol: Union[float, None] = None,
    rel_tol: Union[float, None] = None,
    mode: Any = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Compares the gradient of fun(*variables) at the arrays `pt` with central differences.

    The result of fun is projected onto n_tests random directions, drawn from the numpy generator
    rng. Raises GradientError, which names the argument and both numbers, if the absolute and the
    relative error both exceed their tolerances.
    """
    points = [np.array(p) for p in pt]
    for i, point in enumerate(points):
        if point.dtype.kind != "f":
            raise InvalidType(
                f"verify_grad: argument {i} is {point.dtype}, but must be floating-point"
            )
    generator = np.random.default_rng(0) if rng is None else rng
    is_wide = all(point.dtype == np.float64 for point in points)
    step = eps if eps is not None else (1e-6 if is_wide else 3e-3)
    most_abs = abs_tol if abs_tol is not None else (1e-4 if is_wide else 1e-2)
    most_rel = rel_tol if rel_tol is not None else (1e-4 if is_wide else 1e-2)
    inputs = [_input(point, i) for i, point in enumerate(points)]
    output = fun(*inputs)
    if not isinstance(output, TensorVariable):
        raise InvalidType("verify_grad: the function must return one variable")
    value = function(inputs, output, on_unused_input="ignore")
    shape = np.shape(value(*points))
    direction = output.type("direction")
    cost = (output * direction).sum()
    gradients = grad(cost, inputs, disconnected_inputs="ignore")
    slopes = function([*inputs, direction], gradients, on_unused_input="ignore")
    for _ in range(n_tests):
        along = np.asarray(generator.uniform(size=shape) + 0.5, output.dtype)
        expected = numeric_grad(lambda *xs: float((value(*xs) * along).sum()), points, step)
        for i, (near, exact) in enumerate(zip(expected, slopes(*points, along))):
            _compare(i, near, exact, most_abs, most_rel)


def numeric_grad(
    f: Callable[..., float], points: Sequence[Any], eps: float = 1e-6
) -> list[np.ndarray[Any, Any]]:
    """The gradient of f, a function of arrays that returns a number, by central differences."""
    arrays = [np.array(point) for point in points]
    slopes = []
    for array in arrays:
        slope = np.empty(array.shape, np.float64)
        for at in np.ndindex(array.shape):
            before = array[at]
            array[at] = before + eps
            upper, high = f(*arrays), float(array[at])
            array[at] = before - eps
            lower, low = f(*arrays), float(array[at])
            array[at] = before
            slope[at] = (upper - lower) / (high - low)
        slopes.append(slope)
    return slopes


def _compare(i: int, near: Any, exact: Any, most_abs: float, most_rel: float) -> None:
    absolute = np.abs(near - exact)
    relative = absolute / np.maximum(np.abs(near) + np.abs(exact), 1e-8)
    wrong = ~((absolute <= most_abs) | (relative <= most_rel))
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise GradientError(
            f"the gradient with respect to argument {i} is {exact[at]:.6g} at {list(at)},"
            f" but differences give {near[at]:.6g}"
        )


def _input(point: np.ndarray[Any, Any], i: int) -> TensorVariable:
    sizes = [1 if size == 1 else -1 for size in point.shape]
    return TensorVariable(_native.input(f"argument {i}", point.dtype.name, sizes))


def _is_list(given: Any) -> bool:
    return isinstance(given, (list, tuple))


def _like(given: Any, results: list[Any]) -> Any:
    """Returns one result, or a list or tuple of them, in the form of `given`."""
    if not _is_list(given):
        return results[0]
    return tuple(results) if isinstance(given, tuple) else results


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgument(f"{name} is {value!r}, but must be one of {', '.join(known)}")


def _variable(given: Any, what: str) -> TensorVariable:
    refuse_misread(given, what)
    if not isinstance(given, TensorVariable):
        raise InvalidType(f"{what} is {given!r:.80}, but must be a variable")
    return given


def _variables(given: Any, what: str) -> list[TensorVariable]:
    refuse_misread(given, what)
    listed = list(given) if _is_list(given) else [given]
    return [_variable(x, f"{what}[{i}]" if _is_list(given) else what) for i, x in enumerate(listed)]


def _check_cost(cost: Any) -> None:
    made = _variable(cost, "the cost")
    if made.ndim != 0:
        raise InvalidType(
            f"the cost, {made}, has {made.ndim} axes, but must be a scalar: sum it"
        )


def _known(known_grads: Any) -> list[tuple[_native.Expr, _native.Expr]]:
    known = []
    for x, gradient in pairs_of(known_grads, "known_grads"):
        variable = _variable(x, "a key of known_grads")
        made = as_tensor_variable(gradient)
        if made.ndim != variable.ndim:
            raise InvalidType(
                f"known_grads: {variable} has {variable.ndim} axes, but its gradient has "
                f"{made.ndim}"
            )
        known.append((variable._expr, made._expr))
    return known


def _points(given: Any, variables: list[TensorVariable], what: str) -> list[TensorVariable]:
    points = [as_tensor_variable(p) for p in (given if _is_list(given) else [given])]
    if len(points) != len(variables):
        raise InvalidArgument(
            f"{len(variables)} variables in {what}, but {len(points)} eval_points"
        )
    for x, point in zip(variables, points):
        if x.ndim != point.ndim:
            raise InvalidType(f"{x} has {x.ndim} axes, but its eval_point has {point.ndim}")
    return points


def _zeros_of_steps(
    found: list[Union[_native.Expr, None]], outputs: list[_native.Expr],
    variables: list[TensorVariable], fixed: list[_native.Expr],
) -> list[Union[_native.Expr, None]]:
    """Fills in zeros for a variable that the outputs read only through step functions like
    floor."""
    return [
        _native.zero_gradient(outputs, x._expr)
        if gradient is None and _native.depends_on(outputs, x._expr, fixed) else gradient
        for x, gradient in zip(variables, found)
    ]


def _connected(
    x: TensorVariable, found: Union[_native.Expr, None], disconnected: str, give: str,
    outputs: list[_native.Expr], what: str = "a variable",
) -> Union[TensorVariable, None]:
    if found is not None:
        return TensorVariable(found)
    _tell_disconnected(x, disconnected, what)
    return TensorVariable(_native.zero_gradient(outputs, x._expr)) if give == "zero" else None


def _tell_disconnected(x: TensorVariable, disconnected: str, what: str) -> None:
    text = f"no gradient: the cost does not depend on {x}, {what} requested"
    if disconnected == "raise":
        option = "disconnected_outputs" if "output" in what else "disconnected_inputs"
        raise DisconnectedInputError(text, (f"{option}='ignore' gives zeros",))
    if disconnected == "warn":
        warnings.warn(text, stacklevel=4)


def _check_depends(
    y: TensorVariable, variables: list[TensorVariable], disconnected: str,
    fixed: list[TensorVariable],
) -> None:
    if disconnected == "ignore":
        return
    ones = y.ones_like()
    found = _native.pull_back(
        [y._expr], [ones._expr], [x._expr for x in variables], [x._expr for x in fixed]
    )
    found = _zeros_of_steps(found, [y._expr], variables, [x._expr for x in fixed])
    for x, pulled in zip(variables, found):
        if pulled is None:
            _tell_disconnected(x, disconnected, "a variable")


def __getattr__(name: str) -> Any:
    return refuse("gradient", name, GRADIENT, globals())
