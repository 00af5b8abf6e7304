"""Sums over leaves that several ranks hold, in the order of one tree.

The tree over the leaves [lo, hi) has the first 2^k of them on the left, the largest power below their
number. It depends on the number of leaves alone. So do the additions, and the bits of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from .._errors import InvalidArgument
from .communicators import Communicator


class Fault(NamedTuple):
    """An error of a rank, which takes the position of a sum, so that no rank waits forever."""

    text: str


Values = Union[list[np.ndarray], Fault]
Leaf = Callable[[int], Sequence[Any]]


def owned(leaves: int, rank: int, size: int) -> range:
    """The leaves of a rank: contiguous, and as many as those of the others, or one more."""
    return range(leaves * rank // size, leaves * (rank + 1) // size)


class Tree:
    """One sum. All ranks walk the same tree and skip what does not concern them."""

    def __init__(self, leaves: int, leaf: Leaf, group: Communicator) -> None:
        self._leaf = leaf
        self._group = group
        self._leaves = leaves
        self._ends = [leaves * rank // group.size for rank in range(group.size + 1)]

    def _rank_of(self, leaf: int) -> int:
        """The rank that holds a leaf."""
        low, high = 0, self._group.size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._ends[middle] <= leaf else (low, middle)
        return low

    def total(self) -> Values:
        """The sum over all leaves, on every rank."""
        found = self._sum(0, self._leaves)
        first = self._rank_of(0)
        if first != 0:  # ranks before it have no leaves
            if self._group.rank == first:
                self._group.send(found, 0)
            elif self._group.rank == 0:
                found = self._group.receive(first)
        made: Values = broadcast(found, self._group)
        return made

    def _sum(self, low: int, high: int) -> Union[Values, None]:
        """The sum over [low, high), on the rank of its first leaf; None on the others."""
        rank, owner = self._group.rank, self._rank_of(low)
        if not owner <= rank <= self._rank_of(high - 1):
            return None
        if high - low == 1:
            return self._values(low)
        middle = low + (1 << (high - low - 1).bit_length() - 1)
        left = self._sum(low, middle)
        right = self._sum(middle, high)
        sender = self._rank_of(middle)
        if sender != owner:
            if rank == sender:
                self._group.send(right, owner)
            elif rank == owner:
                right = self._group.receive(sender)
        if rank != owner:
            return None
        assert left is not None and right is not None  # this rank owns the left and has got the right
        return _added(left, right)

    def _values(self, leaf: int) -> Values:
        try:
            values = [np.array(value) for value in self._leaf(leaf)]
        except Exception as error:
            return Fault(f"{self._place(leaf)}: {type(error).__name__}: {error}")
        for i, value in enumerate(values):
            if value.dtype.kind not in "fciu":
                return Fault(f"{self._place(leaf)}: array {i} is {value.dtype}, which has no sum")
        return values

    def _place(self, leaf: int) -> str:
        return f"micro-batch {leaf} on rank {self._group.rank}"


def _added(left: Values, right: Values) -> Values:
    if isinstance(left, Fault) or isinstance(right, Fault):
        return left if isinstance(left, Fault) else right
    if len(left) != len(right):
        return Fault(f"one micro-batch gives {len(left)} arrays and another {len(right)}")
    for i, (a, b) in enumerate(zip(left, right)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return Fault(f"array {i} is {a.dtype}{list(a.shape)} in one micro-batch and {b.dtype}{list(b.shape)} in another")
        np.add(a, b, out=a)
    return left


def broadcast(value: Any, group: Communicator) -> Any:
    """Passes the value of rank 0 to all, along a binomial tree."""
    step = 1
    while step < group.size:
        step *= 2
    while step > 1:
        half = step // 2
        if group.rank % step == 0 and group.rank + half < group.size:
            group.send(value, group.rank + half)
        elif group.rank % step == half:
            value = group.receive(group.rank - half)
        step = half
    return value


def agree(value: Any, what: str, group: Communicator) -> None:
    """Raises InvalidArgument on all ranks unless all have the same value."""
    found = [value]
    if group.rank == 0:
        found += [group.receive(rank) for rank in range(1, group.size)]
    else:
        group.send(value, 0)
    different = next((rank for rank, each in enumerate(found) if each != found[0]), None)
    text = None
    if different is not None:
        text = f"{what} is {found[0]} on rank 0 and {found[different]} on rank {different}"
    text = broadcast(text, group)
    if text is not None:
        raise InvalidArgument(text)
