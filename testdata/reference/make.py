#!/usr/bin/env python3
"""Writes the reference values that vq/reference_test.go compares with.

Every quantizer is written here once more, in float64 PyTorch, straight from its
published formula: the assignment by brute force, stop-gradients by detach(),
gradients by PyTorch's autograd. Nothing is shared with the Go code.

    /usr/bin/python3 testdata/reference/make.py    # rewrites the JSON files beside it

A fixture holds the inputs, the outputs (chosen codes, hard and soft vectors, the
method's own loss, new running averages) and the gradients of
sum(weight * soft) + loss with respect to the inputs named in "gradients".
"""

import json
import math
import pathlib
import re

import torch

torch.set_default_dtype(torch.float64)

ROWS, DIM, CODES = 9, 4, 6
BETA = 0.25


def normal(seed, *shape, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    # Values that float32 holds exactly, so that both sides start from the same numbers.
    return (scale * torch.randn(*shape, generator=generator)).float().double()


def leaf(tensor):
    return tensor.clone().requires_grad_(True)


def nearest(z, codes):
    """Index of the closest code by the definition of the distance."""
    return ((z[:, None, :] - codes[None, :, :]) ** 2).sum(-1).argmin(1).detach()


def mse(a, b):
    return ((a - b) ** 2).mean()


def straight_through(z, hard):
    return z + (hard - z).detach()


def vq_loss(z, hard):
    """Codebook term plus beta times the encoder's (commitment) term."""
    return mse(hard, z.detach()) + BETA * mse(z, hard.detach())


def array(tensor):
    values = tensor.detach().reshape(-1).tolist()
    return {"shape": list(tensor.shape), "data": [float(f"{v:.12g}") for v in values]}


def write(name, settings, inputs, outputs, gradients, weight, soft, loss):
    (weight * soft).sum().add(loss).backward()
    fixture = {
        "method": name,
        "settings": settings,
        "inputs": {k: array(v) for k, v in {**inputs, "weight": weight}.items()},
        "outputs": {k: array(v) for k, v in {**outputs, "soft": soft, "loss": loss}.items()},
        "gradients": {k: array(inputs[k].grad) for k in gradients},
    }
    path = pathlib.Path(__file__).parent / f"{name}.json"
    # One array a line: small diffs, readable files.
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m.group().split()), json.dumps(fixture, indent=1))
    path.write_text(text + "\n")


def ste():
    z, codes = leaf(normal(1, ROWS, DIM)), leaf(normal(2, CODES, DIM))
    index = nearest(z, codes)
    hard = codes[index]
    write("ste", {"beta": BETA}, {"z": z, "codes": codes}, {"index": index, "hard": hard},
          ["z", "codes"], normal(3, ROWS, DIM), straight_through(z, hard), vq_loss(z, hard))


def ema():
    decay, epsilon = 0.99, 1e-5
    z, codes = leaf(normal(4, ROWS, DIM)), normal(5, CODES, DIM)
    counts = normal(6, CODES).abs() + 1
    sums = codes * counts[:, None]
    index = nearest(z, codes)
    hard = codes[index]
    chosen = torch.nn.functional.one_hot(index, CODES).double()
    new_counts = decay * counts + (1 - decay) * chosen.sum(0)
    new_sums = decay * sums + (1 - decay) * chosen.T @ z.detach()
    total = new_counts.sum()
    smooth = (new_counts + epsilon) / (total + CODES * epsilon) * total
    write("ema", {"beta": BETA, "decay": decay, "epsilon": epsilon},
          {"z": z, "codes": codes, "counts": counts, "sums": sums},
          {"index": index, "hard": hard, "new_counts": new_counts, "new_sums": new_sums, "new_codes": new_sums / smooth[:, None]},
          ["z"], normal(7, ROWS, DIM), straight_through(z, hard), BETA * mse(z, hard.detach()))


