"""Functions as files: what scanloom.load reads, Function.save has written."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from typing import Any, Union

import numpy as np

from . import _native
from ._errors import InvalidModel
from ._function import Function, Limits, Profile, _Argument
from ._options import SessionOptions
from .printing import Print

_FORMS = {type(None): "none", dict: "dict", list: "list", tuple: "tuple"}


def save(function: Function, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a function with the values of its shared variables and of its inputs' defaults."""
    form = function._form
    kind = _FORMS.get(type(form), "one")
    if kind == "dict" and not all(isinstance(key, str) for key in form):
        raise TypeError("a function whose outputs are a dictionary is saved if its keys are texts")
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
    function._native.save(os.fsencode(path), json.dumps(note))


def load(path: Union[str, os.PathLike[str]]) -> Function:
    """The function that was saved there, with shared variables of its own: see get_shared().

    Raises NotFound, InvalidModel where the file is damaged, Unsupported where a newer version has
    written it.
    """
    native, note = _native.load_function(os.fsencode(path), SessionOptions().native())
    try:
        told = json.loads(note) if note else _plain(native)
        arguments = [_Argument(*each) for each in told["arguments"]]
        defaults = {int(place): _unpacked(value) for place, value in told["defaults"].items()}
        forms: dict[str, Any] = {
            "none": None, "one": 0, "list": [], "tuple": (), "dict": dict.fromkeys(told["keys"]),
        }
        made = Function(
            native, arguments, defaults, list(told["nexts"]), forms[told["form"]], told["name"],
            None, [], Limits(*(told.get(name) for name in Limits._fields)),
            [Print(*each) for each in told.get("prints", [])],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidModel(f"a damaged saved function: its note cannot be read ({error})") from None
    if len(arguments) != native.input_count():
        raise InvalidModel(
            f"a damaged saved function: its note tells of {len(arguments)} inputs, it has "
            f"{native.input_count()}"
        )
    return made


def to_bytes(function: Function) -> bytes:
    """What save writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "function")
        save(function, path)
        with open(path, "rb") as file:
            return file.read()


def from_bytes(content: bytes, profile: bool = False) -> Function:
    """The function of these bytes, as load gives it; how pickle makes one."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "function")
        with open(path, "wb") as file:
            file.write(content)
        made = load(path)
    if profile:
        made.profile = Profile(made.name)
        made.profile._is_of(made)
    return made


def _plain(native: _native.Function) -> dict[str, Any]:
    """What a function that C++ has saved is called with."""
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
