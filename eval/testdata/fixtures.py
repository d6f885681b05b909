"""Writes image_pairs.json and frechet.json: scores by scikit-image and SciPy.

The images and features are formulas of integers, which the Go tests repeat, so
that only the scores are stored. Run with Debian 12's python3-skimage (0.19.3)
and python3-scipy (1.10.1), in this directory: /usr/bin/python3 fixtures.py
"""

import json

import numpy as np
import scipy.linalg
from skimage.metrics import peak_signal_noise_ratio, structural_similarity


def noise(i):
    """A 32-bit integer hash of a counter (Mueller's three rounds)."""
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    return (i >> 16) ^ i


def wave(t):
    """A triangle between 0 and 255 with period 510."""
    t %= 510
    return t if t <= 255 else 510 - t


def image_pair(p):
    """A patterned image and the same one with noise, an offset or a shift."""
    height, width = 11 + 3 * (p % 7), 11 + 5 * (p % 5)
    a = np.zeros((height, width, 3), np.uint8)
    b = np.zeros((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                value = wave((3 + p) * x + (7 + c) * y + x * y * (p % 3) + 60 * c)
                a[y, x, c] = value
                seed = ((p * 64 + y) * 64 + x) * 3 + c
                if p % 4 == 0:
                    other = value + noise(seed) % (2 * p + 3) - (p + 1)
                elif p % 4 == 1:
                    other = value + 9 * c - 4 * p
                elif p % 4 == 2:
                    other = wave((3 + p) * (x + 1) + (7 + c) * y + x * y * (p % 3) + 60 * c)
                else:
                    other = noise(seed) % 256
                b[y, x, c] = min(255, max(0, other))
    return a, b


def features(seed, n, d, scale, offset):
    """[n, d] rows whose columns are correlated: neighbours share a hash."""
    rows = np.zeros((n, d))
    for i in range(n):
        for j in range(d):
            own = noise(seed + (i * 100 + j) * 2) % 2048 - 1024
            shared = noise(seed + (i * 100 + j // 3) * 2 + 1) % 2048 - 1024
            rows[i, j] = scale * (own + 2 * shared * (j % 3)) / 1024 + offset * j
    return rows


def frechet(a, b):
    ca, cb = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(ca @ cb)
    difference = a.mean(0) - b.mean(0)
    return float(difference @ difference + np.trace(ca) + np.trace(cb) - 2 * np.trace(root).real)


pairs = []
for p in range(20):
    a, b = image_pair(p)
    pairs.append({
        "psnr": round(float(peak_signal_noise_ratio(a, b, data_range=255)), 8),
        "ssim": round(float(structural_similarity(
            a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
            data_range=255, channel_axis=-1)), 8),
    })
with open("image_pairs.json", "w") as out:
    json.dump(pairs, out, indent=1)
    out.write("\n")

cases = []
for n, m, d in [(40, 50, 4), (200, 150, 12), (90, 80, 30), (12, 20, 16)]:
    a, b = features(1, n, d, 1.0, 0.0), features(500009, m, d, 1.5, 0.02)
    cases.append({"n": n, "m": m, "d": d, "distance": round(frechet(a, b), 6)})
with open("frechet.json", "w") as out:
    json.dump(cases, out, indent=1)
    out.write("\n")
