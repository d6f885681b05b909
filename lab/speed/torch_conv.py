"""Convolutions of image autoencoders in PyTorch, two threads.

A 3 x 3 convolution of 8 images of 64 x 64, 32 -> 64 channels, at strides 1 and
2, with the gradients of image, kernel and bias; and value and gradients of the
64 px autoencoder that `bench` builds from nn.ImageEncoder and nn.ImageDecoder.
Prints one JSON object with the fastest of several runs of each, in seconds.
"""
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(2)
WIDTHS, DIM, GROUPS = [32, 64, 128], 32, 8


def fastest(run, times):
    run()
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def convolution(stride):
    conv = nn.Conv2d(32, 64, 3, stride=stride, padding=1)
    x = torch.randn(8, 32, 64, 64, requires_grad=True)
    adjoint = torch.randn_like(conv(x))

    def run():
        x.grad = None
        conv.zero_grad(set_to_none=True)
        conv(x).backward(adjoint)

    return fastest(run, 20)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(GROUPS, width) for _ in range(2)])
        self.convs = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(2)])

    def forward(self, x):
        h = x
        for norm, conv in zip(self.norms, self.convs):
            h = conv(F.silu(norm(h)))
        return x + h


def autoencoder():
    layers = [nn.Conv2d(3, WIDTHS[0], 3, padding=1)]
    for i, width in enumerate(WIDTHS):
        layers.append(Residual(width))
        if i + 1 < len(WIDTHS):
            layers.append(nn.Conv2d(width, WIDTHS[i + 1], 3, stride=2, padding=1))
    layers += [nn.GroupNorm(GROUPS, WIDTHS[-1]), nn.SiLU(), nn.Conv2d(WIDTHS[-1], DIM, 1)]
    layers.append(nn.Conv2d(DIM, WIDTHS[-1], 3, padding=1))
    for i in reversed(range(len(WIDTHS))):
        layers.append(Residual(WIDTHS[i]))
        if i > 0:
            layers.append(nn.ConvTranspose2d(WIDTHS[i], WIDTHS[i - 1], 4, stride=2, padding=1))
    layers += [nn.GroupNorm(GROUPS, WIDTHS[0]), nn.SiLU(), nn.Conv2d(WIDTHS[0], 3, 3, padding=1)]
    model = nn.Sequential(*layers)
    x = torch.randn(32, 3, 64, 64)

    def run():
        model.zero_grad(set_to_none=True)
        F.mse_loss(model(x), x).backward()

    return fastest(run, 3)


print(json.dumps({"torch": torch.__version__, "stride1": convolution(1), "stride2": convolution(2),
                  "autoencoder": autoencoder()}))
