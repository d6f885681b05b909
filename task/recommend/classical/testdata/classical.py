"""Writes classical.json: scores and ranks of classical recommenders, by NumPy and SciPy.

    python classical.py > classical.json
"""
import json
import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

rng = np.random.default_rng(7)
ITEMS = 25
users = [rng.integers(0, 4 + rng.integers(1, ITEMS - 3), size=rng.integers(1, 14)).tolist() for _ in range(40)]
histories = [[3], [0, 1, 2, 3, 4, 5, 6], [7, 7, 2], [], [24, 1], users[5], users[8]]


def binary(users):
    rows = [u for u, seq in enumerate(users) for _ in set(seq)]
    cols = [i for seq in users for i in set(seq)]
    return sp.csr_matrix((np.ones(len(rows)), (rows, cols)), (len(users), ITEMS))


def popularity(users):
    return np.bincount([i for seq in users for i in seq], minlength=ITEMS).astype(float)


def itemknn(users, shrink):
    together = (binary(users).T @ binary(users)).toarray()
    takers = together.diagonal()
    table = together / (np.sqrt(np.outer(takers, takers)) + shrink + 1e-300)
    np.fill_diagonal(table, 0)
    return table


def transitions(users, window, norm):
    table = np.zeros((ITEMS, ITEMS))
    for seq in users:
        for i in range(len(seq)):
            for j in range(i + 1, min(len(seq), i + window + 1)):
                table[seq[i], seq[j]] += 1 / (j - i)
    totals = table.sum(1, keepdims=True)
    return table / np.where(totals > 0, totals, 1) ** norm


def ease(users, l2):
    x = binary(users).toarray()
    gram = x.T @ x + l2 * np.eye(ITEMS)
    gram_inverse = np.linalg.inv(gram)
    table = -gram_inverse / gram_inverse.diagonal()
    np.fill_diagonal(table, 0)
    return table


def scores(table, history, last, decay):
    if table.ndim == 1:
        return table
    out = np.zeros(ITEMS)
    for k, item in enumerate(reversed(history), 1):
        if last == 0 or k <= last:
            out += k ** -float(decay) * table[item]
    return out


def mean_ranks(values):
    """Middle rank of tied items, rounded up, of values without rounding noise."""
    return np.ceil(rankdata(-np.round(values, 9), method="average")).astype(int)


cases = []
for name, make, settings in [
    ("popularity", popularity, {}),
    ("itemknn", itemknn, {"shrink": 0}),
    ("itemknn", itemknn, {"shrink": 10}),
    ("transitions", transitions, {"window": 5, "norm": 0}),
    ("transitions", transitions, {"window": 3, "norm": 0.5}),
    ("ease", ease, {"l2": 20}),
]:
    table = make(users, **settings)
    for last, decay in [(0, 0), (5, 1)]:
        for history in histories:
            s = scores(table, history, last, decay)
            cases.append({"method": name, **settings, "last": last, "decay": decay, "history": history,
                          "scores": np.round(s, 7).tolist(), "ranks": mean_ranks(s).tolist()})
print(json.dumps({"items": ITEMS, "users": users, "cases": cases}))
