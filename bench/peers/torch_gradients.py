"""torch: a training step of its own LSTM layer, forward and backward, one thread."""

import numpy as np
import torch

torch.set_num_threads(1)


def lstm(workload):
    """The gates of workloads/gradients.py are in torch's order: input, forget, cell, output."""
    xs, w, r, bias = workload.arrays
    layer = torch.nn.LSTM(xs.shape[2], workload.width)
    layer.load_state_dict(
        {
            "weight_ih_l0": torch.from_numpy(w.T.copy()),
            "weight_hh_l0": torch.from_numpy(r.T.copy()),
            "bias_ih_l0": torch.from_numpy(bias),
            "bias_hh_l0": torch.zeros(bias.shape),
        }
    )
    given = torch.from_numpy(xs)

    def run():
        layer.zero_grad()
        cost = (layer(given)[0] ** 2).sum()
        cost.backward()
        slopes = [layer.weight_ih_l0.grad.T, layer.weight_hh_l0.grad.T, layer.bias_ih_l0.grad]
        return [np.asarray(x.detach().numpy()) for x in (cost, *slopes)]

    return run
