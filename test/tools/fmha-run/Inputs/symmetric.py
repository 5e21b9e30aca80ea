"""symmetric.py FILE N: a bias [1, 1, N, N] of rows and keys that may be exchanged."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import npy  # noqa: E402

n = int(sys.argv[2])
npy.write(sys.argv[1], (1, 1, n, n), [((i + j) * 7 + i * j) % 13 / 4 - 1.5 for i in range(n) for j in range(n)])
