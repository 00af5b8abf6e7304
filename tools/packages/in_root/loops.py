"""A compiled loop gives the bits of the stepped one; errors of the library arrive as exceptions.

loops.py MODEL: writes the model with the loop to this file.
"""

import sys

import numpy
import scanloom
import scanloom.tensor as T

x = T.vector("x")
means, _ = scanloom.scan(lambda row, mean: 0.9 * mean + T.tanh(row), x, T.zeros(()))
function = scanloom.function([x], means)
model = sys.argv[1]
function.to_onnx(model)
given = numpy.random.default_rng(0).standard_normal(200_000).astype("float64")

results, plans = [], []
for compiled in (False, True):
    session = scanloom.InferenceSession(model, execution="compiled" if compiled else "stepped")
    for _ in range(3):
        (result,) = session.run(None, {"x": given})
    results.append(result)
    plans.append(session.explain())
assert results[0].tobytes() == results[1].tobytes(), "compiled and stepped results differ"
assert "compiled" in plans[1].split("strategy", 1)[1].splitlines()[0], plans[1]

for wrong in (b"rubbish", "/nowhere.onnx"):
    try:
        scanloom.InferenceSession(wrong)
    except scanloom.Error as error:
        assert str(error)
    else:
        raise AssertionError(f"{wrong!r} is no model")
print("loops: ok")
