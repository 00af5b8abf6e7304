"""convert: models from one format to another."""

from __future__ import annotations

import os
import warnings
from typing import Any, Union

from . import _native
from ._arguments import named_arguments
from ._errors import InvalidArgument, Unsupported
from ._files import writable
from ._from_onnx import Sizes, Values, fixed_inputs
from ._ort.loading import Source
from ._ort.options import SessionOptions
from ._theano.compiled import Function


@named_arguments
def convert(
    source: "Union[str, bytes, os.PathLike[str], Function, Any]",
    path: Union[str, "os.PathLike[str]"],
    *,
    external_data: bool = False,
    stream: bool = False,
    sizes: Sizes = None,
    values: Values = None,
    options: Union[SessionOptions, None] = None,
) -> None:
    """Writes a model as what the extension of `path` says: .onnx, or .xml with a .bin beside it.

    source: the path of an ONNX model, of an IR of OpenVINO or of a saved function; a model's bytes;
        an onnx.ModelProto or openvino.Model; or a function.
    external_data: ONNX: weights stand in a file beside it, path + ".data", as they do above 2 GB in
        any case.
    stream: what loops carry along a sequence of open length becomes states of what is written, as
        SessionOptions.low_latency makes it: the sequence is fed in pieces. Models only.
    sizes: by the name of an input, the sizes that it always has, None where they stay open. Models
        only.
    values: by the name of an input, the array or number that it always is: it is no input of what is
        written, and branches that it decides give way to the side that is taken. Models only.
    options: how the model is read: lenient, seed, fed_defaults, weights.

    Loops stay loops. States that a model keeps between runs become, in ONNX, an input `name` and an
    output `name (next)`, and a boolean input `name/kept` where the model computes what a state
    begins with: False at first, True whenever `name` is fed what `name (next)` was. Files that exist are replaced when all has been written.

    Raises what InferenceSession raises for a model that cannot be read, InvalidArgument for another
    extension or a path that is the source's, Unsupported with all operators that have no form in the
    other format, FileNotWritten.
    """
    chosen = SessionOptions() if options is None else options
    if not isinstance(chosen, SessionOptions):
        raise InvalidArgument(f"options is a {type(chosen)}, not scanloom.SessionOptions")
    if isinstance(source, Function):
        if stream:
            raise Unsupported("what loops of a function carry cannot be kept: only that of models")
        if sizes or values:
            raise Unsupported("inputs of a function cannot be fixed: only those of models")
        return _convert_function(source, path, external_data)
    model = Source.of(source)
    fixed, known = fixed_inputs(sizes, values)
    told = _native.convert(
        model.data, model.is_path, writable(path), bool(external_data), bool(stream), fixed, known,
        model.native_options(chosen),
    )  # fmt: skip
    for warning in told:
        warnings.warn(warning, stacklevel=2)
    return None


def _convert_function(
    function: "Function", path: Union[str, "os.PathLike[str]"], external_data: bool
) -> None:
    extension = os.path.splitext(os.fspath(path))[1].lower()
    if extension == ".onnx":
        function.to_onnx(path, external_data)
    elif extension == ".xml":
        if external_data:
            raise InvalidArgument(
                "external data is a form of ONNX models: the weights of "
                f"{os.fspath(path)!r} stand in a .bin beside it"
            )
        function.to_openvino(path)
    else:
        raise InvalidArgument(
            f"{os.fspath(path)!r} ends neither in .onnx nor in .xml: it is not known what to write"
        )
