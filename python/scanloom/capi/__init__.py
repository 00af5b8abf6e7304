"""For programs written for onnxruntime that name its error classes."""
