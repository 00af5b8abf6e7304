"""Sums over the labellings of 16 sequences of different lengths: a linear-chain CRF, and CTC."""

from harness import Peer
from peers import LOOPS, optional
from workload import Workload, ask
from workloads import labels

NAMES = ("crf", "ctc")

CRF_STEPS, CTC_STEPS = 500, 300
TARGET, NOT_BEHIND = 0.6, 1.1  # for engines that run the model, for others


def _crf(place):
    feeds = labels.crf_feeds(CRF_STEPS)
    return Workload(
        name="crf",
        sizes={"b": labels.BATCH, "n": labels.CLASSES},
        about=f"normaliser of a linear-chain CRF, {labels.BATCH} rows, {labels.CLASSES} classes",
        steps=CRF_STEPS,
        write=labels.write_crf,
        feeds=feeds,
        reference=lambda: labels.crf_reference(feeds),
        tolerance=1e-5,
        peers=[
            Peer(labels.plain_crf(place, feeds)),
            Peer(labels.plain_crf(place, feeds, fast=True)),
            *optional("jax", "crf", feeds, module=LOOPS, target=NOT_BEHIND),
        ],
        target=TARGET,
    )


def _ctc(place):
    feeds = labels.ctc_feeds(CTC_STEPS)
    return Workload(
        name="ctc",
        sizes={"b": labels.BATCH, "n": labels.PLACES},
        about=f"log-likelihood of up to {labels.MOST_LABELS} labels under CTC, "
        f"{labels.BATCH} rows, {labels.CLASSES} classes",
        steps=CTC_STEPS,
        write=labels.write_ctc,
        feeds=feeds,
        reference=lambda: labels.ctc_reference(feeds),
        tolerance=1e-5,
        peers=[
            Peer(labels.plain_ctc(place, feeds)),
            Peer(labels.plain_ctc(place, feeds, fast=True)),
            *optional("jax", "ctc", feeds, module=LOOPS, target=NOT_BEHIND),
        ],
        target=TARGET,
    )


def questions(place, clock):
    if place.wants("crf"):
        yield from ask(place, _crf(place))
    if place.wants("ctc"):
        yield from ask(place, _ctc(place))
