"""Writes small networks as ONNX files, with the features PyTorch computes.

Run with Debian 12's python3-torch (1.13.1), in this directory:
/usr/bin/python3 export.py. The input is a formula that the Go test repeats.
"""

import json

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """Everything a residual network uses, ending in classes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)  # after a pool, so that it is not folded
        self.dilated = nn.Conv2d(8, 8, 3, padding=2, dilation=2, bias=False)
        self.grouped = nn.Conv2d(8, 12, 3, padding=(1, 0), groups=4)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, stride=2, groups=12)
        self.squeeze = nn.Conv2d(12, 12, 1)
        self.classes = nn.Linear(12, 5)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.norm(F.max_pool2d(x, 3, 2, ceil_mode=True))
        x = x + F.leaky_relu(self.dilated(x), 0.2)
        x = F.avg_pool2d(self.grouped(x), 3, 2, padding=1, ceil_mode=True, count_include_pad=False)
        x = F.relu6(4 * self.depthwise(x))
        x = x * torch.sigmoid(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        x = F.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1), training=self.training)
        return torch.softmax(self.classes(x), dim=1)


class Inception(nn.Module):
    """Branches of oblong kernels, an input that is rescaled by channel, and a view."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3)
        self.oblong = nn.Sequential(
            nn.Conv2d(6, 4, (1, 5), padding=(0, 2)), nn.ReLU(), nn.Conv2d(4, 5, (5, 1), padding=(2, 0)))
        self.single = nn.Conv2d(6, 4, 1)
        self.last = nn.Conv2d(21, 7, 3, stride=2)
        self.matrix = nn.Parameter(torch.randn(7 * 5 * 4, 6))

    def forward(self, x):
        x = torch.cat([x[:, c].unsqueeze(1) * (0.5 + c) - 0.1 * c for c in range(3)], 1)
        x = F.pad(self.stem(x) / 2, (1, 0, 0, 2))
        x = torch.cat([
            self.oblong(x), torch.tanh(self.single(x)),
            F.avg_pool2d(x, 3, 1, padding=1), F.max_pool2d(x, (3, 5), 1, padding=(1, 2))], 1)
        x = F.max_pool2d(self.last(x), 2, 2)
        return x.view(x.size(0), -1) @ self.matrix


def pictures(height, width):
    """[2, 3, height, width] in [-1, 1], from a hash of each element's number."""
    values = []
    for i in range(2 * 3 * height * width):
        i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
        i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
        values.append(((i >> 16 ^ i) % 2049 - 1024) / 1024)
    return torch.tensor(values).reshape(2, 3, height, width)


def pooled(model, x):
    """The input of the Linear layer, which ends after the last pool."""
    kept = []
    handle = model.classes.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    model(x)
    handle.remove()
    return kept[0]


expected = {}
with torch.no_grad():
    for name, build, opset, height, width in [
            ("residual", Residual, 13, 31, 26), ("residual-opset9", Residual, 9, 31, 26), ("inception", Inception, 13, 22, 18)]:
        torch.manual_seed(5)
        model, x = build().eval(), pictures(height, width)
        if hasattr(model, "norm"):
            model.norm.running_mean.normal_()
            model.norm.running_var.uniform_(0.5, 2)
            nn.init.normal_(model.norm.weight)
            nn.init.normal_(model.norm.bias)
        torch.onnx.export(
            model, x, name + ".onnx", opset_version=opset, input_names=["pictures"], output_names=["answer"],
            dynamic_axes={"pictures": {0: "batch"}, "answer": {0: "batch"}})
        entry = {"height": height, "width": width, "answer": model(x).flatten().tolist()}
        if hasattr(model, "classes"):
            entry["pooled"] = pooled(model, x).flatten().tolist()
        expected[name] = entry
with open("expected.json", "w") as out:
    json.dump(expected, out, indent=1)
    out.write("\n")
