"""IRs of one layer, run in every way there is, and by OpenVINO itself where it is installed."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino_ir
import pytest

import scanloom

try:
    import openvino_peer
except ImportError:
    openvino_peer = None
NO_OPENVINO = "openvino is not installed"
EXECUTIONS = ("automatic", "stepped", "interpreted")


@dataclasses.dataclass(frozen=True)
class Const:
    """An operand that is a constant of the IR."""

    value: np.ndarray


def const(value: Any, dtype: Any = np.int64) -> Const:
    return Const(np.array(value, dtype))


Operand = np.ndarray | Const | None


@dataclasses.dataclass
class Case:
    """A layer and what it gives. `differs` is why OpenVINO's own results are not compared."""

    kind: str
    version: int
    operands: Sequence[Operand]
    wanted: Any  # an array, or a list of them
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    differs: str = ""
    tolerance: float = 2e-5
    symbolic: bool = True
    note: str = ""

    def __str__(self) -> str:
        return f"{self.kind}-{self.version}" + (f"-{self.note}" if self.note else "")

    @property
    def results(self) -> list[np.ndarray]:
        return list(self.wanted) if isinstance(self.wanted, list | tuple) else [self.wanted]


def value_of(operand: Operand) -> np.ndarray | None:
    return operand.value if isinstance(operand, Const) else operand


def write(case: Case, folder: pathlib.Path, symbolic: bool = False, xml_version: int = 11) -> str:
    graph = openvino_ir.Graph()
    ports: list[openvino_ir.Port | None] = []
    for i, operand in enumerate(case.operands):
        if operand is None:
            ports.append(None)
        elif isinstance(operand, Const):
            ports.append(graph.constant(operand.value))
        else:
            shape = [-1] * operand.ndim if symbolic else operand.shape
            ports.append(graph.parameter(f"x{i}", operand.dtype, shape))
    results = case.results
    layer = graph.add(case.kind, ports, len(results), case.version, "layer", **case.data)
    for i in range(len(results)):
        graph.result(openvino_ir.Port(layer.layer, i), f"y{i}")
    return graph.save(folder, xml_version)


def feeds(case: Case) -> dict[str, np.ndarray]:
    return {f"x{i}": operand for i, operand in enumerate(case.operands)
            if operand is not None and not isinstance(operand, Const)}  # fmt: skip


def close(results: Sequence[np.ndarray], case: Case) -> None:
    assert len(results) == len(case.results)
    for result, wanted in zip(results, case.results, strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64),
                                   rtol=case.tolerance, atol=case.tolerance)  # fmt: skip


def check(case: Case, folder: pathlib.Path) -> None:
    """The results are those wanted, with sizes and without, and the same bits in every way."""
    for symbolic in (False, True) if case.symbolic else (False,):
        path = write(case, folder, symbolic)
        first: list[np.ndarray] = []
        for execution in EXECUTIONS:
            options = scanloom.SessionOptions(execution=execution, threads=2)
            results = scanloom.InferenceSession(path, options).run(None, feeds(case))
            close(results, case)
            first = first or results
            for result, before in zip(results, first, strict=True):
                assert result.tobytes() == before.tobytes(), execution


def run_peer(path: str, fed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """OpenVINO's own results, computed as exactly as it can."""
    if openvino_peer is None:
        pytest.skip(NO_OPENVINO)
    return openvino_peer.run_alone(openvino_peer.Fed(path, fed), openvino_peer.IN_F32)


def check_peer(case: Case, cases: Sequence[Case], folder: pathlib.Path) -> None:
    """`cases`: all of the test, which OpenVINO runs as one model."""
    if openvino_peer is None:
        pytest.skip(NO_OPENVINO)
    if case.differs:
        pytest.skip(case.differs)
    if id(cases) not in _PEER_RESULTS:
        compared = [one for one in cases if not one.differs]
        models = [openvino_peer.Fed(write(one, _made(folder / str(i))), feeds(one)) for i, one in enumerate(compared)]
        results = openvino_peer.run_together(models, openvino_peer.IN_F32)
        _PEER_RESULTS[id(cases)] = {id(one): found for one, found in zip(compared, results, strict=True)}
    found = _PEER_RESULTS[id(cases)][id(case)]
    if found is None or not _is_close(found, case):  # on its own, which gives the reason
        close(run_peer(write(case, folder), feeds(case)), case)


# By the list of cases and by the case.
_PEER_RESULTS: dict[int, dict[int, list[np.ndarray] | None]] = {}


def _made(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    return folder


def _is_close(found: Sequence[np.ndarray], case: Case) -> bool:
    try:
        close(found, case)
    except AssertionError:
        return False
    return True


def refused(case: Case, folder: pathlib.Path, words: str) -> None:
    with pytest.raises(scanloom.Error, match=words) as raised:
        scanloom.InferenceSession(write(case, folder)).run(None, feeds(case))
    assert case.kind in str(raised.value)


def count(report: Callable[[str], None], name: str, cases: Sequence[Case]) -> None:
    """Says how much is compared, for readers of a log."""
    versions = {(case.kind, case.version) for case in cases}
    compared = sum(not case.differs for case in cases) if openvino_peer is not None else 0
    report(f"OpenVINO, {name}: {len(versions)} versions of operations in {len(cases)} cases")
    report(f"OpenVINO, {name}: {compared} of {len(cases)} cases compared with its CPU plugin")
