"""sample.py: a part of a list of kernels."""

import zlib


def sample(kernels, share):
    """Returns about one in `share` of the lists of flags. A hash of the flags chooses: each third element of a product would leave
    out levels of its last factor."""
    return [flags for flags in kernels if zlib.crc32(" ".join(flags).encode()) % share == 0]
