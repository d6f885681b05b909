"""The tokenizer as a module of PyTorch: the same codes and items, and gradients that train it."""

import numpy as np
import pytest

import gritvq

torch = pytest.importorskip("torch")

SMALL = ["--codes", 16, "--batch", 64, "--steps", 30, "--set", "train.choose=[]"]


@pytest.mark.parametrize("flags", [["--hidden", "16", "--dim", 4, "--levels", 3],
                                   ["--levels", 3, "--set", "quantizer.transform.levels=implicit", "--set", "quantizer.transform.hidden=8"],
                                   ["--levels", 2, "--set", "quantizer.transform.levels=affine"],
                                   ["--levels", 3, "--set", "train.finish=1", "--set", "model.refine.width=8"], ["--method", "opq", "--levels", 1, "--parts", 4]])
def test_vectors(program, vectors, tmp_path, flags):
    path, x = vectors
    program("train", path, "-o", tmp_path / "tok", *SMALL, *flags)
    tok = gritvq.Tokenizer.load(tmp_path / "tok")
    model = tok.to_torch()
    codes = model.encode(torch.from_numpy(x))
    assert (codes.numpy() != tok.encode(x)).any(1).mean() < 0.01
    y = model.decode(codes)
    np.testing.assert_allclose(y.detach().numpy(), tok.decode(codes.numpy()), rtol=1e-4, atol=1e-4)
    before = float((y - torch.from_numpy(x)).square().mean())
    z, _ = model.latents(torch.from_numpy(x))
    z = z.detach().requires_grad_()
    model.decode_latents(z).square().sum().backward()
    assert z.grad is not None and float(z.grad.abs().sum()) > 0
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(30):
        optimizer.zero_grad()
        reconstruction, _ = model(torch.from_numpy(x))
        loss = (reconstruction - torch.from_numpy(x)).square().mean()
        loss.backward()
        optimizer.step()
    assert all(p.grad is not None for p in model.codebooks)
    after = float((model(torch.from_numpy(x))[0] - torch.from_numpy(x)).square().mean())
    assert after < before


@pytest.mark.parametrize("flags", [[], ["--set", "model.image.up=transposed"],
                                   ["--set", "quantizer.transform.context=2", "--set", "quantizer.transform.context_width=8"]])
def test_pictures(program, pictures, tmp_path, flags):
    folder, x = pictures
    program("train", folder, "-o", tmp_path / "tok", "--size", 16, "--short", 16, "--width", "8,8,16", "--dim", 4, "--codes", 16,
            "--batch", 8, "--steps", 30, *flags)
    tok = gritvq.Tokenizer.load(tmp_path / "tok")
    model = tok.to_torch()
    codes = model.encode(torch.from_numpy(x))
    assert (codes.numpy() == tok.encode(x)).all()
    y = model.decode(codes)
    assert np.abs((y.detach().numpy() + 0.5).astype(np.uint8).astype(int) - tok.decode(codes.numpy()).astype(int)).max() <= 1
    y.sum().backward()
    assert float(model.parameters_by_name["decoder__output__weights"].grad.abs().sum()) > 0
