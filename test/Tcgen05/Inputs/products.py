"""tcgen05.mma in each shape of the table, and each flag, against a product computed here."""

import json
import zlib

import numpy as np

from forms import FORMATS, KINDS, ROOT, SELECTORS, rows, shapes, small_codes
from kernel import POISON, Case, Matrix

SHARED_A, SHARED_B, SHARED_BYTES = 0, 16384, 49152


# An old D that a product must not read; integers have no NaN.
NAN = {"f16": 0xABCD7E01, "f32": POISON, "si32": POISON}


class Product(Case):
    """One product or several. D is in columns 0.., and A, metadata and the scale factors of A and B follow."""

    def __init__(self, name, random, kind, form="Dense", group=1, m=128, n=64, tmem=False, types=None, d="f32", accumulate=True, scale=None,
                 flags=(), disabled=None, scale_d=0, selector=0, ids=(0, 0), steps=(("discard", 0),), zero=None, shift=0):
        self.kind, self.sparse, self.ws = kind, form.startswith("Sparse"), form.endswith("Ws")
        self.m, self.n, self.tmem, self.flags, self.accumulate = m, n, tmem, set(flags), accumulate
        self.d, self.scale, self.disabled, self.scale_d = ("si32" if kind == "I8" else d), scale, disabled, scale_d
        self.selector, self.ids, self.steps, self.zero, self.shift = selector, ids, steps, zero, shift
        self.a_type, self.b_type = types or (self.types()[0],) * 2
        self.ptx_kind, dense_k, properties = KINDS[kind]
        self.k = dense_k << self.sparse
        if "Scaled" in properties and not scale:
            self.scale = next(row[1:] for row in rows("SCALE") if row[0] == kind)
        self.vector = int(self.scale[1]) if self.scale else 0
        self.after = (n + 31) // 32 * 32
        columns = 1 << (self.after + 64 - 1).bit_length()
        super().__init__(name, self.pattern(group), group, SHARED_BYTES, columns)
        # What is drawn does not depend on which other cases run.
        self.random, self.issue = random.spawn(1)[0], self.ops

    def types(self):
        return [row[2] for row in rows("TYPE") if row[:2] == [self.kind, "AB"]]

    def pattern(self, group):
        text = "tcgen05\\.mma" + (r"\.ws" if self.ws else "") + (r"\.sp" if self.sparse else "")
        return rf"{text}\.cta_group::{group}\.kind::{self.ptx_kind}\b" + ("[^;]*ashift" if "ashift" in self.flags else "")

    # Places.

    def rows(self):
        return self.m // self.group

    def parts(self):
        """Parts of the lanes that have parts of the columns of D."""
        if self.ws:
            return 128 // self.m
        return 2 if self.group == 2 and self.m == 128 and not self.sparse else 1

    def is_half(self):
        return self.rows() == 64 and self.parts() == 1 and not self.ws

    def lane(self, row):
        return row // 16 * 32 + row % 16 if self.is_half() else row

    def copies(self, row):
        """The lanes that hold a row of A."""
        return [self.lane(row) + 128 // self.parts() * part for part in range(self.parts())]

    def places(self):
        """CTAs, lanes and columns of the elements of D."""
        m, n = np.ogrid[: self.m, : self.n]
        share = self.n // self.parts()
        return np.broadcast_arrays(m // self.rows(), self.lane(m % self.rows()) + 128 // self.parts() * (n // share), n % share)

    # Operands.

    def draw(self, name, count):
        codes = self.random.choice(small_codes(name), count)
        return codes, np.vectorize(FORMATS[name].value, otypes=[float])(codes)

    def container(self, name):
        """The bits of an element in tensor memory."""
        return 4 if self.kind.startswith("MXF4") else max(8, FORMATS[name].bits)

    def prepare(self):
        k = self.k // 2 if self.sparse else self.k
        self.a_codes, self.a = self.draw(self.a_type, (self.m, k))
        # With a shift, B has further columns.
        self.b_codes, self.b = self.draw(self.b_type, (self.n + self.shift, self.k))
        self.scales = [self.draw_scales(self.m), self.draw_scales(self.n)]
        self.draw_metadata()
        self.c = self.draw_c()
        for cta in range(self.group):
            self.fill_a(cta)
            self.fill_matrix(cta, self.matrix_b(), self.b_type, self.b_codes[cta * self.n // self.group :])
            if self.vector:
                self.fill_scales(cta)
        if self.sparse:
            self.fill_metadata()
        self.cells[tuple(self.places())] = self.words(self.c) if self.accumulate else NAN[self.d]

    def draw_c(self):
        c = self.random.integers(-99, 100, (self.m, self.n)).astype(float)
        if "saturate" in self.flags:
            c = np.where(c < 0, c - 2**31 + 100, 2**31 - 1 - c)
        return c * (self.accumulate and 1)

    def words(self, values):
        """The cells of elements of D."""
        if self.d == "si32":
            return values.astype(np.int64) & 0xFFFFFFFF
        if self.d == "f16":
            return values.astype(np.float16).view(np.uint16) | np.uint32(0xABCD0000)
        return values.astype(np.float32).view(np.uint32)

    def matrix_a(self):
        return Matrix(SHARED_A, self.rows(), self.k, FORMATS[self.a_type].bits // 8, "transpose_a" in self.flags)

    def matrix_b(self):
        rows = self.n // self.group + (self.shift + 7) // 8 * 8
        return Matrix(SHARED_B, rows, self.k, FORMATS[self.b_type].bits // 8, "transpose_b" in self.flags)

    def fill_matrix(self, cta, matrix, name, codes):
        bits = FORMATS[name].bits
        codes, dense = codes[: matrix.rows], self.kind.startswith("MXF4")
        if bits >= 8:
            row, x = np.ogrid[: codes.shape[0], : codes.shape[1]]
            for byte in range(bits // 8):
                self.shared[cta, matrix.bit(row, x * bits) // 8 + byte] = codes >> 8 * byte & 0xFF
            return
        for row in range(len(codes)):
            for x in range(codes.shape[1]):
                # 16 elements of 4 and 6 bits begin at 16 bytes.
                if dense:
                    self.put(cta, matrix, row, x, bits, int(codes[row, x]))
                else:
                    at = matrix.bit(row, x // 16 * 128) + x % 16 * bits
                    self.put_bits(cta, at, bits, int(codes[row, x]))

    def fill_a(self, cta):
        codes = self.a_codes[cta * self.rows() : (cta + 1) * self.rows()]
        if not self.tmem:
            return self.fill_matrix(cta, self.matrix_a(), self.a_type, codes)
        bits = self.container(self.a_type)
        for row in range(self.rows()):
            for lane in self.copies(row):
                for x in range(codes.shape[1]):
                    self.put_cell(cta, lane, self.after, x * bits, bits, int(codes[row, x]))

    def draw_scales(self, rows):
        if not self.vector:
            return None
        exponents = self.random.integers(-1, 2, (rows, self.vector))
        codes = 8 * (7 + exponents) if self.scale[2] == "f8E4M3FN" else 127 + exponents
        return codes, 2.0**exponents

    def fill_scales(self, cta):
        (a, _), (b, _) = self.scales
        for row in range(self.rows()):
            for i in range(self.vector):
                for copy in range(4):
                    code = int(a[cta * self.rows() + row, i])
                    self.put_cell(cta, row % 32 + 32 * copy, self.after + 32 + row // 32, 8 * (self.ids[0] + i), 8, code)
        half = self.n // 2 if self.parts() == 2 else self.n
        for n in range(self.n):
            for i in range(self.vector):
                for copy in range(2 if self.parts() == 2 else 4):
                    lane = n % half % 32 + 64 * (n // half) + 32 * copy
                    self.put_cell(cta, lane, self.after + 48 + n % half // 32, 8 * (self.ids[1] + i), 8, int(b[n, i]))

    # Sparse A.

    def width(self):
        """Elements that have four bits of metadata."""
        return {"TF32": 2, "MXF4": 8, "MXF4NVF4": 8}.get(self.kind, 4)

    def draw_metadata(self):
        if not self.sparse:
            return
        legal = [4, 14] if self.width() == 2 else [4, 8, 12, 9, 13, 6, 14]
        self.nibbles = self.random.choice(legal, (self.m, self.k // self.width()))

    def fill_metadata(self):
        """The vendor's library numbers the elements: for 16 bits and more lanes first, then bits."""
        for m in range(self.m):
            cta, row = divmod(m, self.rows())
            for group, nibble in enumerate(self.nibbles[m]):
                k, lane = group * self.width(), self.lane(row)
                bit = k // 2 if self.kind.startswith("MXF4") else k
                if self.kind in ("F16", "TF32"):
                    half = self.k // 2
                    v = row % 8 + 128 * half * (row // 8 % 2) + 16 * (row // 16) + 128 * (k % half) + 8 * (k // half)
                    bit = v // 128 * (2 if self.kind == "TF32" else 1) + 32 * self.selector
                    lane = self.lane(v % 128)
                for part in range(self.parts()):
                    self.put_cell(cta, lane + 128 // self.parts() * part, self.after + 16, bit, 4, int(nibble))

    def expanded(self):
        """A with the zeros that sparse A leaves out."""
        if not self.sparse:
            return self.a
        full, quarter = np.zeros((self.m, self.k)), self.width() // 4
        for m in range(self.m):
            stored = iter(self.a[m])
            for group, nibble in enumerate(self.nibbles[m]):
                at = group * self.width()
                places = [int(nibble == 14)] if self.width() == 2 else [
                    position * quarter + i for position in (nibble & 3, nibble >> 2) for i in range(quarter)]
                for place in places:
                    full[m, at + place] = next(stored)
        return full

    # The result.

    def product(self):
        a, b = self.expanded(), self.b[self.shift :].copy()
        if self.vector:
            a = a * np.repeat(self.scales[0][1], self.k // self.vector, axis=1)
            b = b * np.repeat(self.scales[1][1], self.k // self.vector, axis=1)
        if self.zero:
            b[[n for n in range(self.n) if self.zero[1](n)]] = 0
        sign = -1 if ("negate_a" in self.flags) != ("negate_b" in self.flags) else 1
        total = np.zeros((self.m, self.n))
        for shifts, _ in enumerate(self.steps):
            rows = a
            if "ashift" in self.flags:
                rows = a[[min(m + shifts, m // 32 * 32 + 31) for m in range(self.m)]]
            total += sign * rows @ b.T
        return total

    def expected(self):
        d = self.product() + self.c * 2.0**-self.scale_d
        if "saturate" in self.flags:
            return np.clip(d, -(2**31), 2**31 - 1)
        if self.d == "f16":
            return np.float16(d).astype(float)
        return (d.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32).astype(float) if self.d == "si32" else d

    def expect(self, cells, _):
        places = self.places()
        got, want = self.numbers(cells[tuple(places)]), self.expected()
        if self.disabled is not None:
            lanes = 128 * places[0] + places[1]
            want = np.where(self.disabled[lanes // 32] >> lanes % 32 & 1, self.c, want)
        if self.exact_bits is not None:
            want = self.exact_bits
        wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
        if wrong.any():
            m, n = np.argwhere(wrong)[0]
            raise AssertionError(f"{wrong.sum()} of {wrong.size} elements are wrong, the first m {m}, n {n}: expected {want[m, n]}, got {got[m, n]}")
        self.expect_others(cells, places)

    def expect_others(self, cells, places):
        """All cells outside D stay as they were, except A that the product shifts."""
        outside = np.ones(self.cells.shape, bool)
        outside[tuple(places)] = False
        if "ashift" in self.flags:
            outside[:, :, self.after : self.after + 16] = False
        wrong = outside & (cells != self.cells)
        if wrong.any():
            cta, lane, column = np.argwhere(wrong)[0]
            raise AssertionError(f"{wrong.sum()} cells outside D are wrong, the first of CTA {cta}, lane {lane}, column {column}: expected "
                                 f"{self.cells[cta, lane, column]:#x}, got {cells[cta, lane, column]:#x}")

    exact_bits = None

    def numbers(self, words):
        """The elements of D in cells."""
        if self.d == "f16":
            return (words & 0xFFFF).astype(np.uint16).view(np.float16).astype(float)
        return words.view(np.int32 if self.d == "si32" else np.float32).astype(float)

    # The ops.

    def attributes(self, use, buffer):
        listed = [name for name in sorted(self.flags)]
        listed += ["ws"] if self.ws else []
        listed += ["cta_group = 2 : i32"] if self.group == 2 else []
        numbers = {"scale_d": self.scale_d, "selector": self.selector, "buffer": buffer}
        if self.vector:
            numbers |= {"block": int(self.scale[0]), "scale_a_id": self.ids[0], "scale_b_id": self.ids[1]}
            listed.append(f"scale_type = {self.scale[2]}")
        if self.shift:
            numbers["max_shift"] = next(most for most in (8, 16, 32) if most >= self.shift)
        listed += [f"{name} = {number} : i32" for name, number in numbers.items() if number]
        listed += [f"collector = #tcgen05<collector {use}>"] if use != "discard" else []
        return f" {{{', '.join(listed)}}}" if listed else ""

    def ops(self, c):
        a = c.tmem(column=self.after) if self.tmem else c.descriptor(self.matrix_a())
        b = c.descriptor(self.matrix_b())
        d, text = c.tmem(), ""
        if self.sparse:
            text += f" metadata {c.tmem(column=self.after + 16)}"
        if self.vector:
            text += f" scales {c.tmem(column=self.after + 32)}, {c.tmem(column=self.after + 48)}"
        if self.disabled is not None:
            text += f" disable [{', '.join(c.i32(int(word)) for word in self.disabled)}]"
        if self.zero or self.shift:
            text += f" zero_columns {c.i64((self.zero[0] if self.zero else 0) | self.shift << 56)}"
        shape = f"shape {self.m} x {self.n} of {self.a_type}, {self.b_type} to {self.d}"
        for number, (use, buffer) in enumerate(self.steps):
            yes = c.i1(self.accumulate or number > 0)
            c.do(f"tcgen05.mma {KINDS[self.kind][0]} {d}, {a}, {b} accumulate {yes}{text} {shape}"
                 f"{self.attributes(use, buffer)} : {'!llvm.ptr<6>' if self.tmem else 'i64'}")


def case_name(*parts):
    return "_".join(str(part).lower().replace("-", "_") for part in parts if part != "")


def shape_cases(kind, random):
    """Each row of the table of shapes, with its first, its last and a drawn N, and all types in turn."""
    types = [row[2] for row in rows("TYPE") if row[:2] == [kind, "AB"]]
    scales = [row[1:] for row in rows("SCALE") if row[0] == kind]
    found = [(form, group, m, tmem, n) for which, form, group, m, columns, tmem in shapes() if which == kind
             for n in sorted({columns[0], columns[-1], int(random.choice(columns))})]
    for number, (form, group, m, tmem, n) in enumerate(found):
        pair = (types[number % len(types)], types[number // 2 % len(types)])
        yield Product(case_name(kind, form, f"cg{group}", m, n, "ts" if tmem else "ss", number), random, kind, form, group, m, n, tmem, pair,
                      accumulate=number % 3 > 0, scale=scales[number % len(scales)] if scales else None)


def type_cases(kind, random):
    """Each pair of types of A and B, each type of D and of scale factors."""
    types = [row[2] for row in rows("TYPE") if row[:2] == [kind, "AB"]]
    for i, a in enumerate(types):
        for b in types[i:] if kind.startswith("MX") else types:
            yield Product(case_name(kind, a, b), random, kind, m=128, n=16, tmem=i % 2 == 1, types=(a, b))
    for d in [row[2] for row in rows("TYPE") if row[:2] == [kind, "D"]]:
        if d == "f16":
            same = ("f16", "f16") if kind == "F16" else ("f4E2M1FN", "f6E2M3FN")
            yield Product(case_name(kind, "d", d), random, kind, n=16, types=same, d=d, accumulate=False)
    for number, scale in enumerate([row[1:] for row in rows("SCALE") if row[0] == kind]):
        step = int(scale[1])
        for id in range(0, 4, step):
            yield Product(case_name(kind, "scale", number, "id", id), random, kind, n=32, scale=scale, ids=(id, (id + step) % 4 // step * step))


RUNS = 1 << 32 | 1 << 39 | 2 << 40 | 3 << 48


def flag_cases(kind, random):
    """Each property that the table says that the kind has."""
    properties = KINDS[kind][2]
    for group in (1, 2) if "DisableLanes" in properties else ():
        masks = random.integers(0, 2**32, 4 * group)
        yield Product(case_name(kind, "disable", group), random, kind, group=group, m=128 * group, n=32, disabled=masks)
    for group in (1, 2) if "ShiftA" in properties else ():
        yield Product(case_name(kind, "ashift", group), random, kind, group=group, m=128 * group, n=32, tmem=True, flags=["ashift"],
                      steps=(("discard", 0),) * 2)
    if "Negate" in properties:
        for flags in (["negate_a"], ["negate_b"], ["negate_a", "negate_b"]):
            yield Product(case_name(kind, *flags), random, kind, n=16, flags=flags)
    if "Transpose" in properties:
        for flags in (["transpose_a"], ["transpose_b"], ["transpose_a", "transpose_b"]):
            yield Product(case_name(kind, *flags), random, kind, n=32, flags=flags)
    if "Saturate" in properties:
        yield Product(case_name(kind, "saturate"), random, kind, n=32, flags=["saturate"])
    if "ScaleD" in properties:
        yield Product(case_name(kind, "scale_d"), random, kind, n=32, scale_d=int(random.integers(1, 16)))
    for selector in range(1, SELECTORS[kind] + 1):
        for tmem in (False, True):
            yield Product(case_name(kind, "selector", selector, tmem), random, kind, "Sparse", n=32, selector=selector, tmem=tmem)
    yield Product(case_name(kind, "collector"), random, kind, n=32, steps=(("fill", 0), ("use", 0), ("lastuse", 0)))
    if "WeightStationary" in properties:
        for buffer in range(4):
            yield Product(case_name(kind, "buffer", buffer), random, kind, "DenseWs", m=(32, 64, 128)[buffer % 3],
                          steps=(("fill", buffer), ("use", buffer), ("lastuse", buffer)))
        # Runs of three zeros and four used columns in each part of the columns.
        for m in (32, 64, 128):
            part = 64 * m // 128
            zero = lambda n, part=part: n % part % 7 < 3 if n < part else n % part % 7 >= 4  # noqa: E731
            yield Product(case_name(kind, "zero", m), random, kind, "DenseWs", m=m, zero=(RUNS, zero))
            # A product of M = 32 with a maximum shift traps (read, not measured).
            if m > 32:
                yield Product(case_name(kind, "shift", m), random, kind, "DenseWs", m=m, zero=(RUNS, zero), shift=5)


class Oracle(Product):
    """A product whose bits mmasim, a model of the hardware made by others, has computed: test/data/*-oracle."""

    def __init__(self, name, random, kind, tile, data, n):
        self.tile, self.data = tile, data
        names = {FORMATS[t].ptx: t for t in FORMATS} | {"ue4m3": "f8E4M3FN"}
        flags = [flag for flag, key in (("negate_a", "negateA"), ("negate_b", "negateB")) if tile.get(key)]
        scale = None
        if "vector" in tile:
            known = {(row[0], row[2], row[3]): row[1:] for row in rows("SCALE")}
            scale = known[kind, str(tile["vector"]), names[tile["scale"]]]
        super().__init__(name, random, kind, n=n, types=(names[tile["a"]], names[tile["b"]]), d=tile.get("d", "f32"), flags=flags, scale=scale,
                         accumulate=tile.get("accumulate", True), scale_d=tile.get("scale", 0) if scale is None else 0)
        self.exact = True

    def read(self, key, shape, bits):
        dtype = np.dtype(f"<u{bits // 8}")
        size = int(np.prod(shape))
        return np.frombuffer(self.data, dtype, size, self.tile[key]).reshape(shape).astype(np.int64)

    def draw(self, name, shape):
        return np.zeros(shape, int), np.zeros(shape)

    def draw_scales(self, count):
        if not self.vector:
            return None
        key = "offsetScaleA" if count == self.m and count != self.n else "offsetScaleB"
        return self.read(key, (count, self.vector), 8), np.ones((count, self.vector))

    def draw_c(self):
        bits = 16 if self.d == "f16" else 32
        words = self.read("offsetC", (self.m, self.n), bits)
        self.c_words = words
        self.a_codes = self.read("offsetA", (self.m, self.k), max(8, FORMATS[self.a_type].bits))
        self.b_codes = self.read("offsetB", (self.n, self.k), max(8, FORMATS[self.b_type].bits))
        want = self.read("offsetD", (self.m, self.n), bits)
        self.exact_bits = want.astype(f"<u{bits // 8}").view(f"<f{bits // 8}").astype(float)
        return words

    def words(self, values):
        return values


def oracle_cases(kind, random):
    """Some tiles of each file of mmasim's results that has the kind."""
    for folder, n in (("mma-oracle", 32), ("scaled-oracle", 8)):
        index = json.loads((ROOT / "test/data" / folder / "index.json").read_text())
        tiles = [tile for tile in index["tiles"] if tile["kind"] == KINDS[kind][0]]
        if not tiles:
            continue
        data = zlib.decompress((ROOT / "test/data" / folder / "tiles.bin.z").read_bytes())
        for number in sorted(random.choice(len(tiles), min(12, len(tiles)), replace=False)):
            yield Oracle(case_name(kind, "mmasim", number), random, kind, tiles[number], data, n)


FAMILIES = {"shapes": shape_cases, "types": type_cases, "flags": flag_cases, "mmasim": oracle_cases}


def cases(kind, family, random):
    return list(FAMILIES[family](kind, random))
