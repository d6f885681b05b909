"""Writes adversarial.json: the adversarial objective of one step by PyTorch's autograd in float64.

    python3 adversarial.py > adversarial.json

A last convolution of 3 x 3 taps makes pictures of features, and a PatchGAN judges them. Images are NHWC and kernels HWIO
in the file.
"""
import json

import torch
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
B, SIZE, FEATURES, WIDTH, LAYERS, GROUPS, WEIGHT = 2, 8, 4, 4, 1, 2, 0.7


def rounded(x):
    return torch.round(x * 1e4) / 1e4


class Discriminator:
    """C4 - C8, GroupNorm - 1 channel; 4 x 4 taps with one zero before and two after; slope 0.2."""

    def __init__(self):
        self.parameters, channels = {}, 3
        outs = [WIDTH << i for i in range(LAYERS + 1)] + [1]
        for i, out in enumerate(outs):
            self.parameters[f"conv{i}/weights"] = rounded(torch.randn(out, channels, 4, 4) * (2 / (channels * 16)) ** 0.5)
            self.parameters[f"conv{i}/bias"] = rounded(torch.randn(out) * 0.1)
            if 0 < i < len(outs) - 1:
                self.parameters[f"norm{i}/scale"] = rounded(1 + 0.2 * torch.randn(out))
                self.parameters[f"norm{i}/bias"] = rounded(torch.randn(out) * 0.1)
            channels = out
        self.last = len(outs) - 1
        for p in self.parameters.values():
            p.requires_grad_()

    def __call__(self, x):
        p = self.parameters
        for i in range(self.last + 1):
            stride = 2 if i < LAYERS else 1
            x = F.conv2d(F.pad(x, (1, 2, 1, 2)), p[f"conv{i}/weights"], p[f"conv{i}/bias"], stride)
            if i == self.last:
                return x
            if i > 0:
                x = F.group_norm(x, GROUPS, p[f"norm{i}/scale"], p[f"norm{i}/bias"], 1e-5)
            x = F.leaky_relu(x, 0.2)


features = rounded(torch.randn(B, FEATURES, SIZE, SIZE)).requires_grad_()
last = rounded(torch.randn(3, FEATURES, 3, 3) * 0.3).requires_grad_()
target = rounded(torch.randn(B, 3, SIZE, SIZE))
discriminator = Discriminator()

output = F.conv2d(features, last, padding=1)
restored = F.mse_loss(output, target)
generator = -discriminator(output).mean()
norm = lambda loss: torch.autograd.grad(loss, last, retain_graph=True)[0].norm()
adaptive = (norm(restored) / (norm(generator) + 1e-4)).clamp(0, 1e4).detach()
total = restored + WEIGHT * adaptive * generator
ours = torch.autograd.grad(total, [features, last], retain_graph=True)

real, fake = discriminator(target), discriminator(output.detach())
hinge = 0.5 * (F.relu(1 - real).mean() + F.relu(1 + fake).mean())
names = sorted(discriminator.parameters)
theirs = dict(zip(names, torch.autograd.grad(hinge, [discriminator.parameters[n] for n in names])))


def array(x, permute=None):
    x = x.detach()
    x = x.permute(*permute) if permute else x
    return {"shape": list(x.shape), "data": [float(f"{v:.8g}") for v in x.reshape(-1).tolist()]}


def parameter(name, x):
    return array(x, (2, 3, 1, 0) if name.startswith("conv") and name.endswith("weights") else None)


NHWC, HWIO = (0, 2, 3, 1), (2, 3, 1, 0)
print(json.dumps({
    "weight": WEIGHT, "width": WIDTH, "layers": LAYERS, "groups": GROUPS,
    "features": array(features, NHWC), "last": array(last, HWIO), "target": array(target, NHWC),
    "parameters": {n: parameter(n, p) for n, p in discriminator.parameters.items()},
    "adaptive": float(adaptive), "restored": float(restored), "generator": float(generator), "hinge": float(hinge),
    "total": float(total), "real": float(real.mean()), "drawn": float(fake.mean()),
    "gradients": {
        "features": array(ours[0], NHWC), "last": array(ours[1], HWIO),
        "parameters": {n: parameter(n, g) for n, g in theirs.items()},
    },
}))
