"""scanloom.backend runs a model as ONNX's own tests do."""

import numpy
import onnx
import scanloom.backend

model = onnx.load("/tmp/means.onnx")
given = numpy.ones(50)
(backend_means,) = scanloom.backend.run_model(model, [given])
(means,) = scanloom.InferenceSession("/tmp/means.onnx").run(None, {model.graph.input[0].name: given})
assert means.shape == (50,) and means.tobytes() == backend_means.tobytes()
print("backend: ok")
