"""Codes of least squares quantization (lsq): a beam, then iterated local search over all levels."""

from __future__ import annotations

from typing import List

import numpy as np

from ._search import Residual, distinct

_PASSES, _ROUNDS = 4, 16
_MASK = (1 << 64) - 1


class _Random:
    """The generator PCG-DXSM of Go's math/rand/v2, whose draws the search shares."""

    def __init__(self, high: int, low: int):
        self.state = high << 64 | low

    def uint64(self) -> int:
        multiplier = 2549297995355413924 << 64 | 4865540595714422341
        increment = 6364136223846793005 << 64 | 1442695040888963407
        self.state = (self.state * multiplier + increment) & ((1 << 128) - 1)
        high, low = self.state >> 64, self.state & _MASK
        high ^= high >> 32
        high = high * 0xda942042e4dd58b5 & _MASK
        high ^= high >> 48
        return high * (low | 1) & _MASK

    def below(self, n: int) -> int:
        if n & (n - 1) == 0:
            return self.uint64() & (n - 1)
        product = (self.uint64() >> 32) * n
        if product & 0xffffffff < n:
            threshold = ((1 << 32) - n) % n
            while product & 0xffffffff < threshold:
                product = (self.uint64() >> 32) * n
        return product >> 32

    def permutation(self, n: int) -> List[int]:
        p = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i + 1)
            p[i], p[j] = p[j], p[i]
        return p


class Local(Residual):
    """Codes of which none is finer than others."""

    def __init__(self, books: List[np.ndarray]):
        super().__init__(books, [None] * len(books), {})

    def encode(self, x: np.ndarray, levels: int, beam: int, scale: object = None) -> np.ndarray:
        own = [distinct(b) for b in self.books[:levels]]
        books = [b[o].astype(np.float64) for b, o in zip(self.books, own)]
        rng, swaps = _Random(0, 0x6c7371), []
        for _ in range(_ROUNDS):
            swaps.append([(l, rng.below(len(own[l]))) for l in rng.permutation(levels)[:(levels + 1) // 2]])
        products = [[a @ b.T for b in books] for a in books]
        first, _ = self._beam(x, levels, max(1, beam), None)
        unary = [0.5 * np.square(b).sum(1) - x.astype(np.float64) @ b.T for b in books]
        best = np.stack([np.searchsorted(o, first[:, l]) for l, o in enumerate(own)], 1)
        start = best.copy()
        self._descend(best, unary, products)
        least = self._energy(best, unary, products)
        for swap in swaps:
            tried = best.copy()
            for level, code in swap:
                tried[:, level] = code
            self._descend(tried, unary, products)
            energy = self._energy(tried, unary, products)
            better = energy < least
            best[better], least[better] = tried[better], energy[better]
        worse = ~(least < self._energy(start, unary, products))
        best[worse] = start[worse]
        return np.stack([o[best[:, l]] for l, o in enumerate(own)], 1).astype(np.uint32)

    @staticmethod
    def _descend(codes: np.ndarray, unary: List[np.ndarray], products: List[List[np.ndarray]]) -> None:
        for _ in range(_PASSES):
            before = codes.copy()
            for l in range(codes.shape[1]):
                scores = unary[l].copy()
                for other in range(codes.shape[1]):
                    if other != l:
                        scores += products[other][l][codes[:, other]]
                chosen = scores.argmin(1)
                rows = np.arange(len(codes))
                better = scores[rows, chosen] < scores[rows, codes[:, l]]
                codes[better, l] = chosen[better]
            if (codes == before).all():
                return

    @staticmethod
    def _energy(codes: np.ndarray, unary: List[np.ndarray], products: List[List[np.ndarray]]) -> np.ndarray:
        rows, energy = np.arange(len(codes)), np.zeros(len(codes))
        for l in range(codes.shape[1]):
            energy += unary[l][rows, codes[:, l]]
            for a in range(l):
                energy += products[a][l][codes[:, a], codes[:, l]]
        return energy
