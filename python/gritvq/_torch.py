"""A tokenizer as a module of PyTorch."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ._quantizer import Quantizer
from .tokenizer import Tokenizer


class TorchOps:
    """The operations of gritvq._ops on tensors."""

    relu, silu, gelu = staticmethod(F.relu), staticmethod(F.silu), staticmethod(F.gelu)
    tanh, exp = staticmethod(torch.tanh), staticmethod(torch.exp)

    def take(self, table: torch.Tensor, index: Any) -> torch.Tensor:
        return F.embedding(torch.as_tensor(index, dtype=torch.long, device=table.device), table)

    def concatenate(self, xs: List[torch.Tensor]) -> torch.Tensor:
        return torch.cat(xs, -1)

    def stack(self, xs: List[torch.Tensor]) -> torch.Tensor:
        return torch.cat(xs, 0)

    def repeat(self, x: torch.Tensor, times: int) -> torch.Tensor:
        return x.repeat_interleave(times, 1).repeat_interleave(times, 2)

    def zeros(self, shape: Any, like: torch.Tensor) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float32, device=like.device)

    def group_norm(self, x: torch.Tensor, groups: int, scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.group_norm(x.permute(0, 3, 1, 2), groups, scale, bias, 1e-5).permute(0, 2, 3, 1)

    def convolve(self, x: torch.Tensor, kernel: torch.Tensor, stride: int = 1, padding: Tuple[int, int] = (0, 0)) -> torch.Tensor:
        before, after = padding
        x = F.pad(x.permute(0, 3, 1, 2), (before, after, before, after))
        return F.conv2d(x, kernel.permute(3, 2, 0, 1), stride=stride).permute(0, 2, 3, 1)

    def transposed(self, x: torch.Tensor, kernel: torch.Tensor, stride: int) -> torch.Tensor:
        b, h, w, _ = x.shape
        out = F.conv_transpose2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), stride=stride).permute(0, 2, 3, 1)
        before = stride // 2
        return out[:, before:before + stride * h, before:before + stride * w]

    def permute(self, x: torch.Tensor, axes: Any) -> torch.Tensor:
        return x.permute(axes)


_OPS = TorchOps()


class TorchTokenizer(nn.Module):
    """A trained tokenizer with its variables as parameters.

    Codes are found on the host with the codebooks as they are now and the stored beam, without a gradient. Networks,
    codebooks and the networks that codes depend on have gradients. The standardisation stays as it is.
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__()
        self.tokenizer = tokenizer
        self.names: Dict[str, str] = {}
        self.parameters_by_name = nn.ParameterDict()
        for path, array in tokenizer.weights.items():
            used = not path.startswith("quantizer/") or "/condition/" in path
            if not used:
                continue
            name = path.replace("/", "__")
            value = torch.from_numpy(np.array(array, np.float32))
            if "state" in path.split("/"):
                self.register_buffer(name, value)
            else:
                self.parameters_by_name[name] = nn.Parameter(value)
            self.names[path] = name
        self._quantizer, self._version = tokenizer.quantizer, [0]
        self.codebooks = nn.ParameterList([nn.Parameter(torch.from_numpy(np.array(b, np.float32))) for b in tokenizer.codebooks])

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns reconstructions and codes; the gradient passes straight through to the encoder."""
        z, grid = self.latents(x)
        codes = self._codes(z, grid)
        quantized = self._vectors(codes, grid)
        y = self._items(z + (quantized - z).detach() + (quantized - quantized.detach()), grid)
        return y, self._shaped(codes, len(x))

    def latents(self, x: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """Returns the latents [cells, d] of items and, of pictures, their grid."""
        w, network = self._weights(), self.tokenizer.network
        z = network.encode(_OPS, w, network.standardize(_OPS, w, x.float()))
        grid = tuple(z.shape[:3]) if z.ndim == 4 else None
        z = z.reshape(-1, self.tokenizer.layout.dim)
        return (z @ w["state/rotation"] if "state/rotation" in w else z), grid

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the codes of items, as Tokenizer.encode does."""
        with torch.no_grad():
            z, grid = self.latents(x)
            return self._shaped(self._codes(z, grid), len(x))

    def decode(self, codes: torch.Tensor, grid: Optional[Tuple[int, int]] = None) -> torch.Tensor:
        """Returns the items of codes, float32, with gradients to the decoder and the codebooks."""
        flat, shape = self.tokenizer._positions(codes.detach().cpu().numpy(), grid)
        return self._items(self._vectors(flat, shape), shape, self.tokenizer._whole(flat))

    def decode_latents(self, z: torch.Tensor, grid: Any = None) -> torch.Tensor:
        """Returns the items of latents [cells, d]; pictures need their grid (items, down, across)."""
        return self._items(z, grid)

    def _weights(self) -> Dict[str, torch.Tensor]:
        return {path: (self.parameters_by_name[name] if name in self.parameters_by_name else getattr(self, name))
                for path, name in self.names.items()}

    def _quantizer_weights(self) -> Dict[str, torch.Tensor]:
        return {path[len("quantizer/"):]: a for path, a in self._weights().items() if path.startswith("quantizer/")}

    def _codes(self, z: torch.Tensor, grid: Any) -> np.ndarray:
        t = self.tokenizer
        version = [p._version for p in self.parameters()]
        if version != self._version:
            weights = dict(t.quantizer.weights)
            weights.update({path: a.detach().cpu().numpy() for path, a in self._quantizer_weights().items()})
            books = [b.detach().cpu().numpy() for b in self.codebooks]
            self._quantizer, self._version = Quantizer(t.config["quantizer"], t.layout, weights, books), version
        return self._quantizer.encode(z.detach().cpu().numpy(), grid, t.layout.levels, t.beam).astype(np.int64)

    def _vectors(self, codes: np.ndarray, grid: Any) -> torch.Tensor:
        return self.tokenizer.quantizer.decode(_OPS, self._quantizer_weights(), list(self.codebooks), codes, grid)

    def _items(self, z: torch.Tensor, grid: Any, whole: bool = True) -> torch.Tensor:
        w = self._weights()
        return self.tokenizer.network.restore(_OPS, w, self.tokenizer._decoded(_OPS, w, z, grid, whole))

    def _shaped(self, codes: np.ndarray, items: int) -> torch.Tensor:
        if self.tokenizer.kind == "pictures":
            codes = codes.reshape(items, -1, *codes.shape[1:][:codes.shape[1] > 1])
        return torch.from_numpy(codes)
