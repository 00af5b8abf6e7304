"""Theano's tensor module: variables, and functions of them.

    import scanloom.tensor as T

    x = T.vector("x")
    y = T.exp(x).sum()
"""

from __future__ import annotations

import importlib
from typing import Any, Union

from .._theano.variable import (
    TensorConstant,
    TensorType,
    TensorVariable,
    as_tensor_variable,
    constant,
)
from .._theano.shared import SharedVariable as TensorSharedVariable
from ._elementwise import *  # noqa: F403
from ._kinds import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._shaping import *  # noqa: F403
from .extra_ops import *  # noqa: F403
from .._missing import TENSOR as _ABSENT, refuse as _refuse

as_tensor, second = as_tensor_variable, fill  # noqa: F405

# Modules that are imported on first access.
_MODULES = ("extra_ops", "fft", "nlinalg", "nnet", "shared_randomstreams", "signal", "slinalg")
# Modules of Theano whose contents are elsewhere, and the module that has them.
_SAME = {"basic": "scanloom.tensor", "sharedvar": "scanloom._theano.shared"}
_GRADIENTS = ("Lop", "Rop", "grad", "hessian", "jacobian", "verify_grad")


_BEYOND = ("TensorConstant", "TensorSharedVariable", "TensorType", "TensorVariable",
           "as_tensor", "as_tensor_variable", "constant", "stacklists")  # fmt: skip


def _is_offered(name: str, value: Any) -> bool:
    """Whether a name is part of the public interface of this module, and not an import."""
    if name.startswith("_"):
        return False
    made_here = getattr(value, "__module__", "").startswith(__name__) and callable(value)
    return made_here or name in _BEYOND or name.endswith("_dtypes")


__all__ = sorted(name for name, value in globals().items() if _is_offered(name, value))


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *_GRADIENTS, "pprint"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _GRADIENTS:
        return getattr(importlib.import_module("scanloom.gradient"), name)
    if name in _SAME:
        return importlib.import_module(_SAME[name])
    if name in ("pprint",):
        return importlib.import_module("scanloom.printing").pprint
    return _refuse("T", name, _ABSENT, __dir__())