def simvq():
    z, codes = leaf(normal(8, ROWS, DIM)), normal(9, CODES, DIM, scale=DIM**-0.5)
    linear, bias = leaf(torch.eye(DIM) + normal(10, DIM, DIM, scale=0.3)), leaf(normal(11, DIM, scale=0.1))
    usable = codes @ linear.T + bias
    index = nearest(z, usable)
    hard = usable[index]
    write("simvq", {"beta": BETA}, {"z": z, "codes": codes, "linear": linear, "bias": bias},
          {"index": index, "hard": hard, "usable": usable},
          ["z", "linear", "bias"], normal(12, ROWS, DIM), straight_through(z, hard), vq_loss(z, hard))


def fsq():
    grid, epsilon = [8, 5, 6], 1e-3
    z = leaf(normal(13, ROWS, len(grid), scale=1.5))
    columns = []
    for i, levels in enumerate(grid):
        half = (levels - 1) * (1 + epsilon) / 2
        offset = 0.5 if levels % 2 == 0 else 0.0
        shift = math.atanh(offset / half)
        bounded = torch.tanh(z[:, i] + shift) * half - offset
        rounded = bounded + (bounded.round() - bounded).detach()
        columns.append(rounded / (levels // 2))
    soft = torch.stack(columns, 1)
    write("fsq", {"grid": grid}, {"z": z}, {"hard": soft}, ["z"], normal(14, ROWS, len(grid)), soft, torch.zeros(()))


def lfq():
    # A temperature at which every code has some probability, so that the
    # entropies and their gradients are not all zero.
    temperature, weight = 2.0, 0.1
    z = leaf(normal(15, ROWS, DIM))
    hard = torch.where(z > 0, 1.0, -1.0)
    table = torch.tensor([[1.0 if code >> i & 1 else -1.0 for i in range(DIM)] for code in range(2**DIM)])
    p = torch.softmax(-((z[:, None, :] - table) ** 2).sum(-1) / temperature, 1)
    mean = p.mean(0)
    entropy = -(p * p.log()).sum(1).mean() + (mean * mean.log()).sum()
    loss = weight * entropy + BETA * mse(z, hard.detach())
    write("lfq", {"beta": BETA, "temperature": temperature, "weight": weight}, {"z": z}, {"hard": hard}, ["z"],
          normal(16, ROWS, DIM), straight_through(z, hard), loss)


def rotation():
    z, codes = leaf(normal(17, ROWS, DIM)), leaf(normal(18, CODES, DIM))
    index = nearest(z, codes)
    hard = codes[index]
    u, q = z / z.norm(dim=1, keepdim=True), hard / hard.norm(dim=1, keepdim=True)
    w = (u + q) / (u + q).norm(dim=1, keepdim=True)
    scale = (hard.norm(dim=1) / z.norm(dim=1))[:, None, None]
    outer = lambda a, b: a[:, :, None] * b[:, None, :]
    matrix = scale * (torch.eye(DIM) - 2 * outer(w, w) + 2 * outer(q, u))
    soft = (matrix.detach() @ z[:, :, None])[:, :, 0]
    write("rotation", {"beta": BETA}, {"z": z, "codes": codes}, {"index": index, "hard": hard},
          ["z", "codes"], normal(19, ROWS, DIM), soft, vq_loss(z, hard))


def diveq():
    sigma = 0.2  # large enough to be seen in every digit
    z, codes, noise = leaf(normal(20, ROWS, DIM)), leaf(normal(21, CODES, DIM)), normal(22, ROWS, DIM)
    index = nearest(z, codes)
    hard = codes[index]
    direction = (sigma * noise + hard - z).detach()
    unit = direction / direction.norm(dim=1, keepdim=True)
    soft = z + (hard - z).norm(dim=1, keepdim=True) * unit
    write("diveq", {"sigma": sigma}, {"z": z, "codes": codes, "noise": noise}, {"index": index, "hard": hard},
          ["z", "codes"], normal(23, ROWS, DIM), soft, torch.zeros(()))


for quantizer in (ste, ema, simvq, fsq, lfq, rotation, diveq):
    quantizer()
