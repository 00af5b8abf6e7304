"""Networks of torch and torchvision with random weights, for both of torch's exporters. Each entry is
a function that returns the module and its inputs; sizes are those of the architecture's paper, or
small ones for networks that take long."""

import functools

import torch
import torchvision
from torch import nn


def picture(name, size=224, **options):
    """A classifier of torchvision."""
    model = torchvision.models.get_model(name, weights=None, **options)
    return model, (torch.rand(1, 3, size, size),)


class Masks(nn.Module):
    """A network for segmentation, whose dictionary of results is reduced to its masks."""

    def __init__(self, name):
        super().__init__()
        self.inner = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    def forward(self, x):
        return self.inner(x)["out"]


class Recurrent(nn.Module):
    """A recurrent layer between an embedding and a classifier, as in taggers."""

    def __init__(self, kind, layers=2, bidirectional=True):
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.layer = kind(64, 128, layers, bidirectional=bidirectional, batch_first=True)
        self.tags = nn.Linear(128 * (1 + bidirectional), 20)

    def forward(self, words):
        return self.tags(self.layer(self.embedding(words))[0])


class Transformer(nn.Module):
    """torch's own encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Transformer(128, 4, 2, 2, 256, batch_first=True)

    def forward(self, source, target):
        return self.inner(source, target)


class SuperResolution(nn.Module):
    """ESPCN (Shi et al. 2016)."""

    def __init__(self, factor=3):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
            nn.Conv2d(32, factor**2, 3, padding=1), nn.PixelShuffle(factor))

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    """A small U-Net (Ronneberger et al. 2015) with transposed convolutions."""

    def __init__(self, widths=(16, 32, 64)):
        super().__init__()
        block = lambda a, b: nn.Sequential(  # noqa: E731
            nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
            nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.down = nn.ModuleList(block(a, b) for a, b in zip((1, *widths), widths))
        pairs = list(zip(widths[1:], widths))[::-1]
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.join = nn.ModuleList(block(2 * b, b) for a, b in pairs)
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = nn.functional.max_pool2d(x, 2) if len(kept) < len(self.down) else x
        for up, join, side in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), side], 1))
        return self.last(x)


class Denoiser(nn.Module):
    """Causal dilated convolutions and a gated recurrent layer over audio frames, as in networks that
    remove noise."""

    def __init__(self, bands=64):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(bands, bands, 3, dilation=2**i, padding=2 ** (i + 1), groups=bands // 8)
            for i in range(4))
        self.norm = nn.LayerNorm(bands)
        self.layer = nn.GRU(bands, bands, batch_first=True)
        self.mask = nn.Linear(bands, bands)

    def forward(self, x):
        y = x.transpose(1, 2)
        for convolution in self.convolutions:
            y = y + nn.functional.gelu(convolution(y)[..., : y.shape[-1]])
        y, _ = self.layer(self.norm(y.transpose(1, 2)))
        return x * torch.sigmoid(self.mask(y))


def recurrent(kind, **options):
    return Recurrent(kind, **options), (torch.randint(0, 1000, (1, 50)),)


MODELS = {
    **{name: functools.partial(picture, name) for name in (
        "resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x1_0",
        "squeezenet1_1", "densenet121", "regnet_y_400mf", "mnasnet1_0", "convnext_tiny", "swin_t",
        "vit_b_32")},
    "googlenet": functools.partial(picture, "googlenet", aux_logits=False, init_weights=False),
    "inception_v3": functools.partial(
        picture, "inception_v3", 299, aux_logits=False, init_weights=False),
    "lraspp_mobilenet": lambda: (Masks("lraspp_mobilenet_v3_large"),
                                 (torch.rand(1, 3, 224, 224),)),
    "deeplab_mobilenet": lambda: (Masks("deeplabv3_mobilenet_v3_large"),
                                  (torch.rand(1, 3, 224, 224),)),
    "lstm_tagger": functools.partial(recurrent, nn.LSTM),
    "gru_tagger": functools.partial(recurrent, nn.GRU),
    "rnn_tagger": functools.partial(recurrent, nn.RNN, bidirectional=False),
    "transformer": lambda: (Transformer(), (torch.randn(1, 40, 128), torch.randn(1, 20, 128))),
    "super_resolution": lambda: (SuperResolution(), (torch.rand(1, 1, 128, 128),)),
    "unet": lambda: (UNet(), (torch.rand(1, 1, 128, 128),)),
    "denoiser": lambda: (Denoiser(), (torch.randn(1, 200, 64),)),
}


def exported(build, dynamo, path, opset):
    """Writes the model with one of the exporters; returns inputs and torch's results."""
    torch.manual_seed(7)
    torch.backends.mha.set_fastpath_enabled(False)  # its operators have no ONNX form
    model, inputs = build()
    model.eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1 and not weight.any():
                weight.normal_(std=0.02)  # a head of zeros would make all engines agree
        results = model(*inputs)
        names = [f"in{i}" for i in range(len(inputs))]
        torch.onnx.export(model, inputs, str(path), input_names=names, opset_version=opset,
                          dynamo=dynamo, **({"external_data": False} if dynamo else {}))
    results = results if isinstance(results, (tuple, list)) else [results]
    return ({name: x.numpy() for name, x in zip(names, inputs)}, [y.numpy() for y in results])
