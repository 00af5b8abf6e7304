"""Writes IRs of OpenVINO by hand: every attribute, sound or not, without OpenVINO itself."""

from __future__ import annotations

import dataclasses
import pathlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

import numpy as np

WORDS = {
    "float32": ("f32", "FP32"), "float64": ("f64", "FP64"), "float16": ("f16", "FP16"),
    "bool": ("boolean", "BOOL"), "int8": ("i8", "I8"), "int16": ("i16", "I16"),
    "int32": ("i32", "I32"), "int64": ("i64", "I64"), "uint8": ("u8", "U8"),
    "uint16": ("u16", "U16"), "uint32": ("u32", "U32"), "uint64": ("u64", "U64"),
    "bfloat16": ("bf16", "BF16"), "object": ("string", "STRING"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Port:
    """Output `index` of a layer, which further layers read."""

    layer: int
    index: int = 0


def shape_text(shape: Sequence[int | str] | None) -> str:
    """Returns the shape of a Parameter as text; None means any number of axes, -1 any size."""
    if shape is None:
        return "..."
    return ",".join("?" if size == -1 else str(size) for size in shape)


class Graph:
    """Layers and edges of the main graph or a body; `weights` is shared by all of a model."""

    def __init__(self, weights: bytearray | None = None):
        self.weights = bytearray() if weights is None else weights
        self.layers: list[ElementTree.Element] = []
        self.edges: list[tuple[int, int, int, int]] = []
        self.names: set[str] = set()

    def body(self) -> Graph:
        return Graph(self.weights)

    def add(
        self,
        kind: str,
        inputs: Sequence[Port | None] = (),
        outputs: int = 1,
        version: int | None = 1,
        name: str | None = None,
        precision: str = "FP32",
        **data: Any,
    ) -> Port:
        """Adds a layer. Data that are lists or booleans are written as IRs have them. An input None
        gets a port without an edge. Sizes of ports are left out, as no reader relies on them."""
        index = len(self.layers)
        layer = ElementTree.Element("layer", id=str(index), name=name or f"{kind}_{index}", type=kind)
        if version is not None:
            layer.set("version", f"opset{version}")
        if data:
            ElementTree.SubElement(layer, "data", {key.rstrip("_"): text_of(value)
                                                   for key, value in data.items()})  # fmt: skip
        if inputs:
            ports = ElementTree.SubElement(layer, "input")
            for at, source in enumerate(inputs):
                ElementTree.SubElement(ports, "port", id=str(at))
                if source is not None:
                    first = self.first_output(source.layer)
                    self.edges.append((source.layer, first + source.index, index, at))
        if outputs:
            ports = ElementTree.SubElement(layer, "output")
            for at in range(outputs):
                ElementTree.SubElement(ports, "port", id=str(len(inputs) + at), precision=precision)
        self.layers.append(layer)
        return Port(index)

    def first_output(self, layer: int) -> int:
        inputs = self.layers[layer].find("input")
        return 0 if inputs is None else len(inputs)

    def parameter(self, name: str, dtype: Any = "float32", shape: Sequence[int | str] | None = ()) -> Port:
        word, precision = WORDS[np.dtype(dtype).name]
        return self.add("Parameter", (), 1, 1, name, precision, element_type=word,
                        shape=shape_text(shape))  # fmt: skip

    def constant(self, value: Any, dtype: Any = None) -> Port:
        array = np.ascontiguousarray(value, dtype) if np.ndim(value) else np.array(value, dtype)
        word, precision = WORDS[array.dtype.name]
        offset = len(self.weights)
        self.weights += array.tobytes()
        return self.add("Const", (), 1, 1, None, precision, element_type=word,
                        shape=shape_text(array.shape), offset=offset, size=array.nbytes)  # fmt: skip

    def result(self, source: Port, name: str | None = None) -> int:
        """The id of the layer, which port maps and back edges name."""
        return self.add("Result", [source], 0, 1, name).layer

    def loop(
        self,
        kind: str,
        body: Graph,
        inputs: Sequence[Port],
        outputs: int,
        port_map: Sequence[dict[str, Any]],
        back_edges: Sequence[tuple[int, int]] = (),
        version: int | None = None,
    ) -> Port:
        """A TensorIterator or Loop. Entries of port_map have `kind` ("input" or "output") and
        `port` (of inputs from 0 on, of outputs from 0 on; -1 for none) and `layer`."""
        port = self.add(kind, inputs, outputs, version or {"Loop": 5}.get(kind, 1))
        layer = self.layers[port.layer]
        layer.append(map_element("port_map", port_map, len(inputs)))
        if back_edges:
            edges = ElementTree.SubElement(layer, "back_edges")
            for start, end in back_edges:
                ElementTree.SubElement(edges, "edge", {"from-layer": str(start), "to-layer": str(end)})
        body.write(ElementTree.SubElement(layer, "body"))
        return port

    def branch(
        self,
        inputs: Sequence[Port],
        outputs: int,
        sides: Sequence[tuple[Graph, Sequence[dict[str, Any]]]],
    ) -> Port:
        """An If over inputs (condition first): the graph and the port map of either side."""
        port = self.add("If", inputs, outputs, 8)
        layer = self.layers[port.layer]
        for side, (graph, port_map) in zip(("then", "else"), sides, strict=True):
            layer.append(map_element(f"{side}_port_map", port_map, len(inputs)))
            graph.write(ElementTree.SubElement(layer, f"{side}_body"))
        return port

    def write(self, parent: ElementTree.Element) -> None:
        layers = ElementTree.SubElement(parent, "layers")
        layers.extend(self.layers)
        edges = ElementTree.SubElement(parent, "edges")
        for from_layer, from_port, to_layer, to_port in self.edges:
            ElementTree.SubElement(edges, "edge", {
                "from-layer": str(from_layer), "from-port": str(from_port),
                "to-layer": str(to_layer), "to-port": str(to_port)})  # fmt: skip

    def xml(self, version: int = 11) -> bytes:
        net = ElementTree.Element("net", name="model", version=str(version))
        self.write(net)
        return b'<?xml version="1.0"?>\n' + ElementTree.tostring(net)

    def save(self, folder: pathlib.Path, version: int = 11) -> str:
        """Writes model.xml and model.bin; the path of the former."""
        path = folder / "model.xml"
        path.write_bytes(self.xml(version))
        (folder / "model.bin").write_bytes(bytes(self.weights))
        return str(path)


def map_element(tag: str, entries: Sequence[dict[str, Any]], inputs: int) -> ElementTree.Element:
    element = ElementTree.Element(tag)
    for entry in entries:
        rest = dict(entry)
        kind, port, layer = rest.pop("kind"), rest.pop("port"), rest.pop("layer")
        external = port if kind == "input" or port < 0 else inputs + port
        ElementTree.SubElement(element, kind, {
            "external_port_id": str(external), "internal_layer_id": str(layer),
            **{key: str(value) for key, value in rest.items()}})  # fmt: skip
    return element


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(text_of(item) for item in value)
    return str(value)
