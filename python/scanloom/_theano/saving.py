"""Files of functions: written by Function.save and read by scanloom.load."""

from __future__ import annotations

import base64
import os
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from .. import _native
from .._arrays import dtype_of
from .._errors import InvalidModel
from .._files import writable
from .._ort.options import SessionOptions
from .prints import Print
from .shared import SharedVariable, shared
from .signature import Argument, Limits

if TYPE_CHECKING:
    from .compiled import Function

_FORMS = {type(None): "none", dict: "dict", list: "list", tuple: "tuple"}


def save(function: Function, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a function with the values of its shared variables and its default inputs."""
    _write(function, function._native, path)


def _write(
    function: Function, native: _native.Function, path: Union[str, os.PathLike[str]]
) -> None:
    import json  # only needed for files of functions

    form = function._form
    kind = _FORMS.get(type(form), "one")
    if kind == "dict" and not all(isinstance(key, str) for key in form):
        raise TypeError(
            "a function whose outputs are a dictionary can be saved only if its keys are strings"
        )
    note = {
        "name": function.name,
        "arguments": [list(argument) for argument in function._arguments],
        "defaults": {str(place): _packed(value) for place, value in function._defaults.items()},
        "nexts": function._nexts,
        "form": kind,
        "keys": list(form) if kind == "dict" else [],
        **function.limits._asdict(),
        "prints": [[mark.message, list(mark.attrs)] for mark in function._prints],
    }
    native.save(writable(path), json.dumps(note))


class Saved(NamedTuple):
    """The contents of a function's file."""

    native: _native.Function
    arguments: list[Argument]
    defaults: dict[int, Any]
    nexts: list[int]
    form: Any
    name: str
    limits: Limits
    prints: list[Print]


def read(path: Union[str, os.PathLike[str]]) -> Saved:
    """Reads a file written by save. Raises NotFound, InvalidModel and Unsupported."""
    import json  # only needed for files of functions

    native, note = _native.load_function(os.fsencode(path), SessionOptions().native())
    try:
        told = json.loads(note) if note else _plain(native)
        forms: dict[str, Any] = {
            "none": None, "one": 0, "list": [], "tuple": (), "dict": dict.fromkeys(told["keys"]),
        }
        saved = Saved(
            native,
            [Argument(*each) for each in told["arguments"]],
            {int(place): _unpacked(value) for place, value in told["defaults"].items()},
            list(told["nexts"]),
            forms[told["form"]],
            told["name"],
            Limits(*(told.get(name) for name in Limits._fields)),
            [Print(*each) for each in told.get("prints", [])],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidModel(
            f"a damaged saved function: its metadata cannot be read ({error})"
        ) from None
    if len(saved.arguments) != native.input_count():
        raise InvalidModel(
            f"a damaged saved function: its metadata lists {len(saved.arguments)} inputs, but it "
            f"has {native.input_count()}"
        )
    return saved


def to_bytes(function: Function) -> bytes:
    """The bytes of the saved function without the values of shared variables. pickle stores these
    as separate objects, which functions and other objects can share."""
    native = function._native
    empty = native.with_shared([_emptied(variable) for variable in function.get_shared()])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "function")
        _write(function, empty, path)
        with open(path, "rb") as file:
            return file.read()


def _emptied(variable: SharedVariable) -> _native.Shared:
    """Another variable of the same name and type, with as few elements as the type allows."""
    sizes = [max(size, 0) for size in variable._expr.sizes]
    value = np.zeros(sizes, dtype_of(variable.dtype))
    return shared(value, variable.name, broadcastable=variable.broadcastable)._shared


def _plain(native: _native.Function) -> dict[str, Any]:
    """The call signature of a function that was saved from C++."""
    arguments = [
        [name or None, f"input '{name}'" if name else f"input {place}", dtype, ndim, False, None]
        for place, (name, dtype, ndim) in enumerate(native.inputs())
    ]
    return {
        "name": "", "arguments": arguments, "defaults": {}, "nexts": [], "form": "list", "keys": [],
    }


def _packed(value: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(value)
    return {
        "dtype": array.dtype.name,
        "shape": list(np.shape(value)),
        "data": base64.b64encode(array.tobytes()).decode("ascii"),
    }


def _unpacked(packed: dict[str, Any]) -> Any:
    data = base64.b64decode(packed["data"], validate=True)
    return np.frombuffer(bytearray(data), packed["dtype"]).reshape(packed["shape"])
