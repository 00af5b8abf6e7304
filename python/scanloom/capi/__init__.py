"""Error classes under the names that programs written for onnxruntime use."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
