"""Runs models in OpenVINO's CPU plugin, many as one: the time of compiling hardly depends on what is in
a model. Needs the package openvino."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import openvino

PRECISE = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": "1"}
IN_F32 = {**PRECISE, "INFERENCE_PRECISION_HINT": "f32"}  # computes f16 in f32, too
TOGETHER = 32


class Fed(NamedTuple):
    """The path of a model, and what it is fed, by the names of its parameters."""

    path: str | pathlib.Path
    feeds: Mapping[str, Any]


Settings = Mapping[str, str]
Results = dict[int, list[np.ndarray]]  # by the number of the model


class _Part(NamedTuple):
    """A model that was read. `number` begins the names of its layers."""

    number: int
    model: Any
    inputs: list[np.ndarray]


def run_alone(fed: Fed, settings: Settings = PRECISE) -> list[np.ndarray]:
    """Raises RuntimeError."""
    model = openvino.Core().read_model(fed.path)
    return _run(model, [_array(port, fed) for port in model.inputs], settings)


def run_together(models: Sequence[Fed], settings: Settings = PRECISE) -> Iterator[list[np.ndarray] | None]:
    """Gives the results of each model; None for those that OpenVINO does not run, or not together with
    others. Ask for these alone, which gives the reason."""
    for first in range(0, len(models), TOGETHER):
        some = models[first : first + TOGETHER]
        results = _as_many_as_run(_read(some), settings)
        for number in range(len(some)):
            yield results.get(number)


def written_again(path: str | pathlib.Path) -> str:
    """The path of the model as OpenVINO writes it."""
    written = pathlib.Path(path).with_name("written.xml")
    openvino.save_model(openvino.Core().read_model(path), written, compress_to_fp16=False)
    return str(written)


def _read(models: Sequence[Fed]) -> list[_Part]:
    """Without those that cannot be read, and those whose states would meet."""
    core, parts = openvino.Core(), []
    for number, each in enumerate(models):
        try:
            model = core.read_model(each.path)
        except RuntimeError:
            continue
        if model.get_sinks():
            continue
        parts.append(_Part(number, model, [_array(port, each) for port in model.inputs]))
        for layer in model.get_ops():
            layer.set_friendly_name(f"part {number}/{layer.get_friendly_name()}")
    return parts


def _as_many_as_run(parts: list[_Part], settings: Settings) -> Results:
    if not parts:
        return {}
    try:
        return _as_one(parts, settings)
    except (RuntimeError, ValueError) as error:  # the others are tried
        named = {int(number) for number in re.findall(r"part (\d+)/", str(error))}
        if len(named) == 1 and len(parts) > 1:
            return _as_many_as_run([part for part in parts if part.number not in named], settings)
        half = len(parts) // 2
        if not half:
            return {}
        return {**_as_many_as_run(parts[:half], settings), **_as_many_as_run(parts[half:], settings)}


def _as_one(parts: Sequence[_Part], settings: Settings) -> Results:
    """Raises RuntimeError if one of them is not run."""
    results = [result for part in parts for result in part.model.get_results()]
    parameters = [parameter for part in parts for parameter in part.model.get_parameters()]
    model = openvino.Model(results, parameters, "together")
    found = iter(_run(model, [array for part in parts for array in part.inputs], settings))
    return {part.number: [next(found) for _ in part.model.outputs] for part in parts}


def _run(model: Any, inputs: list[np.ndarray], settings: Settings) -> list[np.ndarray]:
    # A Core for each: one that has seen many models crashes.
    request = openvino.Core().compile_model(model, "CPU", dict(settings)).create_infer_request()
    request.infer(inputs)
    tensors = [request.get_output_tensor(i) for i in range(len(model.outputs))]
    return [np.array(each.str_data if each.element_type == openvino.Type.string else each.data) for each in tensors]


def _array(port: Any, fed: Fed) -> np.ndarray:
    names = {port.get_node().get_friendly_name(), *port.get_names()}
    array = np.asarray(next(x for name, x in fed.feeds.items() if name in names))
    return array.astype(str) if array.dtype == object else array
