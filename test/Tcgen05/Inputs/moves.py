"""tcgen05.ld, st, ld.red, cp and shift in each shape of the tables, against the places that the manual's figures give."""

import numpy as np

from forms import rows
from kernel import Case, Matrix


def cell(shape, thread, register, packed, offset):
    """The lane and the column of a register of a thread."""
    t, r = thread, register
    lane, column = {
        "32x32b": (t, r),
        "16x64b": (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2),
        "16x128b": (t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4),
        "16x256b": (t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2),
        "16x32bx2": (t % 16, r),
    }[shape]
    column *= 2 if packed else 1
    return lane, column + (offset if shape == "16x32bx2" and t >= 16 else 0)


class Move(Case):
    """A load or store of each warp: of its 32 lanes, or of the upper or the lower 16."""

    def __init__(self, name, random, shape, num, per, packed, upper, store):
        self.shape, self.count, self.packed, self.store = shape, num * per, packed, store
        self.lane = 16 if upper else 0
        wide = max(cell(shape, 31, self.count - 1, packed, 0)[1] + 2, 32)
        self.offset = wide if shape == "16x32bx2" else 0
        columns = max(32, 1 << (2 * wide - 1).bit_length())
        word = "unpack" if store else "pack"
        pattern = rf"tcgen05\.{'st' if store else 'ld'}\.sync\.aligned\.{shape}\.x{num}{f'.{word}::16b' if packed else ''}\.b32"
        super().__init__(name, pattern, columns=min(columns, 512))
        self.cells[:] = random.integers(0, 2**32, self.cells.shape)
        self.registers = random.integers(0, 2**32, (128, self.count), dtype=np.uint32)
        self.warps = self.ops

    def type(self):
        return "i32" if self.count == 1 else f"vector<{self.count}xi32>"

    def ops(self, c):
        at = c.tmem(self.lane, base="%own")
        offset = f" offset {self.offset}" if self.offset else ""
        if self.store:
            flag = " {unpack}" if self.packed else ""
            value = c.op(f"llvm.load %myregs {{alignment = 4 : i64}} : !llvm.ptr<1> -> {self.type()}")
            c.do(f"tcgen05.st shape_{self.shape} {value} to {at}{offset}{flag} : {self.type()}, !llvm.ptr<6>\ntcgen05.wait store")
        else:
            flag = " {pack}" if self.packed else ""
            value = c.op(f"tcgen05.ld shape_{self.shape} {at}{offset}{flag} : !llvm.ptr<6> -> {self.type()}")
            value = c.op(f"tcgen05.wait load of {value} : {self.type()}")
            c.do(f"llvm.store {value}, %myregs {{alignment = 4 : i64}} : {self.type()}, !llvm.ptr<1>")

    def expect(self, cells, registers):
        want_cells, want = self.cells[0].copy(), self.registers.copy()
        for t in range(128):
            for r in range(self.count):
                lane, column = cell(self.shape, t % 32, r, self.packed, self.offset)
                lane += t // 32 * 32 + self.lane
                if self.store:
                    word = int(self.registers[t, r])
                    want_cells[lane, column] = word & 0xFFFF if self.packed else word
                    if self.packed:
                        want_cells[lane, column + 1] = word >> 16
                elif self.packed:
                    want[t, r] = int(want_cells[lane, column]) & 0xFFFF | (int(want_cells[lane, column + 1]) & 0xFFFF) << 16
                else:
                    want[t, r] = want_cells[lane, column]
        low = 0xFFFF if self.store and self.packed else 0xFFFFFFFF
        np.testing.assert_array_equal(registers, want)
        if low == 0xFFFF:
            # The manual does not say what the upper halves become.
            touched = want_cells != self.cells[0]
            np.testing.assert_array_equal(np.where(touched, cells[0] & low, cells[0]), np.where(touched, want_cells & low, want_cells))
        else:
            np.testing.assert_array_equal(cells[0], want_cells)


