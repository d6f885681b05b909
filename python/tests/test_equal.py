"""Codes and reconstructions equal those of the gritvq program."""

import numpy as np
import pytest

import gritvq
from conftest import read_png
from gritvq._ops import NUMPY

NEAR = 1e-5  # relative difference of squared errors below which another code is as near

SMALL = ["--codes", 16, "--batch", 64, "--steps", 30]
PLAIN = ["--set", "train.choose=[]"]
NETWORK = ["--hidden", "16", "--dim", 4]

VECTORS = {
    "grit": [*PLAIN], "grit without a beam": [*PLAIN, "--set", "quantizer.beam=1"],
    "grit affine": [*PLAIN, "--set", "quantizer.transform.levels=affine", "--set", "quantizer.transform.hidden=8"],
    "grit implicit": [*PLAIN, "--set", "quantizer.transform.levels=implicit", "--set", "quantizer.transform.hidden=8",
                      "--set", "quantizer.transform.candidates=4"],
    "grit network": [*PLAIN, *NETWORK], "gelu": [*PLAIN, *NETWORK, "--set", "model.activation=gelu"],
    "silu by feature": [*PLAIN, *NETWORK, "--set", "model.activation=silu", "--set", "model.standardize=feature"],
    "refined": [*PLAIN, "--set", "train.finish=1", "--set", "model.refine.width=8", "--set", "model.refine.drop=0.2"],
    "parts": [*PLAIN, "--parts", 2], "parts implicit": [*PLAIN, "--parts", 2, "--set", "quantizer.transform.levels=implicit"],
    "cosine": [*PLAIN, "--method", "ste", "--levels", 1, "--set", "quantizer.distance=cosine", "--set", "quantizer.start.from=kmeans"],
    "local search": [*PLAIN, "--set", "quantizer.search=local", "--set", "train.keep_start=true"],
    "shared": [*PLAIN, "--method", "ste", "--set", "quantizer.shared=true", "--set", "quantizer.start.from=kmeans",
               "--set", "quantizer.beam=1"],  # codes in another order have the same sum
    "qinco": [*PLAIN, "--method", "qinco", "--set", "quantizer.transform.hidden=8"],
    **{m: [*PLAIN, "--method", m] for m in ("ste", "ema", "nsvq", "diveq", "sf-diveq", "simvq", "rotation", "rqvae", "kmeans-ste",
                                           "gumbel", "ibq", "hypervq", "lfq")},
    "fsq": [*PLAIN, "--method", "fsq", "--codes", 256, "--levels", 1], "fsq of the grid's size": [
        *PLAIN, "--method", "fsq", "--set", "quantizer.grid=[5,4,3]", "--dim", 3, "--hidden", "8"],
    "lfq network": [*PLAIN, "--method", "lfq", *NETWORK],
    "kmeans": ["--method", "kmeans", "--levels", 1], "pq": ["--method", "pq", "--levels", 1, "--parts", 4],
    "opq": ["--method", "opq", "--levels", 1, "--parts", 4], "rq": ["--method", "rq"], "lsq": ["--method", "lsq"],
    "lsh": ["--method", "lsh"],
}


