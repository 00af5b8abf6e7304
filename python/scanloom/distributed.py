"""Gradients of several processes, with bits that do not depend on how many there are.

    from mpi4py import MPI
    import scanloom.distributed

    loss, *gradients = scanloom.distributed.gradients(fn, batches, MPI.COMM_WORLD)

mpi4py is optional: pip install 'scanloom[mpi]'. Ray actors are another way: see ray_group().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from ._distributed.communicators import Communicator, group_of
from ._distributed.processes import run_local
from ._distributed.ray_group import ray_group
from ._distributed.tree import Fault, Tree, agree, owned
from ._errors import Error, InvalidArgument

__all__ = ["Communicator", "gradients", "owned", "ray_group", "run_local", "tree_sum"]


def tree_sum(
    leaf: Callable[[int], Sequence[Any]], leaves: int, communicator: Union[Communicator, Any, None] = None
) -> list[np.ndarray]:
    """Returns the sums of the arrays that leaf(0) to leaf(leaves - 1) give, on every rank.

    leaf: called on one rank for each number, in ascending order: rank r of n has the numbers
        leaves * r // n up to leaves * (r + 1) // n. Gives arrays of numbers, of the same shapes and
        dtypes for all numbers.
    communicator: of mpi4py, or of this module; None: this process alone.

    All ranks call it at the same time with the same `leaves`. Additions are those of one binary tree
    over the leaves, so that the bits of the sums depend on the arrays alone. A rank holds one sum per
    level of the tree. Raises Error on every rank if a leaf fails, with the number of the leaf and its
    error, and InvalidArgument if the ranks disagree on `leaves`.
    """
    group = group_of(communicator)
    if group.size > 1:
        agree(leaves, "the number of micro-batches", group)
    if leaves < 1:
        raise InvalidArgument(f"there are {leaves} micro-batches, but must be at least 1")
    found = Tree(leaves, leaf, group).total()
    if isinstance(found, Fault):
        raise Error(found.text)
    return found


def gradients(
    fn: Callable[..., Any],
    batches: Sequence[Any],
    communicator: Union[Communicator, Any, None] = None,
    *,
    average: bool = True,
) -> list[np.ndarray]:
    """Returns the means (or sums) of what `fn` gives for each micro-batch, the same on every rank.

    fn: for example a scanloom.function that returns the loss and its gradients. A micro-batch that is
        a tuple is passed as several arguments.
    batches: the micro-batches of all ranks; a rank reads only its own (see owned()). A sequence that
        loads what is asked for serves as well: it needs len() and [].
    average: divide the sums by the number of micro-batches. Means of integers are float64.

    The number of micro-batches, not that of the ranks, decides the bits: keep it when adding machines.
    Raises what tree_sum() raises.
    """

    if not (hasattr(batches, "__len__") and hasattr(batches, "__getitem__")):
        raise InvalidArgument(f"batches is a {type(batches).__name__}, but must have len() and []")

    def leaf(number: int) -> Sequence[Any]:
        given = batches[number]
        made = fn(*given) if isinstance(given, tuple) else fn(given)
        return made if isinstance(made, (list, tuple)) else [made]

    sums = tree_sum(leaf, len(batches), communicator)
    if not average:
        return sums
    return [_mean(each, len(batches)) for each in sums]


def _mean(total: np.ndarray, count: int) -> np.ndarray:
    dtype = total.dtype if total.dtype.kind in "fc" else np.dtype(np.float64)
    return np.asarray(total / np.asarray(count, dtype), dtype)
