"""Scanloom as a backend of ONNX: the interface of onnx.backend.base, which ONNX's own test runner and
other tools call.

    import scanloom.backend

    prepared = scanloom.backend.prepare(model)
    y, h = prepared.run([x, h0])

This module needs the package onnx, and nothing else of Scanloom imports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

try:
    import onnx
    from onnx import helper
    from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ModuleNotFoundError(
        "scanloom.backend needs the package onnx, which is not installed: pip install onnx",
        name="onnx",
    ) from None

from ._errors import InvalidArgument, InvalidType
from ._ort.loading import check
from ._ort.session import InferenceSession

# ONNX's runner also passes the tolerances of its comparison to prepare().
_TOLERANCES = ("rtol", "atol")


class PreparedModel(BackendRep):
    """A model that is ready to run, any number of times and in any number of threads.

    session: the InferenceSession that runs it.
    """

    def __init__(self, session: InferenceSession) -> None:
        self.session = session
        self._outputs = [output.name for output in session.get_outputs()]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Returns the outputs, by position and by name.

        inputs: a list of values in the order of the model's inputs, {name: value}, or the value of
            the only input. Inputs at the end that have a default value may be left out.
        Keyword arguments: run_options, a RunOptions. Raises what InferenceSession.run raises.
        """
        options = kwargs.pop("run_options", None)
        _refuse_unknown("run", kwargs)
        results = self.session.run(self._outputs, self._feeds(inputs), options)
        return namedtupledict("Outputs", self._outputs)(*results)

    def _feeds(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return dict(inputs)
        values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        ends = [*self.session.get_inputs(), *self.session.get_overridable_initializers()]
        if len(values) > len(ends):
            raise InvalidArgument(f"the model has {len(ends)} inputs, and {len(values)} values are fed")
        return {end.name: value for end, value in zip(ends, values)}


class ScanloomBackend(Backend):
    """The interface of onnx.backend.base.Backend. Its methods are also functions of this module."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be loaded and the device is the CPU; scanloom.check(model) lists
        what prevents it. Keyword arguments are those of check()."""
        return cls.supports_device(device) and check(model, **kwargs).ok

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Loads a model: an onnx.ModelProto, or anything else that InferenceSession takes.

        Keyword arguments are those of InferenceSession. Raises InvalidArgument (a device other than
        the CPU), and what InferenceSession raises.
        """
        if not cls.supports_device(device):
            raise InvalidArgument(f"device {device!r} is not supported: models run on the CPU")
        options = {key: value for key, value in kwargs.items() if key not in _TOLERANCES}
        return PreparedModel(InferenceSession(model, **options))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The same as prepare(model, device, ...).run(inputs)."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Union[Sequence[tuple[Any, Sequence[int]]], None] = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node, an onnx.NodeProto.

        inputs: values of the node's inputs in order, without those that are left out, or {name:
            value}. Numbers and lists are taken as numpy takes them.
        outputs_info: the element type and shape of each output; they are inferred otherwise.
        Keyword arguments: opset_version, of the node's domain (default: the newest in which the
            package onnx knows the operator), and those of prepare(). Raises what prepare() and run() raise.
        """
        version = kwargs.pop("opset_version", None)
        named = _named_inputs(node, inputs)
        model = _model_of_node(node, named, outputs_info, version)
        return cls.run_model(model, named, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on the device: "CPU" or "CPU:0"."""
        try:
            found = Device(device)
        except (AttributeError, ValueError):  # a kind, or a number, that onnx does not know
            return False
        return found.type == DeviceType.CPU and found.device_id == 0


def _refuse_unknown(name: str, kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"{name}() has no argument {next(iter(kwargs))!r}")


def _named_inputs(node: Any, inputs: Any) -> dict[str, Any]:
    names = [name for name in node.input if name]
    if isinstance(inputs, Mapping):
        return dict(inputs)
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if len(values) != len(names):
        raise InvalidArgument(
            f"node {node.name!r} ({node.op_type}) has {len(names)} inputs, and {len(values)} values are fed"
        )
    return dict(zip(names, values))


def _model_of_node(
    node: Any,
    feeds: Mapping[str, Any],
    outputs_info: Union[Sequence[tuple[Any, Sequence[int]]], None],
    version: Union[int, None],
) -> onnx.ModelProto:
    inputs = [onnx.ValueInfoProto(name=name, type=_type_of(name, value)) for name, value in feeds.items()]
    names = [name for name in node.output if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    if outputs_info is not None:
        if len(outputs_info) != len(names):
            raise InvalidArgument(
                f"node {node.name!r} ({node.op_type}) has {len(names)} outputs, and outputs_info names "
                f"{len(outputs_info)}"
            )
        outputs = [
            helper.make_tensor_value_info(name, _element_type(name, np.dtype(dtype)), shape)
            for name, (dtype, shape) in zip(names, outputs_info)
        ]
    graph = helper.make_graph([node], node.name or node.op_type, inputs, outputs)
    versions = _newest_versions(node)
    if version is not None:
        versions[_domain(node)] = version
    opsets = [helper.make_opsetid(domain, number) for domain, number in versions.items()]
    return helper.make_model(graph, opset_imports=opsets)


def _domain(node: Any) -> str:
    return "" if node.domain == "ai.onnx" else str(node.domain)


def _newest_versions(node: Any) -> dict[str, int]:
    """For each domain, the first version in which the node, and those in its bodies, mean what they
    mean in the newest one."""
    versions: dict[str, int] = {}
    pending = [node]
    while pending:
        one = pending.pop()
        domain = _domain(one)
        known = onnx.defs.has(one.op_type, domain)
        since = onnx.defs.get_schema(one.op_type, domain).since_version if known else 1
        versions[domain] = max(versions.get(domain, 1), since)
        for attribute in one.attribute:
            for body in [attribute.g, *attribute.graphs]:
                pending += body.node
    return versions


def _type_of(name: str, value: Any) -> onnx.TypeProto:
    """The type of a value: a tensor, or a sequence for a list of arrays."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, np.ndarray) for item in value):
        element = helper.make_tensor_type_proto(_element_type(name, value[0].dtype), None)
        return helper.make_sequence_type_proto(element)
    array = np.asarray(value)
    return helper.make_tensor_type_proto(_element_type(name, array.dtype), array.shape)


def _element_type(name: str, dtype: np.dtype[Any]) -> int:
    """ONNX's number of an element type."""
    if dtype.kind in "OUST":
        return onnx.TensorProto.STRING
    try:
        return int(helper.np_dtype_to_tensor_dtype(dtype))
    except (KeyError, ValueError):
        raise InvalidType(f"'{name}' is of numpy's {dtype}, which is not an element type of models") from None


is_compatible = ScanloomBackend.is_compatible
prepare = ScanloomBackend.prepare
run_model = ScanloomBackend.run_model
run_node = ScanloomBackend.run_node
supports_device = ScanloomBackend.supports_device

__all__ = [
    "PreparedModel",
    "ScanloomBackend",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]
