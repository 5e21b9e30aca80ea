"""Features of sweep.py's random cases in addition to a shape: lists of lengths, sinks, a second source, score modifications, other
outputs, and fields of schedules. Lists and arrays are written as .npy files, since fmha-run takes them from there."""

import array
import itertools
import math
import os
import struct

# The format of .npy, by array's type code: int32, float32, bool.
FORMATS = {"i": "<i4", "f": "<f4", "b": "|b1"}
# Elements of one bias or mask, so that no case takes minutes to write.
MOST_ELEMENTS = 2**18
# Values of fields of the schedule that many shapes can have: unsupported ones are reported and not counted.
USUAL_FIELDS = {
    "splits": ("auto", "auto", "auto", 2, 3, 7),
    "pack_heads": ("auto", "auto", "on", 4),
    "exp2_emulated": ("auto", "auto", "auto", 12, 25),
    "p_offset": ("auto", "auto", "auto", 3, 7),
    "q_tile_rows": ("auto", "auto", "auto", 64, 128),
}
TILE_FIELDS = USUAL_FIELDS | {
    "p_placement": ("auto", "tmem", "smem"),
    "q_tiles": ("auto", "auto", "1", "2"),
    "p_slices": ("auto", "1", "2", "4", "8"),
    "scheduler": ("auto", "auto", "static", "dynamic"),
    "kv_block": ("auto", "auto", "auto", 64),
}
MMA_SYNC_FIELDS = USUAL_FIELDS | {
    "kv_block": ("auto", "auto", 16, 48, 64, 112),
    "kv_stages": ("auto", "auto", 2, 3, 5),
    "ctas_per_sm": ("auto", "auto", 1, 2, 3),
    "mma_k": (16, 8),
}
MMA_SYNC_TARGETS = ("sm_80", "sm_86", "sm_89", "sm_120")


def write_npy(path, code, shape, values):
    header = str({"descr": FORMATS[code], "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array(code, values).tobytes())


class Features:
    """Adds to `case`, with the files in `folder`, which is made where there are any."""

    def __init__(self, dice, case, folder, length, target):
        self.dice, self.case, self.folder, self.length = dice, case, folder, length
        self.mma_sync = target in MMA_SYNC_TARGETS
        case["target"] = target
        self.longest = case["q_len"], case["kv_len"]

    def add(self):
        for part in (self.lists, self.second, self.scores, self.outputs, self.schedule):
            part()

    def chance(self, share):
        return self.dice.random() < share

    def write(self, name, code, shape, values):
        os.makedirs(self.folder, exist_ok=True)
        self.case[name] = os.path.join(self.folder, name + ".npy")
        write_npy(self.case[name], code, shape, values)

    def lists(self):
        """Sequences of their own lengths, with some rows and keys after the last one."""
        if self.chance(0.6):
            return
        case, dice = self.case, self.dice
        batch = case["batch"] = dice.randint(1, 3)
        queries, keys = ([self.length(dice) for _ in range(batch)] for _ in range(2))
        if self.chance(0.5):
            self.write("cu_seqlens_q", "i", [batch + 1], [0, *itertools.accumulate(queries)])
            case["q_len"] = sum(queries) + dice.randint(0, 2)
        else:
            queries = [case["q_len"]]
        if self.chance(0.5):
            self.write("cu_seqlens_k", "i", [batch + 1], [0, *itertools.accumulate(keys)])
            case["kv_len"] = sum(keys) + dice.randint(0, 2)
        else:
            keys = [case["kv_len"]] * batch
        if self.chance(0.5):
            self.write("kv_lens", "i", [batch], [dice.choice((count, dice.randint(0, count))) for count in keys])
        self.longest = max(queries), max(keys)

    def second(self):
        case, dice = self.case, self.dice
        if self.chance(0.75) or self.mma_sync:
            return
        case.update(source2_len=self.length(dice), source2_mask=dice.choice(("none", "causal", "causal-top-left")))
        if self.chance(0.5):
            self.write("source2_lens", "i", [case["batch"]], [dice.randint(0, case["source2_len"]) for _ in range(case["batch"])])

    def scores(self):
        dice, heads = self.dice, self.case["q_heads"]
        if self.chance(0.25):
            self.write("sink", "f", [heads], [dice.choice((-math.inf, dice.gauss(0, 3))) for _ in range(heads)])
        if self.chance(0.2):
            self.case["softcap"] = dice.choice((0.5, 3, 50, 256))
        if self.chance(0.15):
            self.write("alibi", "f", [heads], [dice.choice((0, 2.0 ** -dice.randint(0, 8))) for _ in range(heads)])
        if self.chance(0.15):
            shape = self.shape()
            self.write("bias", "f", shape, (dice.gauss(0, 1) for _ in range(math.prod(shape))))
        if self.chance(0.15):
            shape = self.shape()
            self.write("mask_file", "b", shape, (dice.random() < 0.7 for _ in range(math.prod(shape))))

    def shape(self):
        """Of a bias or mask: any extent may be 1, and none is 0."""
        extents = [self.case["batch"], self.case["q_heads"], *self.longest]
        shape = [1 if self.chance(0.3) else max(extent, 1) for extent in extents]
        return shape if math.prod(shape) <= MOST_ELEMENTS else [1, 1, 1, shape[3]]

    def outputs(self):
        for name in ("row_max", "row_sum", "unnormalised"):
            self.case[name] = self.chance(0.1)
        if self.chance(0.1):
            self.case["out_dtype"] = "f32"

    def schedule(self):
        fields = MMA_SYNC_FIELDS if self.mma_sync else TILE_FIELDS
        self.case.update({name: self.dice.choice(values) for name, values in fields.items()})
        if self.mma_sync:
            self.case["family"] = "mma"
        if self.case.get("scheduler") == "static":
            self.case["max_ctas"] = self.dice.randint(1, 4)
