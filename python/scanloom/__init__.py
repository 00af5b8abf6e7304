"""Scanloom: runs, compiles and streams loops over tensors.

    import scanloom

    session = scanloom.InferenceSession("model.onnx")
    y, h = session.run(None, {"x": x, "h0": h0})

    stream = session.stream(states={"h0": "h"})
    for piece in pieces:
        y = stream.push({"x": piece})
"""

from . import _native
from ._errors import (
    Cancelled,
    Error,
    Internal,
    InvalidArgument,
    InvalidModel,
    LimitReached,
    NotFound,
    OutOfMemory,
    Unsupported,
)
from ._options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from ._session import (
    CheckReport,
    InferenceSession,
    ModelMetadata,
    NodeArg,
    Stream,
    check,
    get_available_providers,
    get_device,
)

__version__ = _native.version()

__all__ = [
    "Cancelled",
    "CheckReport",
    "Error",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "InferenceSession",
    "Internal",
    "InvalidArgument",
    "InvalidModel",
    "LimitReached",
    "ModelMetadata",
    "NodeArg",
    "NotFound",
    "OutOfMemory",
    "RunOptions",
    "SessionOptions",
    "Stream",
    "Unsupported",
    "check",
    "get_available_providers",
    "get_device",
]
