"""For programs written for onnxruntime that name its error classes."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
