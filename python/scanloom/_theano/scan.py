"""scan: makes a loop of a function that computes one step."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from .. import _native
from .._arguments import name_or_none, named_arguments, yes_or_no
from .config import check_mode, config
from .._errors import InvalidArgument, InvalidType
from .._missing import SCAN, lacking
from .shared import OrderedUpdates, updates_from
from .step import step_of
from .test_values import without_test_values
from .._suggest import did_you_mean
from .unpack import LoopResult, refuse_misread
from .variable import TensorVariable, as_tensor_variable

Outputs = Any  # a variable, a list of them, or None


# The initial value of an output: (value, taps, whether it has rows, whether it is an untyped
# number).
_Begin = tuple[_native.Expr, list[int], bool, bool]


class _Loop(NamedTuple):
    """The arguments of scan in the library's form."""

    sequences: list[tuple[_native.Expr, list[int]]]
    initial: list[Union[_Begin, None]]
    captured: list[TensorVariable]


@named_arguments
def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: Union[str, None] = None,
    profile: Any = False,
    allow_gc: Any = None,
    strict: bool = False,
    return_list: bool = False,
    checkpoint: Any = None,
) -> tuple[Outputs, OrderedUpdates]:
    """Makes a loop; calls `fn` with variables to find out what a step computes.

    fn receives the slices of the sequences, by sequence and tap; the earlier values of the outputs,
    by output and tap; then the non_sequences. It returns outputs, updates of shared variables and
    until(...).

    sequences: variables, or dict(input=, taps=). Step t reads row t + tap of each.
    outputs_info: for each output its value before the first step; or dict(initial=, taps=) with as
        many rows as the earliest tap looks back; or None if steps do not read it. A Python number
        takes the dtype that the step gives it: that of the variables it is combined with, otherwise
        int64 or config.floatX. `fn` is called a second time if the dtype turns out different.
    n_steps: an integer or a variable; by default the length of the shortest sequence. A negative
        number runs that many steps backwards.
    checkpoint: which states are kept for a gradient; the others are recomputed. "all" (default);
        {"every": n}, the states before every n-th step; "sqrt", about the square root of the number
        of steps; {"budget": bytes}, as many as fit.

    Returns (outputs, updates). The first axis of every output is the steps. A single output is
    returned without a list unless return_list is true; no outputs are returned as None.

    Raises InvalidArgument and InvalidType, which name the loop and the argument.
    """
    check_mode(mode)
    place = _place(name)
    loop = _Loop(
        _sequences(sequences, place), _initial(outputs_info, place), _captured(non_sequences, place)
    )
    return _run(
        fn, loop, _steps(n_steps, place), _truncation(truncate_gradient, place),
        yes_or_no(go_backwards, f"{place}: go_backwards"), name,
        yes_or_no(strict, f"{place}: strict"), yes_or_no(return_list, f"{place}: return_list"),
        _checkpoint(checkpoint, place),
    )  # fmt: skip


def run_checkpointed(
    fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any, n_steps: Any,
    name: Union[str, None], every: int,
) -> tuple[Outputs, OrderedUpdates]:
    """scan with a gradient that keeps the states before every `every`-th step."""
    place = _place(name)
    loop = _Loop(
        _sequences(sequences, place), _initial(outputs_info, place), _captured(non_sequences, place)
    )
    kept = ("every", every)
    return _run(fn, loop, _steps(n_steps, place), -1, False, name, False, False, kept)


