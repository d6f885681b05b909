"""The networks around the quantizer: items to latents and back, over the operations of NumPy or PyTorch."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping

Weights = Mapping[str, Any]


def _sub(w: Weights, prefix: str) -> Dict[str, Any]:
    return {name[len(prefix) + 1:]: a for name, a in w.items() if name.startswith(prefix + "/")}


class VectorNetwork:
    """A pair of multilayer perceptrons around standardised vectors; none quantizes the vectors themselves."""

    def __init__(self, model: Dict[str, Any], dim: int):
        self.activation = model.get("activation", "relu")
        self.dim = dim

    def standardize(self, ops: Any, w: Weights, x: Any) -> Any:
        return (x - w["state/mean"]) / w["state/scale"]

    def restore(self, ops: Any, w: Weights, y: Any) -> Any:
        return y * w["state/scale"] + w["state/mean"]

    def encode(self, ops: Any, w: Weights, x: Any) -> Any:
        return self._mlp(ops, _sub(w, "encoder"), x)

    def decode(self, ops: Any, w: Weights, z: Any, whole: bool = True) -> Any:
        """whole says that z are vectors of all levels, which alone are refined."""
        refine = _sub(w, "decoder/refine")
        if refine:
            if not whole:
                return z
            hidden = ops.relu(z @ refine["v"] + refine["bias"])
            return z + (hidden @ refine["u"] + refine["shift"])
        return self._mlp(ops, _sub(w, "decoder"), z)

    def _mlp(self, ops: Any, w: Weights, x: Any) -> Any:
        layers = len(w) // 2
        for i in range(layers):
            x = x @ w[f"layer{i}/weights"] + w[f"layer{i}/bias"]
            if i < layers - 1:
                x = getattr(ops, self.activation)(x)
        return x


class PictureNetwork:
    """A residual convolutional autoencoder of pictures [B,H,W,3], with a linear path where the model has one."""

    def __init__(self, model: Dict[str, Any], dim: int):
        image = model["image"]
        self.dim = dim
        self.size, self.widths, self.blocks = image["size"], image["widths"], image["blocks"]
        self.strides: List[int] = image.get("strides") or [2] * (len(self.widths) - 1)
        self.up, self.linear = image.get("up", "transposed"), image.get("linear", False)
        self.cell = math.prod(self.strides)

    def standardize(self, ops: Any, w: Weights, x: Any) -> Any:
        return x * (1 / 127.5) - 1

    def restore(self, ops: Any, w: Weights, y: Any) -> Any:
        return ((y + 1) * 127.5).clip(0, 255)

    def encode(self, ops: Any, w: Weights, x: Any) -> Any:
        w = _sub(w, "encoder")
        h = self._conv(ops, w, "input", x)
        for i in range(len(self.widths)):
            h = self._stage(ops, w, i, h)
            if i < len(self.strides):
                h = self._conv(ops, w, f"stage{i}/down", h, self.strides[i])
        z = self._last(ops, w, h)
        if self.linear:
            z = z + self._conv(ops, w, "linear", _patches(ops, x, self.cell))
        return z

    def decode(self, ops: Any, w: Weights, z: Any, whole: bool = True) -> Any:
        w = _sub(w, "decoder")
        h = self._conv(ops, w, "input", z)
        for i in reversed(range(len(self.widths))):
            h = self._stage(ops, w, i, h)
            if i > 0:
                h = self._enlarge(ops, w, f"stage{i}/up", h, self.strides[i - 1])
        x = self._last(ops, w, h)
        if self.linear:
            x = x + _unpatched(ops, self._conv(ops, w, "linear", z), self.cell)
        return x

    def _stage(self, ops: Any, w: Weights, i: int, h: Any) -> Any:
        for j in range(self.blocks):
            at = f"stage{i}/block{j}"
            inner = self._conv(ops, w, at + "/conv0", ops.silu(self._norm(ops, w, at + "/norm0", h)))
            inner = self._conv(ops, w, at + "/conv1", ops.silu(self._norm(ops, w, at + "/norm1", inner)))
            h = h + inner
        return h

    def _last(self, ops: Any, w: Weights, h: Any) -> Any:
        return self._conv(ops, w, "output", ops.silu(self._norm(ops, w, "norm", h)))

    def _norm(self, ops: Any, w: Weights, at: str, x: Any) -> Any:
        return ops.group_norm(x, math.gcd(x.shape[-1], 8), w[at + "/scale"], w[at + "/bias"])

    def _conv(self, ops: Any, w: Weights, at: str, x: Any, stride: int = 1) -> Any:
        kernel = w[at + "/weights"]
        around = kernel.shape[0] - 1
        return ops.convolve(x, kernel, stride, (around // 2, around - around // 2)) + w[at + "/bias"]

    def _enlarge(self, ops: Any, w: Weights, at: str, x: Any, stride: int) -> Any:
        if self.up == "nearest":
            return self._conv(ops, w, at, ops.repeat(x, stride))
        return ops.transposed(x, w[at + "/weights"], stride) + w[at + "/bias"]


def _patches(ops: Any, x: Any, side: int) -> Any:
    b, h, w, c = x.shape
    x = x.reshape(b, h // side, side, w // side, side, c)
    return ops.permute(x, (0, 1, 3, 2, 4, 5)).reshape(b, h // side, w // side, side * side * c)


def _unpatched(ops: Any, x: Any, side: int) -> Any:
    b, h, w, c = x.shape
    x = x.reshape(b, h, w, side, side, c // (side * side))
    return ops.permute(x, (0, 1, 3, 2, 4, 5)).reshape(b, h * side, w * side, c // (side * side))
