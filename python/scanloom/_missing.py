"""Names of Theano that are not here, and what stands in for them."""

from __future__ import annotations

from typing import Any

_COMPLEX = "complex numbers are made and passed, but not computed with; use two real variables"
_SPECIAL = "there is no such function in the library"
_OWN = "operations cannot be added; write what it computes with the functions of T"

TENSOR = {
    **dict.fromkeys(["real", "imag", "conj", "angle", "complex", "complex_from_polar"], _COMPLEX),
    **dict.fromkeys(
        ["gamma", "gammaln", "psi", "chi2sf", "j0", "j1", "jv", "i0", "i1", "iv", "erfinv",
         "erfcinv", "erfcx"],
        _SPECIAL,
    ),
    "erfc": "write 1 - T.erf(x), which is exact to rounding errors of 1",
    "topk": "write T.sort(x)[..., -k:]",
    "argtopk": "write T.argsort(x)[..., -k:]",
    "topk_and_argtopk": "write T.sort(x)[..., -k:] and T.argsort(x)[..., -k:]",
    "mgrid": "write T.arange(n).dimshuffle(...) for every axis",
    "ogrid": "write T.arange(n).dimshuffle(...) for every axis",
    "searchsorted": "write (x.dimshuffle('x', 0) < v.dimshuffle(0, 'x')).sum(axis=1)",
    "permute_row_elements": "write x[T.arange(n).dimshuffle(0, 'x'), indices]",
    "shared": "it is scanloom.shared",
    "function": "it is scanloom.function",
    "scan": "it is scanloom.scan",
    "signal": "write T.nnet.conv2d, or T.max over windows made with reshape",
    "fft": _SPECIAL,
    "opt": "there are no optimizers to choose: every function goes through all passes",
    "raw_random": "use T.shared_randomstreams.RandomStreams",
    "Elemwise": _OWN,
    "Op": _OWN,
}  # fmt: skip

PACKAGE = {
    "Mode": "modes are None, 'FAST_RUN' and 'FAST_COMPILE', which do the same",
    "Op": _OWN,
    "Apply": _OWN,
    "gof": _OWN,
    "as_op": _OWN,
    "OpFromGraph": "call a function of Python that makes the expressions",
    "sandbox": "random streams are T.shared_randomstreams.RandomStreams; there is no other device",
    "sparse": "tensors are dense",
    "typed_list": "use a list of variables, or a tensor with another axis",
    "gpuarray": "everything runs on the processor",
    "Param": "it is scanloom.In",
}

COMPILE = {
    **{name: PACKAGE[name] for name in ("Mode", "OpFromGraph", "as_op")},
    "ops": _OWN,
    "nanguardmode": "look at a function's outputs with numpy.isnan",
    "debugmode": "gradient.verify_grad compares gradients with differences",
    "monitormode": "printing.debugprint and fn.explain() show what a function does",
    "ProfileMode": "write function(..., profile=True)",
}


def refuse(module: str, name: str, known: dict[str, str]) -> Any:
    """Raises AttributeError, which says what to write instead."""
    reason = f": {known[name]}" if name in known else ""
    raise AttributeError(f"there is no {module}.{name} here{reason}", name=name)
