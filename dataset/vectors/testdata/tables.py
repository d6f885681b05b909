"""Writes tables.* beside this file: the same 5 rows of 3 numbers as pandas and safetensors store them.

pip install numpy pandas pyarrow safetensors; python tables.py
"""
import os

import numpy
import pandas
from safetensors.numpy import save_file

here = os.path.dirname(os.path.abspath(__file__))
values = (numpy.arange(15, dtype="float32").reshape(5, 3) - 7) / 4
frame = pandas.DataFrame(values, columns=["x", "y", "z"])
frame.insert(0, "name", [f"item {i}" for i in range(5)])
frame["y"] = frame["y"].astype("float64")

frame.to_parquet(os.path.join(here, "tables.parquet"))
frame.set_index("name").to_parquet(os.path.join(here, "tables-index.parquet"))
frame.to_csv(os.path.join(here, "tables.csv"))
frame.drop(columns="name").to_csv(os.path.join(here, "tables-plain.csv"), index=False, header=False)
pandas.DataFrame(values).to_csv(os.path.join(here, "tables-counted.csv"), index=False)
frame.to_csv(os.path.join(here, "tables.tsv"), sep="\t", index=False)
numpy.savetxt(os.path.join(here, "tables.txt"), values, header="five rows")
save_file({"items": values, "half": values.astype("float16"), "bias": values[0].copy()}, os.path.join(here, "tables.safetensors"))
