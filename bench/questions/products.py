"""Products of float32 matrices outside of loops, such as input projections hoisted out of loops and
the steps of a batch. The target is 85 percent of oneDNN's rate."""

import functools

from harness import Engine, Peer
from peers import optional
from workload import Workload, ask
from workloads import products

NAMES = ("products",)
# (m, k, n); a single row is memory-bound and has no target.
SIZES = ((1, 1024, 256), (16, 1024, 256), (128, 128, 128), (256, 256, 256), (1024, 1024, 1024))
TARGET = 1 / 0.85


def _workload(m, k, n, is_constant):
    left, right = products.factors(m, k, n)
    where = "constant" if is_constant else "fed"
    return Workload(
        name=f"products/{m}x{k}x{n}/{where}",
        about=f"a product, {2e-6 * m * k * n:.3g} million operations, the right factor {where}",
        steps=1,
        unit="run",
        write=functools.partial(products.write, m=m, k=k, n=n, is_constant=is_constant),
        feeds=products.feeds(m, k, n, is_constant),
        reference=functools.partial(products.reference, m, k, n),
        tolerance=1e-5,
        peers=[
            Peer(Engine("numpy", lambda: [left @ right])),
            *optional("onednn", "product", left, right, target=TARGET if m > 1 else None),
            *optional("torch", "product", left, right),
        ],
        sizes={"m": m, "k": k, "n": n},
    )


def questions(place, clock):
    known = [dict(zip("mkn", size)) for size in SIZES]
    further = place.further_sizes(known, {"m": None, "k": None, "n": None})
    for sizes in [*known, *further]:
        for is_constant in (True, False):
            if place.wants("products", sizes):
                yield from ask(place, _workload(**sizes, is_constant=is_constant))
