"""Workloads: loops from applications, measured with and without machine code."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np

import engines
import peers
from harness import Arrays, Peer, Place, Question, Sizes


@dataclasses.dataclass
class Workload:
    """A loop; `write` makes the model, which onnxruntime and OpenVINO run as well."""

    name: str
    about: str
    steps: int
    write: Callable[[pathlib.Path], None]
    feeds: Mapping[str, np.ndarray]
    reference: Callable[[], Arrays]
    tolerance: float
    peers: list[Peer]  # in addition to those that run the model
    target: float | None = None  # for the peers that run the model
    unit: str = "step"
    sizes: Sizes = dataclasses.field(default_factory=dict)


def ask(place: Place, workload: Workload) -> Iterator[Question]:
    """Compiled, compared with all peers; and stepped, compared with onnxruntime. All use the
    number of threads of `place`."""
    if not place.wants(workload.name, workload.sizes):
        return
    path = place.build / f"{workload.name.replace('/', '_')}.onnx"
    workload.write(path)
    reference = workload.reference()
    threads, feeds = place.threads, workload.feeds
    onnxruntime = engines.peer(path, feeds, threads=threads)
    openvino = peers.optional("openvino", "model", path, feeds, threads, target=workload.target)
    everyone = [Peer(onnxruntime, workload.target), *openvino, *workload.peers]
    for index, (word, ours) in enumerate(engines.executions(path, feeds, threads).items()):
        yield Question(
            name=f"{workload.name}/{word}" if word else workload.name,
            about=workload.about,
            unit=workload.unit,
            units=workload.steps,
            ours=ours,
            peers=[Peer(onnxruntime)] if index else everyone,
            reference=reference,
            tolerance=workload.tolerance,
            sizes=workload.sizes,
            pairing=f"{workload.name}/{ours.execution}",
        )
