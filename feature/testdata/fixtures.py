"""Writes expected.json and tiny.onnx: what PyTorch and Pillow compute.

Weights and pictures are formulas that the Go tests repeat, so that only results
are stored. Run with Debian 12's python3-torch (1.13.1), python3-numpy and
python3-pil (9.4.0), in this directory: /usr/bin/python3 fixtures.py
"""

import json

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F


def hashes(start, count):
    """32-bit hashes of count numbers from start on."""
    i = (np.arange(count, dtype=np.uint64) + start) & 0xFFFFFFFF
    for _ in range(2):
        i = (((i >> 16) ^ i) * 0x45D9F3B) & 0xFFFFFFFF
    return (i >> 16) ^ i


def named(name, *shape, low=-1.0):
    """Values between low and 1 that the name decides, small for a large fan-in."""
    seed = 2166136261
    for byte in name.encode():
        seed = ((seed ^ byte) * 16777619) & 0xFFFFFFFF
    unit = (hashes(seed, int(np.prod(shape))) % 4096).astype(np.float64) / 4096
    return torch.tensor((low + (1 - low) * unit).reshape(shape).astype(np.float32))


def conv(x, name, out, size, stride=1, padding=0):
    fan_in = x.shape[1] * size * size
    weight = named(name + ".weight", out, x.shape[1], size, size) * np.float32(2 / np.sqrt(fan_in))
    return F.conv2d(x, weight, named(name + ".bias", out) * np.float32(0.25), stride, padding)


