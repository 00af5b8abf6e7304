"""The dictionary that scan returns beside its outputs."""

from ._shared import OrderedUpdates

__all__ = ["OrderedUpdates"]
