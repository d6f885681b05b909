"""gritvq.nn.GritVQ: values and gradients of the Go quantizer, tensor by tensor, and a layer that trains.

grit.json is written by the Go test TestLayerFixture, in float64.
"""

import json
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gritvq.nn import GritVQ, nearest  # noqa: E402

with open(os.path.join(os.path.dirname(__file__), "grit.json"), encoding="utf-8") as f:
    CASES = json.load(f)

NAMES = {"level0/codes": "raw", "level0/mixer/a": "mixer_a", "level0/mixer/b": "mixer_b", "level0/feature/w": "feature",
         "level0/feature/gain": "gain", "radius/scalar": "scalar_raw"}


def array(value):
    return np.array(value["Data"], np.float64).reshape(value["Shape"])


def layer_of(case, dtype):
    inputs = {name: array(v) for name, v in case["Inputs"].items()}
    codes, dim = inputs["level0/codes"].shape
    layer = GritVQ(dim, codes, rank=3, row_norm=case["RowNorm"], radius=case["Radius"], mode=case["Mode"], scalar=case["Scalar"],
                   learn_scalar=case["Learned"], codebook_weight=case["Codebook"], commitment_weight=case["Commitment"], start="random",
                   reset_every=0).to(dtype)
    with torch.no_grad():
        for theirs, ours in NAMES.items():
            if theirs in inputs:
                getattr(layer, ours).copy_(torch.from_numpy(inputs[theirs]))
        layer.source.copy_(torch.from_numpy(inputs["level0/state/source"]))
    return layer, inputs


def relative(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64).reshape(np.shape(got))
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['Radius']} {c['Mode']} {c['Scalar']}{' learned' * c['Learned']}")
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-4), (torch.float64, 1e-6)], ids=["float32", "float64"])
def test_equals_go(case, dtype, tolerance):
    layer, inputs = layer_of(case, dtype)
    z = torch.tensor(inputs["z"], dtype=dtype, requires_grad=True)
    quantized, indices, loss = layer(z)
    assert indices.tolist() == [int(i) for i in case["Index"]]
    assert relative(quantized.detach(), case["Soft"]) < tolerance
    assert abs(float(loss) - case["Loss"]) <= tolerance * max(case["Loss"], 1e-12)
    if case["Mode"] != "unit-soft":
        assert relative(quantized.detach(), case["Hard"]) < tolerance
    ((quantized * torch.tensor(inputs["weight"], dtype=dtype)).sum() + loss).backward()
    for theirs, want in case["Gradients"].items():
        got = z.grad if theirs == "z" else getattr(layer, NAMES[theirs]).grad
        assert relative(got, want) < tolerance, theirs
    assert layer.eval()(z)[0].detach().numpy() == pytest.approx(np.array(case["Hard"]).reshape(z.shape), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("radius, k", [("euclidean", lambda x: np.ones_like(x)), ("huber", lambda x: np.minimum(x, 1)),
                                       ("temperature", lambda x: 1 / (1 + x)), ("soft-clip", lambda x: 1 / np.cosh(x) ** 2),
                                       ("pseudo-huber", lambda x: x / np.sqrt(1 + x * x))])
def test_closed_form(radius, k):
    """dz = g - k s <s, g>, and gradients of E, A, B, W by the matrix products of E' = (E + A B E0) W, in NumPy."""
    rng = np.random.default_rng(3)
    layer = GritVQ(5, 11, rank=4, radius=radius, mode="unit-hard", start="random", reset_every=0).double()
    with torch.no_grad():
        for p in layer.parameters():
            p += torch.from_numpy(rng.normal(size=p.shape) * 0.5)
        layer.source.copy_(torch.from_numpy(rng.normal(size=(11, 5))))
    z = torch.tensor(rng.normal(size=(40, 5)), requires_grad=True)
    g = rng.normal(size=(40, 5))
    quantized, at, _ = layer(z)
    (quantized * torch.from_numpy(g)).sum().backward()
    e, a, b, w, e0 = (p.detach().numpy() for p in (layer.raw, layer.mixer_a, layer.mixer_b, layer.feature, layer.source))
    usable = (e + a @ (b @ e0)) @ w
    distance = np.square(z.detach().numpy()[:, None] - usable).sum(-1)
    assert (distance.argmin(1) == at.numpy()).all()
    d = usable[at] - z.detach().numpy()
    delta = np.linalg.norm(d, axis=1, keepdims=True)
    s = d / delta
    pulled = k(delta) * s * (s * g).sum(1, keepdims=True)
    big = np.zeros_like(usable)
    np.add.at(big, at.numpy(), pulled)
    up = big @ w.T
    for got, want in ((z.grad, g - pulled), (layer.raw.grad, up), (layer.mixer_a.grad, up @ (b @ e0).T), (layer.mixer_b.grad, a.T @ up @ e0.T),
                      (layer.feature.grad, (e + a @ (b @ e0)).T @ big)):
        assert relative(got, want) < 1e-6


def data(n=4000):
    torch.manual_seed(0)
    hidden = torch.randn(n, 3)
    return torch.tanh(hidden @ torch.randn(3, 16)) + 0.05 * torch.randn(n, 16)


@pytest.mark.parametrize("options", [{}, {"start": "data", "row_norm": "gain"}, {"radius": "power", "scalar": 0.7, "codebook_weight": 0.5,
                                                                                 "commitment_weight": 0.1}])
def test_trains(options):
    """An autoencoder around the layer: the held-out error falls well below that of one code, and most codes are used."""
    torch.manual_seed(1)
    x = data()
    held, x = x[:500], x[500:]
    encoder = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    decoder = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16))
    layer = GritVQ(8, 64, rank=8, reset_every=50, **options)
    model = torch.nn.ModuleList([encoder, layer, decoder])
    layer(encoder(x))  # places the codes, whose optimizer starts there
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(400):
        batch = x[torch.randint(len(x), (256,))]
        optimizer.zero_grad()
        quantized, _, loss = layer(encoder(batch))
        ((decoder(quantized) - batch).square().mean() + loss).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        quantized, indices, _ = layer(encoder(held))
        error = float((decoder(quantized) - held).square().mean() / held.var())
    assert error < 0.35, error
    assert len(indices.unique()) > 32


