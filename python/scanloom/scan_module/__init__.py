"""Theano's module of loops: until, and the functions that make loops."""

from .._scan import scan
from .._views import foldl, foldr, map, reduce, scan_checkpoints
from . import scan_utils
from .scan_utils import until

__all__ = ["foldl", "foldr", "map", "reduce", "scan", "scan_checkpoints", "scan_utils", "until"]
