"""gritvq in Python: trained tokenizers of vectors and pictures, with NumPy alone.

    import gritvq
    tok = gritvq.Tokenizer.load("tok")
    codes = tok.encode(x)        # as gritvq encode
    y = tok.decode(codes)        # as gritvq decode

gritvq.nn has GRIT-VQ as a layer of PyTorch.
"""

from ._bundle import BundleError
from .tokenizer import Tokenizer

__all__ = ["BundleError", "Tokenizer", "__version__"]
__version__ = "0.1.0"