def test_shapes_and_options():
    layer = GritVQ(8, 16)
    x = torch.randn(2, 5, 8)
    quantized, indices, loss = layer(x)
    assert quantized.shape == x.shape and indices.shape == (2, 5) and loss.ndim == 0 and bool(layer.started)
    assert torch.equal(layer.get_output_from_indices(indices), layer.codebook[indices])
    maps = GritVQ(8, 16, accept_image_fmap=True, start="data")
    quantized, indices, _ = maps(torch.randn(2, 8, 4, 6))
    assert quantized.shape == (2, 8, 4, 6) and indices.shape == (2, 4, 6)
    assert maps.get_output_from_indices(indices).shape == (2, 8, 4, 6)
    half, _, _ = layer.eval()(x.bfloat16())
    assert half.dtype == torch.bfloat16
    for wrong in (dict(radius="none"), dict(mode="soft"), dict(scalar=0), dict(learn_scalar=True), dict(start="zeros"), dict(row_norm="x")):
        with pytest.raises(ValueError):
            GritVQ(8, 16, **wrong)
    with pytest.raises(ValueError):
        layer(torch.randn(3, 7))
    again = GritVQ(8, 16)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again.codebook, layer.codebook) and bool(again.started)


def test_padding_counts_nowhere():
    torch.manual_seed(2)
    x = torch.randn(6, 10, 8)
    mask = torch.arange(10) < torch.tensor([[10], [3], [7], [1], [10], [5]])
    full = GritVQ(8, 4, start="random", commitment_weight=1.0, reset_every=1000)
    other = x.clone()
    other[~mask] = 1e3
    a, b = full(x, mask)[2], full(other, mask)[2]
    assert torch.equal(a, b) and int(full.counts.sum()) == 2 * int(mask.sum())


def test_dead_codes_move_to_latents():
    layer = GritVQ(4, 8, start="random", reset_every=2, rank=3)
    with torch.no_grad():
        layer.raw[3:] = 100.0
        layer.mixer_a.normal_(std=0.01)
        layer.feature += 0.1 * torch.randn(4, 4)
    x = torch.randn(64, 4)
    layer(x)
    layer(x)
    dead = torch.nonzero(layer.counts < 0.1 / 8 * 128).flatten()
    layer(x)
    usable = layer.codebook.detach()
    moved = nearest(usable, x)
    assert len(dead) >= 5
    assert float((usable - x[moved]).norm(dim=1)[dead].max()) < 1e-4 and float(layer.mixer_a[dead].detach().abs().max()) == 0
    assert int(layer.counts.sum()) == 64
