"""torch's exporter that traces (torch.onnx.export with dynamo=False), and scripted loops, which it
writes as Loop and If. Needs torch and torchvision."""

import torch
from _making import make_all
from _torch_models import MODELS, exported


@torch.jit.script
def collatz(x: torch.Tensor) -> torch.Tensor:
    steps = torch.zeros_like(x)
    while bool((x > 1).any()):
        odd = torch.remainder(x, 2) == 1
        following = torch.where(odd, 3 * x + 1, torch.div(x, 2, rounding_mode="floor"))
        steps = steps + (x > 1).to(x.dtype)
        x = torch.where(x > 1, following, x)
    return steps


@torch.jit.script
def moving_average(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    state = x[0]
    rows: list[torch.Tensor] = []
    for i in range(x.size(0)):
        state = decay * state + (1 - decay) * x[i]
        rows.append(state)
    return torch.stack(rows)


class GreedyDecoder(torch.nn.Module):
    """A scripted loop around a recurrent cell that stops at a token."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 32)
        self.cell = torch.nn.Linear(32 + 64, 64)
        self.words = torch.nn.Linear(64, 50)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        word = torch.zeros(1, dtype=torch.long)
        out = word
        for _ in range(40):
            state = torch.tanh(self.cell(torch.cat([self.embedding(word), state], 1)))
            word = self.words(state).argmax(1)
            out = torch.cat([out, word])
            if bool(word[0] == 49):
                break
        return out


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


SCRIPTED = {
    "collatz": lambda: (Calls(collatz), (torch.arange(1, 65),)),
    "moving_average": lambda: (Calls(moving_average), (torch.randn(300, 16), torch.tensor(0.9))),
    "greedy_decoder": lambda: (torch.jit.script(GreedyDecoder()), (torch.randn(1, 64),)),
}

if __name__ == "__main__":
    make_all({name: lambda path, build=build: exported(build, False, path, 17)
              for name, build in (MODELS | SCRIPTED).items()})