def _run(
    fn: Callable[..., Any],
    loop: _Loop,
    steps: Union[_native.Expr, None],
    truncate_gradient: int,
    go_backwards: bool,
    name: Union[str, None],
    strict: bool,
    return_list: bool,
    checkpoint: tuple[str, int],
) -> tuple[Outputs, OrderedUpdates]:
    if not callable(fn):
        raise InvalidType(f"fn is {fn!r}, but must be a function that describes a step")
    captured = [value._expr for value in loop.captured]
    native = _native.Scanning(
        loop.sequences, loop.initial, captured, steps, go_backwards, strict, truncate_gradient,
        checkpoint, name or "", config.floatX,
    )  # fmt: skip
    place = _place(name)
    if not loop.sequences and steps is None:
        raise InvalidArgument(
            f"{place}: the number of steps is unknown: give sequences or the number of steps,"
            " n_steps=...",
        )
    slices = sum(len(taps) for _, taps in loop.sequences)
    step = step_of(fn, loop.captured, place, slices)
    if config.compute_test_value == "off":
        outputs, updates = _native.scan(native, step)
    else:  # values inside a step have no test values
        outputs, updates = without_test_values(lambda: _native.scan(native, step))
    made = [TensorVariable(output) for output in outputs]
    result: Outputs = made
    if not return_list:
        result = None if not made else made[0] if len(made) == 1 else made
    return LoopResult((result, updates_from(updates)))


def _place(name: Union[str, None]) -> str:
    """The name of the loop in messages."""
    return f"scan '{name}'" if name_or_none(name, "a loop") else "scan"


def _listed(given: Any, what: str) -> list[Any]:
    """Returns the entries as a list. Raises InvalidType for the result tuple of another loop."""
    if given is None:
        return []
    refuse_misread(given, what)
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    for entry in listed:
        refuse_misread(entry, f"an entry of {what}")
    return listed


def _variable(value: Any, what: str) -> TensorVariable:
    try:
        return as_tensor_variable(value)
    except InvalidArgument as error:
        if type(value) is int:
            raise InvalidArgument(f"{what}: {error.text}", error.notes) from None
        raise InvalidType(f"{what} is not a variable, array or number: {error.text}") from None


def _sequences(given: Any, place: str) -> list[tuple[_native.Expr, list[int]]]:
    sequences = []
    for i, entry in enumerate(_listed(given, f"{place}: sequences")):
        what = f"{place}: sequence {i}"
        taps: Any = None
        value = entry
        if isinstance(entry, dict):
            _check_keys(entry, ("input", "taps"), what)
            if entry.get("input") is None:
                raise InvalidArgument(f"{what} has no input: write dict(input=x, taps=[...])")
            value, taps = entry["input"], entry.get("taps")
        if value is None:
            raise InvalidType(f"{what} is None, but must be a variable")
        variable = _variable(value, what)
        if variable.ndim == 0:
            raise InvalidArgument(
                f"{what}, {variable}, is a single number; a sequence has at least one axis",
                ("pass values that are the same in every step as non_sequences",),
            )
        sequences.append((variable._expr, [0] if taps is None else _taps(taps, what, True)))
    return sequences


def _initial(given: Any, place: str) -> list[Union[_Begin, None]]:
    listed = _listed(given, f"{place}: outputs_info")
    if isinstance(given, dict) and not given:
        return []
    return [_begin(entry, f"{place}: output {i}") for i, entry in enumerate(listed)]


def _begin(entry: Any, what: str) -> Union[_Begin, None]:
    if entry is None:
        return None
    taps: Any = [-1]
    value = entry
    if isinstance(entry, dict):
        _check_keys(entry, ("initial", "taps"), what)
        value = entry.get("initial")
        if value is None:
            if entry.get("taps") is not None:
                raise InvalidArgument(
                    f"{what} has taps, but no initial value: write dict(initial=x, taps=...)"
                )
            return None
        taps = entry.get("taps", [-1])
        if taps is None:
            warnings.warn(f"{what} has an initial value but taps None; use tap -1", stacklevel=7)
            taps = [-1]
    if isinstance(taps, (int, np.integer)):
        raise InvalidType(f"{what} has taps {taps}; write a list: taps=[{taps}]")
    listed = _taps(taps, what, False)
    first = _variable(value, f"{what}: its initial value")._expr
    return first, listed, listed != [-1], _is_untyped(value)


def _is_untyped(value: Any) -> bool:
    """Whether the value is a Python number, or a nested list of them."""
    if isinstance(value, (list, tuple, range)):
        return len(value) > 0 and all(map(_is_untyped, value))
    return type(value) in (bool, int, float, complex)


