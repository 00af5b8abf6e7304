"""onnxruntime's error names, as classes derived from scanloom.Error.

    from scanloom.capi.onnxruntime_pybind11_state import NoSuchFile
"""

from .._errors import (
    Cancelled as ModelLoadCanceled,
    Error as Fail,
    Internal as EngineError,
    InvalidArgument,
    InvalidModel as InvalidGraph,
    InvalidModel as InvalidProtobuf,
    NotFound as NoModel,
    NotFound as NoSuchFile,
    NotFound,
    Unsupported as NotImplemented,
)

# Raised for any failure while a model runs.
RuntimeException = Fail
# Never raised here.
DeviceReset = EPFail = ModelLoaded = ModelRequiresCompilation = EngineError

__all__ = [
    "DeviceReset",
    "EPFail",
    "EngineError",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoadCanceled",
    "ModelLoaded",
    "ModelRequiresCompilation",
    "NoModel",
    "NoSuchFile",
    "NotFound",
    "NotImplemented",
    "RuntimeException",
]
