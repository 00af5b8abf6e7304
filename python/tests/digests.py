"""Prints, as JSON, a digest of every result of every case, for each execution named.

Run by test_differential.py in processes of other instruction sets and thread counts."""

from __future__ import annotations

import functools
import hashlib
import json
import sys

import numpy as np

import loop_models
import real_models
import scanloom


def digest(results: list[np.ndarray]) -> str:
    """Returns a hash of element types, shapes and bits."""
    whole = hashlib.sha256()
    for result in results:
        whole.update(f"{result.dtype} {result.shape} ".encode())
        whole.update(np.ascontiguousarray(result).tobytes())
    return whole.hexdigest()[:16]


def run(case: loop_models.Case, execution: str, **options: object) -> list[np.ndarray]:
    session = scanloom.InferenceSession(case.model, execution=execution, **options)
    return session.run(None, case.feeds)


@functools.cache
def digest_of(name: str, execution: str, optimize: bool = True) -> str:
    """The digest of a case in one execution, which several tests compare: it is run once."""
    return digest(run(CASES[name], execution, optimize=optimize))


def all_cases() -> list[loop_models.Case]:
    return loop_models.cases() + real_models.shared_cases()


ALL = all_cases()
CASES = {case.name: case for case in ALL}


def main() -> None:
    digests = {name: [digest_of(name, way) for way in sys.argv[1:]] for name in CASES}
    print(json.dumps(digests))


if __name__ == "__main__":
    main()
