"""Reads a stored tokenizer: its manifest and its arrays."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, Dict

import numpy as np

Arrays = Dict[str, np.ndarray]

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


# Last keys of manifests that have no checksum, those of earlier versions.
_UNSEALED = ("files", "config")


class BundleError(ValueError):
    """A directory that is no tokenizer, or a damaged or unsupported one."""


def read_manifest(path: str) -> Dict[str, Any]:
    """Returns the manifest of the tokenizer in a directory, and checks the files that it lists."""
    file = os.path.join(path, "manifest.json")
    if not os.path.isdir(path):
        raise BundleError(f"there is no tokenizer {path}: give the directory that gritvq train wrote")
    if not os.path.exists(file):
        raise BundleError(f"{path} is no tokenizer: it has no manifest.json")
    try:
        with open(file, "rb") as f:
            content = f.read()
        manifest = json.loads(content)
        kind, schema = manifest["kind"], manifest["schema"]
    except (ValueError, KeyError, TypeError) as err:
        raise BundleError(f"{file} is damaged: {err}") from err
    if kind not in ("vectors", "pictures"):
        raise BundleError(f"{path} is no tokenizer but of kind {kind!r}")
    seal = re.search(rb'"sha256": "([0-9a-f]{64})"\n}\n$', content)
    if list(manifest)[-1] not in _UNSEALED and (not seal or hashlib.sha256(content[:seal.start(1)]).hexdigest().encode() != seal[1]):
        raise BundleError(f"{file} is damaged: its checksum is not that of its content")
    if schema != 1:
        raise BundleError(f"{path} has schema {schema}; this version of the package reads schema 1")
    for entry in manifest.get("files", []):
        _check(path, entry)
    return manifest


def _check(path: str, entry: Dict[str, Any]) -> None:
    file = os.path.join(path, entry["name"])
    if not os.path.exists(file):
        raise BundleError(f"{file} is missing")
    if os.path.getsize(file) != entry["size"]:
        raise BundleError(f"{file} is truncated: it has {os.path.getsize(file)} bytes of {entry['size']}")
    digest = hashlib.sha256()
    with open(file, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != entry["sha256"].split(":")[-1]:
        raise BundleError(f"{file} is damaged: its checksum is not that of the manifest")


def read_safetensors(file: str) -> Arrays:
    """Returns the arrays of a safetensors file by name."""
    with open(file, "rb") as f:
        content = f.read()
    try:
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8:8 + size])
        arrays = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in _TYPES:
                continue
            start, end = entry["data_offsets"]
            data = np.frombuffer(content, _TYPES[entry["dtype"]], offset=8 + size + start,
                                 count=(end - start) // np.dtype(_TYPES[entry["dtype"]]).itemsize)
            arrays[name] = data.reshape(entry["shape"])
        return arrays
    except (ValueError, KeyError, TypeError) as err:
        raise BundleError(f"{file} is damaged: {err}") from err


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with prefix/, without it."""
    return {name[len(prefix) + 1:]: a for name, a in arrays.items() if name.startswith(prefix + "/")}
