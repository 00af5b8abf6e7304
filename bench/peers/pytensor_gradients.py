"""PyTensor, compiled by Numba: values and gradients of the scans in workloads/gradients.py."""

import numpy as np
import pytensor
import pytensor.tensor as pt

pytensor.config.cxx = ""  # Numba compiles
MODE = "NUMBA"


def affine(workload):
    a, b = pt.fvector("a"), pt.fvector("b")
    rows = pytensor.scan(
        lambda a, b, h: a * h + b, sequences=[a, b],
        outputs_info=pt.constant(np.float32(0)), return_updates=False,
    )  # fmt: skip
    return _flat([a, b], rows.sum(), [a, b], workload)


def garch(workload):
    returns, omega, alpha, beta = pt.dvector("returns"), *pt.dscalars("omega", "alpha", "beta")
    start = pt.constant(np.float64(1))

    def step(value, variance, omega, alpha, beta):
        return omega + alpha * value**2 + beta * variance

    later = pytensor.scan(
        step, sequences=returns[:-1], outputs_info=start, non_sequences=[omega, alpha, beta],
        return_updates=False,
    )  # fmt: skip
    variances = pt.concatenate([start.dimshuffle("x"), later])
    cost = -0.5 * (pt.log(2 * np.pi * variances) + returns**2 / variances).sum()
    inputs = [returns, omega, alpha, beta]
    return _flat(inputs, cost, inputs[1:], workload)


def lstm(workload):
    xs, w, r, bias = pt.ftensor3("xs"), pt.fmatrix("w"), pt.fmatrix("r"), pt.fvector("bias")
    n = workload.width

    def step(z, h, c, r):
        z = z + pt.dot(h, r)
        into, forget, out = (pt.sigmoid(z[:, i * n : (i + 1) * n]) for i in (0, 1, 3))
        c = forget * c + into * pt.tanh(z[:, 2 * n : 3 * n])
        return out * pt.tanh(c), c

    outer = pt.dot(xs, w) + bias  # hoisted by hand
    rows, _ = pytensor.scan(
        step, sequences=outer, outputs_info=[pt.constant(workload.start)] * 2, non_sequences=[r],
        return_updates=False,
    )  # fmt: skip
    return _flat([xs, w, r, bias], (rows**2).sum(), [w, r, bias], workload)


def _flat(inputs, cost, wrt, workload):
    function = pytensor.function(
        inputs, [cost, *pytensor.grad(cost, wrt)], mode=MODE, trust_input=True
    )
    return lambda: function(*workload.arrays)
