"""The engines by name."""

from __future__ import annotations

import importlib
import os
from typing import Any, Union

from .._errors import InvalidArgument
from .._suggest import did_you_mean
from .local_engine import LocalEngine
from .problems import JobFailed
from .scheduler import Engine
from .spelling import given, named
from .work import Sealed

_NAMES = ("local", "ray", "dask")


def check(engine: str, address: Union[str, None]) -> None:
    """Raises InvalidArgument for an unknown engine."""
    if engine not in _NAMES:
        raise InvalidArgument(
            f"{named('engine')} is {engine!r}, but must be one of {', '.join(_NAMES)}{did_you_mean(str(engine), _NAMES)}"
        )
    if engine == "local" and address is not None:
        raise InvalidArgument(f"{named('address')} is {address!r}, but the local engine has none")


def make(
    engine: str, sealed: Sealed, workers: Union[int, None], threads: int, address: Union[str, None]
) -> Engine:
    """Starts or connects to workers. Raises ImportError if the engine's package is not installed, JobFailed."""
    if engine == "local":
        return LocalEngine(sealed, workers or len(os.sched_getaffinity(0)))
    try:
        # Ray and Dask are optional, and only jobs on them need their packages.
        module: Any = importlib.import_module(f"{__package__}.{engine}_engine")
    except ImportError as error:
        raise ImportError(f"{given('engine', engine)} needs a package: pip install 'scanloom[{engine}]' ({error})") from None
    try:
        made: Engine = module.start(sealed, workers, threads, address)
        return made
    except Exception as error:
        where = "on this machine" if address is None else f"at '{address}'"
        raise JobFailed(f"{engine.capitalize()} cannot be started or reached {where}: {error}") from error
