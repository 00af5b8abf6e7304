"""Processes that pass messages to each other: MPI, Ray, or processes of this machine."""

from __future__ import annotations

from typing import Any, Protocol, Union

from .._errors import InvalidArgument


class Communicator(Protocol):
    """A group of processes, each with a rank from 0 to size - 1. Messages between two ranks arrive in
    the order in which they are sent."""

    rank: int
    size: int

    def send(self, value: Any, rank: int) -> None:
        """Passes a value to another rank; returns when the value may be changed."""

    def receive(self, rank: int) -> Any:
        """Waits for the next value from another rank."""


class Alone:
    """A group of one process."""

    rank = 0
    size = 1

    def send(self, value: Any, rank: int) -> None:
        raise InvalidArgument(f"there is no rank {rank} in a group of one process")

    def receive(self, rank: int) -> Any:
        raise InvalidArgument(f"there is no rank {rank} in a group of one process")


class Mpi:
    """An intracommunicator of mpi4py. Its own duplicate is used, so that messages of the program do not
    mix with these."""

    _key: Any = None  # of the attribute of a communicator that is its duplicate

    def __init__(self, communicator: Any) -> None:
        if Mpi._key is None:
            Mpi._key = type(communicator).Create_keyval()
        # Not by the handle, which MPI may give to another communicator after this one is freed.
        self._messages = communicator.Get_attr(Mpi._key)
        if self._messages is None:
            self._messages = communicator.Dup()
            communicator.Set_attr(Mpi._key, self._messages)
        self.rank: int = self._messages.Get_rank()
        self.size: int = self._messages.Get_size()

    def send(self, value: Any, rank: int) -> None:
        self._messages.send(value, dest=rank)

    def receive(self, rank: int) -> Any:
        return self._messages.recv(source=rank)


def group_of(communicator: Union[Communicator, Any, None]) -> Communicator:
    """Wraps a communicator of mpi4py; None is a group of one process. Raises InvalidArgument."""
    if communicator is None:
        return Alone()
    if all(hasattr(communicator, name) for name in ("Get_rank", "Get_size", "Dup", "send", "recv")):
        return Mpi(communicator)
    if all(hasattr(communicator, name) for name in ("rank", "size", "send", "receive")):
        group: Communicator = communicator
        return group
    raise InvalidArgument(f"{communicator!r} is no communicator",
                          ("pass mpi4py.MPI.COMM_WORLD, or an object with rank, size, send and receive",))  # fmt: skip
