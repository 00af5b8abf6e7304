"""Peers other than onnxruntime, which are used only if installed: `make bench-peers`. oneDNN is a
Debian library; the others are Python packages.

Each module holds one peer. For each workload it has a function that takes the feeds and returns a
function without arguments, which returns the results as arrays."""

import importlib
import importlib.metadata
import importlib.util

from harness import Engine, Peer
from peers import onednn_products

SCANS = "pytensor_scans"  # PyTensor's loops; the default module is pytensor_gradients
LOOPS = "jax_loops"  # more loops in JAX

MODULES = {
    "jax": "jax_scan",
    "numba": "numba_loops",
    "onednn": "onednn_products",
    "openvino": "openvino_model",
    "pytensor": "pytensor_gradients",
    "scipy": "scipy_signal",
    "torch": "torch_operators",
}


def absent() -> list[str]:
    """The packages that are not installed."""
    return [name for name in MODULES if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    if name == "onednn":
        return onednn_products.is_installed()
    return importlib.util.find_spec(name) is not None


def versions() -> dict[str, str]:
    present = [name for name in MODULES if _is_installed(name)]
    return {name: _version(name) for name in present}


def _version(name: str) -> str:
    return onednn_products.version() if name == "onednn" else importlib.metadata.version(name)


def optional(
    package: str, function: str, *arguments, target=None, name=None, module=None
) -> list[Peer]:
    """A list with the peer; empty if its package is missing. The peer is made on its first run."""
    if not _is_installed(package):
        return []
    made = []

    def run():
        if not made:
            holder = importlib.import_module(f"peers.{module or MODULES[package]}")
            made.append(getattr(holder, function)(*arguments))
        return made[0]()

    return [Peer(Engine(name or package, run), target, optional=True)]
