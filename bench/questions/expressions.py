"""Programs of expressions: from the first line to the first result in a new process, compared with
JAX; and a Hessian that is already compiled."""

import importlib.util

import engines
from harness import Engine, Peer, Question
from peers import optional
from workloads import expressions

NAMES = ("expressions",)

BESIDE_JAX_COLD, BESIDE_JAX_HESSIAN = 0.5, 1.0


def questions(place, clock):
    for program, about in (
        ("rnn", "the recurrent network of Theano's page on scan"),
        ("gradient", f"the gradient of a loop over {expressions.OPERATORS} element-wise operators"),
    ):
        peers = []
        if importlib.util.find_spec("jax") is not None:
            peers.append(Peer(engines.fresh_expression("jax", program, clock), BESIDE_JAX_COLD))
        yield Question(
            name=f"expressions/cold_{program}",
            about=f"building, compiling and first run of {about}, in a fresh process",
            unit="program",
            units=1,
            ours=engines.fresh_expression("scanloom", program, clock),
            peers=peers,
            reference=getattr(expressions, f"{program}_reference")(),
            tolerance=1e-9,
        )
    if not place.wants("expressions/hessian"):
        return
    yield Question(
        name="expressions/hessian",
        about=f"the Hessian of {expressions.HESSIAN_STEPS} steps in {expressions.HESSIAN_UNITS**2} weights",
        unit="call",
        units=1,
        ours=Engine("scanloom", expressions.hessian()),
        peers=optional("jax", "hessian", module="jax_expressions", target=BESIDE_JAX_HESSIAN),
        reference=expressions.hessian_reference(),
        tolerance=1e-6,
    )