class Reduction(Case):
    """A load with the extremum of what each thread loads."""

    def __init__(self, name, random, shape, num, extremum, element, flags):
        self.shape, self.count, self.extremum, self.element, self.flags = shape, num, extremum, element, flags
        self.offset = 128 if shape == "16x32bx2" else 0
        text = "".join({"abs": r"\.abs", "nan": r"\.NaN"}[flag] for flag in flags)
        ptx = {"f32": "f32", "ui32": "u32", "si32": "s32"}[element]
        super().__init__(name, rf"tcgen05\.ld\.red\.sync\.aligned\.{shape}\.x{num}\.{extremum}{text}\.{ptx}", columns=256, target="sm_101a")
        if element == "f32":
            values = random.standard_normal(self.cells.shape).astype(np.float32)
            values[random.random(values.shape) < 0.02] = np.nan
            self.cells = values.view(np.uint32)
        else:
            self.cells[:] = random.integers(0, 2**32, self.cells.shape)
        self.registers = np.zeros((128, num + 1), np.uint32)
        self.warps = self.ops

    def ops(self, c):
        at, type = c.tmem(base="%own"), f"vector<{self.count}xi32>"
        offset = f" offset {self.offset}" if self.offset else ""
        flags = f" {{{', '.join(self.flags)}}}" if self.flags else ""
        v, m = c.name(), c.name()
        c.do(f"{v}, {m} = tcgen05.ld_red {self.extremum} shape_{self.shape} {at}{offset} of {self.element}{flags} : !llvm.ptr<6> -> {type}")
        c.do(f"{v}r, {m}r = tcgen05.wait load of {v}, {m} : {type}, i32")
        c.do(f"llvm.store {v}r, %myregs {{alignment = 4 : i64}} : {type}, !llvm.ptr<1>")
        last = c.op(f"llvm.getelementptr %myregs[{self.count}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32")
        c.do(f"llvm.store {m}r, {last} : i32, !llvm.ptr<1>")

    def expect(self, _, registers):
        loaded = np.empty((128, self.count), np.uint32)
        for t in range(128):
            for r in range(self.count):
                lane, column = cell(self.shape, t % 32, r, False, self.offset)
                loaded[t, r] = self.cells[0, t // 32 * 32 + lane, column]
        np.testing.assert_array_equal(registers[:, :-1], loaded)
        values = loaded.view({"f32": np.float32, "ui32": np.uint32, "si32": np.int32}[self.element])
        if "abs" in self.flags:
            values = np.abs(values)
        if self.element == "f32" and "nan" not in self.flags:
            reduce = np.fmin if self.extremum == "min" else np.fmax
        else:
            reduce = np.minimum if self.extremum == "min" else np.maximum
        want = reduce.reduce(values, axis=1)
        np.testing.assert_array_equal(registers[:, -1].view(want.dtype), want)


LANES = {
    "128x256b": lambda i: [i],
    "128x128b": lambda i: [i],
    "4x256b": lambda i: [32 * i],
    "32x128b": lambda i: [i, i + 32, i + 64, i + 96],
    "warpx2_02_13": lambda i: [i, i + 64],
    "warpx2_01_23": lambda i: [i % 32 + i // 32 * 64 + part for part in (0, 32)],
}


class Copy(Case):
    """A copy of rows of shared memory, in both CTAs of a pair from their own."""

    def __init__(self, name, random, shape, multicast, count, columns, bits, group):
        self.shape, self.multicast, self.count, self.words, self.bits = shape, multicast, count, columns, bits
        text = f"{shape}.{multicast.replace('_', '::', 1)}" if multicast != "none" else shape
        packing = {8: "", 6: r"\.b8x16\.b6x16_p32", 4: r"\.b8x16\.b4x16_p64"}[bits]
        super().__init__(name, rf"tcgen05\.cp\.cta_group::{group}\.{text}{packing}", group, 8192, 32)
        self.cells[:] = random.integers(0, 2**32, self.cells.shape)
        self.shared[:] = random.integers(0, 256, self.shared.shape)
        # A copy of four rows may begin at a lane of the first 32.
        self.lane = int(random.integers(0, 32)) if shape == "4x256b" else 0
        self.column = int(random.integers(0, 24))
        self.issue = self.ops

    def ops(self, c):
        multicast = f" multicast {self.multicast}" if self.multicast != "none" else ""
        packing = {8: "", 6: " unpacking b6x16_p32", 4: " unpacking b4x16_p64"}[self.bits]
        source, to = c.descriptor(Matrix(0, self.count)), c.tmem(self.lane, self.column)
        c.do(f"tcgen05.cp shape_{self.shape} {source} to {to}{multicast}{packing} {self.attribute()} : !llvm.ptr<6>")

    def chunk(self, cta, row, number):
        """16 bytes, expanded if their elements are packed."""
        at = Matrix(0, self.count).bit(row, number * 128) // 8
        packed = int.from_bytes(self.shared[cta, at : at + 16].tobytes(), "little")
        return bytes(packed >> i * self.bits & (1 << self.bits) - 1 for i in range(16))

    def expect(self, cells, _):
        want = self.cells.copy()
        lanes = LANES[self.multicast if self.shape == "64x128b" else self.shape]
        for cta in range(self.group):
            for row in range(self.count):
                data = b"".join(self.chunk(cta, row, number) for number in range(self.words // 4))
                for lane in lanes(row):
                    want[cta, lane + self.lane, self.column : self.column + self.words] = np.frombuffer(data, np.uint32)
        np.testing.assert_array_equal(cells, want)


class Shift(Case):
    """A shift of one quarter of the lanes, and a copy of a new last row after it."""

    def __init__(self, name, random, quarter, group):
        super().__init__(name, rf"tcgen05\.shift\.cta_group::{group}\.down", group, 1024, 32)
        self.cells[:] = random.integers(0, 2**32, self.cells.shape)
        self.shared[:] = random.integers(0, 256, self.shared.shape)
        self.quarter, self.column = quarter, int(random.integers(0, 24))
        self.issue = self.ops

    def ops(self, c):
        c.do(f"tcgen05.shift {c.tmem(32 * self.quarter, self.column)} {self.attribute()} : !llvm.ptr<6>")
        c.do(f"tcgen05.cp shape_4x256b {c.descriptor(Matrix(0, 8))} to {c.tmem(31, self.column)} {self.attribute()} : !llvm.ptr<6>")

    def expect(self, cells, _):
        want, columns = self.cells.copy(), slice(self.column, self.column + 8)
        first = 32 * self.quarter
        want[:, first : first + 31, columns] = self.cells[:, first + 1 : first + 32, columns]
        for cta in range(self.group):
            for row in range(4):
                at = [Matrix(0, 8).bit(row, 128 * number) // 8 for number in (0, 1)]
                data = b"".join(self.shared[cta, x : x + 16].tobytes() for x in at)
                want[cta, 32 * row + 31, columns] = np.frombuffer(data, np.uint32)
        np.testing.assert_array_equal(cells, want)


def move_cases(random, store):
    name = "st" if store else "ld"
    for shape, lanes, per, columns, most in rows("MOVE"):
        num = 1
        while num <= int(most):
            for packed in (False, True):
                # Both accesses of 16x32bx2 fit in tensor memory.
                if (2 if packed else 1) * int(columns) * num * (2 if shape == "16x32bx2" else 1) <= 512:
                    yield Move(f"{name}_{shape}_x{num}{'_packed' if packed else ''}", random, shape, num, int(per), packed,
                               lanes == "16" and num.bit_length() % 2 == 0, store)
            num *= 2


def reduction_cases(random):
    flags = [(), ("abs",), ("nan",), ("abs", "nan")]
    number = 0
    for shape in ("32x32b", "16x32bx2"):
        for num in (2, 4, 8, 16, 32, 64, 128):
            for extremum in ("min", "max"):
                for element in ("f32", ("ui32", "si32")[number % 2]):
                    own = flags[number % 4] if element == "f32" else ()
                    yield Reduction(f"red_{shape}_x{num}_{extremum}_{element}", random, shape, num, extremum, element, own)
                number += 1


def copy_cases(random):
    for shape, multicast, count, columns in rows("COPY"):
        for bits in (8, 6, 4):
            for group in (1, 2):
                yield Copy(f"cp_{shape}_{multicast}_{bits}_{group}", random, shape, multicast, int(count), int(columns), bits, group)


def shift_cases(random):
    for quarter in range(4):
        for group in (1, 2):
            yield Shift(f"shift_{quarter}_{group}", random, quarter, group)


FAMILIES = {
    "ld": lambda random: move_cases(random, False),
    "st": lambda random: move_cases(random, True),
    "ld-red": reduction_cases,
    "cp": copy_cases,
    "shift": shift_cases,
}


def cases(family, random):
    return list(FAMILIES[family](random))
