"""OpenVINO's own models, as IRs: its recurrent cells and sequences, and other loop bodies, compared
with OpenVINO on the same number of threads.

Where OpenVINO has one primitive for a whole sequence, Scanloom must be as fast (with 10 percent for
noise); where it runs a body layer by layer, Scanloom must be 5 times as fast."""

import dataclasses
import functools
import itertools
import pathlib
from collections.abc import Callable, Mapping

import numpy as np

import engines
from harness import Arrays, Question, Sizes, Skip
from iterator import Layers
from peers import optional
from workloads import openvino_bodies, openvino_cells, openvino_models
from workloads.openvino_cells import GATES, Cell

NAMES = ("openvino",)

ANY_THREADS = True  # run.py may use several
SIZES = ((1, 32), (1, 128), (1, 256), (32, 128))  # batch, width
STEPS = 128
FUSED, GENERIC = 1.1, 0.2


@dataclasses.dataclass
class Model:
    name: str
    about: str
    steps: int
    write: Callable[[pathlib.Path], None]
    feeds: Mapping[str, np.ndarray]
    reference: Callable[[], Arrays]
    target: float
    tolerance: float = 1e-5
    sizes: Sizes = dataclasses.field(default_factory=dict)


def _cells():
    for kind in GATES:
        for batch, width in SIZES:
            forward = Cell(kind, batch, width, STEPS)
            both = dataclasses.replace(forward, directions=2)
            about = f"{kind}, batch {batch}, width {width}"
            ways = [("iterator", forward, openvino_cells.write_cells, FUSED),
                    ("sequence", forward, openvino_cells.write_sequence, FUSED),
                    ("both_ways", both, openvino_cells.write_sequence, FUSED)]
            if kind == "LSTM":
                ways.append(("primitives", forward, openvino_cells.write_primitives, FUSED))
            if kind == "GRU":
                linear = dataclasses.replace(forward, linear=True)
                ways.append(("linear", linear, openvino_cells.write_sequence, FUSED))
            for word, cell, write, target in ways:
                feeds = openvino_cells.feeds(cell)
                yield Model(
                    name=f"{kind.lower()}_{cell.name}/{word}",
                    about=f"{about}, {word}",
                    steps=STEPS,
                    write=functools.partial(write, cell=cell),
                    feeds=feeds,
                    reference=functools.partial(openvino_cells.reference, cell, feeds),
                    target=target,
                    sizes={"b": batch, "h": width},
                )


def _bodies():
    def write(path, body):
        net = Layers()
        body.write(net)
        net.save(path)

    for body in openvino_bodies.BODIES:
        yield Model(
            name=body.name,
            about=body.about,
            steps=body.steps,
            write=functools.partial(write, body=body),
            feeds=body.feeds,
            reference=functools.partial(openvino_bodies.reference, body),
            target=GENERIC,
            tolerance=body.tolerance,
        )


def _shared(place):
    found = openvino_models.models(place.shared / "openvino")
    if not found and place.wants("openvino/shared", {}):
        raise Skip("no ../shared/models/openvino")
    for model in found:
        is_cell = model.steps > 1
        yield Model(
            name=f"shared/{model.name}",
            about="an LSTM over 25 steps, backwards" if is_cell else "three sums, per run",
            steps=model.steps,
            write=model.write,
            feeds=model.feeds(),
            reference=model.reference,
            target=FUSED if is_cell else GENERIC,
        )


def _ask(place, model):
    path = place.build / f"openvino_{model.name.replace('/', '_')}.xml"
    model.write(path)
    yield Question(
        name=f"openvino/{model.name}",
        sizes=model.sizes,
        about=model.about,
        unit="run" if model.steps == 1 else "step",
        units=model.steps,
        ours=engines.compiled(path, model.feeds, place.threads),
        peers=optional("openvino", "model", path, list(model.feeds.values()), place.threads,
                       target=model.target),
        reference=model.reference(),
        tolerance=model.tolerance,
    )


def questions(place, clock):
    for model in itertools.chain(_bodies(), _cells(), _shared(place)):
        if place.wants(f"openvino/{model.name}", model.sizes):
            yield from _ask(place, model)
