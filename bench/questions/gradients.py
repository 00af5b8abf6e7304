"""W1g, W3g, W4g: values and gradients of scans in one call, compared with the values alone, JAX,
PyTensor (Numba) and, for the layer, torch; and of the heat equation within a memory budget."""

from harness import Peer, Question
from peers import optional
from workloads import gradients

NAMES = ("gradients",)

BESIDE_PYTENSOR, BESIDE_TORCH = 0.2, 1.1
# name: (workload, sizes, steps, tolerance, target for the values alone, target for JAX)
WORKLOADS = {
    "affine": (lambda: gradients.Affine(100_000), {"n": 1}, 100_000, 1e-4, 2.5, 0.6),
    "garch": (lambda: gradients.Garch(20_000), {"n": 1}, 20_000, 1e-9, 2.5, 0.6),
    "lstm_b32_h128": (
        lambda: gradients.Lstm(100, 32, 128), {"b": 32, "h": 128}, 100, 1e-3, 3.5, 1.1,
    ),
    "heat": (lambda: gradients.Heat(500, 128), {"n": 128}, 500, 1e-4, 5, 1.1),
}


def _others(kind, workload):
    """PyTensor, except for the heat equation, whose states it would all keep; torch for the
    layer."""
    found = []
    if kind != "heat":
        found += optional("pytensor", kind, workload, target=BESIDE_PYTENSOR)
    if kind == "lstm":
        found += optional("torch", kind, workload, module="torch_gradients", target=BESIDE_TORCH)
    return found


def questions(place, clock):
    for name, (make, sizes, steps, tolerance, beside_values, beside_jax) in WORKLOADS.items():
        if not place.wants(f"gradients/{name}", sizes):
            continue
        workload = make()
        ours, forward = workload.engines()
        kind = name.split("_")[0]
        yield Question(
            name=f"gradients/{name}",
            sizes=sizes,
            about=f"value and gradients, {steps} steps",
            unit="step",
            units=steps,
            ours=ours,
            peers=[
                Peer(forward, beside_values, unchecked=True),
                *optional("jax", kind, workload, module="jax_gradients", target=beside_jax),
                *_others(kind, workload),
            ],
            reference=workload.reference(),
            tolerance=tolerance,
        )
