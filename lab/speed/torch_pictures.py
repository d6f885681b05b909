"""The picture tokenizer's training step in PyTorch on a GPU: the network that
`bench -child pictures-ste` trains with gritvq (256 px, batch 64, widths
64-128-128-256-256, one residual block a stage, d = 256, K = 16384, bf16
activations over float32 weights, Adam, gradient clipping), eager and compiled,
and the nearest of 65,536 codes for 16,384 latents. Prints a JSON line each.

    python3 lab/speed/torch_pictures.py [eager|compile|nearest ...]
"""
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
BATCH, SIZE, DIM, CODES, WIDTHS = 64, 256, 256, 16384, [64, 128, 128, 256, 256]


def norm(channels):
    return nn.GroupNorm(8, channels)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(norm(width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1),
                                  norm(width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


def encoder():
    layers = [nn.Conv2d(3, WIDTHS[0], 3, padding=1)]
    for i, w in enumerate(WIDTHS):
        layers.append(Block(w))
        if i + 1 < len(WIDTHS):
            layers.append(nn.Conv2d(w, WIDTHS[i + 1], 3, stride=2, padding=1))
    return nn.Sequential(*layers, norm(WIDTHS[-1]), nn.SiLU(), nn.Conv2d(WIDTHS[-1], DIM, 1))


def decoder():
    layers = [nn.Conv2d(DIM, WIDTHS[-1], 3, padding=1)]
    for i in range(len(WIDTHS) - 1, -1, -1):
        layers.append(Block(WIDTHS[i]))
        if i > 0:
            layers.append(nn.ConvTranspose2d(WIDTHS[i], WIDTHS[i - 1], 4, stride=2, padding=1))
    return nn.Sequential(*layers, norm(WIDTHS[0]), nn.SiLU(), nn.Conv2d(WIDTHS[0], 3, 3, padding=1))


class Tokenizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = encoder(), decoder()
        self.codes = nn.Parameter(torch.randn(CODES, DIM))

    def forward(self, pixels):
        x = pixels.permute(0, 3, 1, 2).float() / 127.5 - 1
        with torch.autocast("cuda", torch.bfloat16):
            z = self.encoder(x)
        z = z.float().permute(0, 2, 3, 1).reshape(-1, DIM)
        with torch.no_grad():
            index = ((self.codes * self.codes).sum(1) * 0.5 - z @ self.codes.t()).argmin(1)
        hard = F.embedding(index, self.codes)
        loss = F.mse_loss(hard, z.detach()) + 0.25 * F.mse_loss(z, hard.detach())
        quantized = z + (hard - z).detach()
        grid = SIZE // 16
        with torch.autocast("cuda", torch.bfloat16):
            y = self.decoder(quantized.reshape(-1, grid, grid, DIM).permute(0, 3, 1, 2))
        return loss + F.mse_loss(y.float(), x)


def measure(name):
    model = Tokenizer().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=1e-4, fused=True)
    run = torch.compile(model) if name == "compile" else model
    data = torch.randint(0, 256, (256, SIZE, SIZE, 3), dtype=torch.uint8).pin_memory()
    torch.cuda.reset_peak_memory_stats()
    times, begun = [], time.perf_counter()
    first = None
    for i in range(60):
        start = time.perf_counter()
        pixels = data[(i % 4) * BATCH:(i % 4 + 1) * BATCH].cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = run(pixels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        loss.item()
        torch.cuda.synchronize()
        first = first or time.perf_counter() - begun
        times.append(time.perf_counter() - start)
    times = sorted(times[20:])
    print(json.dumps({"peer": "torch " + name, "step_seconds": times[len(times) // 2], "best_seconds": times[len(times) // 10],
                      "first_step_seconds": first, "peak_allocated_gib": torch.cuda.max_memory_allocated() / 2**30,
                      "peak_reserved_gib": torch.cuda.max_memory_reserved() / 2**30, "torch": torch.__version__}), flush=True)


def nearest():
    z, codes = torch.randn(16384, 256, device="cuda"), torch.randn(65536, 256, device="cuda")
    times = []
    for _ in range(30):
        torch.cuda.synchronize()
        start = time.perf_counter()
        ((codes * codes).sum(1) * 0.5 - z @ codes.t()).argmin(1).sum().item()
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"peer": "torch nearest", "seconds": times[len(times) // 2], "best": times[0]}), flush=True)


for what in sys.argv[1:] or ["eager", "compile", "nearest"]:
    nearest() if what == "nearest" else measure(what)
