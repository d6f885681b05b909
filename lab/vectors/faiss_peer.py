#!/usr/bin/env python3
"""FAISS's residual and local search quantizers on given vectors.

    make faiss    # a virtual environment with requirements.txt
    build/faiss/bin/python lab/vectors/faiss_peer.py train.npy test.npy --method faiss-rq --levels 4 --codes 256

Fits to all rows of train.npy, less their mean, and prints one JSON object: seconds of
the fit and of encoding, and FAISS's version. --errors writes the squared error of
every test row. Settings other than these are FAISS's defaults:

    faiss-rq-default  ResidualQuantizer, beam 5, codebooks clustered in growing dimensions
    faiss-rq          the same with beam 16, and codebooks refined jointly afterwards (Train_refine_codebook)
    faiss-lsq-default LocalSearchQuantizer
    faiss-lsq         the same with lambda 4, 50 iterations and 16 rounds of local search in each: better than
                      the defaults (0.01, 25, 8) on validation rows of Beauty in 64 dimensions and of MovieLens
"""

import argparse
import json
import math
import time

import faiss
import numpy as np


def residual(dim, levels, bits, beam, refine, rows, seed):
    q = faiss.ResidualQuantizer(dim, levels, bits)
    q.max_beam_size = beam
    q.cp.seed = seed
    q.cp.max_points_per_centroid = rows  # no subsampling
    if refine:
        q.train_type |= faiss.ResidualQuantizer.Train_refine_codebook
    return q


def local_search(dim, levels, bits, tuned, seed):
    q = faiss.LocalSearchQuantizer(dim, levels, bits)
    q.random_seed = seed
    if tuned:
        q.lambd, q.train_iters, q.train_ils_iters = 4.0, 50, 16
    return q


METHODS = {
    "faiss-rq-default": lambda d, levels, bits, rows, seed: residual(d, levels, bits, 5, False, rows, seed),
    "faiss-rq": lambda d, levels, bits, rows, seed: residual(d, levels, bits, 16, True, rows, seed),
    "faiss-lsq-default": lambda d, levels, bits, rows, seed: local_search(d, levels, bits, False, seed),
    "faiss-lsq": lambda d, levels, bits, rows, seed: local_search(d, levels, bits, True, seed),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--levels", type=int, default=4)
    parser.add_argument("--codes", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--errors")
    options = parser.parse_args()
    bits = int(math.log2(options.codes))
    if options.codes != 1 << bits:
        parser.error(f"FAISS has codebooks of 2, 4, 8, ... codes, not of {options.codes}")
    train, test = (np.load(path).astype(np.float32) for path in (options.train, options.test))
    mean = train.mean(0)
    train, test = (np.ascontiguousarray(x - mean) for x in (train, test))
    start = time.perf_counter()
    q = METHODS[options.method](train.shape[1], options.levels, bits, len(train), options.seed)
    q.train(train)
    fitted = time.perf_counter() - start
    codes = q.compute_codes(test)
    encoded = time.perf_counter() - start - fitted
    decoded = q.decode(codes)
    errors = ((test.astype(np.float64) - decoded) ** 2).sum(1)
    if options.errors:
        np.save(options.errors, errors.astype(np.float32)[:, None])
    print(json.dumps({"faiss": faiss.__version__, "seconds": fitted, "encode_seconds": encoded,
                      "error": float(errors.sum() / (test.astype(np.float64) ** 2).sum())}))


if __name__ == "__main__":
    main()
