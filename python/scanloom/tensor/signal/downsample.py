"""The former name of `pool`."""

from .pool import max_pool_2d, pool_2d

__all__ = ["max_pool_2d", "pool_2d"]
