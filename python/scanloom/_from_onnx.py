"""from_onnx: ONNX models as expressions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from . import _native
from ._arguments import named_arguments
from ._errors import InvalidType
from ._ort.loading import Source
from ._ort.option_values import integer
from ._ort.options import SessionOptions
from ._theano.types import as_array
from ._theano.variable import TensorVariable, as_tensor_variable


class ModelExpressions:
    """A model as expressions.

    inputs: the inputs as variables, by name, in the model's order.
    outputs: the output expressions, by name.

    Call it with values for the inputs, by position or by name; a value is a variable, an array or a
    number. It returns the output, or a list of outputs, as expressions of these values. Inputs that
    are not given stay variables.
    """

    def __init__(
        self, inputs: dict[str, TensorVariable], outputs: dict[str, TensorVariable]
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs

    def __call__(self, *values: Any, **named: Any) -> Any:
        names = list(self.inputs)
        if len(values) > len(names):
            raise InvalidType(f"the model has {len(names)} inputs, but {len(values)} are given")
        given = dict(zip(names, values))
        for name, value in named.items():
            if name not in self.inputs:
                raise InvalidType(
                    f"the model has no input '{name}'", (f"its inputs are: {', '.join(names)}",)
                )
            if name in given:
                raise InvalidType(f"the model is given two values for '{name}'")
            given[name] = value
        pairs = [(self.inputs[name]._expr, self._fitted(name, x)) for name, x in given.items()]
        wanted = [output._expr for output in self.outputs.values()]
        made = [TensorVariable(x) for x in _native.substitute(wanted, pairs)]
        return made[0] if len(made) == 1 else made

    def _fitted(self, name: str, value: Any) -> _native.Expr:
        old, new = self.inputs[name], as_tensor_variable(value)
        if new.ndim != old.ndim:
            raise InvalidType(
                f"the model's input '{name}' has {old.ndim} axes, but the value given for it has "
                f"{new.ndim}"
            )
        if new.dtype == old.dtype:
            return new._expr
        if isinstance(value, TensorVariable):
            raise InvalidType(
                f"the model's input '{name}' is {old.dtype}, but the value given for it is "
                f"{new.dtype}",
                (f"write .astype('{old.dtype}')",),
            )
        return new.astype(old.dtype)._expr

    def __repr__(self) -> str:
        return f"<model ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"


Sizes = Union[Mapping[str, Sequence[Union[int, None]]], None]
Values = Union[Mapping[str, Any], None]


def _sizes_of(name: str, given: Any) -> list[int]:
    """The sizes of an input, -1 for those that stay open. Raises InvalidType, InvalidArgument."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidType(
            f"sizes['{name}'] must be a sequence with a size for each axis of input '{name}', not "
            f"{given!r:.80}",
            ("sizes are given by the name of an input, not of a dimension; None leaves one open",),
        )
    return [-1 if size is None else integer(f"a size of input '{name}'", size, -1) for size in given]


def fixed_inputs(
    sizes: Sizes, values: Values
) -> tuple[list[tuple[str, list[int]]], list[tuple[str, Any]]]:
    """Converts sizes and values, by input name, to the form that the library takes."""
    fixed = [(name, _sizes_of(name, given)) for name, given in (sizes or {}).items()]
    known = [(name, as_array(x, f"the input '{name}'")) for name, x in (values or {}).items()]
    return fixed, known


@named_arguments
def from_onnx(
    path_or_bytes: Union[str, "os.PathLike[str]", bytes, Any],
    sizes: Sizes = None,
    values: Values = None,
    options: Union[SessionOptions, None] = None,
) -> ModelExpressions:
    """Reads a model as expressions, which can be evaluated, looped over and differentiated.

    Accepts whatever InferenceSession accepts. Weights become constants. Facts known in advance
    decide branches at once:
    sizes: fixed sizes, by the name of an input; None leaves a size open until the call.
    values: fixed values (an array or a number), by the name of an input.

    Raises what InferenceSession raises for a model that cannot be read, and Unsupported if a value
    of the model is a sequence, an optional or a string, or has a rank known only at run time.
    """
    source = Source.of(path_or_bytes)
    fixed, known = fixed_inputs(sizes, values)
    native = source.native_options(SessionOptions() if options is None else options)
    inputs, names, outputs = _native.read_model(source.data, source.is_path, fixed, known, native)
    return ModelExpressions(
        {x.name: TensorVariable(x) for x in inputs},
        {name: TensorVariable(x) for name, x in zip(names, outputs)},
    )
