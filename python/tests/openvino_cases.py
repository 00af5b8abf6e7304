"""Single operations of OpenVINO: each case is run by Scanloom in every form and by OpenVINO itself."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino_ir
import pytest

import scanloom


@dataclasses.dataclass(frozen=True)
class Fixed:
    """An operand that is a constant of the model."""

    value: np.ndarray


@dataclasses.dataclass(frozen=True)
class Sized:
    """An operand that is fed, and whose sizes the model always says."""

    value: np.ndarray


@dataclasses.dataclass(frozen=True)
class Case:
    """One layer over operands, and what it gives by numpy or the formula. `differs` says why
    OpenVINO's CPU results are not compared; `sized` that sizes must be known to read it."""

    kind: str
    version: int
    operands: Sequence[np.ndarray | Fixed | Sized]
    expected: Sequence[np.ndarray]
    data: dict[str, Any]
    tolerance: float = 2e-6
    differs: str = ""
    sized: bool = False

    @property
    def name(self) -> str:
        operands = ", ".join(f"{array_of(x).dtype}{list(array_of(x).shape)}" for x in self.operands)
        return f"{self.kind}-{self.version}({operands}) {self.data}"

    @property
    def feeds(self) -> list[np.ndarray]:
        return [array_of(x) for x in self.operands if not isinstance(x, Fixed)]


def case(kind: str, version: int, operands: Sequence[Any], *expected: Any, tolerance: float = 2e-6,
         differs: str = "", sized: bool = False, **data: Any) -> Case:  # fmt: skip
    """Expected values are arrays of the element type that is due."""
    return Case(kind, version, tuple(operands), tuple(np.asarray(y) for y in expected), data,
                tolerance, differs, sized)  # fmt: skip


def fixed(value: Any, dtype: Any = np.int64) -> Fixed:
    return Fixed(np.asarray(value, None if isinstance(value, np.ndarray) else dtype))


def array_of(operand: np.ndarray | Fixed | Sized) -> np.ndarray:
    return operand if isinstance(operand, np.ndarray | np.generic) else operand.value


def layer(graph: openvino_ir.Graph, one: Case, operands: Sequence[openvino_ir.Port]) -> openvino_ir.Port:
    return graph.add(one.kind, operands, len(one.expected), one.version, None, "FP32", **one.data)


def parameters(graph: openvino_ir.Graph, one: Case, sizes: str = "known") -> list[openvino_ir.Port]:
    """Returns a Parameter per operand, of "known" sizes or, unless the operand is Sized, of
    "unknown" sizes or "any" rank."""
    ports: list[openvino_ir.Port] = []
    for x in one.operands:
        if isinstance(x, Fixed):
            continue
        value = array_of(x)
        shape = None if sizes == "any" else [-1] * value.ndim
        known = sizes == "known" or isinstance(x, Sized)
        ports.append(graph.parameter(f"x{len(ports)}", value.dtype, value.shape if known else shape))
    return ports


def operands_in(graph: openvino_ir.Graph, one: Case, fed: Sequence[openvino_ir.Port]) -> list[openvino_ir.Port]:
    rest = iter(fed)
    return [graph.constant(x.value) if isinstance(x, Fixed) else next(rest) for x in one.operands]


def plain_model(one: Case, sizes: str = "known") -> openvino_ir.Graph:
    graph = openvino_ir.Graph()
    port = layer(graph, one, operands_in(graph, one, parameters(graph, one, sizes)))
    for i in range(len(one.expected)):
        graph.result(dataclasses.replace(port, index=i))
    return graph


def model_in_loop(one: Case) -> openvino_ir.Graph:
    """The layer in the body of a Loop of two steps, which hands its last results out."""
    graph = openvino_ir.Graph()
    outer = [graph.constant(np.array(2, np.int64)), graph.constant(np.array(True)),
             *parameters(graph, one)]  # fmt: skip
    body = graph.body()
    inner = parameters(body, one)
    port = layer(body, one, operands_in(body, one, inner))
    results = [body.result(dataclasses.replace(port, index=i)) for i in range(len(one.expected))]
    goes_on = body.result(body.constant(np.array(True)))
    port_map = [
        *({"kind": "input", "port": 2 + i, "layer": x.layer} for i, x in enumerate(inner)),
        *({"kind": "output", "port": i, "layer": x} for i, x in enumerate(results)),
        {"kind": "output", "port": -1, "layer": goes_on, "purpose": "execution_condition"},
    ]
    loop = graph.loop("Loop", body, outer, len(results), port_map)
    for i in range(len(results)):
        graph.result(dataclasses.replace(loop, index=i))
    return graph


