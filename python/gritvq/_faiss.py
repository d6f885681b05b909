"""A FAISS index with the codes of a tokenizer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._bundle import BundleError
from .tokenizer import Tokenizer

_FAR = 1e18  # coordinates of codes that fill a codebook up to a power of two; their squares are finite


def index_of(tokenizer: Tokenizer) -> Any:
    """Returns an empty index: residual codes as IndexResidualQuantizer, one level of several parts as IndexPQ.

    Without a network it takes the vectors themselves (IndexPreTransform centres and rotates them), with one it
    takes their latents, as Tokenizer.latents returns them.
    Codes of a local search decode as their sums; FAISS finds those of new vectors by its beam, with more error. What a
    decoder adds to the sums (model.refine) is left out.
    """
    import faiss

    t, layout = tokenizer, tokenizer.layout
    stack = t.quantizer.stacks[0]
    if t.kind != "vectors":
        raise BundleError("a tokenizer of pictures has no FAISS index; index what you like of decoded pictures")
    if stack.choose is not None or stack.normalises:
        raise BundleError(f"FAISS cannot represent codes of method {t.config['quantizer']['method']} that are not the nearest ones")
    if any(c is not None for part in range(layout.parts) for c in stack.conditions(part)):
        raise BundleError("FAISS cannot represent codes that depend on earlier levels (quantizer.transform.levels)")
    if layout.parts > 1 and (layout.levels > 1 or layout.dim % layout.parts):
        raise BundleError("FAISS represents several parts of equal width with one level each")
    network = any(name.startswith("encoder/") for name in t.weights)
    scale = np.float32(1) if network else t.weights["state/scale"][0]
    if not network and (t.weights["state/scale"] != scale).any():
        raise BundleError("FAISS cannot undo a scale for every dimension (model.standardize: feature)")
    bits = math.ceil(math.log2(max(layout.vocab)))
    books = [np.full((1 << bits, b.shape[1]), _FAR, np.float32)
             for b in t.codebooks]
    for book, own in zip(books, t.codebooks):
        book[:len(own)] = own * scale
    flat = np.concatenate([b.ravel() for b in books])
    if layout.parts > 1:
        index = faiss.IndexPQ(layout.dim, layout.parts, bits)
        faiss.copy_array_to_vector(flat, index.pq.centroids)
    else:
        index = faiss.IndexResidualQuantizer(layout.dim, layout.levels, bits)
        index.rq.max_beam_size = t.beam
        faiss.copy_array_to_vector(flat, index.rq.codebooks)
        index.rq.is_trained = True
    index.is_trained = True
    if network:
        return index
    matrix = t.weights["state/rotation"].T if "state/rotation" in t.weights else np.eye(layout.dim)
    linear = faiss.LinearTransform(layout.dim, layout.dim, True)
    faiss.copy_array_to_vector(np.ascontiguousarray(matrix, np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector((-matrix @ t.weights["state/mean"]).astype(np.float32), linear.b)
    linear.is_orthonormal = True  # so that FAISS can go back
    linear.is_trained = True
    whole = faiss.IndexPreTransform(linear, index)
    whole.is_trained = True
    return whole
