"""Writes sasrec.json: losses and scores of a small SASRec in PyTorch, float64.

    python sasrec.py > sasrec.json
"""
import json
import math
import torch
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
ITEMS, WIDTH, HEADS, HIDDEN, LAYERS, LENGTH, ROOM = 9, 4, 2, 6, 2, 6, 5
shapes = {"items/table": (ITEMS, WIDTH), "tower/positions/table": (LENGTH, WIDTH)}
for i in range(LAYERS):
    for part in ("query", "key", "value", "output"):
        shapes[f"tower/layer{i}/self/{part}"] = (WIDTH, WIDTH)
    shapes[f"tower/layer{i}/feed/up"] = (WIDTH, HIDDEN)
    shapes[f"tower/layer{i}/feed/down"] = (HIDDEN, WIDTH)
    for norm in (f"tower/layer{i}/self_norm", f"tower/layer{i}/feed_norm"):
        shapes[norm + "/scale"] = shapes[norm + "/bias"] = (WIDTH,)
shapes["tower/norm/scale"] = shapes["tower/norm/bias"] = (WIDTH,)
variables = {path: torch.round(torch.randn(shape) * 500) / 1000 for path, shape in shapes.items()}


def norm(path, x):
    return F.layer_norm(x, (WIDTH,), variables[path + "/scale"], variables[path + "/bias"], 1e-6)


def attention(path, x):
    count, size = x.shape[0], WIDTH // HEADS
    heads = lambda name: (x @ variables[f"{path}/{name}"]).view(count, HEADS, size).transpose(0, 1)
    weights = heads("query") @ heads("key").transpose(1, 2) / math.sqrt(size)
    later = torch.triu(torch.ones(count, count, dtype=torch.bool), 1)
    mixed = torch.softmax(weights.masked_fill(later, -math.inf), -1) @ heads("value")
    return mixed.transpose(0, 1).reshape(count, WIDTH) @ variables[f"{path}/output"]


def hidden(history):
    x = (variables["items/table"][history] + variables["tower/positions/table"][: len(history)]) * math.sqrt(WIDTH)
    for i in range(LAYERS):
        x = x + attention(f"tower/layer{i}/self", norm(f"tower/layer{i}/self_norm", x))
        up = F.relu(norm(f"tower/layer{i}/feed_norm", x) @ variables[f"tower/layer{i}/feed/up"])
        x = x + up @ variables[f"tower/layer{i}/feed/down"]
    return norm("tower/norm", x)


users = [[1, 4, 2, 8], [7, 0, 3, 3, 5, 6, 2, 4], [6, 5]]
softmax, binary, scores = [], [], []
for user in users:
    history, following = user[:-1][-ROOM:], user[1:][-ROOM:]
    logits = hidden(history) @ variables["items/table"].T
    following = torch.tensor(following)
    softmax += F.cross_entropy(logits, following, reduction="none").tolist()
    own, other = logits.gather(1, following[:, None]), logits.gather(1, (following[:, None] + 1) % ITEMS)
    binary += (F.softplus(-own) + F.softplus(other))[:, 0].tolist()
    scores.append(logits[-1].tolist())
print(json.dumps({
    "items": ITEMS, "width": WIDTH, "heads": HEADS, "hidden": HIDDEN, "layers": LAYERS, "length": LENGTH, "room": ROOM, "users": users,
    "softmax": sum(softmax) / len(softmax), "binary": sum(binary) / len(binary),
    "scores": [[round(x, 9) for x in row] for row in scores],
    "variables": {path: x.flatten().tolist() for path, x in variables.items()},
}))
