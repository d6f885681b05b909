"""Writes factors.json: factors and recalls of a small log, computed with dense NumPy arrays.

python factors.py > factors.json   (numpy 2.4)
"""
import json

import numpy as np

ITEMS, USERS, DIM = 30, 80, 4
rng = np.random.default_rng(7)
topics = rng.integers(0, 5, ITEMS - 2)  # the last two items occur in no sequence
sequences = []
for _ in range(USERS):
    length, sequence = rng.integers(1, 12), []
    while len(sequence) < length:
        topic = topics[sequence[-1]] if sequence and rng.random() < 0.7 else rng.integers(0, 5)
        choice = [i for i in range(ITEMS - 2) if topics[i] == topic and i not in sequence[-3:]]
        if choice:
            sequence.append(int(rng.choice(choice)))
    sequences.append(sequence)
content = np.round(rng.normal(size=(ITEMS, DIM)), 3)

train = [s[:-2] if len(s) >= 3 else s for s in sequences]
counts = np.zeros((ITEMS, ITEMS))
for s in train:
    for a in range(len(s)):
        for b in range(len(s)):
            if a != b and abs(a - b) <= 5 and s[a] != s[b]:
                counts[s[a], s[b]] += 1 / abs(a - b)
marginal = counts.sum(1)
contexts = marginal**0.75
with np.errstate(all="ignore"):
    pmi = np.log(counts * contexts.sum() / (contexts[:, None] * marginal[None, :])) * counts / (counts + 1)
pmi = np.where(counts > 0, np.maximum(pmi, 0), 0)
_, values, vectors = np.linalg.svd(pmi)
factors = vectors.T * values
known = np.zeros(ITEMS, bool)
known[[i for s in train for i in s]] = True
factors = np.where(known[:, None], factors - factors[known].mean(0), 0)
factors /= np.sqrt((factors**2).sum() / known.sum())

centred = content - content.mean(0)
length = np.sqrt((centred**2).sum(1).mean())


def recall(gamma):
    joint = np.hstack([centred, gamma * length * factors])
    unit = joint / np.maximum(np.linalg.norm(joint, axis=1, keepdims=True), 1e-30)
    hits = total = 0
    for s in sequences:
        if len(s) < 3:
            continue
        history, target = s[:-2], s[-2]
        query = sum(unit[item] / (back + 1) for back, item in enumerate(history[::-1][:5]))
        scores = unit @ query
        own = scores[target]
        others = [i for i in range(ITEMS) if i not in history or i == target]
        better = sum(scores[i] > own + 1e-9 for i in others)
        equal = sum(abs(scores[i] - own) <= 1e-9 for i in others)
        hits += better + (equal + 1) / 2 <= 10
        total += 1
    return hits / total


print(json.dumps({
    "sequences": sequences,
    "content": content.tolist(),
    "products": np.round(factors @ factors.T, 9).tolist(),
    "recalls": {str(g): recall(g) for g in (0, 0.25, 0.5, 1, 2, 4)},
}))
