"""Ranks that are actors or tasks of Ray, which pass messages through an actor."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any


class _Mailbox:
    """Keeps messages until they are received. An actor: its methods run in one event loop."""

    def __init__(self) -> None:
        self._queues: dict[tuple[int, int], asyncio.Queue[Any]] = {}

    def _queue(self, sender: int, receiver: int) -> "asyncio.Queue[Any]":
        return self._queues.setdefault((sender, receiver), asyncio.Queue())

    async def put(self, sender: int, receiver: int, held: list[Any]) -> None:
        self._queue(sender, receiver).put_nowait(held[0])

    async def get(self, sender: int, receiver: int) -> list[Any]:
        return [await self._queue(sender, receiver).get()]


class RayMessages:
    """The communicator of one rank. Arrays stay in Ray's store; the actor passes references."""

    def __init__(self, rank: int, size: int, mailbox: Any) -> None:
        self.rank = rank
        self.size = size
        self._mailbox = mailbox

    def send(self, value: Any, rank: int) -> None:
        ray = _ray()
        ray.get(self._mailbox.put.remote(self.rank, rank, [ray.put(value)]))

    def receive(self, rank: int) -> Any:
        ray = _ray()
        (reference,) = ray.get(self._mailbox.get.remote(rank, self.rank))
        return ray.get(reference)


def ray_group(size: int) -> list[RayMessages]:
    """Returns the communicators of a group of Ray tasks or actors, one for each rank. Each is passed to
    the task of its rank.

    All ranks must run at the same time: ask for no more than the cluster has cores. Raises ImportError
    without Ray.
    """
    mailbox = _ray().remote(num_cpus=0, max_concurrency=max(2 * size, 2))(_Mailbox).remote()
    return [RayMessages(rank, size, mailbox) for rank in range(size)]


def _ray() -> Any:
    try:
        # Ray is optional, and takes a second to import.
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(f"ray_group() needs Ray: pip install 'scanloom[ray]' ({error})") from None
