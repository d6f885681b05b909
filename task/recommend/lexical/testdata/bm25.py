"""Writes bm25.json: scores of BM25 over small texts, by dense NumPy matrices.

    python bm25.py > bm25.json
"""
import json
import re
import numpy as np

TEXTS = ["Coconut oil, pure: 8 oz", "Oil of almonds & coconuts", "Brushes", "a brush for brushes", "", "Glass glasses glass",
         "Ladies' hair brush 2", "coconut milk", "Éclair au café"]
SEARCHES = ["coconut oil", "brush brush", "glasses", "lady almond", "cafe café", "nothing", "cocnut"]


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def stem(w):
    if w.endswith("ies"):
        return w[:-3] + "y" if len(w) > 4 and not w.endswith(("eies", "aies")) else w
    if w.endswith("es"):
        return w[:-1] if len(w) > 3 and not w.endswith(("aes", "ees", "oes")) else w
    if w.endswith("s") and len(w) > 2 and not w.endswith(("us", "ss")):
        return w[:-1]
    return w


def runs(text, n):
    out = []
    for w in words(text):
        w = " " + w + " "
        out += [w[i:i + n] for i in range(max(1, len(w) - n + 1))]
    return out


def bm25(docs, query, k1, b):
    vocab = sorted({t for d in docs for t in d})
    tf = np.array([[d.count(t) for t in vocab] for d in docs], float)
    lengths = tf.sum(1, keepdims=True)
    df = (tf > 0).sum(0)
    idf = np.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
    weight = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * lengths / lengths.mean()))
    weight = np.where(tf > 0, weight, 0)
    q = np.array([query.count(t) for t in vocab], float)
    return weight @ q


cases = []
for k1, b, stems, n, w in [(1.2, 0.75, False, 0, 0), (0.9, 0.4, True, 0, 0), (1.2, 0.75, True, 3, 0.5), (0, 1, False, 4, 2)]:
    analyse = (lambda t: [stem(x) for x in words(t)]) if stems else words
    for s in SEARCHES:
        score = bm25([analyse(t) for t in TEXTS], analyse(s), k1, b)
        if n:
            score = score + w * bm25([runs(t, n) for t in TEXTS], runs(s, n), k1, b)
        cases.append({"k1": k1, "b": b, "stem": stems, "runs": n, "run_weight": w, "search": s, "scores": np.round(score, 7).tolist()})
print(json.dumps({"texts": TEXTS, "cases": cases}, ensure_ascii=False))
