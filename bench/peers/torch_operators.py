"""torch: its own recurrent layers, cumulative sum and products."""

import numpy as np
import torch

from peers import settings
from workloads import cells

torch.set_num_threads(settings.threads)

# ONNX's gates in torch's order: LSTM input forget cell output, GRU reset update candidate.
GATES = {"lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
LAYERS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


def cumsum(feeds):
    xs = torch.from_numpy(feeds["xs"])
    return lambda: [torch.cumsum(xs, 0).numpy()]


def _in_order(kind, array):
    """Reorders the gates to torch's order and transposes [..][gate] to [gate][..]."""
    parts = np.split(array, cells.GATES[kind], axis=-1)
    return torch.from_numpy(np.concatenate([parts[i] for i in GATES[kind]], axis=-1).T.copy())


def cell(cell, feeds):
    layer = LAYERS[cell.kind](cell.width, cell.width)
    weights = {name: _in_order(cell.kind, array) for name, array in cells.weights(cell).items()}
    layer.load_state_dict(
        {
            "weight_ih_l0": weights["w"],
            "weight_hh_l0": weights["r"],
            "bias_ih_l0": weights["w_bias"],
            "bias_hh_l0": weights["r_bias"],
        }
    )
    xs = torch.from_numpy(feeds["xs"])

    def run():
        with torch.inference_mode():
            rows, lasts = layer(xs)
        return [x.numpy() for x in (rows, *(lasts if cell.kind == "lstm" else [lasts]))]

    return run


def product(left, right):
    factors = torch.from_numpy(left), torch.from_numpy(right)
    return lambda: [(factors[0] @ factors[1]).numpy()]
