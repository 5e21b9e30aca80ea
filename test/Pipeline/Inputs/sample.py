"""sample.py: a part of a list of kernels."""

import zlib


def sample(kernels, share):
    """Returns about one in `share` of the lists of flags: the choice depends on the flags alone, and no level of a feature is left out as with
    each third element of a product."""
    return [flags for flags in kernels if zlib.crc32(" ".join(flags).encode()) % share == 0]
