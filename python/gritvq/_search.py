"""Finds the codes of latents: nearest codes level by level, with a beam where one is asked for."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Tuple

import numpy as np

from ._conditions import Affine
from ._ops import NUMPY

_BLOCK = 1 << 22  # scores held at a time


def distinct(book: np.ndarray) -> np.ndarray:
    """The first of every group of equal codes, in order."""
    return np.sort(np.unique(book, axis=0, return_index=True)[1])


class Residual:
    """One part: codebooks [K,d] of its levels, each with its condition or None, over weights by path.

    scale [N,d], where codes stand for scale * c, is given to the methods."""

    def __init__(self, books: List[np.ndarray], conditions: List[Any], weights: Mapping[str, np.ndarray]):
        self.books, self.conditions, self.weights = books, conditions, weights
        self.own = [distinct(b) for b in books]
        self.conditional = any(c is not None for c in conditions)

    def encode(self, x: np.ndarray, levels: int, beam: int, scale: Optional[np.ndarray] = None) -> np.ndarray:
        codes = np.zeros((len(x), levels), np.uint32)
        most = max(len(b) for b in self.books[:levels]) * max(1, beam)
        rows = max(1, _BLOCK // (most * (x.shape[1] if self.conditional else 1)))
        for i in range(0, len(x), rows):
            block = slice(i, i + rows)
            own = None if scale is None else scale[block]
            best, least = self._beam(x[block], levels, 1, own)
            if beam > 1 and levels > 1:
                other, error = self._beam(x[block], levels, beam, own)
                better = error < least
                best[better] = other[better]
            codes[block] = best
        return codes

    def decode(self, codes: np.ndarray) -> np.ndarray:
        return look_up(NUMPY, self.weights, self.books, self.conditions, codes)

    def _beam(self, x: np.ndarray, levels: int, width: int, scale: Optional[np.ndarray]) -> Tuple[np.ndarray, np.ndarray]:
        """The codes [N,levels] of the best of width partial encodings, and their squared errors."""
        n, d = x.shape
        residual, paths = x[:, None], np.zeros((n, 1, 0), np.uint32)
        sent = np.zeros_like(residual)
        for l in range(levels):
            alive = residual.shape[1]
            grown = min(width, alive * len(self.own[l]))
            wide = None if scale is None else np.repeat(scale, alive, 0)
            error = self._scores(l, residual.reshape(-1, d), sent.reshape(-1, d), grown, wide).reshape(n, -1)
            pick = _lowest(error, grown)
            parent, code = pick // len(self.books[l]), pick % len(self.books[l])
            row = np.arange(n)[:, None]
            vector = self.books[l][code]
            if self.conditions[l] is not None:
                vector = self.conditions[l].vectors(NUMPY, self.weights, vector, sent[row, parent])
            if scale is not None:
                vector = vector * scale[:, None]
            residual = residual[row, parent] - vector
            sent = sent[row, parent] + vector
            paths = np.concatenate([paths[row, parent], code[..., None].astype(np.uint32)], -1)
        errors = np.square(x[:, None].astype(np.float64) - sent).sum(-1)
        least = errors.min(1)
        tied = np.where((errors == least[:, None])[..., None], paths, np.uint32(0xffffffff)).astype(np.int64)
        order = np.lexsort([tied[..., l] for l in reversed(range(levels))], axis=1)  # ties go to the lowest codes
        return paths[np.arange(n), order[:, 0]], least

    def _scores(self, l: int, residual: np.ndarray, sent: np.ndarray, grown: int, scale: Optional[np.ndarray]) -> np.ndarray:
        """Squared errors [N,K] of every code; of codes that are out of the question, infinity."""
        book, condition = self.books[l].astype(np.float64), self.conditions[l]
        target = residual.astype(np.float64)
        if isinstance(condition, Affine):
            mu, scale = condition.terms(NUMPY, self.weights, sent)
            target = target - mu
        if condition is not None and not isinstance(condition, Affine):
            return self._proposed(l, residual, sent, grown)
        if scale is not None:
            wide = scale.astype(np.float64)
            error = np.square(target).sum(1)[:, None] - 2 * (target * wide) @ book.T + np.square(wide) @ np.square(book).T
        else:
            center = book.mean(0)
            target, book = target - center, book - center
            error = np.square(target).sum(1)[:, None] - 2 * target @ book.T + np.square(book).sum(1)
        return self._only_distinct(l, error)

    def _only_distinct(self, l: int, error: np.ndarray) -> np.ndarray:
        if len(self.own[l]) < error.shape[1]:
            repeated = np.ones(error.shape[1], bool)
            repeated[self.own[l]] = False
            error[:, repeated] = np.inf
        return error

    def _proposed(self, l: int, residual: np.ndarray, sent: np.ndarray, grown: int) -> np.ndarray:
        condition, book = self.conditions[l], self.books[l]
        n, d, k = len(residual), residual.shape[1], len(book)
        error = np.full((n, k), np.inf)
        if condition.candidates >= k:
            proposed = np.broadcast_to(np.arange(k), (n, k))
        else:
            shortlist = self.weights[condition.shortlist].astype(np.float64)
            near = np.square(shortlist).sum(1) - 2 * residual.astype(np.float64) @ shortlist.T
            own = distinct(self.weights[condition.shortlist])
            if len(own) < k:
                repeated = np.ones(k, bool)
                repeated[own] = False
                near[:, repeated] = np.inf
            # A greedy search settles the order of four codes exactly.
            proposed = _lowest(near, min(max(condition.candidates, grown, min(4, k)), len(own)))
        vectors = condition.vectors(NUMPY, self.weights, book[proposed], np.repeat(sent[:, None], proposed.shape[1], 1))
        gap = np.square(residual[:, None].astype(np.float64) - vectors).sum(-1)
        np.put_along_axis(error, proposed.astype(np.int64), gap, 1)
        return self._only_distinct(l, error)


def look_up(ops: Any, weights: Mapping[str, Any], books: Any, conditions: List[Any], codes: Any) -> Any:
    """The vectors [N,d] of codes [N,levels]: the sum of the levels' vectors."""
    total = None
    for l in range(codes.shape[1]):
        vector = ops.take(books[l], codes[:, l])
        if conditions[l] is not None:
            vector = conditions[l].vectors(ops, weights, vector, total)
        total = vector if total is None else total + vector
    return total


def _lowest(error: np.ndarray, count: int) -> np.ndarray:
    """Columns of the count lowest numbers of every row, lowest first, ties to the lower column."""
    if count == 1:
        return error.argmin(1)[:, None]
    if count < error.shape[1]:
        some = np.sort(np.argpartition(error, count - 1, 1)[:, :count], 1)
    else:
        some = np.broadcast_to(np.arange(error.shape[1]), error.shape)
    order = np.argsort(np.take_along_axis(error, some, 1), 1, kind="stable")
    return np.take_along_axis(some, order, 1)
