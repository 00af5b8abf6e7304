"""convert: writes a model in another format."""

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
    """Converts a model to the format given by the extension of `path`: .onnx, or .xml with a .bin.

    source: the path of an ONNX model, an OpenVINO IR or a saved function; the bytes of a model; an
        onnx.ModelProto or openvino.Model; or a function.
    external_data: (ONNX) write the weights to a separate file, path + ".data". Models above 2 GB
        always do.
    stream: turn the values that loops carry along a sequence of open length into states of the
        written model, as SessionOptions.low_latency does, so that the sequence can be fed in
        pieces. Models only.
    sizes: fixed sizes, by the name of an input; None leaves a size open. Models only.
    values: fixed values (an array or a number), by the name of an input. Such an input is removed
        from the written model, and branches that it decides are replaced by the region that is
        taken. Models only.
    options: how the model is read: lenient, seed, fed_defaults, weights.

    Loops stay loops. In ONNX, a state that the model keeps between runs becomes an input `name` and
    an output `name (next)`. If the model computes the initial value of the state, there is also a
    boolean input `name/kept`: feed False at first, and True whenever `name` is fed the previous
    `name (next)`. Existing files are replaced only after everything has been written.

    Raises what InferenceSession raises for a model that cannot be read; InvalidArgument for an
    unknown extension or if `path` is the source; Unsupported, which lists all operators that the
    other format cannot express; FileNotWritten.
    """
    chosen = SessionOptions() if options is None else options
    if not isinstance(chosen, SessionOptions):
        raise InvalidArgument(f"options is a {type(chosen)}, not scanloom.SessionOptions")
    if isinstance(source, Function):
        if stream:
            raise Unsupported("loop states can be kept only for models, not for functions")
        if sizes or values:
            raise Unsupported("inputs can be fixed only for models, not for functions")
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
                "external data is an option of ONNX models; the weights of "
                f"{os.fspath(path)!r} are always written to a .bin next to it"
            )
        function.to_openvino(path)
    else:
        raise InvalidArgument(
            f"{os.fspath(path)!r} ends in neither .onnx nor .xml; name the file after the format "
            "to write"
        )
