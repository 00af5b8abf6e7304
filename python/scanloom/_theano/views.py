"""Common forms of loops: map, reduce, foldl, foldr, and scan_checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from .._arguments import named_arguments
from .._errors import InvalidArgument
from .scan import run_checkpointed, scan
from .shared import OrderedUpdates
from .unpack import LoopResult


class _CheckpointError(InvalidArgument, RuntimeError):
    """An argument of scan that scan_checkpoints does not support."""


@named_arguments
def map(  # noqa: A001 - Theano's name
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: Union[str, None] = None,
) -> tuple[Any, OrderedUpdates]:
    """Applies fn to every element of the sequences: scan without states."""
    return scan(
        fn, sequences, [], non_sequences, None, truncate_gradient, go_backwards, mode, name
    )


@named_arguments
def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: Union[str, None] = None,
) -> tuple[Any, OrderedUpdates]:
    """The last value of every output of scan; the initial value if there are no steps."""
    outputs, updates = scan(
        fn, sequences, outputs_info, non_sequences, None, -1, go_backwards, mode, name
    )
    if isinstance(outputs, list):
        return LoopResult(([output[-1] for output in outputs], updates))
    return LoopResult((None if outputs is None else outputs[-1], updates))


@named_arguments
def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: Union[str, None] = None,
) -> tuple[Any, OrderedUpdates]:
    """reduce from the first element to the last."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name)


@named_arguments
def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: Union[str, None] = None,
) -> tuple[Any, OrderedUpdates]:
    """reduce from the last element to the first."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name)


@named_arguments
def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = (),
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: Union[str, None] = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int = 10,  # noqa: N803 - Theano's name
    padding: bool = True,
) -> tuple[Any, OrderedUpdates]:
    """scan whose gradient keeps only the state of every save_every_N-th step and recomputes the
    rest: less memory, for about one more forward loop. Meant for the last values of the outputs.

    Sequences must have the same length, and only taps 0 and -1 are supported. Any number of steps
    works, whatever `padding` is.
    """
    if isinstance(save_every_N, bool) or not isinstance(save_every_N, int) or save_every_N < 1:
        raise InvalidArgument(f"save_every_N is {save_every_N!r}, but must be at least 1")
    for entry in sequences if isinstance(sequences, (list, tuple)) else [sequences]:
        if isinstance(entry, dict) and "taps" in entry:
            raise _CheckpointError("scan_checkpoints does not support taps of sequences")
    for entry in outputs_info if isinstance(outputs_info, (list, tuple)) else [outputs_info]:
        if isinstance(entry, dict) and list(entry.get("taps") or [-1]) != [-1]:
            raise _CheckpointError("scan_checkpoints supports only tap -1 of outputs")
    return run_checkpointed(
        fn, sequences, outputs_info, non_sequences, n_steps, name, save_every_N
    )
