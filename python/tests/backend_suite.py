"""Runs the cases of ONNX's backend suite as its own runner does, all in this process.

A case is a folder <kind>/<name> with a model and sets of inputs and outputs. Values are compared as
the suite's runner compares them; element types that numpy cannot widen are compared as float32."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np
import onnx
from onnx import numpy_helper

import scanloom

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
CASE_COUNT = 1905
# How many of them others pass on the same data.
PEERS = "onnxruntime 1.31.1: 1557, OpenVINO 2026.4: 1406"

RELATIVE, ABSOLUTE = 1e-3, 1e-7  # the runner's; no case of the suite states others
BFLOAT16_RELATIVE = 2.0**-6  # two units in the last place, as newer runners allow

TABLE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "backend_suite.txt"
TABLE_HEAD = """\
# The cases of ONNX's backend suite (onnx 1.22.0) that pass. It may only grow:
# tools/dev/update_backend_table.py adds those that pass and are not listed.
"""

_CONTROL_FLOW = re.compile(
    "Scan|Loop|If|Sequence.*|Optional.*|SplitToSequence|ConcatFromSequence"
)


class Different(Exception):
    """A result is not what the suite holds."""


def case_names(suite: pathlib.Path) -> list[str]:
    return sorted(f"{kind}/{path.name}" for kind in KINDS for path in (suite / kind).iterdir()
                  if path.is_dir())


def read_table() -> list[str]:
    lines = TABLE.read_text(encoding="ascii").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def write_table(names: list[str]) -> None:
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(TABLE_HEAD + "".join(f"{name}\n" for name in sorted(names)), encoding="ascii")


def failure(folder: pathlib.Path, execution: str = "automatic") -> str:
    """Runs one case; returns "" or the first line of what went wrong."""
    try:
        model = onnx.load(folder / "model.onnx", load_external_data=False)
        session = scanloom.InferenceSession(folder / "model.onnx", execution=execution)
        for data in sorted(folder.glob("test_data_set_*")):
            results = session.run(None, feeds(model.graph, data))
            wanted = [_read(data / f"output_{index}.pb", output.type)
                      for index, output in enumerate(model.graph.output)]
            compare(results, wanted)
    except Exception as problem:  # whatever happens, the other cases are run
        first = (str(problem).splitlines() or [""])[0]
        return f"{type(problem).__name__}: {first}"
    return ""


def run_all(suite: pathlib.Path, names: Optional[list[str]] = None,
            execution: str = "automatic") -> dict[str, str]:
    """{case: "" or what went wrong}."""
    chosen = case_names(suite) if names is None else names
    return {name: failure(suite / name, execution) for name in chosen}


def has_control_flow(folder: pathlib.Path) -> bool:
    """Whether a node anywhere in the model loops, branches, or handles sequences or optionals."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    return any(_CONTROL_FLOW.fullmatch(node.op_type) for node in _all_nodes(model))


def control_flow_names(suite: pathlib.Path) -> list[str]:
    return [name for name in case_names(suite) if has_control_flow(suite / name)]


def compare(results: list[Any], wanted: list[Any]) -> None:
    """Raises Different."""
    if len(results) != len(wanted):
        raise Different(f"{len(results)} results, {len(wanted)} are expected")
    for index, (found, right) in enumerate(zip(results, wanted)):
        _compare_value(f"output {index}", found, right)


def _all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    pending = [list(model.graph.node), *(list(function.node) for function in model.functions)]
    while pending:
        for node in pending.pop():
            yield node
            for attribute in node.attribute:
                graphs = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
                pending += [list(graph.node) for graph in graphs]


def feeds(graph: onnx.GraphProto, data: pathlib.Path) -> dict[str, Any]:
    paths = [data / f"input_{index}.pb" for index in range(len(graph.input))]
    return {value.name: _read(path, value.type)
            for value, path in zip(graph.input, paths) if path.exists()}


def _read(path: pathlib.Path, declared: onnx.TypeProto) -> Any:
    """An array, a list of values, or None for an empty optional."""
    kind = declared.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(_parse(onnx.SequenceProto(), path))
    if kind == "optional_type":
        return numpy_helper.to_optional(_parse(onnx.OptionalProto(), path))
    return numpy_helper.to_array(_parse(onnx.TensorProto(), path))


def _parse(message: Any, path: pathlib.Path) -> Any:
    message.ParseFromString(path.read_bytes())
    return message


def _compare_value(place: str, found: Any, right: Any) -> None:
    if right is None or found is None:
        if found is not right:
            raise Different(f"{place}: {found!r:.40} is not {right!r:.40}")
    elif isinstance(right, list):
        if not isinstance(found, list) or len(found) != len(right):
            raise Different(f"{place}: not a list of {len(right)} values")
        for index, (one, other) in enumerate(zip(found, right)):
            _compare_value(f"{place}[{index}]", one, other)
    else:
        _compare_arrays(place, np.asarray(found), np.asarray(right))


def _compare_arrays(place: str, found: np.ndarray, right: np.ndarray) -> None:
    if found.shape != right.shape:
        raise Different(f"{place}: shape {found.shape} is not {right.shape}")
    if _is_text(right):
        same = _is_text(found) and bool((found.astype(str) == right.astype(str)).all())
        if not same:
            raise Different(f"{place}: the texts differ")
        return
    if found.dtype != right.dtype:
        raise Different(f"{place}: element type {found.dtype} is not {right.dtype}")
    relative = RELATIVE if right.dtype.name != "bfloat16" else BFLOAT16_RELATIVE
    close = np.isclose(_widened(found), _widened(right), relative, ABSOLUTE, equal_nan=True)
    if not close.all():
        worst = _first_index(~close)
        raise Different(f"{place}: {found[worst]} is not {right[worst]} at {worst}, "
                        f"{np.count_nonzero(~close)} of {close.size} differ")


def _is_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "OUST"


def _widened(array: np.ndarray) -> np.ndarray:
    """Returns types that numpy has no arithmetic for (bfloat16, float8, int4 and so on) as float32,
    exactly."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def _first_index(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(mask)))[: mask.ndim]
