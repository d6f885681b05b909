#!/usr/bin/env python3
"""Peers of the benchmarks in package index: FAISS and PyTorch on the same problems.

Run with the system's Python and two threads:

    apt-get install python3-faiss python3-torch libopenblas0-pthread
    OMP_NUM_THREADS=2 /usr/bin/python3 lab/speed/faiss_index.py

and compare with

    GOEXPERIMENT=simd go test -short -run '^$' -bench 'Nearest|Residual|KMeans' ./index

Prints one JSON object: seconds are the best of several runs.
"""

import json
import os
import time

THREADS = 2
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))
os.environ.setdefault("OPENBLAS_NUM_THREADS", str(THREADS))

import faiss  # noqa: E402  (after the thread counts are set)
import numpy as np  # noqa: E402
import torch  # noqa: E402

N = K = 16384
D = 64
ENCODE_ROWS, ENCODE_DIM, LEVELS, BITS = 20_000, 128, 4, 8


def best_seconds(call, runs):
    call()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def normals(seed, rows, columns):
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32)


def flat_search():
    index = faiss.IndexFlatL2(D)
    index.add(normals(2, K, D))
    x = normals(1, N, D)
    return best_seconds(lambda: index.search(x, 1), 4)


def torch_search():
    x, codes = torch.from_numpy(normals(1, N, D)), torch.from_numpy(normals(2, K, D))
    half = (codes * codes).sum(1) / 2

    def search():
        # A thousand rows at a time: [N, K] whole would be a gigabyte.
        return torch.cat([torch.addmm(half, part, codes.T, alpha=-1).argmin(1) for part in x.split(1024)])

    return best_seconds(search, 4)


def residual_encode():
    x = normals(1, ENCODE_ROWS, ENCODE_DIM)
    quantizer = faiss.ResidualQuantizer(ENCODE_DIM, LEVELS, BITS)
    default_beam = quantizer.max_beam_size
    quantizer.cp.niter = 4
    quantizer.max_beam_size = 1  # for training, which is not measured
    quantizer.train(normals(3, 10_000, ENCODE_DIM))
    out = {}
    for name, beam in (("default", default_beam), ("1", 1)):
        quantizer.max_beam_size = beam
        seconds = best_seconds(lambda: quantizer.compute_codes(x), 3)
        out[name] = {"beam": beam, "seconds": seconds, "vectors_per_second": ENCODE_ROWS / seconds}
    return out


def kmeans_seconds():
    x = normals(1, 50_000, 32)

    def cluster():
        faiss.Kmeans(32, 1024, niter=20, seed=1, max_points_per_centroid=50_000).train(x)

    return best_seconds(cluster, 2)


def main():
    faiss.omp_set_num_threads(THREADS)
    torch.set_num_threads(THREADS)
    print(json.dumps({
        "faiss": faiss.__version__,
        "torch": torch.__version__,
        "threads": THREADS,
        "faiss_flat_l2_16384x16384x64_seconds": flat_search(),
        "torch_matmul_argmin_16384x16384x64_seconds": torch_search(),
        "faiss_residual_4x8_128d_encode_20000": residual_encode(),
        "faiss_kmeans_50000x32_k1024_20_iterations_seconds": kmeans_seconds(),
    }, indent=2))


if __name__ == "__main__":
    main()
