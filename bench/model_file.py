"""Writes the models of the benchmarks: the format versions, and files of a list of nodes."""

import onnx
from onnx import helper

OPSET = 17
IR_VERSION = 8


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, list(constants))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
