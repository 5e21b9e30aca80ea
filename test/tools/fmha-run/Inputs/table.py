"""table.py F.npy SHAPE N,N,...: an int32 tensor of any rank."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import npy  # noqa: E402

npy.write(sys.argv[1], tuple(map(int, sys.argv[2].split(","))), list(map(int, sys.argv[3].split(","))), "<i4")
