"""scanloom.backend runs a model as ONNX's own tests do: backend.py MODEL."""

import sys

import numpy
import onnx
import scanloom.backend

model = onnx.load(sys.argv[1])
given = numpy.ones(50)
(backend_means,) = scanloom.backend.run_model(model, [given])
(means,) = scanloom.InferenceSession(sys.argv[1]).run(None, {model.graph.input[0].name: given})
assert means.shape == (50,) and means.tobytes() == backend_means.tobytes()
print("backend: ok")
