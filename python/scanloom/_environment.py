"""What is installed, and on what machine: for bug reports."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Any, TextIO, Union

from . import _native

# Packages that models and arrays come from, or that may share a process with Scanloom.
_PACKAGES = ("numpy", "ml_dtypes", "onnx", "onnxruntime", "openvino", "torch", "jax", "numba", "pyarrow")


def environment() -> dict[str, Any]:
    """Describes the library, its plug-ins, the machine, and the settings that change how models run.

    The keys are those of `scanloom version --json`, then "python" and "packages", {name: version} of
    some that often share a process with Scanloom, if installed. json.dumps() accepts the result.
    """
    return {**_native.environment(), "python": _python(), "packages": _packages()}


def print_environment(file: Union[TextIO, None] = None) -> None:
    """Prints environment() as aligned lines, to stdout or to `file`, to paste into a bug report."""
    packages = ", ".join(f"{name} {version}" for name, version in _packages().items())
    lines = [("python", _python()), ("packages", packages)]
    text = _native.environment_text() + "".join(f"{name:<15}{value}\n" for name, value in lines)
    print(text, end="", file=file)


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"


def _packages() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
