"""torch's newer exporter (torch.onnx.export with dynamo=True), and its higher-order loops, which it
writes as Scan, Loop and If. Needs torch, torchvision and onnxscript."""

import torch
from _making import make_all
from _torch_models import MODELS, exported
from torch._higher_order_ops import scan, while_loop


class Filter(torch.nn.Module):
    """A recurrence as torch's scan."""

    def forward(self, state, x):
        return scan(lambda s, row: (0.9 * s + 0.1 * row, s * row), state, x)


class Newton(torch.nn.Module):
    """A square root by while_loop."""

    def forward(self, x):
        def unfinished(y, count):
            return ((y * y - x).abs().max() > 1e-5) & (count < 50)

        root, _ = while_loop(unfinished, lambda y, count: ((y + x / y) / 2, count + 1),
                             (torch.ones_like(x), torch.zeros((), dtype=torch.int64)))
        return root


class Choice(torch.nn.Module):
    """A branch on data."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: a.sin() * 2, lambda a: a.cos() - 1, (x,))


LOOPS = {
    "scan": lambda: (Filter(), (torch.zeros(32), torch.randn(200, 32))),
    "while_loop": lambda: (Newton(), (torch.rand(1000) + 0.5,)),
    "cond": lambda: (Choice(), (torch.randn(64),)),
}

if __name__ == "__main__":
    make_all({name: lambda path, build=build: exported(build, True, path, 18)
              for name, build in (MODELS | LOOPS).items()})
