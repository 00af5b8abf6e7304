"""Whether a model rounds to bytes or to f16 while it runs, which decides how far results may be
apart."""

import pathlib
from collections.abc import Iterator

import onnx

IR_LAYER = b'type="FakeQuantize"'


def rounds_to_bytes(path: pathlib.Path) -> bool:
    """Whether some node quantizes. Constants that are only dequantized do not count."""
    if path.suffix == ".xml":
        return IR_LAYER in path.read_bytes()
    model = onnx.load(str(path), load_external_data=False)
    return any("Quantize" in node.op_type and not node.op_type.startswith("Dequantize")
               or node.op_type.startswith("QLinear") for node in _all_nodes(model))


def computes_in_f16(path: pathlib.Path) -> bool:
    """Whether some node rounds to f16: it casts to it, or reads a constant of it and is no cast.
    OpenVINO computes in f32 with the weights that IRs store as f16."""
    if path.suffix == ".xml":
        return False
    model = onnx.load(str(path), load_external_data=False)
    half = {tensor.name for tensor in model.graph.initializer
            if tensor.data_type == onnx.TensorProto.FLOAT16}
    return any(any(attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT16
                   for attribute in node.attribute) if node.op_type == "Cast"
               else not half.isdisjoint(node.input) for node in _all_nodes(model))


def _all_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [*_nodes(model.graph), *(node for function in model.functions
                                    for node in _nodes(function))]


def _nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the graphs inside it."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            yield node
            for attribute in node.attribute:
                waiting += [attribute.g] if attribute.HasField("g") else attribute.graphs
