"""Writes IRs of OpenVINO layer by layer, so that the body of a loop reads like its formulas.

The layers themselves are written by the tests' `openvino_ir`, which knows every attribute and does
not need OpenVINO."""

import dataclasses
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))

import openvino_ir  # noqa: E402
from openvino_ir import Port  # noqa: E402

F32, I32, I64, BOOL = np.float32, np.int32, np.int64, np.bool_


class Layers:
    """A main graph or a body under construction; values are ports of its layers."""

    def __init__(self, graph=None):
        self.graph = openvino_ir.Graph() if graph is None else graph

    def input(self, name, shape, dtype=F32):
        return self.graph.parameter(name, dtype, shape)

    def constant(self, value, dtype=F32):
        return self.graph.constant(value, dtype)

    def many(self, kind, *inputs, outputs, version=1, **data):
        """A layer of several outputs."""
        port = self.graph.add(kind, inputs, outputs, version, **data)
        return [dataclasses.replace(port, index=index) for index in range(outputs)]

    def __call__(self, kind, *inputs, version=1, **data):
        """A layer of one output."""
        return self.many(kind, *inputs, outputs=1, version=version, **data)[0]

    def output(self, value):
        self.graph.result(value)

    def row(self, slice_, axis=0):
        """A slice of one element along the axis, without it."""
        return self("Squeeze", slice_, self.constant([axis], I64))

    def slice(self, row, axis=0):
        """The row as a slice of one element along the axis."""
        return self("Unsqueeze", row, self.constant([axis], I64))

    def save(self, path):
        """Writes `path`, an .xml, and the weights beside it."""
        path.write_bytes(self.graph.xml())
        path.with_suffix(".bin").write_bytes(bytes(self.graph.weights))


class Loop(Layers):
    """The body of a TensorIterator, or of a Loop where there is a trip count. Ports are declared in
    the order in which they are used; `close` gives the layer's outputs in the order of theirs."""

    def __init__(self, around, trips=None):
        super().__init__(around.graph.body())
        self._around, self._ports, self._edges = around, [], []
        self._is_loop = trips is not None
        self._operands = [trips, around.constant(True, BOOL)] if self._is_loop else []
        self._outputs, self._going = 0, None
        self._results = {}  # a value's Result: a state's last value is an output of the same one

    def _enter(self, outer, shape, dtype, window):
        inner = self.graph.parameter(f"in_{len(self._operands)}", dtype, shape)
        entry = {"kind": "input", "port": len(self._operands), "layer": inner.layer, **window}
        self._ports.append(entry)
        self._operands.append(outer)
        return inner

    def _result(self, value):
        if value not in self._results:
            self._results[value] = self.graph.result(value)
        return self._results[value]

    def _leave(self, value, window):
        entry = {"kind": "output", "port": self._outputs, "layer": self._result(value)}
        self._ports.append(entry | window)
        self._outputs += 1

    def captured(self, outer, shape, dtype=F32):
        return self._enter(outer, shape, dtype, {})

    def carried(self, outer, shape, dtype=F32):
        return self._enter(outer, shape, dtype, {})

    def scanned(self, outer, shape, dtype=F32, axis=0, reverse=False):
        return self._enter(outer, shape, dtype, _window(axis, reverse))

    def counter(self):
        """The number of the step."""
        inner = self.graph.parameter("step", I64, [])
        self._ports.append({"kind": "input", "port": -1, "layer": inner.layer,
                            "purpose": "current_iteration"})
        return inner

    def becomes(self, carried, value):
        """What the state is in the next step."""
        self._edges.append((self._result(value), carried.layer))

    def last(self, value):
        """An output: the value of the last step."""
        self._leave(value, {})

    def rows(self, value, axis=0, reverse=False):
        """An output: the values of all steps, one behind the other."""
        self._leave(value, _window(axis, reverse))

    def goes_on(self, condition):
        self._going = condition

    def close(self):
        ports = self._ports
        if self._is_loop:
            going = self.constant(True, BOOL) if self._going is None else self._going
            ports = [*ports, {"kind": "output", "port": -1, "layer": self.graph.result(going),
                              "purpose": "execution_condition"}]
        port = self._around.graph.loop(
            "Loop" if self._is_loop else "TensorIterator", self.graph, self._operands,
            self._outputs, ports, self._edges,
        )
        return [dataclasses.replace(port, index=index) for index in range(self._outputs)]


def _window(axis, reverse):
    ends = {"start": -1, "end": 0, "stride": -1} if reverse else {"start": 0, "end": -1, "stride": 1}
    return {"axis": axis, **ends, "part_size": 1}
