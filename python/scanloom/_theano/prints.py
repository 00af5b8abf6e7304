"""Print: marks variables whose values are printed after a call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _native
from .variable import TensorType, TensorVariable, as_tensor_variable

_PRINTED: dict[_native.Expr, tuple["Print", _native.Expr]] = {}


class Print:
    """Marks variables whose values are printed after a function has computed them.

    Print("message")(x) equals x. After a call of a function that needs it,
    "message __str__ = [1 2]" is printed, with one line for each attribute of the array in `attrs`.
    Printing happens after the run, because a run never calls Python. Marks inside the steps of a
    loop are not printed; a warning says so. global_fn(self, value): called instead of printing.
    """

    __module__ = "scanloom.printing"  # which pickles name

    def __init__(
        self, message: str = "", attrs: Sequence[str] = ("__str__",), global_fn: Any = None
    ) -> None:
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def __call__(self, x: Any) -> TensorVariable:
        made = as_tensor_variable(x)
        marked = TensorVariable(_native.scale_gradient(made._expr, 1.0))  # a node of its own
        marked.name = f"Print {self.message!r}"
        _PRINTED[marked._expr] = (self, made._expr)
        return marked

    def tell(self, value: Any) -> None:
        """Prints a value."""
        if self.global_fn is not None:
            self.global_fn(self, value)
            return
        for attribute in self.attrs:
            found = getattr(value, attribute)
            print(self.message, attribute, "=", found() if callable(found) else found)


def printed_by(roots: list[_native.Expr]) -> list[tuple[Print, _native.Expr]]:
    """The marks that these expressions depend on, in the order in which they were made."""
    if not _PRINTED:
        return []
    found: dict[_native.Expr, tuple[Print, _native.Expr]] = {}
    wanted = list(roots)
    while wanted:
        # A mark that depends on other marks is found through the operand of the inner one.
        stand_ins = {
            mark: TensorType(TensorVariable(mark).dtype, TensorVariable(mark).broadcastable)()._expr
            for mark in _PRINTED
            if mark not in found
        }
        leaves = set(_native.leaves(_native.substitute(wanted, list(stand_ins.items()))))
        new = [mark for mark, leaf in stand_ins.items() if leaf in leaves]
        found.update((mark, _PRINTED[mark]) for mark in new)
        wanted = [_PRINTED[mark][1] for mark in new]
    names = {f"Print {mark.message!r}" for mark, _ in found.values()}
    _warn_of_steps(_native.graph(roots), names)
    return [each for mark, each in _PRINTED.items() if mark in found]


def _warn_of_steps(graph: Any, told: set[str]) -> None:
    bodies = [body for node in graph["nodes"] for body in node["bodies"]]
    for body in bodies:
        for node in body["nodes"]:
            bodies += node["bodies"]
            name = node["name"] or ""
            if name.startswith("Print ") and name not in told:
                told.add(name)
                warnings.warn(
                    f"{name} is inside a loop's step, whose values a call does not show: return"
                    " it as an output of the step, and print that",
                    stacklevel=4,
                )
