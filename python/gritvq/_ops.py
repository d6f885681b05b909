"""The operations that networks and conditions are made of, for NumPy arrays and for PyTorch tensors."""

from __future__ import annotations

import math
from typing import Any, Tuple

import numpy as np

_STEP = 1.0 / 128
_TABLE: Any = None


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, by cubic interpolation of a table of math.erf; the error is below 1e-10."""
    global _TABLE
    if _TABLE is None:
        _TABLE = np.array([math.erf(i * _STEP) for i in range(int(6 / _STEP) + 2)])
    size = np.minimum(np.abs(x).astype(np.float64), 6.0)
    at = (size / _STEP).astype(np.int64)
    t, left, right = size / _STEP - at, _TABLE[at], _TABLE[at + 1]
    slope = 2 / math.sqrt(math.pi) * _STEP
    a, b = slope * np.exp(-(at * _STEP) ** 2), slope * np.exp(-((at + 1) * _STEP) ** 2)
    value = left + t * (a + t * (3 * (right - left) - 2 * a - b + t * (2 * (left - right) + a + b)))
    return np.sign(x) * value


class NumpyOps:
    """Operations on float32 arrays."""

    def relu(self, x: Any) -> Any:
        return np.maximum(x, np.float32(0))

    def silu(self, x: Any) -> Any:
        return x * (np.float32(1) / (np.float32(1) + np.exp(-np.clip(x, -80, 80))))

    def gelu(self, x: Any) -> Any:
        return (x * 0.5 * (1 + erf(x * math.sqrt(0.5)))).astype(x.dtype)

    def tanh(self, x: Any) -> Any:
        return np.tanh(x)

    def exp(self, x: Any) -> Any:
        return np.exp(x)

    def take(self, table: Any, index: Any) -> Any:
        return table[index]

    def concatenate(self, xs: Any) -> Any:
        return np.concatenate(xs, -1)

    def repeat(self, x: Any, times: int) -> Any:
        return np.repeat(np.repeat(x, times, 1), times, 2)

    def zeros(self, shape: Any, like: Any) -> Any:
        return np.zeros(shape, like.dtype)

    def group_norm(self, x: Any, groups: int, scale: Any, bias: Any) -> Any:
        b, h, w, c = x.shape
        parts = x.reshape(b, h * w, groups, c // groups).astype(np.float64)
        mean = parts.mean((1, 3), keepdims=True)
        variance = np.maximum((parts * parts).mean((1, 3), keepdims=True) - mean * mean, 0)
        normal = ((parts - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape)
        return (normal * scale + bias).astype(x.dtype)

    def convolve(self, x: Any, kernel: Any, stride: int = 1, padding: Tuple[int, int] = (0, 0)) -> Any:
        """x [B,H,W,C] with kernel [k,k,C,O], the same padding on both axes."""
        k = kernel.shape[0]
        x = np.pad(x, ((0, 0), padding, padding, (0, 0)))
        if k == 1 and stride == 1:
            return x @ kernel[0, 0]
        rows, cols = (x.shape[1] - k) // stride + 1, (x.shape[2] - k) // stride + 1
        out = 0
        for i in range(k):
            for j in range(k):
                part = x[:, i:i + stride * (rows - 1) + 1:stride, j:j + stride * (cols - 1) + 1:stride]
                out = out + part @ kernel[i, j]
        return out

    def transposed(self, x: Any, kernel: Any, stride: int) -> Any:
        """x [B,H,W,I] with kernel [2s,2s,O,I] to [B,sH,sW,O]."""
        b, h, w, _ = x.shape
        taps, before = kernel.shape[0], stride // 2
        out = np.zeros((b, stride * (h + 1), stride * (w + 1), kernel.shape[2]), x.dtype)
        for i in range(taps):
            for j in range(taps):
                out[:, i:i + stride * (h - 1) + 1:stride, j:j + stride * (w - 1) + 1:stride] += x @ kernel[i, j].T
        return out[:, before:before + stride * h, before:before + stride * w]

    def permute(self, x: Any, axes: Any) -> Any:
        return x.transpose(axes)


NUMPY = NumpyOps()
