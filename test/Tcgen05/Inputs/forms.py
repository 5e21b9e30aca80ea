"""The tables of Tcgen05Forms.def, and numbers of their types."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts/build"))

import generated  # noqa: E402

TABLE = ROOT / "include/fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"


def rows(macro):
    return [arguments for name, arguments in generated.entries(TABLE) if name == f"TCGEN05_{macro}"]


KINDS = {kind: (name, int(k), properties) for kind, name, k, _, properties in rows("KIND")}
SELECTORS = {kind: int(selector) for kind, _, _, selector, _ in rows("KIND")}


@dataclass
class Format:
    """A type of elements: its name in PTX, bits, and the number that a code stands for."""

    ptx: str
    bits: int
    exponent: int = 0
    mantissa: int = 0
    signed: bool = True

    def value(self, code):
        if not self.exponent:
            return code - (1 << self.bits) if self.signed and code >> self.bits - 1 else code
        bias, top = (1 << self.exponent - 1) - 1, code >> self.mantissa & (1 << self.exponent) - 1
        low = code & (1 << self.mantissa) - 1
        magnitude = (low + (1 << self.mantissa if top else 0)) * 2.0 ** (max(top, 1) - bias - self.mantissa)
        return -magnitude if self.signed and code >> self.exponent + self.mantissa & 1 else magnitude


FORMATS = {
    "f16": Format("f16", 16, 5, 10),
    "bf16": Format("bf16", 16, 8, 7),
    "tf32": Format("tf32", 32, 8, 23),
    "f32": Format("f32", 32, 8, 23),
    "f8E4M3FN": Format("e4m3", 8, 4, 3),
    "f8E5M2": Format("e5m2", 8, 5, 2),
    "f6E2M3FN": Format("e2m3", 6, 2, 3),
    "f6E3M2FN": Format("e3m2", 6, 3, 2),
    "f4E2M1FN": Format("e2m1", 4, 2, 1),
    "ui8": Format("u8", 8, signed=False),
    "si8": Format("s8", 8),
    "f8E8M0FNU": Format("ue8m0", 8, 8, 0, False),
}


def small_codes(name):
    """Codes of numbers whose sums of products are exact in f32: multiples of 1/8 up to 8."""
    format = FORMATS[name]
    if name == "tf32" or format.bits == 16:
        numbers = np.arange(-8, 9, dtype=np.float32)
        bits = numbers.view(np.uint32)
        if name == "bf16":
            bits = bits >> 16
        if name == "f16":
            bits = numbers.astype(np.float16).view(np.uint16)
        return [int(x) for x in bits]
    every = range(1 << format.bits)
    if not format.exponent:
        return list(every)
    return [x for x in every if abs(format.value(x)) <= 8 and format.value(x) * 8 % 1 == 0]


def shapes():
    """Each kind, form, group and M with the N of its table, for A in shared and in tensor memory."""
    for kinds, forms, group, m, low, high, step, coarse in rows("SHAPE"):
        for kind in kinds.replace(" ", "").split("|"):
            for form in forms.replace(" ", "").split("|"):
                for tmem in (False, True):
                    by = int(coarse if tmem else step)
                    yield kind, form, int(group), int(m), range(max(int(low), by), int(high) + 1, by), tmem
