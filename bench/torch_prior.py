"""Times the PyTorch rival of a prior over codes and prints one JSON object.

    python3 torch_prior.py --layers 12 --width 512 --heads 8 --codes 512 --batch 64 --sample 64

The model is that of task/prior/gpt: pre-norm blocks, learned positions, GELU, an untied head. Training is AdamW with decay
on matrices only and a bound on the gradient's norm. On a GPU: bf16, torch.compile of the model with its loss, fused AdamW,
and sampling with static caches in which a whole decoding step, drawing included, is a CUDA graph captured by hand; a graph
for every quarter of the tokens keeps attention away from places that are still empty. The step is tried as it is and
compiled, with fused and with plain attention, and the fastest counts. On a CPU: float32, eager, caches of fixed size of
which attention reads the filled part. What PyTorch's version lacks is replaced by plain operations; "engine" names what ran.
"""
import argparse
import contextlib
import json
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SEGMENTS = 4  # of the cache on a GPU
fused_attention = getattr(F, "scaled_dot_product_attention", None)


def attention(q, k, v, causal=False, mask=None, fused=True):
    if fused and fused_attention is not None:
        return fused_attention(q, k, v, attn_mask=mask, is_causal=causal)
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1))
    if causal:
        scores = scores + torch.full((q.shape[2], k.shape[2]), float("-inf"), device=q.device).triu(1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.matmul(torch.softmax(scores, -1), v)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        b, t, w = x.shape
        return self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)

    def finish(self, x, y):
        b, t, w = x.shape
        x = x + self.out(y.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    def forward(self, x):
        q, k, v = self.split(x)
        return self.finish(x, attention(q, k, v, causal=True))

    def step(self, x, keys, values, position, filled, mask, fused):
        """x [B, 1, W]; keys and values [B, H, T, D], of which the first `filled` places are read."""
        q, k, v = self.split(x)
        keys.index_copy_(2, position, k)
        values.index_copy_(2, position, v)
        return self.finish(x, attention(q, keys[:, :, :filled], values[:, :, :filled], mask=mask, fused=fused))


class Prior(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.start = o.codes
        self.embed, self.places = nn.Embedding(o.codes + 1, o.width), nn.Embedding(o.tokens, o.width)
        self.blocks = nn.ModuleList(Block(o.width, o.heads) for _ in range(o.layers))
        self.norm, self.head = nn.LayerNorm(o.width), nn.Linear(o.width, o.codes, bias=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, x, codes):
        """The mean cross-entropy of codes [B, T], each given the tokens x [B, T] up to its place."""
        h = self.embed(x) + self.places.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.norm(h)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), codes.reshape(-1))

    def step(self, x, position, caches, filled, mask, fused):
        """The logits [B, K] after codes x [B] at a position [1], whose keys and values are added to the caches."""
        h = self.embed(x)[:, None] + self.places(position)
        for block, (keys, values) in zip(self.blocks, caches):
            h = block.step(h, keys, values, position, filled, mask, fused)
        return self.head(self.norm(h))[:, 0]


def refuse_reference_blas():
    """Debian's PyTorch uses the reference BLAS where no other is installed, and is then many times slower."""
    try:
        with open("/proc/self/maps") as maps:
            loaded = maps.read()
    except OSError:
        return
    if "/blas/libblas" in loaded:
        raise SystemExit("PyTorch multiplies matrices with the reference BLAS; install OpenBLAS: apt-get install libopenblas0-pthread")


