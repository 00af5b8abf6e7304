"""Ranks that are processes of this machine, connected by pipes."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from .._errors import Error, InvalidArgument
from .._ort.option_values import integer


class Pipes:
    """The communicator of one of these processes."""

    def __init__(self, rank: int, pipes: dict[int, Connection]) -> None:
        self.rank = rank
        self.size = len(pipes) + 1
        self._pipes = pipes

    def send(self, value: Any, rank: int) -> None:
        try:
            self._pipes[rank].send(value)
        except OSError:
            raise Error(f"rank {rank} has ended, and rank {self.rank} has a message for it") from None

    def receive(self, rank: int) -> Any:
        try:
            return self._pipes[rank].recv()
        except (EOFError, OSError):
            raise Error(f"rank {rank} has ended, and rank {self.rank} waits for it") from None


def run_local(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Calls function(communicator, *arguments) in `size` processes of this machine and returns their
    results in the order of the ranks.

    For tests, and for machines without MPI. The processes are spawned: the function and its arguments
    are pickled, and a program needs `if __name__ == "__main__":` around the call. Raises Error with
    the text of the first rank that fails, and ends the others; InvalidArgument for what cannot be pickled.
    """
    integer("size", size, 1, 1024)
    context = multiprocessing.get_context("spawn")
    pipes: list[dict[int, Connection]] = [{} for _ in range(size)]
    for low in range(size):
        for high in range(low + 1, size):
            pipes[low][high], pipes[high][low] = context.Pipe()
    answers = [context.Pipe(duplex=False) for _ in range(size)]
    processes = []
    try:
        for rank in range(size):
            call = (rank, pipes[rank], answers[rank][1], function, arguments)
            process = context.Process(target=_serve, args=call, daemon=True)
            _start(process)
            processes.append(process)
        for rank in range(size):  # the ends that the processes have now
            answers[rank][1].close()
            for pipe in pipes[rank].values():
                pipe.close()
        return _collect([reader for reader, _ in answers])
    finally:
        for process in processes:
            process.kill()
            process.join()


def _start(process: Any) -> None:
    """Raises InvalidArgument if the call cannot be pickled."""
    try:
        process.start()
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise InvalidArgument(
            f"the function or its arguments cannot be sent to a process: {error}",
            ("define the function at the top level of a module, not as a lambda or inside another function",),
        ) from None


def _serve(rank: int, pipes: dict[int, Connection], answer: Connection, function: Any, arguments: Any) -> None:
    try:
        answer.send((True, function(Pipes(rank, pipes), *arguments)))
    except Exception as error:
        answer.send((False, f"{type(error).__name__}: {error}"))


def _collect(readers: list[Any]) -> list[Any]:
    results: dict[int, Any] = {}
    waiting = dict(zip(readers, range(len(readers))))
    while waiting:
        for reader in cast("list[Any]", wait(list(waiting))):
            rank = waiting.pop(reader)
            try:
                is_fine, value = reader.recv()
            except EOFError:
                is_fine, value = False, "its process has ended"
            if not is_fine:
                raise Error(f"rank {rank}: {value}")
            results[rank] = value
    return [results[rank] for rank in range(len(readers))]
