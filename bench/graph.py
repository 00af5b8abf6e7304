"""Writes ONNX graphs node by node, so that the body of a loop reads like its formulas."""

import itertools
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper

from model_file import IR_VERSION, OPSET

F32, F64 = TensorProto.FLOAT, TensorProto.DOUBLE
I64, BOOL = TensorProto.INT64, TensorProto.BOOL


class Graph:
    """A graph under construction; a value is a name returned by a method.

    Bodies of loops may use the values of the enclosing graphs."""

    def __init__(self, around: "Graph | None" = None) -> None:
        self._numbers = itertools.count() if around is None else around._numbers
        self._is_body = around is not None
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: list[onnx.TensorProto] = []

    def body(self) -> "Graph":
        return Graph(self)

    def input(self, name: str, shape, dtype: int = F32) -> str:
        return self.typed_input(name, helper.make_tensor_type_proto(dtype, shape))

    def typed_input(self, name: str, kind: onnx.TypeProto) -> str:
        if self._is_body:
            name = self._fresh(name)
        self._inputs.append(helper.make_value_info(name, kind))
        return name

    def constant(self, array) -> str:
        name = self._fresh("constant")
        self._constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def many(self, operator: str, *inputs: str, outputs: int, **attributes) -> list[str]:
        """Adds a node with several outputs."""
        names = [self._fresh(operator.lower()) for _ in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def __call__(self, operator: str, *inputs: str, **attributes) -> str:
        """Adds a node with one output."""
        return self.many(operator, *inputs, outputs=1, **attributes)[0]

    def output(self, value: str, shape, dtype: int = F32) -> None:
        self.typed_output(value, helper.make_tensor_type_proto(dtype, shape))

    def typed_output(self, value: str, kind: onnx.TypeProto) -> None:
        taken = {info.name for info in [*self._inputs, *self._outputs]}
        if value in taken or not any(value in node.output for node in self._nodes):
            value = self("Identity", value)
        self._outputs.append(helper.make_value_info(value, kind))

    def scan(self, body: "Graph", states: list[str], scanned: list[str], **attributes) -> list[str]:
        """Adds a Scan; returns the last states, followed by the stacked outputs."""
        return self.many(
            "Scan", *states, *scanned, outputs=len(body._outputs), body=body._proto("body"),
            num_scan_inputs=len(scanned), **attributes,
        )

    def loop(
        self, body: "Graph", trips: str, states: list[str], condition: str = ""
    ) -> list[str]:
        """Adds a Loop; returns the last states, followed by the stacked outputs. The body's
        condition is used only if there is an initial one."""
        return self.many(
            "Loop", trips, condition, *states, outputs=len(body._outputs) - 1,
            body=body._proto("body"),
        )

    def save(self, path: pathlib.Path) -> None:
        model = helper.make_model(
            self._proto(path.stem), opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(model)
        onnx.save(model, str(path))

    def _fresh(self, stem: str) -> str:
        return f"{stem}_{next(self._numbers)}"

    def _proto(self, name: str) -> onnx.GraphProto:
        return helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
