"""One training step of the 4 x 256 residual tokenizer in PyTorch, two threads.

MLP 768-512-256-128-32 with ReLU and its mirror, batch 1024, Adagrad, RQ-VAE
losses, one straight-through estimator over the sum of the levels: the model
that `bench` trains with gritvq. Prints one JSON object with the median step.
"""
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(2)
BATCH, INPUT, DIM, CODES, LEVELS, STEPS = 1024, 768, 32, 256, 4, 30


def mlp(widths):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(widths) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


widths = [INPUT, 512, 256, 128, DIM]
encoder, decoder = mlp(widths), mlp(widths[::-1])
books = nn.ParameterList([nn.Parameter(torch.randn(CODES, DIM) * 0.1) for _ in range(LEVELS)])
params = list(encoder.parameters()) + list(decoder.parameters()) + list(books)
optimizer = torch.optim.Adagrad(params, lr=1e-3)
data = torch.randn(16 * BATCH, INPUT)


def step(x):
    z = encoder(x)
    rest, total, loss = z, 0, 0
    for book in books:
        with torch.no_grad():
            score = (book * book).sum(1) * 0.5 - rest @ book.t()
            index = score.argmin(1)
        hard = F.embedding(index, book)
        loss = loss + F.mse_loss(hard, rest.detach()) + 0.25 * F.mse_loss(rest, hard.detach())
        total = total + hard
        rest = rest - hard.detach()
    quantized = z + (total - z).detach()
    loss = loss + F.mse_loss(decoder(quantized), x)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()


times = []
for i in range(STEPS + 5):
    x = data[(i % 16) * BATCH:(i % 16 + 1) * BATCH]
    start = time.perf_counter()
    step(x)
    times.append(time.perf_counter() - start)
times = sorted(times[5:])
print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(),
                  "step_seconds": times[len(times) // 2], "step_seconds_best": times[0]}))
