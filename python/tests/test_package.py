"""Damaged and unsupported bundles are refused with one sentence; the import is light; FAISS takes the codes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gritvq

STORED = os.path.join(os.path.dirname(__file__), "..", "..", "testdata", "stored")


def copied(tmp_path):
    import shutil
    return shutil.copytree(os.path.join(STORED, "vectors"), tmp_path / "tok")


def test_stored_tokenizers_of_earlier_versions_open():
    expected = os.path.join(STORED, "expected", "vectors.jsonl")
    rows = [json.loads(line) for line in open(expected, encoding="utf-8")]
    tok = gritvq.Tokenizer.load(os.path.join(STORED, "vectors"))
    codes = np.array([row["codes"] if isinstance(row, dict) else row for row in rows])
    y = tok.decode(codes)
    assert y.shape == (len(rows), 6) and np.isfinite(y).all()
    assert "grit" in repr(tok) or tok.config["quantizer"]["method"] in repr(tok)
    pictures = gritvq.Tokenizer.load(os.path.join(STORED, "pictures"))
    assert pictures.kind == "pictures" and len(pictures.codebooks) == len(pictures.layout.vocab) * max(1, pictures.layout.phases)


@pytest.mark.parametrize("want, spoil", {
    "is damaged: its checksum": lambda d: flip(d / "model.safetensors"),
    "is truncated": lambda d: cut(d / "model.safetensors"),
    "is missing": lambda d: (d / "model.safetensors").unlink(),
    "it has no manifest.json": lambda d: (d / "manifest.json").unlink(),
    "manifest.json is damaged": lambda d: (d / "manifest.json").write_text("{"),
    "is damaged: its checksum is not that of its content": lambda d: edit(d, sha256="0" * 64),
    "of kind 'dual'": lambda d: edit(d, kind="dual"),
    "has schema 9": lambda d: edit(d, schema=9),
    "method mine is not known": lambda d: edit(d, method="mine"),
}.items())
def test_refusals(tmp_path, want, spoil):
    spoil(copied(tmp_path))
    with pytest.raises(gritvq.BundleError) as info:
        gritvq.Tokenizer.load(tmp_path / "tok")
    assert want in str(info.value) and "\n" not in str(info.value)


def flip(file):
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(bytes(content))


def cut(file):
    file.write_bytes(file.read_bytes()[:-3])


def edit(folder, method=None, **values):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.update(values)
    if method:
        manifest["config"]["quantizer"]["method"] = method
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_wrong_items_are_refused():
    tok = gritvq.Tokenizer.load(os.path.join(STORED, "vectors"))
    for call in (lambda: tok.encode(np.zeros((3, 5))), lambda: tok.encode(np.full((1, 6), np.nan)), lambda: tok.encode(np.zeros((1, 6)), levels=9),
                 lambda: tok.decode(np.array([[0, 99]])), lambda: tok.decode(np.zeros((1, 3), int)), lambda: tok.encode(np.zeros((1, 6)), beam=0)):
        with pytest.raises(ValueError):
            call()
    assert tok.encode(np.zeros((0, 6))).shape == (0, 2) and tok.decode(np.zeros((0, 2), int)).shape == (0, 6)


def test_import_is_light():
    """import gritvq adds at most 30 ms to import numpy: processor time, the least of several runs."""
    code = "import time, numpy; t = time.process_time(); import gritvq; print(time.process_time() - t)"
    root = os.path.dirname(os.path.dirname(gritvq.__file__))
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PYTHONPATH": root}).stdout) for _ in range(7)]
    assert min(times) < 0.03, times


@pytest.mark.parametrize("flags", [["--levels", 3], ["--levels", 2, "--codes", 11], ["--method", "opq", "--levels", 1, "--parts", 4]])
def test_faiss(program, vectors, tmp_path, flags):
    faiss = pytest.importorskip("faiss")
    path, x = vectors
    program("train", path, "-o", tmp_path / "tok", "--codes", 16, "--batch", 64, "--steps", 30, "--set", "train.choose=[]", *flags)
    tok = gritvq.Tokenizer.load(tmp_path / "tok")
    index = tok.to_faiss()
    index.add(x)
    own = tok.decode(tok.encode(x))
    theirs = index.reconstruct_n(0, len(x))
    far = np.abs(own - theirs).max(1) > 1e-4
    assert far.mean() < 0.05  # FAISS adds up the errors of its beam in another order
    assert abs(np.square(own - x).sum() / np.square(theirs - x).sum() - 1) < 1e-3
    assert isinstance(index, faiss.IndexPreTransform)
