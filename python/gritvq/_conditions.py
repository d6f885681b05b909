"""Codes of a level that depend on what the levels before it have sent."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple


class Affine:
    """c'(s) = mu + scale * c with [mu, t] = relu(s Q + b) U and scale = (a+t)/(a-t), a = 4+4|t|."""

    def __init__(self, path: str):
        self.path = path + "/condition/"

    def terms(self, ops: Any, w: Mapping[str, Any], sent: Any) -> Tuple[Any, Any]:
        out = ops.relu(sent @ w[self.path + "q"] + w[self.path + "bias"]) @ w[self.path + "u"]
        d = sent.shape[-1]
        mu, t = out[..., :d], out[..., d:]
        a = 4 + 4 * abs(t)
        return mu, (a + t) / (a - t)

    def vectors(self, ops: Any, w: Mapping[str, Any], codes: Any, sent: Any) -> Any:
        mu, scale = self.terms(ops, w, sent)
        return mu + scale * codes


class Implicit:
    """v <- v + relu(v P + s Q + b) U, block after block, from v = c, or from v = c + c A + s B + a (QINCo)."""

    def __init__(self, path: str, config: Dict[str, Any], names: Any):
        self.path = path + "/condition/"
        self.concat = self.path + "concat/codes" in names
        self.blocks: List[str] = []
        while f"{self.path}block{len(self.blocks)}/p" in names:
            self.blocks.append(f"{self.path}block{len(self.blocks)}/")
        self.shortlist = self.path + "shortlist"
        self.candidates = config["transform"].get("candidates", 16)

    def vectors(self, ops: Any, w: Mapping[str, Any], codes: Any, sent: Any) -> Any:
        v = codes
        if self.concat:
            at = self.path + "concat/"
            v = v + (codes @ w[at + "codes"] + sent @ w[at + "sent"] + w[at + "bias"])
        for at in self.blocks:
            inner = v @ w[at + "p"]
            if not self.concat:
                inner = inner + sent @ w[at + "q"] + w[at + "bias"]
            v = v + ops.relu(inner) @ w[at + "u"]
        return v
