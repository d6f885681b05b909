#!/usr/bin/env python3
"""Errors of FAISS's k-means, PQ, OPQ and residual quantizer on given vectors.

    apt-get install python3-faiss
    /usr/bin/python3 lab/speed/faiss_fit.py vectors.npy --codes 256 --positions 4 --iterations 25

Prints one JSON object: for each method the mean squared error over all elements
of the vectors it was fitted to, of the held-out ones (--held), and the seconds it
took. All rows are used for fitting, and every k-means runs the same number of
iterations, so that `go run ./bench -only fit` compares equal settings.
"""

import argparse
import json
import math
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import faiss  # noqa: E402  (after the thread count is set)
import numpy as np  # noqa: E402


def clustering(parameters, rows, iterations, seed):
    parameters.niter = iterations
    parameters.seed = seed
    parameters.max_points_per_centroid = rows  # no subsampling
    parameters.min_points_per_centroid = 1


def fit_kmeans(x, codes, positions, iterations, seed):
    """One codebook a level, each of what the ones before left over."""
    books, rest = [], x.copy()
    for level in range(positions):
        kmeans = faiss.Kmeans(x.shape[1], codes, niter=iterations, seed=seed + level,
                              max_points_per_centroid=len(x), min_points_per_centroid=1)
        kmeans.train(rest)
        books.append(kmeans)
        rest -= kmeans.centroids[kmeans.index.search(rest, 1)[1][:, 0]]

    def reconstruct(y):
        left = y.copy()
        for kmeans in books:
            left -= kmeans.centroids[kmeans.index.search(left, 1)[1][:, 0]]
        return y - left

    return reconstruct


def fit_pq(x, codes, positions, iterations, seed):
    pq = faiss.ProductQuantizer(x.shape[1], positions, int(math.log2(codes)))
    clustering(pq.cp, len(x), iterations, seed)
    pq.train(x)
    return lambda y: pq.decode(pq.compute_codes(y))


def fit_opq(x, codes, positions, iterations, seed):
    """FAISS's own defaults for the rotation, then PQ in it."""
    rotation = faiss.OPQMatrix(x.shape[1], positions)
    pq = faiss.ProductQuantizer(x.shape[1], positions, int(math.log2(codes)))
    rotation.pq = pq
    rotation.train(x)
    fitted = fit_pq(rotation.apply_py(x), codes, positions, iterations, seed)
    return lambda y: rotation.reverse_transform(fitted(rotation.apply_py(y)))


def fit_rq(x, codes, positions, iterations, seed):
    """FAISS's defaults: a beam of 5 and codebooks clustered in growing dimensions."""
    rq = faiss.ResidualQuantizer(x.shape[1], positions, int(math.log2(codes)))
    clustering(rq.cp, len(x), iterations, seed)
    rq.train(x)
    return lambda y: rq.decode(rq.compute_codes(y))


METHODS = {"kmeans": fit_kmeans, "pq": fit_pq, "opq": fit_opq, "rq": fit_rq}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("--held")
    parser.add_argument("--codes", type=int, default=256)
    parser.add_argument("--positions", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    load = lambda path: np.ascontiguousarray(np.load(path), dtype=np.float32)
    x = load(options.vectors)
    held = load(options.held) if options.held else None
    out = {"faiss": faiss.__version__, "codes": options.codes, "positions": options.positions, "iterations": options.iterations}
    error = lambda reconstruct, y: float(np.mean((reconstruct(y).astype(np.float64) - y) ** 2))
    for name in options.methods.split(","):
        start = time.perf_counter()
        reconstruct = METHODS[name](x, options.codes, options.positions, options.iterations, options.seed)
        out[name] = {"seconds": time.perf_counter() - start, "mse": error(reconstruct, x)}
        if held is not None:
            out[name]["held_mse"] = error(reconstruct, held)
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
