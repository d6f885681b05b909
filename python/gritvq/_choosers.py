"""Quantizers whose codes are not the nearest ones: the code [N] of residuals [N,d] at one level."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping

import numpy as np

from ._bundle import BundleError

Chooser = Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]

_GRIDS = {1 << 7: [5, 5, 5], 1 << 8: [8, 6, 5], 1 << 9: [8, 8, 8], 1 << 10: [8, 5, 5, 5], 1 << 12: [7, 5, 5, 5, 5],
          1 << 14: [8, 8, 8, 6, 5], 1 << 16: [8, 8, 8, 5, 5, 5]}


def chooser(config: Dict[str, Any], vocab: int) -> Chooser | None:
    """The way the method of a configuration chooses codes; None for the nearest code."""
    make = {"fsq": _fsq, "lfq": _lfq, "lsh": _lsh, "gumbel": _gumbel, "ibq": _ibq, "hypervq": _hypervq}.get(config["method"])
    return make(config, vocab) if make else None


def _project(w: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    if "state/scale" in w:
        return x / w["state/scale"]
    return x @ w["project/in"] + w["project/in_bias"]


def _number(digits: np.ndarray, sizes: List[int]) -> np.ndarray:
    places = np.cumprod([1] + sizes[:-1])
    return (np.clip(digits, 0, np.array(sizes) - 1).astype(np.int64) * places).sum(1)


def _fsq(config: Dict[str, Any], vocab: int) -> Chooser:
    sizes = list(config.get("grid") or _GRIDS.get(config["codes"]) or [])
    if math.prod(sizes) != vocab:
        raise BundleError(f"the grid of {config['codes']} fsq codes is not known here; train with quantizer.grid")
    h = (np.array(sizes) - 1) * (1 + 1e-3) / 2
    offset = np.where(np.array(sizes) % 2 == 0, 0.5, 0.0)
    shift, half = np.arctanh(offset / h).astype(np.float32), np.array(sizes) // 2

    def choose(w: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        y = np.tanh(_project(w, x) + shift) * h.astype(np.float32) - offset.astype(np.float32)
        return _number(np.round(y) + half, sizes)
    return choose


def _lfq(config: Dict[str, Any], vocab: int) -> Chooser:
    return lambda w, x: _number((_project(w, x) > 0).astype(np.int64), [2] * (vocab.bit_length() - 1))


def _lsh(config: Dict[str, Any], vocab: int) -> Chooser:
    return lambda w, x: _number((x @ w["state/planes"].T > 0).astype(np.int64), [2] * (vocab.bit_length() - 1))


def _gumbel(config: Dict[str, Any], vocab: int) -> Chooser:
    return lambda w, x: (x @ w["projection/weight"].T + w["projection/bias"]).argmax(1)


def _ibq(config: Dict[str, Any], vocab: int) -> Chooser:
    return lambda w, x: (x @ w["codebook"].T).argmax(1)


def _hypervq(config: Dict[str, Any], vocab: int) -> Chooser:
    root = math.sqrt(config.get("curvature", 1.0))

    def choose(w: Mapping[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        z = (x / w["state/scale"]).astype(np.float64)
        normal, offset = w["codes"].astype(np.float64), w["feature/offset"].astype(np.float64)
        far, size = np.sqrt(np.square(z).sum(1, keepdims=True) + 1e-12), np.sqrt(np.square(normal).sum(1) + 1e-12)
        s, rho = np.minimum(far, 4 / root) * 2 * root, offset * 2 * root
        product = np.sinh(s) * (z / far) @ (normal / size[:, None]).T * np.cosh(rho) - np.cosh(s) * np.sinh(rho)
        return (np.arcsinh(product) * 2 / root * size).argmax(1)
    return choose
