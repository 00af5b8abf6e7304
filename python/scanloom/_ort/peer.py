"""Other names of onnxruntime: enumerations and setup functions, for compatibility. Nothing here
changes a result, and nothing is printed."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Union

from .. import _native

_PROVIDER = "CPUExecutionProvider"


class ExecutionMode(enum.IntEnum):
    """Accepted for compatibility: the order of nodes does not depend on the mode."""

    __module__ = "scanloom._peer"  # the former module, which pickles name

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtAllocatorType(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtDeviceVendorId(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


class OrtExecutionProviderDevicePolicy(enum.IntEnum):
    __module__ = "scanloom._peer"  # the former module, which pickles name

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtMemoryInfo:
    """The memory of an input or output, which is always CPU memory."""

    __module__ = "scanloom._peer"  # the former module, which pickles name

    def __init__(
        self,
        name: str = "Cpu",
        allocator_type: OrtAllocatorType = OrtAllocatorType.ORT_DEVICE_ALLOCATOR,
        device_id: int = 0,
        mem_type: OrtMemType = OrtMemType.DEFAULT,
    ) -> None:
        self.name = name
        self.allocator_type = allocator_type
        self.device_id = device_id
        self.mem_type = mem_type
        self.device_mem_type = OrtDeviceMemoryType.DEFAULT
        self.device_vendor_id = 0


def get_available_providers() -> list[str]:
    """The only provider: the CPU."""
    return [_PROVIDER]


def get_all_providers() -> list[str]:
    return [_PROVIDER]


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    return _native.version()


def get_build_info() -> str:
    return f"Scanloom {_native.version()}"


def get_ep_devices() -> list[Any]:
    return []


def has_collective_ops() -> bool:
    return False


_severity = 2  # warnings and above, onnxruntime's default


def set_default_logger_severity(severity: int) -> None:
    """Sets the level for sessions whose log_severity_level is -1. From 3 (errors) on, loading a
    model raises no Python warnings. The library itself prints nothing."""
    global _severity
    _severity = int(severity)


def warns(severity: int) -> bool:
    """Whether warnings are wanted at this SessionOptions.log_severity_level."""
    return (_severity if severity < 0 else severity) < 3


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: the library prints nothing."""


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """Accepted: SessionOptions.threads sets the number of threads of each run."""


def enable_telemetry_events() -> None:
    """Accepted: nothing is ever sent."""


def disable_telemetry_events() -> None:
    """Accepted: nothing is ever sent."""


def create_and_register_allocator(mem_info: Any, arena_cfg: Any) -> None:
    """Accepted: each run has its own memory, which is planned in advance."""


def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: Union[str, None] = None
) -> None:
    """Accepted: there is nothing to load."""


def provider_names(providers: Union[Sequence[Any], str, None]) -> list[str]:
    """Returns the names in a list of providers, whose entries are names or (name, options)."""
    if providers is None:
        return []
    listed = [providers] if isinstance(providers, str) else list(providers)
    return [str(entry if isinstance(entry, str) else entry[0]) for entry in listed]
