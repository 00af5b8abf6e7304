"""The dictionary of updates that scan returns with its outputs."""

from ._theano.shared import OrderedUpdates

__all__ = ["OrderedUpdates"]
