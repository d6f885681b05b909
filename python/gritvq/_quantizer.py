"""A stored quantizer: latents to codes and back."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from ._bundle import Arrays, BundleError, below
from ._choosers import chooser
from ._conditions import Affine, Implicit
from ._local import Local
from ._ops import NUMPY
from ._search import Residual, look_up

# Methods whose codes are the nearest ones in the stored codebooks.
_NEAREST = {"grit", "ste", "ema", "nsvq", "diveq", "sf-diveq", "simvq", "rotation", "rqvae", "qinco", "kmeans-ste", "kmeans", "pq",
            "opq", "rq", "lsq"}


def searches_locally(config: Mapping[str, Any]) -> bool:
    """Whether the codes of all levels are searched together. Earlier versions did so for method lsq alone, without a key."""
    return config.get("search", "local" if config["method"] == "lsq" else "beam") == "local"


class Layout:
    """The arrangement of code positions: parts side by side, levels of each part, phases of cells."""

    def __init__(self, manifest: Dict[str, Any]):
        layout = manifest["layout"]
        self.dim: int = layout["dim"]
        self.parts: int = layout["parts"]
        self.levels: int = layout["levels"]
        self.vocab: List[int] = layout["vocab"]
        self.phases: int = layout.get("phases", 0)

    @property
    def positions(self) -> int:
        return self.parts * self.levels

    def bounds(self, part: int) -> slice:
        return slice(part * self.dim // self.parts, (part + 1) * self.dim // self.parts)


class Stack:
    """The quantizer of one phase; its paths of weights begin with path."""

    def __init__(self, config: Dict[str, Any], layout: Layout, weights: Arrays, books: List[np.ndarray], path: str):
        self.config, self.layout, self.weights, self.books = config, layout, weights, books
        method = config["method"]
        self.choose = chooser(config, layout.vocab[0])
        if self.choose is None and method not in _NEAREST:
            raise BundleError(f"method {method} is not known to this package")
        self.paths = []
        for position in range(layout.positions):
            level = 0 if config.get("shared") else position % layout.levels
            part = f"part{position // layout.levels}/" if layout.parts > 1 else ""
            self.paths.append(f"{path}{part}level{level}")
        self.normalises = config.get("distance") == "cosine" or config["transform"].get("row_norm") == "latent"
        self.searches = [self._part(i) for i in range(layout.parts)]

    def conditions(self, part: int) -> List[Any]:
        found: List[Any] = []
        for path in self.paths[part * self.layout.levels:(part + 1) * self.layout.levels]:
            if path + "/condition/q" in self.weights:
                found.append(Affine(path))
            elif path + "/condition/shortlist" in self.weights:
                found.append(Implicit(path, self.config, self.weights))
            else:
                found.append(None)
        return found

    def _part(self, part: int) -> Any:
        books = self.books[part * self.layout.levels:(part + 1) * self.layout.levels]
        if searches_locally(self.config):
            return Local(books)
        return Residual(books, self.conditions(part), self.weights)

    def encode(self, z: np.ndarray, levels: int, beam: int, scale: Optional[np.ndarray] = None) -> np.ndarray:
        """The codes [N, parts*levels] of latents [N,d], part after part."""
        codes = []
        for part, search in enumerate(self.searches):
            at = self.layout.bounds(part)
            x = z[:, at]
            if self.normalises:
                x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
            if self.choose is not None:
                codes.append(self._chosen(part, x, levels))
            else:
                codes.append(search.encode(x, levels, beam, None if scale is None else scale[:, at]))
        return np.concatenate(codes, 1)

    def _chosen(self, part: int, x: np.ndarray, levels: int) -> np.ndarray:
        codes = np.zeros((len(x), levels), np.uint32)
        rest = x
        for l in range(levels):
            position = part * self.layout.levels + l
            own = dict(below(self.weights, self.paths[position]), codebook=self.books[position])
            codes[:, l] = self.choose(own, rest)  # type: ignore[misc]
            if self.config["method"] != "lsh":  # every level of lsh codes the latents themselves
                rest = rest - self.books[position][codes[:, l]]
        return codes

    def decode(self, ops: Any, weights: Mapping[str, Any], books: Any, codes: Any) -> Any:
        """The latents [N,d] of codes [N, parts*levels], over weights and codebooks that may be tensors."""
        levels = codes.shape[1] // self.layout.parts
        parts = []
        for i in range(self.layout.parts):
            own = books[i * self.layout.levels:i * self.layout.levels + levels]
            parts.append(look_up(ops, weights, own, self.conditions(i)[:levels], codes[:, i * levels:(i + 1) * levels]))
        return parts[0] if len(parts) == 1 else ops.concatenate(parts)


class Quantizer:
    """All phases of a stored quantizer."""

    def __init__(self, config: Dict[str, Any], layout: Layout, weights: Arrays, books: List[np.ndarray]):
        self.config, self.layout, self.weights, self.books = config, layout, weights, books
        n = layout.positions
        self.stacks = [Stack(config, layout, weights, books[p * n:(p + 1) * n], f"phase{p}/" if layout.phases else "")
                       for p in range(max(1, layout.phases))]
        self.beam: int = config.get("beam", 5 if config["method"] == "rq" else 1)
        self.conditioned = any("condition/conv0/weights" in name for name in weights)

    def encode(self, z: np.ndarray, grid: Any, levels: int, beam: int) -> np.ndarray:
        """The codes [N,positions] of latents [N,d], whose cells are grids [n,h,w] of N in all."""
        if not self.layout.phases:
            return self.stacks[0].encode(z, levels, beam)
        codes = np.zeros((len(z), self.layout.parts * levels), np.uint32)

        def choose(p: int, rows: np.ndarray, shift: Any, scale: Any) -> np.ndarray:
            own = z[rows] if shift is None else z[rows] - shift
            codes[rows] = self.stacks[p].encode(own, levels, beam, scale)
            return codes[rows]
        self._phases(NUMPY, self.weights, self.books, grid, choose, z)
        return codes

    def decode(self, ops: Any, weights: Mapping[str, Any], books: Any, codes: Any, grid: Any) -> Any:
        """The latents [N,d] of codes [N,positions]."""
        if not self.layout.phases:
            return self.stacks[0].decode(ops, weights, books, codes)
        like = weights[next(iter(weights))] if weights else books[0]
        return self._phases(ops, weights, books, grid, lambda p, rows, shift, scale: codes[rows], like)

    def _phases(self, ops: Any, weights: Mapping[str, Any], books: Any, grid: Any, choose: Any, like: Any) -> Any:
        n, h, w = grid
        d, size = self.layout.dim, self.layout.positions
        cells = np.arange(n * h * w)
        y, x = cells // w % h, cells % w
        odd = (y ^ x) & 1
        phase = odd if self.layout.phases == 2 else odd * 2 + (y & 1)
        sent, order, seen = [], [], np.zeros((0,), np.int64)
        for p in range(self.layout.phases):
            rows = np.nonzero(phase == p)[0]
            if len(rows) == 0:
                continue
            shift = scale = None
            if p > 0 and self.conditioned:
                known = ops.zeros((n * h * w, d + 1), like)
                done = ops.concatenate([_joined(ops, sent), ops.zeros((len(seen), 1), like) + 1])
                known[seen] = done
                shift, scale = self._condition(ops, weights, p, known.reshape(n, h, w, d + 1))
                shift, scale = shift[rows], scale[rows]
            codes = choose(p, rows, shift, scale)
            vectors = self.stacks[p].decode(ops, weights, books[p * size:(p + 1) * size], codes)
            if shift is not None:
                vectors = shift + scale * vectors
            sent.append(vectors)
            order.append(rows)
            seen = np.concatenate(order)
        return _joined(ops, sent)[np.argsort(seen)]

    def _condition(self, ops: Any, weights: Mapping[str, Any], p: int, cells: Any) -> Any:
        """Shift and scale [N,d] of all cells, from the cells [n,h,w,d+1] that were sent."""
        at = f"phase{p}/condition/"
        x = cells
        for i in range(2):
            # Both convolutions look one cell around; nothing is outside the grid but zeros before the first.
            x = ops.convolve(x, weights[f"{at}conv{i}/weights"], 1, (2, 2) if i == 0 else (0, 0))
            x = ops.gelu(x + weights[f"{at}conv{i}/bias"])
        out = x.reshape(-1, x.shape[-1]) @ weights[at + "last/weights"] + weights[at + "last/bias"]
        d = self.layout.dim
        return out[:, :d], ops.exp(ops.tanh(out[:, d:]) * 0.5)


def _joined(ops: Any, rows: List[Any]) -> Any:
    if len(rows) == 1:
        return rows[0]
    return np.concatenate(rows) if isinstance(rows[0], np.ndarray) else ops.stack(rows)
