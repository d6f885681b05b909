"""The class Tokenizer: a trained tokenizer, as gritvq train stores it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

import numpy as np

from ._bundle import Arrays, BundleError, below, read_manifest, read_safetensors
from ._network import PictureNetwork, VectorNetwork
from ._ops import NUMPY
from ._quantizer import Layout, Quantizer

if TYPE_CHECKING:
    import torch

_BLOCK = {"vectors": 16384, "pictures": 8}  # items that pass the networks at a time


class Tokenizer:
    """A trained tokenizer of vectors or of pictures.

    Attributes:
        kind: "vectors" or "pictures".
        manifest: the manifest of the bundle, as parsed JSON.
        config: its whole configuration.
        weights: all variables by path, float32.
        codebooks: the usable codes [K, d'] of every code position.
        beam: partial encodings that encode keeps from level to level.
    """

    def __init__(self, manifest: Dict[str, Any], arrays: Arrays):
        self.manifest, self.config = manifest, manifest["config"]
        self.kind: str = manifest["kind"]
        self.weights = below(arrays, "weights")
        count = sum(name.startswith("codebook/") for name in arrays)
        self.codebooks: List[np.ndarray] = [arrays[f"codebook/{i}"] for i in range(count)]
        self.layout = Layout(manifest)
        model = self.config["model"]
        self.network: Any = (PictureNetwork if self.kind == "pictures" else VectorNetwork)(model, self.layout.dim)
        self.quantizer = Quantizer(self.config["quantizer"], self.layout, below(self.weights, "quantizer"), self.codebooks)
        self.beam = self.quantizer.beam

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Tokenizer":
        """Opens the directory that gritvq train wrote, and checks the checksums of its files.

        Raises:
            BundleError: the directory is no tokenizer, or it is damaged, or it is of a kind that this package does not know.
        """
        path = os.fspath(path)
        manifest = read_manifest(path)
        try:
            return cls(manifest, read_safetensors(os.path.join(path, "model.safetensors")))
        except KeyError as err:
            raise BundleError(f"{path} is damaged: {err} is missing") from err

    def __repr__(self) -> str:
        q = self.config["quantizer"]
        return f"<gritvq.Tokenizer of {self.kind}: {q['method']}, {self.layout.parts} x {self.layout.levels} codes of {self.layout.vocab[0]}>"

    def encode(self, x: np.ndarray, levels: Optional[int] = None, beam: Optional[int] = None) -> np.ndarray:
        """Returns the codes of items.

        Args:
            x: vectors [N, dim], or pictures [N, H, W, 3] of pixel values 0 to 255 whose sides are multiples of a cell's.
                gritvq itself codes pictures that are not of the size of the training in windows of that size.
            levels: leading levels to use; all by default.
            beam: partial encodings kept from level to level; that of the tokenizer by default.

        Returns:
            uint32 [N, codes]; of pictures [N, cells], cells row by row, or [N, cells, codes] of several codes a cell,
            as gritvq encode writes them.
        """
        levels = self._levels(levels)
        beam = self.beam if beam is None else beam
        if beam < 1:
            raise ValueError(f"beam {beam} must be at least 1")
        x = self._items(x)
        codes = []
        for block in self._blocks(x):
            z, grid = self.latents(block)
            own = self.quantizer.encode(z, grid, levels, beam)
            if grid is not None:
                own = own.reshape(len(block), -1, *own.shape[1:][:own.shape[1] > 1])
            codes.append(own)
        return np.concatenate(codes) if codes else np.zeros((0, self.layout.parts * levels), np.uint32)

    def decode(self, codes: np.ndarray, grid: Optional[Tuple[int, int]] = None) -> np.ndarray:
        """Returns the items of codes, as encode returns them.

        Args:
            codes: [N, codes] or, of pictures, [N, cells] or [N, cells, codes]. Fewer codes of a vector or a cell are
                leading levels.
            grid: cells down and across of pictures that do not have the size of the training.

        Returns:
            float32 vectors [N, dim], or uint8 pictures [N, H, W, 3].
        """
        codes = np.asarray(codes)
        if codes.ndim != 2 and not (codes.ndim == 3 and self.kind == "pictures"):
            raise ValueError(f"codes have {codes.ndim} axes; give them as encode returns them")
        items = []
        for block in self._blocks(codes):
            flat, shape = self._positions(block, grid)
            z = self.quantizer.decode(NUMPY, self.quantizer.weights, self.codebooks, flat, shape)
            items.append(self.reconstruct(z, shape, self._whole(flat)))
        if not items:
            return np.zeros((0, self.manifest["input_dim"]), np.float32)
        return np.concatenate(items)

    def latents(self, x: np.ndarray) -> Tuple[np.ndarray, Any]:
        """Returns the latents [cells, d] of items and, of pictures, their grid (items, down, across)."""
        z = self.network.encode(NUMPY, self.weights, self.network.standardize(NUMPY, self.weights, np.asarray(x, np.float32)))
        grid = z.shape[:3] if z.ndim == 4 else None
        z = z.reshape(-1, self.layout.dim)
        if "state/rotation" in self.weights:
            z = z @ self.weights["state/rotation"]
        return z, grid

    def reconstruct(self, z: np.ndarray, grid: Any = None, whole: bool = True) -> np.ndarray:
        """Returns the items of quantized latents [cells, d], of all levels or, where whole is false, of leading ones."""
        y = self.network.restore(NUMPY, self.weights, self._decoded(NUMPY, self.weights, z, grid, whole))
        return y if self.kind == "vectors" else (y + np.float32(0.5)).astype(np.uint8)

    def to_torch(self) -> "torch.nn.Module":
        """Returns the tokenizer as a torch.nn.Module; see gritvq.TorchTokenizer. Needs PyTorch."""
        from ._torch import TorchTokenizer
        return TorchTokenizer(self)

    def to_faiss(self) -> Any:
        """Returns an empty FAISS index with these codes, for vectors or, with a network, their latents. Needs faiss."""
        from ._faiss import index_of
        return index_of(self)

    def _whole(self, codes: np.ndarray) -> bool:
        """Says whether codes [cells, positions] are those of all levels."""
        return codes.shape[-1] == self.layout.parts * self.layout.levels

    def _decoded(self, ops: Any, w: Any, z: Any, grid: Any, whole: bool = True) -> Any:
        if "state/rotation" in w:
            z = z @ w["state/rotation"].T
        if grid is not None:
            z = z.reshape(*grid, self.layout.dim)
        return self.network.decode(ops, w, z, whole)

    def _levels(self, levels: Optional[int]) -> int:
        levels = self.layout.levels if levels is None else levels
        if not 1 <= levels <= self.layout.levels:
            raise ValueError(f"levels {levels}: the tokenizer has levels 1 to {self.layout.levels}")
        return levels

    def _blocks(self, x: Any) -> Any:
        size = _BLOCK[self.kind]
        return (x[i:i + size] for i in range(0, len(x), size))

    def _items(self, x: Any) -> np.ndarray:
        x = np.asarray(x)
        if self.kind == "vectors":
            want = self.manifest["input_dim"]
            if x.ndim != 2 or x.shape[1] != want:
                raise ValueError(f"items of shape {x.shape}: the tokenizer takes vectors [N, {want}]")
            if not np.isfinite(x).all():
                raise ValueError("vectors with NaN or infinity have no codes; leave them out")
            return x
        cell = self.network.cell
        if x.ndim != 4 or x.shape[3] != 3 or x.shape[1] % cell or x.shape[2] % cell:
            raise ValueError(f"items of shape {x.shape}: the tokenizer takes pictures [N, H, W, 3] whose sides are multiples of {cell}")
        return x

    def _positions(self, codes: np.ndarray, grid: Optional[Tuple[int, int]]) -> Tuple[np.ndarray, Any]:
        cells, shape, codes = 1, None, codes.reshape(len(codes), -1)
        if self.kind == "pictures":
            down, across = grid or (self.network.size // self.network.cell,) * 2
            cells, shape = down * across, (len(codes), down, across)
        width, rest = divmod(codes.shape[1], cells)
        if rest or width < 1 or width % self.layout.parts or width > self.layout.positions:
            raise ValueError(f"{codes.shape[1]} codes an item do not fit this tokenizer of {cells} cells and {self.layout.positions} codes each")
        flat = codes.reshape(-1, width).astype(np.int64)
        levels = width // self.layout.parts
        for i in range(width):
            vocab = self.layout.vocab[i // levels * self.layout.levels + i % levels]
            if len(flat) and not 0 <= flat[:, i].min() <= flat[:, i].max() < vocab:
                raise ValueError(f"a code at position {i} is outside 0 to {vocab - 1}")
        return flat, shape
