"""Writes scores.json: scores of two sets of feature vectors, by NumPy alone.

The features are formulas of integers, which the Go tests repeat. Run in this
directory with Debian 12's python3-numpy (1.24.2):
/usr/bin/python3 score_fixtures.py
"""

import json

import numpy as np


def noise(i):
    """A 32-bit integer hash of a counter (Mueller's three rounds)."""
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    return (i >> 16) ^ i


def features(seed, n, d, scale, offset):
    """[n, d] rows whose columns are correlated: neighbours share a hash."""
    rows = np.zeros((n, d))
    for i in range(n):
        for j in range(d):
            own = noise(seed + (i * 100 + j) * 2) % 2048 - 1024
            shared = noise(seed + (i * 100 + j // 3) * 2 + 1) % 2048 - 1024
            rows[i, j] = scale * (own + 2 * shared * (j % 3)) / 1024 + offset * j
    return rows.astype(np.float32).astype(np.float64)


def kernel_distance(a, b):
    """The unbiased squared maximum mean discrepancy under (x.y/d + 1)^3, over all pairs."""
    d = a.shape[1]
    aa, bb, ab = (a @ a.T / d + 1) ** 3, (b @ b.T / d + 1) ** 3, (a @ b.T / d + 1) ** 3
    n, m = len(a), len(b)
    return (aa.sum() - np.trace(aa)) / (n * (n - 1)) + (bb.sum() - np.trace(bb)) / (m * (m - 1)) - 2 * ab.mean()


def weighted_distance(a, b, v, w):
    """The same of multisets: v and w say how often each row is there; a row is no pair with itself."""
    d = a.shape[1]
    aa, bb, ab = (a @ a.T / d + 1) ** 3, (b @ b.T / d + 1) ** 3, (a @ b.T / d + 1) ** 3
    np.fill_diagonal(aa, 0)
    np.fill_diagonal(bb, 0)
    vv, ww = np.outer(v, v), np.outer(w, w)
    np.fill_diagonal(vv, 0)
    np.fill_diagonal(ww, 0)
    vw = np.outer(v, w)
    return (vv * aa).sum() / vv.sum() + (ww * bb).sum() / ww.sum() - 2 * (vw * ab).sum() / vw.sum()


def distances(a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1))


def manifolds(samples, real, k):
    """Precision and recall (Kynkaanniemi et al.), density and coverage (Naeem et al.)."""
    own = np.sort(distances(samples, samples), 1)[:, k]  # column 0 is the row itself
    radii = np.sort(distances(real, real), 1)[:, k]
    between = distances(samples, real)
    inside = between <= radii[None, :]
    return {
        "precision": float(inside.any(1).mean()),
        "recall": float((between <= own[:, None]).any(0).mean()),
        "density": float(inside.sum() / (k * len(samples))),
        "coverage": float((between.min(0) <= radii).mean()),
    }


def frechet(a, b):
    ca, cb = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    values, vectors = np.linalg.eigh(ca)
    half = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T  # the root of ca
    root = np.sqrt(np.maximum(np.linalg.eigvalsh(half @ cb @ half), 0)).sum()
    difference = a.mean(0) - b.mean(0)
    return float(difference @ difference + np.trace(ca) + np.trace(cb) - 2 * root)


def extrapolated(a, b, sizes):
    """The line over 1/N through the distances of the first N rows, at 0."""
    x = [1 / n for n in sizes]
    y = [frechet(a[:n], b[:n]) for n in sizes]
    return float(np.polyfit(x, y, 1)[1])


cases = []
for n, m, d, k in [(60, 50, 8, 3), (700, 600, 12, 3), (90, 120, 5, 5)]:
    a, b = features(1, n, d, 1.0, 0.0), features(500009, m, d, 1.2, 0.02)
    v, w = np.arange(n) % 3, np.arange(m) % 4  # multiplicities
    sizes = [min(n, m) // 2, min(n, m) * 2 // 3, min(n, m)]
    cases.append({"n": n, "m": m, "d": d, "k": k, "kernel": float(kernel_distance(a, b)),
                  "weighted": float(weighted_distance(a, b, v, w)), **manifolds(a, b, k),
                  "sizes": sizes, "infinity": extrapolated(a, b, sizes)})
with open("scores.json", "w") as out:
    json.dump(cases, out, indent=1)
    out.write("\n")