def compare(one: Case, results: Sequence[np.ndarray]) -> None:
    for i, (result, expected) in enumerate(zip(results, one.expected, strict=True)):
        assert result.shape == expected.shape, f"output {i} is {result.shape}, not {expected.shape}"
        assert result.dtype == expected.dtype, f"output {i} is {result.dtype}, not {expected.dtype}"
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(np.asarray(result, np.float64), np.asarray(expected, np.float64),
                                       rtol=one.tolerance, atol=one.tolerance)  # fmt: skip
        else:
            np.testing.assert_array_equal(result, expected)


def run_model(one: Case, path: str) -> list[np.ndarray]:
    session = scanloom.InferenceSession(path)
    return session.run(None, {f"x{i}": x for i, x in enumerate(one.feeds)})


FORMS: dict[str, Callable[[Case], openvino_ir.Graph]] = {
    "known sizes": plain_model,
    "unknown sizes": lambda one: plain_model(one, "unknown"),
    "in a loop": model_in_loop,
}


def failures_here(cases: Sequence[Case], forms: dict[str, Callable[[Case], openvino_ir.Graph]],
                  folder: pathlib.Path) -> list[str]:  # fmt: skip
    failures = []
    for one in cases:
        for form, make in forms.items():
            if one.sized and form == "unknown sizes":
                continue
            try:
                compare(one, run_model(one, make(one).save(folder)))
            except (AssertionError, scanloom.Error) as error:
                failures.append(f"{one.name}, {form}: {str(error).strip()}")
    return failures


def check_here(cases: Sequence[Case], title: str, folder: pathlib.Path,
               report: Callable[[str], None]) -> None:  # fmt: skip
    """Every case in all forms gives what is expected."""
    failures = failures_here(cases, FORMS, folder)
    versions = len({(one.kind, one.version) for one in cases})
    runs = len(cases) * len(FORMS) - sum(one.sized for one in cases)
    report(f"OpenVINO, {title}: {versions} versions of operations in {len(cases)} cases, {runs} runs")
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures)


def check_peer(cases: Sequence[Case], title: str, folder: pathlib.Path,
               report: Callable[[str], None]) -> None:  # fmt: skip
    """Every case in which OpenVINO's CPU plugin is right gives the same there, and here again when
    OpenVINO has written the model."""
    pytest.importorskip("openvino", reason="needs the package openvino")
    import openvino_peer  # which needs it

    failures, compared = [], [one for one in cases if not one.differs]
    models = []
    for number, one in enumerate(compared):
        own = folder / str(number)
        own.mkdir()
        models.append(openvino_peer.Fed(plain_model(one).save(own), {f"x{i}": x for i, x in enumerate(one.feeds)}))
    together = openvino_peer.run_together(models, openvino_peer.IN_F32)
    for one, model, found in zip(compared, models, together, strict=True):
        try:
            if found is None or not _agrees(one, found):  # on its own, which gives the reason
                compare(one, _as_objects(openvino_peer.run_alone(model, openvino_peer.IN_F32)))
            compare(one, run_model(one, openvino_peer.written_again(model.path)))
        except (AssertionError, RuntimeError, scanloom.Error) as error:
            failures.append(f"{one.name}: {str(error).strip()}")
    report(f"OpenVINO, {title}: {len(compared)} of {len(cases)} cases compared with its CPU plugin")
    assert not failures, f"{len(failures)} of {len(compared)}:\n" + "\n".join(failures)


def _as_objects(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [x.astype(object) if x.dtype.kind == "U" else x for x in arrays]


def _agrees(one: Case, found: Sequence[np.ndarray]) -> bool:
    try:
        compare(one, _as_objects(found))
    except AssertionError:
        return False
    return True


def check_refused(one: Case, message: str, folder: pathlib.Path) -> None:
    """It cannot be read; the error names the layer and says `message`, a pattern."""
    graph = plain_model(one)
    index = len(one.operands)
    with pytest.raises(scanloom.Error, match=message) as caught:
        scanloom.InferenceSession(graph.save(folder))
    assert f"layer {index} '{one.kind}_{index}' ({one.kind})" in str(caught.value)
