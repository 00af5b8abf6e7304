"""Writes random programs as ONNX models."""

from __future__ import annotations

from typing import Any, Optional

import onnx
from onnx import TensorProto, helper, numpy_helper

from random_programs import DTYPES, Graph, Node, Program, Value

PROTOS = {name: getattr(TensorProto, name.upper()) for name in DTYPES}

# Operators that are written under another name, with these attributes.
_NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    "Fmod": ("Mod", {"fmod": 1}),
    "ShiftLeft": ("BitShift", {"direction": "LEFT"}),
    "ShiftRight": ("BitShift", {"direction": "RIGHT"}),
}
# The attributes that ONNX has; others are for numpy, their values are inputs in ONNX.
_WRITTEN = {
    "Concat": ("axis",),
    "Gather": ("axis",),
    "ReduceMax": ("keepdims",),
    "ReduceMin": ("keepdims",),
    "ReduceSum": ("keepdims",),
    "Scan": ("num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes",
             "scan_output_directions"),
    "Transpose": ("perm",),
}


def write(program: Program) -> bytes:
    graph = _graph("main", program.graph, inner=False)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", program.opset)], ir_version=8
    )
    return model.SerializeToString()


def _graph(name: str, graph: Graph, inner: bool = True) -> onnx.GraphProto:
    initialisers = [
        numpy_helper.from_array(node.array, node.outputs[0].name)
        for node in graph.nodes
        if node.as_initialiser
    ]
    return helper.make_graph(
        [_node(node) for node in graph.nodes if not node.as_initialiser],
        name,
        [_info(value, graph.declared) for value in graph.formals],
        [_info(value, 2 if inner else 1) for value in graph.yields],
        initialisers,
    )


def _info(value: Value, declared: int) -> onnx.ValueInfoProto:
    """Declares sizes, a rank, an element type, or a name alone, depending on `declared`."""
    if declared == 3:
        return onnx.ValueInfoProto(name=value.name)
    shape: Optional[list[Any]] = None
    if declared < 2:
        shape = [size if declared == 0 and isinstance(size, int) else None for size in value.dims]
    return helper.make_tensor_value_info(value.name, PROTOS[value.dtype], shape)


def _node(node: Node) -> onnx.NodeProto:
    names = [value.name for value in node.outputs]
    if node.op == "Constant":
        return helper.make_node(node.op, [], names, value=numpy_helper.from_array(node.array))
    op, attributes = _NAMED.get(node.op, (node.op, {}))
    attributes = dict(attributes)
    for name in _WRITTEN.get(node.op, ()):
        attributes[name] = node.attributes[name]
    if node.op == "Cast":
        attributes["to"] = PROTOS[node.attributes["to"]]
    for name, body in node.bodies.items():
        attributes[name] = _graph(f"{name}_of_{names[0]}", body)
    # An empty list says no element type, which onnx refuses: leave it out.
    attributes = {name: value for name, value in attributes.items() if value != []}
    return helper.make_node(
        op, [name or "" for name in node.inputs], names, name=f"make_{names[0]}", **attributes
    )
