"""Writes rank.json: ranking scores and tests by scikit-learn and SciPy.

Ranks are formulas of integers, which the Go tests repeat. Run with Debian 12's
python3-sklearn (1.2.1) and python3-scipy (1.10.1), in this directory:
/usr/bin/python3 rank_fixtures.py
"""

import json
import warnings

import numpy as np
from scipy import stats
from sklearn.metrics import ndcg_score

warnings.simplefilter("ignore")  # SciPy warns of small samples, which are the point


def noise(i):
    """A 32-bit integer hash of a counter (Mueller's three rounds)."""
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    i = ((i >> 16) ^ i) * 0x45D9F3B & 0xFFFFFFFF
    return (i >> 16) ^ i


def significance(users, spread, seed):
    """Two recommenders that agree on some users: zeros and ties abound."""
    a = [noise(seed + 4 * u) % spread + 1 for u in range(users)]
    b = [noise(seed + 4 * u + 1) % (spread + 3) + 1 for u in range(users)]
    b = [a[u] if noise(seed + 4 * u + 2) % 3 == 0 else b[u] for u in range(users)]
    x, y = ([1 / np.log2(1 + r) if r <= 10 else 0.0 for r in ranks] for ranks in (a, b))
    t = stats.ttest_rel(x, y)
    w = stats.wilcoxon(x, y, zero_method="wilcox", correction=True, method="approx")
    return {"users": users, "spread": spread, "seed": seed, "t": t.statistic, "p": t.pvalue,
            "smaller_sum": float(w.statistic), "wilcoxon_p": float(w.pvalue)}


def exact(n, seed):
    """Differences without ties or zeros: SciPy's exact distribution."""
    d = [(i + 1) * (1 if noise(seed + i) % 3 else -1) for i in range(n)]
    w = stats.wilcoxon(d, method="exact")
    return {"n": n, "seed": seed, "smaller_sum": float(w.statistic), "p": float(w.pvalue)}


def relevance(items, relevant, seed):
    """One query with several relevant products among scores that are distinct."""
    order = sorted(range(items), key=lambda i: (noise(seed + i), i))
    score = np.zeros(items)
    for place, item in enumerate(order):
        score[item] = items - place
    truth = np.zeros(items)
    truth[:relevant] = 1  # items 0 .. relevant-1
    return {"items": items, "relevant": relevant, "seed": seed,
            "ndcg": [float(ndcg_score([truth], [score], k=k)) for k in (1, 5, 10, 20)]}


with open("rank.json", "w") as out:
    json.dump({
        "significance": [significance(*c) for c in
                         [(12, 6, 1), (40, 12, 100), (200, 15, 1000), (500, 40, 9000), (3000, 60, 50000)]],
        "exact": [exact(*c) for c in [(5, 3), (12, 50), (20, 7), (25, 300)]],
        "relevance": [relevance(*c) for c in [(10, 1, 1), (30, 3, 77), (50, 12, 500), (200, 7, 4000)]],
    }, out, indent=1)
    out.write("\n")
