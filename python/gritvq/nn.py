"""GRIT-VQ as a layer of PyTorch."""

from __future__ import annotations

import math
from typing import Any, Optional, Tuple

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["GritVQ", "RADII", "MODES"]

RADII = ("euclidean", "clip", "power", "huber", "soft-clip", "pseudo-huber", "p-norm", "temperature")
MODES = ("ratio", "unit-hard", "unit-soft")

_P_NORM_SMOOTHING = 1e-3  # makes |d| differentiable at 0 for p = 1
_START_ITERATIONS = 20
_BLOCK = 1 << 24  # scores held at a time


class GritVQ(nn.Module):
    """Vector quantization with GRIT's radius surrogate and integrated transform of the codes.

    The usable codes are C' = (E + A B E0) W with raw codes E [K,d], a mixer A [K,r], B [r,K] over the first codes E0,
    and a feature map W [d,d]. The nearest usable code is the output; backward, the latent receives g - v <w, g> and the
    code v <w, g>, where g arrives at the output and v w^T is k s s^T for radial families: s is the direction from the
    latent to its code, and k follows from the radius.

    Args:
        dim: dimension of the latents, d.
        codes: number of codes, K.
        rank: columns of A; 0 leaves the mixer out.
        feature_map: whether there is a W.
        row_norm: "none", or "gain": usable codes have unit length times one learned gain.
        radius: the family, one of RADII.
        mode: "ratio" or "unit-hard", whose output is the code, or "unit-soft", whose output in training is the point
            that the radius reaches.
        scalar: the family's number: tau of clip and soft-clip, alpha of power, h of the Huber families, p of p-norm
            (math.inf too), T of temperature. The attribute of this name may be changed between steps.
        learn_scalar: trains the scalar, which then starts at the given value (not of euclidean and p-norm).
        max_k: bound on the gradient factor k.
        codebook_weight: weight of mean |code - sg latent|^2 in the loss.
        commitment_weight: weight of mean |latent - sg code|^2 in the loss.
        start: "kmeans" or "data" places the codes on the first batch in training, "random" draws them from +-1/K.
        reset_every: steps between scans for dead codes, which move to latents of the batch; 0 for none. The moments of
            an optimizer know nothing of it.
        reset_threshold: a code is dead if it drew less than this share of 1/K of the latents since the last scan.
        accept_image_fmap: x is [B, dim, H, W] instead of [..., dim].

    Calling the layer returns (quantized, indices, loss): quantized like x, indices int64 without the axis of dim, and the
    weighted auxiliary losses, a scalar (0 without weights). Latents of half precision are quantized in float32.
    """

    def __init__(self, dim: int, codes: int, *, rank: int = 32, feature_map: bool = True, row_norm: str = "none",
                 radius: str = "euclidean", mode: str = "ratio", scalar: float = 1.0, learn_scalar: bool = False, max_k: float = 2.0,
                 codebook_weight: float = 0.0, commitment_weight: float = 0.0, start: str = "kmeans", reset_every: int = 100,
                 reset_threshold: float = 0.1, accept_image_fmap: bool = False):
        super().__init__()
        for name, value, known in (("radius", radius, RADII), ("mode", mode, MODES), ("row_norm", row_norm, ("none", "gain")),
                                   ("start", start, ("kmeans", "data", "random"))):
            if value not in known:
                raise ValueError(f"{name} {value!r} is unknown; use one of {', '.join(known)}")
        if dim < 1 or codes < 2:
            raise ValueError(f"{codes} codes of {dim} dimensions: a layer needs at least 2 codes of at least 1 dimension")
        if not scalar > 0 or not max_k > 0 or radius == "p-norm" and scalar < 1:
            raise ValueError(f"scalar {scalar} and max_k {max_k} must be positive, and p of p-norm at least 1")
        if learn_scalar and radius in ("euclidean", "p-norm"):
            raise ValueError(f"radius {radius} has no scalar to learn")
        if learn_scalar and radius == "power" and not 0.5 < scalar < 1.5:
            raise ValueError(f"a learned power must start between 0.5 and 1.5, not at {scalar}")
        self.dim, self.codes, self.radius, self.mode, self.row_norm = dim, codes, radius, mode, row_norm
        self.scalar, self.max_k = float(scalar), float(max_k)
        self.codebook_weight, self.commitment_weight = codebook_weight, commitment_weight
        self.start, self.reset_every, self.reset_threshold = start, reset_every, reset_threshold
        self.accept_image_fmap = accept_image_fmap
        self.raw = nn.Parameter((torch.rand(codes, dim) * 2 - 1) / codes)  # E
        self.register_buffer("source", self.raw.detach().clone())  # E0
        rank = min(rank, codes)
        self.mixer_a = nn.Parameter(torch.zeros(codes, rank)) if rank else None
        self.mixer_b = nn.Parameter(torch.randn(rank, codes) / math.sqrt(codes)) if rank else None
        self.feature = nn.Parameter(torch.eye(dim)) if feature_map else None
        self.gain = nn.Parameter(torch.ones(1)) if row_norm == "gain" else None
        self.scalar_raw = nn.Parameter(torch.tensor([self._unsquashed(scalar)])) if learn_scalar else None
        self.register_buffer("started", torch.tensor(start == "random"))
        self.register_buffer("counts", torch.zeros(codes, dtype=torch.long))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, codes={self.codes}, radius={self.radius}, mode={self.mode}"

    @property
    def codebook(self) -> torch.Tensor:
        """The usable codes C' [K,d], with gradients to E, A, B, W and the gain."""
        codes = self.raw
        if self.mixer_a is not None:
            codes = codes + self.mixer_a @ (self.mixer_b @ self.source)
        if self.feature is not None:
            codes = codes @ self.feature
        if self.gain is not None:
            square = codes.square().sum(-1, keepdim=True)
            codes = codes * (self.gain / torch.where(square > 0, square, torch.ones_like(square)).sqrt())
        return codes

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Quantizes x [..., dim]. Latents where mask [...] is False are padding: they count nowhere but are quantized too."""
        if self.accept_image_fmap:
            x = x.movedim(1, -1)
        if x.shape[-1] != self.dim:
            raise ValueError(f"latents of shape {tuple(x.shape)}: the layer takes {self.dim} dimensions")
        z = x.reshape(-1, self.dim)
        if z.dtype in (torch.float16, torch.bfloat16):
            z = z.float()
        used = None if mask is None else mask.reshape(-1)
        if self.training:
            latents = z.detach() if used is None else z.detach()[used]
            if not self.started:
                self._place(latents)
            self._reset(latents)
        codebook = self.codebook
        indices = nearest(z.detach(), codebook.detach())
        code = codebook[indices]
        loss = self._losses(z, code, used)
        quantized = self._connect(z, code) if self.training or z.requires_grad else code
        if self.training:
            self._count(indices, used)
        quantized, indices = quantized.to(x.dtype).reshape(x.shape), indices.reshape(x.shape[:-1])
        return (quantized.movedim(-1, 1) if self.accept_image_fmap else quantized), indices, loss

    def get_output_from_indices(self, indices: torch.Tensor) -> torch.Tensor:
        """The vectors [..., dim] of indices [...], or [B, dim, H, W] of maps."""
        vectors = self.codebook[indices]
        return vectors.movedim(-1, 1) if self.accept_image_fmap else vectors

    def _losses(self, z: torch.Tensor, code: torch.Tensor, used: Optional[torch.Tensor]) -> torch.Tensor:
        loss = z.new_zeros(())
        if used is not None:
            z, code = z[used], code[used]
        if self.codebook_weight:
            loss = loss + self.codebook_weight * F.mse_loss(code, z.detach())
        if self.commitment_weight:
            loss = loss + self.commitment_weight * F.mse_loss(z, code.detach())
        return loss

    def _connect(self, z: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
        """Carries gradients across the hard assignment."""
        with torch.no_grad():
            d = code - z
            square = d.square().sum(-1, keepdim=True)
            apart = square > 0
            delta = torch.where(apart, square, torch.ones_like(square)).sqrt()
        theta = self._theta(z)
        with torch.no_grad():
            along, factor = self._factors(d, delta, None if theta is None else theta.detach())
            factor = torch.where(apart, factor, torch.zeros_like(factor))
            value = code
            if self.mode == "unit-soft" and self.training:
                r = self._length(d, delta, theta)
                value = z + d * torch.where(apart, r / delta, torch.zeros_like(r))
        out = _Surrogate.apply(z, code, d, along, factor, value)
        if self.scalar_raw is not None:
            change = self._length(d, delta, theta)
            change = torch.log(change) if self.mode == "ratio" else change / delta
            change = change - change.detach()
            out = out + d * torch.where(apart, change, torch.zeros_like(change))
        return out

    def _unsquashed(self, scalar: float) -> float:
        if self.radius == "power":
            return math.log((scalar - 0.5) / (1.5 - scalar))
        return math.log(math.expm1(scalar))

    def _theta(self, z: torch.Tensor) -> Any:
        if self.scalar_raw is None:
            return z.new_tensor(self.scalar)
        raw = self.scalar_raw[0]
        return 0.5 + torch.sigmoid(raw) if self.radius == "power" else F.softplus(raw)

    def _factors(self, d: torch.Tensor, delta: torch.Tensor, theta: Any) -> Tuple[torch.Tensor, torch.Tensor]:
        """along [N,d] and factor [N,1] with v <w, g> = along * factor * <d, g>."""
        if self.radius != "p-norm":
            k = (self._elasticity if self.mode == "ratio" else self._slope)(delta, theta)
            return d, k.clamp(max=self.max_k) / delta.square()
        r, gradient = self._p_norm(d)
        r = torch.where(r > 0, r, torch.ones_like(r))
        scale = r if self.mode == "ratio" else delta
        norm = delta * gradient.square().sum(-1, keepdim=True).sqrt() / scale
        return gradient, norm.clamp(max=self.max_k) / norm.clamp(min=1e-37) / scale

    def _length(self, d: torch.Tensor, delta: torch.Tensor, theta: Any) -> torch.Tensor:
        """The radius r [N,1]."""
        if self.radius == "euclidean":
            return delta
        if self.radius == "clip":
            return torch.minimum(delta, theta)
        if self.radius == "power":
            return delta ** theta
        if self.radius == "huber":
            return torch.where(delta <= theta, delta.square() / (2 * theta), delta - theta / 2)
        if self.radius == "soft-clip":
            return theta * torch.tanh(delta / theta)
        if self.radius == "pseudo-huber":
            u = (delta / theta).square()
            return theta * u / (1 + (1 + u).sqrt())
        if self.radius == "temperature":
            return theta * torch.log1p(delta / theta)
        return self._p_norm(d)[0]

    def _slope(self, delta: torch.Tensor, theta: Any) -> torch.Tensor:
        """r', the factor k of the unit modes."""
        if self.radius == "euclidean":
            return torch.ones_like(delta)
        if self.radius == "clip":
            return (delta < theta).to(delta.dtype)
        if self.radius == "power":
            return theta * delta ** (theta - 1)
        if self.radius == "huber":
            return (delta / theta).clamp(max=1)
        if self.radius == "soft-clip":
            return 1 - torch.tanh(delta / theta).square()
        if self.radius == "pseudo-huber":
            u = delta / theta
            return u / (1 + u.square()).sqrt()
        return 1 / (1 + delta / theta)

    def _elasticity(self, delta: torch.Tensor, theta: Any) -> torch.Tensor:
        """delta r' / r, the factor k of ratio mode."""
        if self.radius == "power":
            return theta * torch.ones_like(delta)
        if self.radius == "huber":
            outer = torch.maximum(delta, theta)
            return outer / (outer - theta / 2)
        if self.radius == "soft-clip":
            x = (2 * delta / theta).clamp(max=80)
            return torch.where(x < 0.01, 1 - x.square() / 6, x / torch.sinh(x))
        if self.radius == "pseudo-huber":
            return 1 + 1 / (1 + (delta / theta).square()).sqrt()
        if self.radius == "temperature":
            x = delta / theta
            return x / ((1 + x) * torch.log1p(x))
        return self._slope(delta, theta)

    def _p_norm(self, d: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """r [N,1] and dr/dd [N,d]."""
        size, p = d.abs(), self.scalar
        if p == 1:
            root = (d.square() + _P_NORM_SMOOTHING ** 2).sqrt()
            return (root - _P_NORM_SMOOTHING).sum(-1, keepdim=True), d / root
        largest = size.max(-1, keepdim=True).values
        if math.isinf(p):
            top = (size == largest).to(d.dtype)
            return largest, d.sign() * top / top.sum(-1, keepdim=True)
        largest = torch.where(largest > 0, largest, torch.ones_like(largest))
        scaled = size / largest
        norm = (scaled ** p).sum(-1, keepdim=True) ** (1 / p)
        slope = torch.where(scaled > 0, (scaled / norm) ** (p - 1), torch.zeros_like(scaled))
        return norm * largest, d.sign() * slope

    @torch.no_grad()
    def _place(self, z: torch.Tensor) -> None:
        """Places the codes on latents."""
        if len(z) == 0:
            return
        z = z.to(self.raw.dtype)
        spread = z.std() if len(z) > 1 else z.abs().mean()
        rows = torch.randperm(len(z), device=z.device)
        codes = z[rows[torch.arange(self.codes, device=z.device) % len(z)]].clone()
        if len(z) < self.codes:
            codes += 1e-2 * spread * torch.randn_like(codes)  # repeated latents must not stay equal codes
        for _ in range(_START_ITERATIONS if self.start == "kmeans" else 0):
            at = nearest(z, codes)
            counts = torch.bincount(at, minlength=self.codes).unsqueeze(-1)
            sums = torch.zeros_like(codes).index_add_(0, at, z)
            codes = torch.where(counts > 0, sums / counts.clamp(min=1), codes)
        self.raw.copy_(codes)
        self.source.copy_(codes)
        if self.gain is not None:
            self.gain.fill_(float(codes.norm(dim=-1).mean()))
        self.started.fill_(True)

    @torch.no_grad()
    def _count(self, indices: torch.Tensor, used: Optional[torch.Tensor]) -> None:
        """Counts choices until the next scan for dead codes."""
        if self.reset_every:
            self.counts += torch.bincount(indices if used is None else indices[used], minlength=self.codes)
            self.steps += 1

    @torch.no_grad()
    def _reset(self, z: torch.Tensor) -> None:
        """Moves dead codes to latents of a batch when a scan is due, before its graph is built."""
        if not self.reset_every or int(self.steps) % self.reset_every or not int(self.counts.sum()) or len(z) == 0:
            return
        dead = torch.nonzero(self.counts < self.reset_threshold / self.codes * self.counts.sum()).flatten()
        self.counts.zero_()
        dead = dead[torch.randperm(len(dead), device=dead.device)][:len(z)]
        target = z[torch.randperm(len(z), device=z.device)[:len(dead)]].to(self.raw.dtype)
        if self.feature is not None:
            target = torch.linalg.solve(self.feature.T, target.T).T
        self.raw[dead] = target
        if self.mixer_a is not None:
            self.mixer_a[dead] = 0


def nearest(z: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """The nearest code [N] of every latent [N,d]."""
    half = 0.5 * codes.square().sum(-1)
    rows = max(1, _BLOCK // len(codes))
    return torch.cat([(half - part @ codes.T).argmin(-1) for part in z.to(codes.dtype).split(rows)]) if len(z) else \
        torch.zeros(0, dtype=torch.long, device=z.device)


class _Surrogate(torch.autograd.Function):
    """Returns value; with g arriving, the latent receives g - p and the code p, p = along * factor * <d, g>."""

    @staticmethod
    def forward(ctx: Any, z: Any, code: Any, d: Any, along: Any, factor: Any, value: Any) -> Any:
        ctx.save_for_backward(d, along, factor)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        d, along, factor = ctx.saved_tensors
        pulled = along * factor * (d * g).sum(-1, keepdim=True)
        return g - pulled, pulled, None, None, None, None
