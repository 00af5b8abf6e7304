"""Cold start: from loading a model to its first result in a new process, without the import, for
bodies of 10 to 1000 operators. Scanloom compiles them by option, which includes loading the
compiler library; by default it would step so few steps. JAX traces and compiles.
Compile time does not depend on the number of steps: "flat" takes a hundred times as many steps.
Also measures the imports."""

import dataclasses
import importlib.util

import numpy as np

import engines
from harness import Peer, Question
from workloads import wide_body

NAMES = ("cold_start",)

SIZES = {10: None, 50: 1 / 3, 200: None, 1000: None}  # with the target for JAX
FEW_STEPS = 10


def questions(place, clock):
    feeds = wide_body.feeds()
    for operators, target in SIZES.items():
        if not place.wants(f"cold_start/{operators}", {"operators": operators}):
            continue
        yield _first_result(place, clock, feeds, operators, f"{operators}", " compiled", None, target)
    few = {"h0": feeds["h0"], "xs": feeds["xs"][:FEW_STEPS]}
    yield _first_result(place, clock, feeds, 50, "50_automatic", "", 1.0, None)
    yield _first_result(place, clock, few, 50, "50_few_steps", "", 1.0, None)
    if place.wants("cold_start/50_flat", {"operators": 50}):
        yield _flat_in_steps(place, clock, feeds)
    yield Question(
        name="cold_start/import",
        about="importing the package in a fresh process that has imported numpy",
        unit="import",
        units=1,
        ours=engines.fresh_import("scanloom"),
        peers=[Peer(engines.fresh_import("onnxruntime"), 2.0)],
        reference=[],
        reference_name="nothing to check",
    )


def _flat_in_steps(place, clock, feeds):
    more, one = ({"h0": feeds["h0"], "xs": feeds["xs"][:steps]} for steps in (100, 1))
    question = _first_result(place, clock, more, 50, "50_flat", " compiled", None, None)
    one_path = place.build / "cold_feeds_50_one_step.npz"
    np.savez(one_path, **one)
    engine = engines.fresh_process("scanloom compiled", place.build / "cold_50.onnx", one_path, clock)
    one_step = dataclasses.replace(engine, name="one step")
    return dataclasses.replace(question, peers=[Peer(one_step, 1.1, unchecked=True)])


def _first_result(place, clock, feeds, operators, name, how, target, jax_target):
    path = place.build / f"cold_{operators}.onnx"
    wide_body.write(path, operators)
    feeds_path = place.build / f"cold_feeds_{name}.npz"
    np.savez(feeds_path, **feeds)
    peers = [Peer(engines.fresh_process("onnxruntime", path, feeds_path, clock), target)]
    if importlib.util.find_spec("jax") is not None:
        peers.append(Peer(engines.fresh_process("jax", operators, feeds_path, clock), jax_target))
    return Question(
        name=f"cold_start/{name}",
        sizes={"operators": operators},
        about=f"session and first {len(feeds['xs'])} steps of {operators} operators on "
              f"{wide_body.WIDTH} floats, in a fresh process",
        unit="load",
        units=1,
        ours=engines.fresh_process("scanloom" + how, path, feeds_path, clock),
        peers=peers,
        reference=engines.unoptimised_results(path, feeds),
        reference_name="onnxruntime without rewrites",
        tolerance=1e-4,
    )