def same_codes(tok, codes, want, errors):
    """All codes are equal but for near ties, of which there are a few at most; returns their number."""
    assert codes.shape == want.shape
    differ = (codes != want).reshape(len(want), -1).any(1)
    ties = 0
    for row in np.nonzero(differ)[0]:
        own, other = errors(codes[row:row + 1], row), errors(want[row:row + 1], row)
        assert abs(own - other) <= NEAR * max(own, other), f"row {row}: codes {codes[row]}, want {want[row]}, errors {own} and {other}"
        ties += 1
    assert ties <= len(want) // 100, f"{ties} near ties of {len(want)} rows"
    return ties


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(program, vectors, tmp_path, name):
    path, x = vectors
    flags = VECTORS[name]
    levels = [] if "--levels" in flags else ["--levels", 3]
    program("train", path, "-o", tmp_path / "tok", *SMALL, *levels, *flags)
    tok = gritvq.Tokenizer.load(tmp_path / "tok")
    program("encode", tmp_path / "tok", path, "-o", tmp_path / "codes.npy")
    program("decode", tmp_path / "tok", tmp_path / "codes.npy", "-o", tmp_path / "y.npy")
    want, y = np.load(tmp_path / "codes.npy"), np.load(tmp_path / "y.npy")
    codes = tok.encode(x)
    assert codes.dtype == np.uint32 and codes.shape == want.shape
    z, _ = tok.latents(x)

    def error(codes, row):
        return float(np.square(z[row] - tok.quantizer.decode(NUMPY, tok.quantizer.weights, tok.codebooks, codes.astype(int), None)).sum())
    same_codes(tok, codes, want, error)
    np.testing.assert_allclose(tok.decode(want), y, rtol=1e-5, atol=2e-5)
    if tok.layout.levels > 1:
        program("encode", tmp_path / "tok", path, "-o", tmp_path / "two.npy", "--levels", 2)
        program("decode", tmp_path / "tok", tmp_path / "two.npy", "-o", tmp_path / "y2.npy")
        two = np.load(tmp_path / "two.npy")
        assert (tok.encode(x, levels=2) != two).any(1).mean() < 0.01
        np.testing.assert_allclose(tok.decode(two), np.load(tmp_path / "y2.npy"), rtol=1e-5, atol=2e-5)


PICTURES = {
    "grit": [], "two levels": ["--levels", 2, "--set", "quantizer.beam=3"], "ema": ["--method", "ema"],
    "fsq": ["--method", "fsq", "--codes", 256], "transposed without a linear path": [
        "--set", "model.image.up=transposed", "--set", "model.image.linear=false"],
    "factor 3": ["--size", 12, "--short", 12, "--down", 6, "--width", "8,8,8"],
    "context": ["--set", "quantizer.transform.context=2", "--set", "quantizer.transform.context_width=8"],
    "context in four phases": ["--set", "quantizer.transform.context=4", "--set", "quantizer.transform.context_width=8", "--levels", 2,
                               "--set", "quantizer.beam=2"],
    "phases without a network": ["--set", "quantizer.transform.context=2", "--set", "quantizer.transform.context_width=0"],
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(program, pictures, tmp_path, name):
    folder, x = pictures
    small = ["--size", 16, "--short", 16, "--width", "8,8,16", "--dim", 4, "--codes", 16, "--batch", 8, "--steps", 40]
    program("train", folder, "-o", tmp_path / "tok", *small, *PICTURES[name], "--set", "train.validation=0")
    tok = gritvq.Tokenizer.load(tmp_path / "tok")
    program("encode", tmp_path / "tok", folder, "-o", tmp_path / "codes.npy")
    program("decode", tmp_path / "tok", tmp_path / "codes.npy", "-o", tmp_path / "out")
    want = np.load(tmp_path / "codes.npy")
    if tok.network.size != 16:  # the program takes squares from the middle, or scales: only its codes are compared
        out = tok.decode(want)
        assert out.shape == (20, 12, 12, 3)
    else:
        codes = tok.encode(x)
        z, grid = tok.latents(x)
        cells = len(z) // len(x)

        def error(codes, row):
            own = tok.quantizer.decode(NUMPY, tok.quantizer.weights, tok.codebooks, codes.reshape(cells, -1).astype(int), (1, *grid[1:]))
            return float(np.square(z.reshape(len(x), -1)[row] - own.reshape(-1)).sum())
        same_codes(tok, codes, want, error)
        out = tok.decode(want)
    files = sorted((tmp_path / "out").glob("*.png"))
    assert len(files) == 20
    difference = np.abs(out.astype(int) - np.stack([read_png(f) for f in files]).astype(int))
    assert difference.max() <= 1 and (difference > 0).mean() < 1e-3  # of values that lie between two pixel values



