"""Theano's scan_module: until, and the functions that make loops."""

from typing import Any

from .._theano.graph import clone
from .._missing import SCAN_MODULE, refuse
from .._theano.scan import scan
from .._theano.views import foldl, foldr, map, reduce, scan_checkpoints
from . import scan_utils
from .scan_utils import until

__all__ = [
    "clone", "foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints", "scan_utils", "until",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return refuse("scan_module", name, SCAN_MODULE, globals())
