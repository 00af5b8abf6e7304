"""The dictionary that scan returns beside its outputs."""

from ._theano.shared import OrderedUpdates

__all__ = ["OrderedUpdates"]
