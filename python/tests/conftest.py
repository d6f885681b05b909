"""Tests against the gritvq program itself: GRITVQ names the binary, as make test-python does."""

import os
import struct
import subprocess
import zlib

import numpy as np
import pytest

PROGRAM = os.environ.get("GRITVQ", "gritvq")


def gritvq(*arguments):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def program():
    try:
        subprocess.run([PROGRAM, "version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the gritvq program is not here: make test-python builds it and sets GRITVQ")
    return gritvq


def write_png(path, pixels):
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def read_png(path):
    with open(path, "rb") as f:
        content = f.read()
    at, data = 8, b""
    while at < len(content):
        size, name = struct.unpack(">I", content[at:at + 4])[0], content[at + 4:at + 8]
        body = content[at + 8:at + 8 + size]
        if name == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
            step = 3 if colour == 2 else 4
        if name == b"IDAT":
            data += body
        at += 12 + size
    raw, out = zlib.decompress(data), np.zeros((height, width * step), np.uint8)
    for y in range(height):
        kind, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        above = out[y - 1] if y else np.zeros(width * step, np.uint8)
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            up, corner = int(above[i]), int(above[i - step]) if i >= step else 0
            p = left + up - corner
            paeth = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            line[i] = (line[i] + [0, left, up, (left + up) // 2, paeth][kind]) & 255
        out[y] = np.frombuffer(bytes(line), np.uint8)
    return out.reshape(height, width, step)[:, :, :3]


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """1,000 vectors of 8 dimensions around a curved surface, with the file that holds them."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(1000, 3))
    x = np.tanh(hidden @ rng.normal(size=(3, 8))) + 0.1 * rng.normal(size=(1000, 8))
    path = tmp_path_factory.mktemp("data") / "x.npy"
    np.save(path, x.astype(np.float32))
    return path, x.astype(np.float32)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """20 smooth pictures of 16 x 16 pixels, with the folder that holds them."""
    rng = np.random.default_rng(2)
    folder = tmp_path_factory.mktemp("pictures")
    y, x = np.mgrid[0:16, 0:16] / 16
    all = []
    for i in range(20):
        waves = [128 + 100 * np.sin(rng.normal() * 6 * x + rng.normal() * 6 * y + rng.normal()) for _ in range(3)]
        all.append(np.clip(np.stack(waves, -1) + 8 * rng.normal(size=(16, 16, 3)), 0, 255).astype(np.uint8))
        write_png(folder / f"{i:03d}.png", all[-1])
    return folder, np.stack(all)