class Rival:
    def __init__(self, o):
        self.o, self.cuda = o, torch.cuda.is_available() and not o.cpu
        if not self.cuda:
            refuse_reference_blas()
        self.device = torch.device("cuda" if self.cuda else "cpu")
        self.used = ["CUDA" if self.cuda else "CPU", "bf16" if self.cuda else "f32"]
        self.used.append("SDPA" if fused_attention is not None else "plain attention")
        if self.cuda:
            torch.set_float32_matmul_precision("high")
        torch.manual_seed(1)

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def precision(self):
        return torch.autocast("cuda", torch.bfloat16) if self.cuda else contextlib.nullcontext()

    def optimizer(self, model):
        groups = [{"params": [p for n, p in model.named_parameters() if p.dim() > 1 and "embed" not in n and "places" not in n],
                   "weight_decay": 0.1}]
        decayed = {id(p) for p in groups[0]["params"]}
        groups.append({"params": [p for p in model.parameters() if id(p) not in decayed], "weight_decay": 0.0})
        for kind in ("fused", "foreach"):
            try:
                optimizer = torch.optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.95), **{kind: True})
                self.used.append(kind + " AdamW")
                return optimizer
            except (RuntimeError, TypeError):
                pass
        self.used.append("AdamW")
        return torch.optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.95))

    def train(self):
        o = self.o
        model = Prior(o).to(self.device)
        forward, optimizer = model, self.optimizer(model)
        if self.cuda and hasattr(torch, "compile"):
            forward = torch.compile(model)
            self.used.append("torch.compile")
        codes = torch.randint(0, o.codes, (o.batch, o.tokens), device=self.device)
        first = torch.full((o.batch, 1), o.codes, device=self.device)

        def step():
            with self.precision():
                loss = forward(torch.cat([first, codes[:, :-1]], 1), codes)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        for _ in range(max(1, o.steps // 4)):
            step()
        return self.timed(step, o.steps)

    def timed(self, run, times):
        """Medians of wall-clock and processor time."""
        walls, cpus = [], []
        for _ in range(times):
            self.wait()
            begun, cpu = time.perf_counter(), time.process_time()
            run()
            self.wait()
            walls.append(time.perf_counter() - begun)
            cpus.append(time.process_time() - cpu)
        return statistics.median(walls), statistics.median(cpus)

    def caches(self, model):
        o, dtype = self.o, next(model.parameters()).dtype
        shape = (o.sample, o.heads, o.tokens, o.width // o.heads)
        return [[torch.zeros(shape, device=self.device, dtype=dtype) for _ in range(2)] for _ in range(o.layers)]

    @staticmethod
    def draw(logits):
        """Draws codes from the softmax without a host round trip: the largest of p / e for exponential e."""
        p = torch.softmax(logits.float(), -1)
        return torch.argmax(p / torch.empty_like(p).exponential_(1), -1)

    def eager(self, model, caches):
        o = self.o
        x = torch.full((o.sample,), o.codes, device=self.device)
        for t in range(o.tokens):
            x = self.draw(model.step(x, torch.tensor([t], device=self.device), caches, t + 1, None, True))
        return x

    def captured(self, step, caches, fused):
        """A CUDA graph of a whole decoding step for every segment of the cache; the position is data."""
        o = self.o
        x = torch.full((o.sample,), o.codes, device=self.device)
        position = torch.zeros(1, dtype=torch.long, device=self.device)
        places = torch.arange(o.tokens, device=self.device)

        def once(filled):
            mask = (places[:filled] <= position)[None, None, None]
            x.copy_(self.draw(step(x, position, caches, filled, mask, fused)))
            position.add_(1)

        graphs, size = [], -(-o.tokens // SEGMENTS)
        stream = torch.cuda.Stream()
        for filled in range(size, o.tokens + size, size):
            filled = min(filled, o.tokens)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    position.zero_()
                    once(filled)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                once(filled)
            graphs.append(graph)

        def sample():
            x.fill_(o.codes)
            position.zero_()
            for t in range(o.tokens):
                graphs[t // size].replay()
            return x

        return sample

    def sample(self):
        model = Prior(self.o).to(self.device).eval()
        if self.cuda:
            model = model.bfloat16()
        with torch.no_grad():
            caches = self.caches(model)
            if not self.cuda:
                run = lambda: self.eager(model, caches)
                run()
                return self.timed(run, 1)
            return self.fastest(model, caches)

    def loop(self):
        """The time of drawing without graphs, a call a kernel."""
        model = Prior(self.o).to(self.device).eval().bfloat16()
        with torch.no_grad():
            caches = self.caches(model)
            run = lambda: self.eager(model, caches)
            run()
            return self.timed(run, 1)[0]

    def fastest(self, model, caches):
        """The times of the fastest way to capture a step; one that PyTorch cannot capture is left out with a message."""
        steps = {"": model.step}
        if hasattr(torch, "compile"):
            from torch import _dynamo

            for limit in ("recompile_limit", "cache_size_limit"):  # of the kinds of one function: segments times attentions
                if hasattr(_dynamo.config, limit):
                    setattr(_dynamo.config, limit, 64)
            steps = {"compiled ": torch.compile(model.step, dynamic=False), "": model.step}
        best = None
        for name, step in steps.items():
            for kind, fused in (("fused", True), ("plain", False)):
                what = "CUDA graph of a %sstep with %s attention" % (name, kind)
                try:
                    run = self.captured(step, caches, fused)
                    run()
                    times = self.timed(run, 3)
                except Exception as problem:  # of a compiler or of a capture
                    print("left out: %s: %s" % (what, problem), file=sys.stderr)
                    continue
                print("%s: %.1f rows a second" % (what, self.o.sample / times[0]), file=sys.stderr)
                if best is None or times < best[0]:
                    best = times, what
        if best is None:
            raise SystemExit("no decoding step could be captured")
        self.used.append(best[1])
        return best[0]


def main():
    p = argparse.ArgumentParser()
    for name, value in {"layers": 4, "width": 128, "heads": 4, "tokens": 256, "codes": 512, "batch": 16, "sample": 32, "steps": 4}.items():
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--cpu", action="store_true")
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    rival = Rival(o)
    result = {}
    if o.batch:
        result["train"], result["train_cpu"] = rival.train()
    if o.sample:
        result["draw"], result["draw_cpu"] = rival.sample()
        if rival.cuda:
            result["draw_loop"] = rival.loop()
    if rival.cuda:
        result["device"], result["peak_bytes"] = torch.cuda.get_device_name(), torch.cuda.max_memory_allocated()
    result["engine"] = "PyTorch " + torch.__version__ + ", " + ", ".join(rival.used)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
