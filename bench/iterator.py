"""Writes OpenVINO IRs layer by layer, so that the body of a loop reads like its formulas.

The layers are written by `openvino_ir` from the tests, which knows every attribute and does not
need OpenVINO."""

import dataclasses
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tests"))

import openvino_ir  # noqa: E402
from openvino_ir import Port  # noqa: E402

F32, I32, I64, BOOL = np.float32, np.int32, np.int64, np.bool_


class Layers:
    """A main graph or body under construction; values are ports of its layers."""

    def __init__(self, graph=None):
        self.graph = openvino_ir.Graph() if graph is None else graph

    def input(self, name, shape, dtype=F32):
        return self.graph.parameter(name, dtype, shape)

    def constant(self, value, dtype=F32):
        return self.graph.constant(value, dtype)

    def many(self, kind, *inputs, outputs, version=1, **data):
        """Adds a layer with several outputs."""
        port = self.graph.add(kind, inputs, outputs, version, **data)
        return [dataclasses.replace(port, index=index) for index in range(outputs)]

    def __call__(self, kind, *inputs, version=1, **data):
        """Adds a layer with one output."""
        return self.many(kind, *inputs, outputs=1, version=version, **data)[0]

    def output(self, value):
        self.graph.result(value)

    def row(self, slice_, axis=0):
        """Removes the axis from a slice of size 1."""
        return self("Squeeze", slice_, self.constant([axis], I64))

    def slice(self, row, axis=0):
        """Inserts an axis of size 1, to make a slice of a row."""
        return self("Unsqueeze", row, self.constant([axis], I64))

    def save(self, path):
        """Writes `path`, an .xml, and the weights next to it."""
        path.write_bytes(self.graph.xml())
        path.with_suffix(".bin").write_bytes(bytes(self.graph.weights))


class Loop(Layers):
    """The body of a TensorIterator or, with a trip count, of a Loop. Ports are declared in the
    order of use; `close` returns the outputs of the layer in the order of their declaration."""

    def __init__(self, around, trips=None):
        super().__init__(around.graph.body())
        self._around, self._ports, self._edges = around, [], []
        self._is_loop = trips is not None
        self._operands = [trips, around.constant(True, BOOL)] if self._is_loop else []
        self._outputs, self._going = 0, None
        self._results = {}  # value -> Result; a state and an output of the same value share it

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
        """The index of the step."""
        inner = self.graph.parameter("step", I64, [])
        self._ports.append({"kind": "input", "port": -1, "layer": inner.layer,
                            "purpose": "current_iteration"})
        return inner

    def becomes(self, carried, value):
        """Sets the value of a state in the next step."""
        self._edges.append((self._result(value), carried.layer))

    def last(self, value):
        """Adds an output: the value of the last step."""
        self._leave(value, {})

    def rows(self, value, axis=0, reverse=False):
        """Adds an output: the concatenated values of all steps."""
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