def squeezenet(x):
    def fire(x, index, squeezed, out):
        name = f"features.{index}"
        x = F.relu(conv(x, name + ".squeeze", squeezed, 1))
        return torch.cat([
            F.relu(conv(x, name + ".expand1x1", out // 2, 1)),
            F.relu(conv(x, name + ".expand3x3", out // 2, 3, padding=1))], 1)

    def pool(x):
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    taps = [F.relu(conv(x, "features.0", 64, 3, 2))]
    taps.append(fire(fire(pool(taps[-1]), 3, 16, 128), 4, 16, 128))
    taps.append(fire(fire(pool(taps[-1]), 6, 32, 256), 7, 32, 256))
    taps.append(fire(pool(taps[-1]), 9, 48, 384))
    taps.append(fire(taps[-1], 10, 48, 384))
    taps.append(fire(taps[-1], 11, 64, 512))
    taps.append(fire(taps[-1], 12, 64, 512))
    return taps


def alexnet(x):
    taps = [F.relu(conv(x, "features.0", 64, 11, 4, 2))]
    taps.append(F.relu(conv(F.max_pool2d(taps[-1], 3, 2), "features.3", 192, 5, 1, 2)))
    taps.append(F.relu(conv(F.max_pool2d(taps[-1], 3, 2), "features.6", 384, 3, 1, 1)))
    taps.append(F.relu(conv(taps[-1], "features.8", 256, 3, 1, 1)))
    taps.append(F.relu(conv(taps[-1], "features.10", 256, 3, 1, 1)))
    return taps


def vgg16(x):
    taps = []
    for out, indices in [(64, [0, 2]), (128, [5, 7]), (256, [10, 12, 14]), (512, [17, 19, 21]), (512, [24, 26, 28])]:
        if taps:
            x = F.max_pool2d(x, 2)
        for index in indices:
            x = F.relu(conv(x, f"features.{index}", out, 3, 1, 1))
        taps.append(x)
    return taps


def lpips(network, a, b):
    shift = torch.tensor([-0.030, -0.088, -0.188]).reshape(1, 3, 1, 1)
    scale = torch.tensor([0.458, 0.448, 0.450]).reshape(1, 3, 1, 1)
    first, second = (network((2 * x - 1 - shift) / scale) for x in (a, b))
    total = 0
    for i, (x, y) in enumerate(zip(first, second)):
        x, y = (t / (t.pow(2).sum(1, keepdim=True).sqrt() + 1e-10) for t in (x, y))
        head = named(f"lin{i}.weight", 1, x.shape[1], 1, 1, low=0.0)
        total = total + F.conv2d((x - y).pow(2), head).mean((1, 2, 3))
    return total.tolist()


def mobilenet(x):
    """MobileNetV2 of a sixteenth of the usual width, kernels stored channels last."""
    def conv_last(x, name, out, size, stride=1, groups=1):
        inputs = x.shape[1] // groups
        weight = named(name + ".weight", size, size, inputs, out) * np.float32(2 / np.sqrt(inputs * size * size))
        total = [max(0, (-(-n // stride) - 1) * stride + size - n) for n in x.shape[2:]]
        x = F.pad(x, (total[1] // 2, total[1] - total[1] // 2, total[0] // 2, total[0] - total[0] // 2))
        return F.conv2d(x, weight.permute(3, 2, 0, 1), named(name + ".bias", out) * np.float32(0.25), stride, groups=groups)

    x = F.relu6(conv_last(2 * x - 1, "stem", 4, 3, 2))
    outputs = [2] + [3] * 2 + [4] * 3 + [5] * 4 + [6] * 3 + [7] * 3 + [8]
    for i, out in enumerate(outputs):
        y, name = x, f"block.{i:02d}"
        if i > 0:
            y = F.relu6(conv_last(y, name + ".expand", 3 * x.shape[1], 1))
        y = F.relu6(conv_last(y, name + ".depthwise", y.shape[1], 3, 2 if i in (1, 3, 6, 13) else 1, y.shape[1]))
        y = conv_last(y, name + ".project", out, 1)
        x = x + y if y.shape == x.shape else y
    return F.relu6(conv_last(x, "head", 16, 1)).mean((2, 3)).flatten().tolist()


def pictures(seed, count, height, width):
    """[count, 3, height, width] of eighths of a smooth pattern and hashes."""
    pixels = hashes(seed, count * height * width * 3).reshape(count, height, width, 3) % 128
    y, x = np.arange(height).reshape(1, -1, 1, 1), np.arange(width).reshape(1, 1, -1, 1)
    pixels = (pixels + (3 * x + 5 * y) % 128).astype(np.uint8)
    return pixels


def as_input(pixels):
    return torch.tensor(pixels.astype(np.float32) / 255).permute(0, 3, 1, 2)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2)

    def forward(self, x):
        return F.adaptive_avg_pool2d(F.relu(self.conv(x)), 1).flatten(1)


expected = {}
with torch.no_grad():
    for name, network in [("SqueezeNet", squeezenet), ("AlexNet", alexnet), ("VGG16", vgg16)]:
        a, b = as_input(pictures(1, 2, 48, 41)), as_input(pictures(7919, 2, 48, 41))
        expected[name] = lpips(network, a, b)
    expected["MobileNetV2"] = mobilenet(as_input(pictures(1, 2, 50, 33)))

    torch.manual_seed(3)
    tiny = Tiny()
    torch.onnx.export(
        tiny, torch.zeros(2, 3, 16, 16), "tiny.onnx", opset_version=13, input_names=["pictures"], output_names=["features"],
        dynamic_axes={"pictures": {0: "batch", 2: "height", 3: "width"}, "features": {0: "batch"}})
    x = as_input(pictures(1, 11, 16, 16))
    mean = torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)
    expected["tiny"] = tiny((x - mean) / std).flatten().tolist()

for size, to in [(20, 32), (50, 32), (33, 20)]:
    pixels = pictures(1, 1, size, size)[0].astype(np.float32) / 255
    channels = [np.asarray(Image.fromarray(pixels[:, :, c], mode="F").resize((to, to), Image.BILINEAR)) for c in range(3)]
    resized = np.stack(channels, -1).flatten()
    expected[f"resize {size} to {to}"] = [round(float(v), 6) for v in resized[::97]]

with open("expected.json", "w") as out:
    json.dump(expected, out, indent=1)
    out.write("\n")
