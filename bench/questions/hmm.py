"""W5: hidden Markov models with 64 states: the forward pass and the most probable path."""

import functools

from harness import Peer
from peers import SCANS, optional
from workload import Workload, ask
from workloads import hmm

NAMES = ("hmm_forward", "viterbi")

STEPS = 10_000
FORWARD_TARGET, VITERBI_TARGET = 0.6, 0.7


def _forward(place, feeds, name, in_primitives):
    return Workload(
        name=name,
        sizes={"n": hmm.STATES},
        about=f"forward pass of {hmm.STATES} states, log-sum-exp",
        steps=STEPS,
        write=functools.partial(hmm.write_forward, in_primitives=in_primitives),
        feeds=feeds,
        reference=lambda: hmm.forward_reference(feeds),
        tolerance=1e-5,
        peers=[
            Peer(hmm.plain_forward(place, feeds)),
            Peer(hmm.plain_forward(place, feeds, fast=True)),
            *optional("jax", "hmm_forward", feeds, target=FORWARD_TARGET),
            *optional("pytensor", "hmm_forward", feeds, module=SCANS, target=FORWARD_TARGET),
        ],
        target=FORWARD_TARGET,
    )


def _viterbi(place, feeds):
    return Workload(
        name="viterbi",
        sizes={"n": hmm.STATES},
        about=f"most probable path through {hmm.STATES} states, with back-pointers",
        steps=STEPS,
        write=hmm.write_viterbi,
        feeds=feeds,
        reference=lambda: hmm.viterbi_reference(feeds),
        tolerance=0,
        peers=[
            Peer(hmm.plain_viterbi(place, feeds)),
            Peer(hmm.plain_viterbi(place, feeds, fast=True)),
            *optional("jax", "viterbi", feeds, target=VITERBI_TARGET),
            *optional("numba", "viterbi", feeds, target=VITERBI_TARGET),
            *optional("pytensor", "viterbi", feeds, module=SCANS, target=VITERBI_TARGET),
        ],
        target=VITERBI_TARGET,
    )


def questions(place, clock):
    feeds = hmm.feeds(STEPS)
    yield from ask(place, _forward(place, feeds, "hmm_forward/operator", in_primitives=False))
    yield from ask(place, _forward(place, feeds, "hmm_forward/primitives", in_primitives=True))
    yield from ask(place, _viterbi(place, feeds))