def _taps(taps: Any, what: str, of_sequence: bool) -> list[int]:
    listed = [taps] if isinstance(taps, (int, np.integer)) else taps
    if not isinstance(listed, (list, tuple, range)) or any(
        isinstance(tap, bool) or not isinstance(tap, (int, np.integer)) for tap in listed
    ):
        raise InvalidType(f"{what} has taps {taps!r}, but must have a list of integers")
    if not listed:
        raise InvalidArgument(f"{what} has an empty list of taps")
    if not of_sequence and max(listed) >= 0:
        raise InvalidArgument(
            f"{what} has tap {max(listed)}; taps of outputs look back and must be negative"
        )
    return [_counted(int(tap), f"{what} has tap") for tap in listed]


def _counted(value: int, what: str) -> int:
    if not -(2**63) <= value < 2**63:
        raise InvalidArgument(f"{what} {value}, which is not a 64-bit integer")
    return value


def _check_keys(entry: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in entry:
        if key not in known:
            names = " and ".join(f"'{name}'" for name in known)
            meant = did_you_mean(str(key), known)
            raise InvalidArgument(f"{what} has the key {key!r}; keys are {names}{meant}")


def _captured(given: Any, place: str) -> list[TensorVariable]:
    captured = []
    for i, value in enumerate(_listed(given, f"{place}: non_sequences")):
        if value is None:
            raise InvalidType(f"{place}: non_sequence {i} is None, but must be a variable")
        captured.append(_variable(value, f"{place}: non_sequence {i}"))
    return captured


def _steps(n_steps: Any, place: str) -> Union[_native.Expr, None]:
    if n_steps is None:
        return None
    if isinstance(n_steps, TensorVariable):
        return n_steps._expr
    if isinstance(n_steps, (float, np.floating)):
        if not math.isfinite(n_steps):
            return None
        if n_steps != int(n_steps):
            raise InvalidArgument(f"{place}: n_steps is {n_steps}, but must be an integer")
        n_steps = int(n_steps)
    array = np.asarray(n_steps)
    if isinstance(n_steps, int) or (array.dtype.kind == "u" and array.size == 1):
        _counted(int(array.item()), f"{place}: n_steps is")
    if array.dtype.kind not in "iu" or array.size != 1:
        raise InvalidType(
            f"{place}: n_steps is {n_steps!r}, but must be an integer or an integer variable"
        )
    return _native.constant(np.asarray(array.reshape(()), np.int64))


def _truncation(steps: Any, place: str) -> int:
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)):
        raise InvalidType(f"{place}: truncate_gradient is {steps!r}, but must be an integer")
    if steps != -1 and steps < 1:
        raise InvalidArgument(
            f"{place}: truncate_gradient is {steps}, but must be -1, all steps, or at least 1"
        )
    return _counted(int(steps), f"{place}: truncate_gradient is")


def _checkpoint(given: Any, place: str) -> tuple[str, int]:
    """Converts `checkpoint` to the library's form."""
    if given is None or given in ("all", "sqrt"):
        return given or "all", 0
    if isinstance(given, dict) and len(given) == 1:
        kind, value = next(iter(given.items()))
        is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if kind in ("every", "budget") and is_whole and value > 0:
            return kind, _counted(int(value), f"{place}: checkpoint is '{kind}' of")
    raise InvalidArgument(
        f"{place}: checkpoint is {given!r}, but must be 'all', 'sqrt', {{'every': n}} or"
        " {'budget': bytes}"
    )


class _Scan:
    """scan, with error messages for attributes that it has in other libraries."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self.__wrapped__(*values, **named)

    def __getattr__(self, name: str) -> Any:
        return lacking("scan", name, SCAN)

    def __reduce__(self) -> str:
        return "scan"

    def __repr__(self) -> str:
        return "<function scan>"


if not TYPE_CHECKING:  # a type checker would accept any argument
    scan = _Scan(scan)
