"""Scanloom: runs, compiles and streams loops over tensors.

    import scanloom

    session = scanloom.InferenceSession("model.onnx")
    y, h = session.run(None, {"x": x, "h0": h0})

    stream = session.stream(states={"h0": "h"})
    for piece in pieces:
        y = stream.push({"x": piece})

Loops can also be written as expressions, with Theano's names:

    import scanloom as theano
    import scanloom.tensor as T
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import _former_modules, _native
from ._errors import (
    Cancelled,
    Contradiction,
    Error,
    FileNotWritten,
    FolderNotFound,
    IndexOutside,
    Internal,
    InvalidArgument,
    InvalidModel,
    InvalidType,
    LimitReached,
    ModelWarning,
    NotFound,
    OutOfMemory,
    SingularMatrix,
    Unsupported,
)
from ._ort.binding import IOBinding
from ._ort.feeding import NodeArg
from ._ort.loading import CheckReport, check
from ._ort.many import ManyIterator, ManyReport
from ._ort.options import GraphOptimizationLevel, RunOptions, SessionOptions, set_seed
from ._ort.peer import (
    ExecutionMode,
    ExecutionOrder,
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtMemoryInfo,
    OrtMemType,
    create_and_register_allocator,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
)
from ._ort.session import InferenceSession, ModelMetadata
from ._ort.stream import Stream
from ._ort.values import OrtDevice, OrtValue, copy_tensors

if TYPE_CHECKING:
    from . import backend, batch, capi, compile, dask, distributed, gradient, ifelse, printing, ray, sandbox
    from . import scan_module, tensor, updates
    from ._theano.config import config
    from ._convert import convert as convert
    from ._environment import environment as environment, print_environment as print_environment
    from ._from_onnx import from_onnx
    from ._report import Report as Report
    from ._theano.function import In, Out, function
    from ._theano.graph import clone
    from ._theano.compiled import load
    from ._theano.scan import scan
    from ._theano.shared import SharedVariable, shared
    from ._theano.test_values import NoTestValue as NoTestValue
    from ._theano.views import foldl, foldr, map, reduce, scan_checkpoints
    from .gradient import Lop, Rop, grad
    from .printing import pprint
    from .tensor import dot
    from .updates import OrderedUpdates

__version__ = _native.version()

_former_modules.register()

# Names for expressions and loops, and the modules that define them. They are imported on first
# access, so that programs that only run models do not load them.
_LAZY = {
    **dict.fromkeys(["In", "Out", "function"], "_theano.function"),
    **dict.fromkeys(["environment", "print_environment"], "_environment"),
    **dict.fromkeys(["foldl", "foldr", "map", "reduce", "scan_checkpoints"], "_theano.views"),
    **dict.fromkeys(["SharedVariable", "shared"], "_theano.shared"),
    **dict.fromkeys(["grad", "Rop", "Lop"], "gradient"),
    **dict.fromkeys(["pp", "pprint"], "printing"),
    **dict.fromkeys(["change_flags"], "_theano.config"),
    **dict.fromkeys(["shared_randomstreams"], "tensor"),
    "Variable": "_theano.variable",
    "OrderedUpdates": "updates",
    "clone": "_theano.graph",
    "config": "_theano.config",
    "convert": "_convert",
    "NoTestValue": "_theano.test_values",
    "Report": "_report",
    "dot": "tensor",
    "from_onnx": "_from_onnx",
    "load": "_theano.compiled",
    "scan": "_theano.scan",
}
_MODULES = (
    "capi", "compile", "gradient", "ifelse", "printing", "sandbox", "scan_module", "tensor", "updates",
)  # fmt: skip
# Modules that import packages which Scanloom does not need. They are not in dir(), so that tools that
# look at every name do not import them.
_WITH_DEPENDENCIES = ("backend", "batch", "dask", "distributed", "ray")


def __getattr__(name: str) -> Any:
    if name in _MODULES or name in _WITH_DEPENDENCIES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        from ._missing import PACKAGE, refuse  # only errors need it

        return refuse("scanloom", name, PACKAGE, __dir__())
    found = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    needed = {"Any", "TYPE_CHECKING", "annotations", "importlib"}
    return sorted({*globals(), *_LAZY, *_MODULES} - needed)


__all__ = [
    "Cancelled",
    "CheckReport",
    "Contradiction",
    "Error",
    "ExecutionMode",
    "ExecutionOrder",
    "FileNotWritten",
    "FolderNotFound",
    "GraphOptimizationLevel",
    "IOBinding",
    "IndexOutside",
    "InferenceSession",
    "Internal",
    "InvalidArgument",
    "InvalidModel",
    "InvalidType",
    "LimitReached",
    "ManyIterator",
    "ManyReport",
    "ModelMetadata",
    "NodeArg",
    "NotFound",
    "OrtAllocatorType",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtValue",
    "OutOfMemory",
    "RunOptions",
    "SessionOptions",
    "SingularMatrix",
    "Stream",
    "Unsupported",
    "check",
    "copy_tensors",
    "create_and_register_allocator",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "environment",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "print_environment",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]
