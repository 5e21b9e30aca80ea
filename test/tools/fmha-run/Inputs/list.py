"""list.py FILE N,N,...: writes int32 numbers as a .npy file of one dimension."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Inputs"))
import npy  # noqa: E402

numbers = [int(word) for word in sys.argv[2].split(",") if word]
npy.write(sys.argv[1], (len(numbers),), numbers, "<i4")
