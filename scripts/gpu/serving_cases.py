"""Cases of check_serving.py: attention on caches, with an append before or not, and appends with rotations.

Tensors have random layouts, and all that a kernel must not read or write is poison: all ones, a NaN.
"""

import math
import random

import numpy as np
import random_kernels
import runtime
from random_kernels import UNITS, from_bits, to_bits, to_float64

# The integers that hold the bits of a type.
BITS = {"e4m3": np.uint8, "f16": np.uint16, "bf16": np.uint16, "f32": np.uint32}
NO_PAGE = (-1, -(2**31), 2**31 - 1, 1 << 20)


class Arrays:
    """The buffers of a case, and its tensors, which are views of them; `written` has the buffers that kernels write."""

    def __init__(self, dice, dtype, launches):
        self.dice, self.dtype, self.launches, self.max_q_len = dice, dtype, launches, 0
        self.buffers, self.tensors, self.written, self.packed_names = {}, {}, [], ()
        self.numbers = np.random.default_rng([dice.randrange(2**31)]).standard_normal(65537, np.float32)
        self.pools = {}

    def noise(self, *shape, dtype=None):
        """Repeats 65537 normal numbers: enough to distinguish rows, and fast to generate."""
        dtype = dtype or self.dtype
        if dtype not in self.pools:
            self.pools[dtype] = to_bits(self.numbers, dtype)
        return np.resize(np.roll(self.pools[dtype], self.dice.randrange(len(self.numbers))), shape)

    def plain(self, name, data, dtype):
        self.buffers[name] = data
        self.tensors[name] = name, data, dtype

    def matrix(self, buffer, dims, shape, gaps=(0, 0, 8), dtype=None):
        """Tensors [blocks, rows, heads, dim], a dim for each name, in one buffer whose order and gaps are random."""
        dtype = dtype or self.dtype
        (blocks, rows, heads), heads_first = shape, self.dice.random() < 0.5
        outer = (heads, rows) if heads_first else (rows, heads)
        kind = BITS[dtype]
        # Rows are aligned to 16 bytes where those of 16 bits are.
        gap = self.dice.choice(gaps) * (2 if dtype == "e4m3" else 1)
        whole = np.full((blocks, len(dims), *outer, max(dims.values()) + gap), np.iinfo(kind).max, kind)
        self.buffers[buffer] = whole
        for n, (name, dim) in enumerate(dims.items()):
            view = whole[:, n, :, :, :dim]
            self.tensors[name] = buffer, view.swapaxes(1, 2) if heads_first else view, dtype

    def offset(self, name):
        """Bytes from the beginning of the buffer to the tensor."""
        buffer, view, _ = self.tensors[name]
        start = self.buffers[buffer].__array_interface__["data"][0]
        return view.__array_interface__["data"][0] - start if view.size else 0

    def view(self, name, buffers=None):
        """The tensor, or what it is in other buffers."""
        buffer, view, _ = self.tensors[name]
        return view if buffers is None else np.ndarray(view.shape, view.dtype, buffers[buffer], self.offset(name), view.strides)

    def digest(self):
        return random_kernels.digest(self.buffers)

    def place_pages(self, lens, size):
        """A table of random pages, and the number of pages; entries after the last page of a sequence name none."""
        used = [-(-length // size) for length in lens]
        width = max(used) + self.dice.choice((0, 0, 1, 3))
        pages = list(range(sum(used) + self.dice.randrange(6)))
        self.dice.shuffle(pages)
        table = np.array([self.dice.choice(NO_PAGE) for _ in range(len(lens) * width)], np.int32).reshape(len(lens), width)
        for row, count in zip(table, used):
            row[:count] = [pages.pop() for _ in range(count)]
        self.plain("block_tables", table, "i32")
        return len(pages) + sum(used)

    def rows_at(self, n, positions):
        """Blocks and rows of the positions of a sequence in its cache."""
        if not self.size:
            return np.full_like(positions, n), positions
        return self.view("block_tables")[n, positions // self.size], positions % self.size

    def make_angles(self, positions, columns):
        """Tables of cosines and sines, f32 with rows of any stride."""
        numbers = np.random.default_rng([self.dice.randrange(2**31)])
        angles = numbers.uniform(-4, 4, (positions, columns))
        for name, values in (("rotary_cos", np.cos(angles)), ("rotary_sin", np.sin(angles))):
            self.buffers[name] = np.full((positions, columns + self.dice.choice((0, 0, 1, 4))), 2**32 - 1, np.uint32)
            self.tensors[name] = name, self.buffers[name][:, :columns], "f32"
            self.view(name)[...] = to_bits(values, "f32")

    def rotation(self, x, positions):
        """Columns of x that rotate, as the terms of two sums, in the type of x."""
        pairs = self.view("rotary_cos").shape[1]
        is_half = self.kernel["rotary"] == "half"
        first, second = (slice(0, pairs), slice(pairs, None)) if is_half else (slice(0, None, 2), slice(1, None, 2))
        cos, sin = (from_bits(self.view(name)[positions], "f32")[:, None].astype(x.dtype) for name in ("rotary_cos", "rotary_sin"))
        return (first, x[..., first] * cos, -x[..., second] * sin), (second, x[..., second] * cos, x[..., first] * sin)

    def launch(self, driver, *modules):
        """The buffers that are written, as bits. Nothing waits between the launches."""
        held = {name: driver.allocate(data.tobytes()) for name, data in self.buffers.items()}
        tensors = {}
        for name, (buffer, view, dtype) in self.tensors.items():
            shown = view[0] if name in self.packed_names else view
            strides = [step // view.itemsize for step in shown.strides]
            tensors[name] = runtime.tensor(held[buffer] + self.offset(name), shown.shape, strides, dtype)
        sizes = [module.workspace_bytes(tensors) for module in modules]
        workspaces = [driver.allocate(b"\xff" * size) if size else 0 for size in sizes]
        for _ in range(self.launches):
            for module, workspace, size in zip(modules, workspaces, sizes):
                module.launch(tensors, workspace, size, self.max_q_len if "cu_seqlens_q" in module.names else 0)
        driver.call("cuCtxSynchronize")
        made = {}
        for name in self.written:
            data = self.buffers[name]
            made[name] = np.frombuffer(driver.read(held[name], data.nbytes) if data.nbytes else b"", data.dtype).reshape(data.shape)
        for address in (*held.values(), *filter(None, workspaces)):
            driver.free(address)
        return made


def random_length(dice, size):
    if dice.random() < 0.05:
        return dice.randint(1000, 4096)
    return dice.choice((0, 1, 2, size - 1, size, size + 1, 127, 128, 129, 300, 1000, dice.randrange(700)))


def changed(wanted, made):
    """An error for each buffer whose bytes are not those that are wanted."""
    return {f"bytes of {name}": math.inf for name in made if not np.array_equal(wanted[name], made[name])}


class AttentionCase(Arrays):
    """Shapes and inputs of case `number` of a kernel; small where the simulator has to follow."""

    def __init__(self, seed, name, kernel, number, small):
        dice = random.Random(f"{seed} {name} {number} {small}")
        # Outputs of queries of 8 bits are bf16.
        out = "bf16" if kernel["dtype"] == "e4m3" else kernel["dtype"]
        super().__init__(dice, out, launches=1 if small else dice.choice((1, 2)))
        self.q_type, self.kv_type = kernel["dtype"], kernel.get("kv-dtype", kernel["dtype"])
        self.kernel, self.size, self.packed = kernel, kernel.get("page-size", 0), "cu-seqlens-q" in kernel
        is_latent = "v-in-k" in kernel
        self.kv_heads = 1 if is_latent else dice.randint(40, 70) if dice.random() < 0.15 else dice.randint(1, 4)
        self.group = dice.choice((1, 16, 32, 128) if is_latent else (1, 1, 2, 4, 5, 8))
        self.kv_lens = [random_length(dice, self.size or 64) for _ in range(dice.randint(1, 6))]
        in_one_cta = "key-new" in kernel and kernel.get("family") == "mma"
        q_len = lambda: dice.choice((17, 64, 130)) if dice.random() < 0.2 and not in_one_cta else dice.randint(0 if self.packed else 1, 5)
        self.q_lens = [q_len() for _ in self.kv_lens] if self.packed else [q_len()] * len(self.kv_lens)
        self.shrink(2**21 if small else 2**27)
        self.batch, self.q_heads = len(self.kv_lens), self.kv_heads * self.group
        self.outputs = ["o", *(name.replace("-", "_") for name in ("lse", "row-max", "row-sum") if name in kernel)]
        appends = "appended" in kernel or "key-new" in kernel
        self.new_len, self.full = dice.choice((1, 1, 2, 5, 17)) if appends else 0, {}
        if "rotary" in kernel:
            self.make_angles(max(self.kv_lens) + dice.choice((0, 0, 3)), kernel["rotary-dim"] // 2)
        self.make_caches(is_latent)
        self.make_scales()
        self.make_queries()
        if "topk" in kernel:
            self.make_lists()
        self.written = [*self.outputs, *self.full]

    def work(self):
        """Products in tiles of 64 rows, or elements of the caches, which are copied and compared."""
        dim = self.kernel["head-dim"]
        pairs = sum(-(-q // 64) * 64 * (kv + 64) for q, kv in zip(self.q_lens, self.kv_lens))
        keys = sum(-(-kv // (self.size or 1)) * (self.size or 1) for kv in self.kv_lens)
        return max(pairs * self.group * dim // 64, 16 * keys * dim) * self.kv_heads

    def shrink(self, most):
        while self.work() > most:
            if self.kv_heads > 2:
                self.kv_heads = (self.kv_heads + 1) // 2
            elif max(self.kv_lens) > 300:
                self.kv_lens = [kv * 2 // 3 if kv > 300 else kv for kv in self.kv_lens]
            elif len(self.kv_lens) > 2:
                self.kv_lens.pop()
                self.q_lens.pop()
            elif self.group > 1:
                self.group //= 2
            else:
                return

    def make_caches(self, is_latent):
        kernel, dice = self.kernel, self.dice
        self.plain("kv_lens", np.array(self.kv_lens, np.int32), "i32")
        blocks = self.place_pages(self.kv_lens, self.size) if self.size else self.batch
        shape = blocks, self.size or max(self.kv_lens) + dice.choice((0, 0, 3)), self.kv_heads
        dims = {"k": kernel["head-dim"]} if is_latent else {"k": kernel["head-dim"], "v": kernel["head-dim-v"]}
        for buffer in (dims,) if dice.random() < 0.5 else ({name: dim} for name, dim in dims.items()):
            self.matrix("".join(buffer), buffer, shape, dtype=self.kv_type)
        if self.size and not self.new_len and dice.random() < 0.3:
            # The first and the last sequence have the same first pages.
            table, same = self.view("block_tables"), min(-(-self.kv_lens[n] // self.size) for n in (0, -1))
            table[-1, :same] = table[0, :same]
        for n, length in enumerate(self.kv_lens):
            for name, dim in dims.items():
                self.view(name)[self.rows_at(n, np.arange(length))] = self.noise(length, self.kv_heads, dim, dtype=self.kv_type)
        if is_latent:
            buffer, view, dtype = self.tensors["k"]
            self.tensors["v"] = buffer, view[..., : kernel["head-dim-v"]], dtype
        if self.new_len:
            self.take_tokens(dims)

    def make_scales(self):
        """Factors of numbers of 8 bits; those of pages that no sequence has are NaN."""
        draw = lambda count: np.array([self.dice.uniform(0.25, 2) for _ in range(count)], np.float32).view(np.uint32)
        for name in ("k", "v"):
            if f"{name}-scale" not in self.kernel:
                continue
            count = self.kv_heads if "scale-per-head" in self.kernel else 1
            scales = draw(count)
            if "scale-per-page" in self.kernel:
                scales = np.full(len(self.view(name)), 2**32 - 1, np.uint32)
                for n, length in enumerate(self.kv_lens):
                    pages = self.view("block_tables")[n, : -(-length // self.size)]
                    scales[pages] = draw(len(pages))
            self.plain(f"{name}_scale", scales, "f32")
        if "q-scale" in self.kernel:
            self.plain("q_scale", draw(1), "f32")

    def scale_of(self, name, pages):
        """The factor of each key and KV head, or of all; `pages` has the page of each key."""
        if f"{name}-scale" not in self.kernel:
            return np.ones(1)
        scales = from_bits(self.view(f"{name}_scale"), "f32")
        if "scale-per-page" in self.kernel:
            return scales[pages][:, None, None]
        return scales[:, None]

    def take_tokens(self, dims):
        """Moves the last keys and values of each sequence from the caches to the tokens that are appended."""
        self.full = {name: self.buffers[name].copy() for name in sorted({self.tensors[name][0] for name in dims})}
        for name, new in (("k", "key_new"), ("v", "value_new")):
            self.matrix(new, {new: dims[name]}, (self.batch, self.new_len, self.kv_heads), dtype=self.kv_type)
            for n, length in enumerate(self.kv_lens):
                count = min(length, self.new_len)
                positions = np.arange(length - count, length)
                at = self.rows_at(n, positions)
                tokens = self.view(new)[n, self.new_len - count :] = self.view(name)[at].copy()
                if name == "k":
                    self.view(name, self.full)[at] = self.rotated(tokens, positions)
                self.view(name)[at] = np.iinfo(self.view(name).dtype).max

    def rotated(self, rows, positions):
        """Rows of keys or queries as the kernel rotates them: products and sums are rounded to f32. Rows without a position are copied."""
        rows, turned = rows.copy(), positions >= 0
        if "rotary" in self.kernel and turned.any():
            own = rows[turned][..., : self.kernel["rotary-dim"]]
            for columns, left, right in self.rotation(from_bits(own, self.q_type).astype(np.float32), positions[turned]):
                own[..., columns] = to_bits(left + right, self.q_type)
            rows[turned, :, : self.kernel["rotary-dim"]] = own
        return rows

    def make_queries(self):
        kernel, dice = self.kernel, self.dice
        self.starts = np.zeros(self.batch + 1, np.int32)
        batches, rows = self.batch, self.q_lens[0]
        if self.packed:
            # With some rows after all sequences.
            self.starts = np.cumsum([0, *self.q_lens]).astype(np.int32)
            batches, rows = 1, int(self.starts[-1]) + dice.choice((0, 0, 3))
            self.plain("cu_seqlens_q", self.starts, "i32")
            self.max_q_len = dice.choice((0, max(self.q_lens)))
            self.packed_names = ("q", *self.outputs)
        self.matrix("q", {"q": kernel["head-dim"]}, (batches, rows, self.q_heads), dtype=self.q_type)
        for n, length in enumerate(self.q_lens):
            own, batch = self.rows_of(n)
            self.view("q")[batch, own] = self.noise(length, self.q_heads, kernel["head-dim"], dtype=self.q_type)
        self.matrix("o", {"o": kernel["head-dim-v"]}, (batches, rows, self.q_heads), dtype=kernel.get("out-dtype"))
        for name in self.outputs[1:]:
            self.plain(name, np.full((batches, self.q_heads, rows), 2**32 - 1, np.uint32), "f32")
        if "sink" in kernel:
            self.plain("sink", np.array([dice.gauss(0, 2) for _ in range(self.q_heads)], np.float32).view(np.uint32), "f32")

    def make_lists(self):
        """Lists of keys that end anywhere, with repetitions; entries after the first -1 may be anything."""
        dice, count = self.dice, self.dice.choice((1, 17, 63, 64, 65, 130, 300))
        self.lists = [[[dice.randrange(length) for _ in range(dice.choice((0, 1, count, dice.randint(0, count))) if length else 0)]
                       for _ in range(self.q_lens[0])] for length in self.kv_lens]
        table = np.array([dice.choice((-1, -7, 1 << 30, 0)) for _ in range(self.batch * self.q_lens[0] * count)], np.int32)
        table = table.reshape(self.batch, self.q_lens[0], count)
        for n, rows in enumerate(self.lists):
            for i, own in enumerate(rows):
                table[n, i, : len(own)] = own
                if len(own) < count:
                    table[n, i, len(own)] = -1
        self.plain("topk", table, "i32")

    def rows_of(self, n):
        """The rows of q and o that sequence n has, and their batch."""
        start = int(self.starts[n])
        return slice(start, start + self.q_lens[n]), 0 if self.packed else n

    def reference(self, torch, n):
        rows, batch = self.rows_of(n)
        at = self.rows_at(n, np.arange(self.kv_lens[n]))
        positions = self.kv_lens[n] - self.q_lens[n] + np.arange(self.q_lens[n])
        bits = self.rotated(self.view("q")[batch, rows], positions), *(self.view(name, self.full or None)[at] for name in "kv")
        q, k, v = (to_float64(torch, part, dtype) for part, dtype in zip(bits, (self.q_type, self.kv_type, self.kv_type)))
        k, v = (part * torch.from_numpy(self.scale_of(name, at[0])).to(part.device) for name, part in (("k", k), ("v", v)))
        q = q * self.scale_of("q", None).item()
        sink = to_float64(torch, self.view("sink"), "f32") if "sink" in self.kernel else None
        attend = lambda *parts: random_kernels.attend(torch, self.kernel, self.scale, *parts, sink=sink)  # noqa: E731
        if "topk" not in self.kernel:
            return attend(q, k, v)
        rows = [attend(q[i : i + 1], k[own], v[own]) for i, own in enumerate(self.lists[n])]
        return {name: torch.cat([row[name] for row in rows], 0 if name in ("o", "size") else 1) for name in rows[0]}

    def errors(self, torch, made):
        views = {name: self.view(name, made) for name in self.outputs}
        wanted = self.full | {name: self.buffers[name].copy() for name in self.outputs}
        for name in self.outputs:
            for rows, batch in map(self.rows_of, range(self.batch)):
                at = (batch, rows) if name == "o" else (batch, slice(None), rows)
                self.view(name, wanted)[at] = views[name][at]
        return random_kernels.errors(torch, self, views) | changed(wanted, made)

    def describe(self):
        shape = f"heads {self.q_heads}/{self.kv_heads} new {self.new_len}"
        return f"{' '.join(random_kernels.words(self.kernel))}; q {self.q_lens} kv {self.kv_lens} {shape}"


class AppendCase(Arrays):
    """Shapes and inputs of case `number` of a kernel; small where the simulator has to follow."""

    def __init__(self, seed, name, kernel, number, small):
        dice = random.Random(f"{seed} {name} {number} {small}")
        super().__init__(dice, kernel["dtype"], launches=1 if small else dice.choice((1, 2)))
        self.kernel, self.size, self.columns = kernel, kernel["page-size"], kernel.get("rotary-dim", 0) // 2
        most, batch = 200 if small else 4096, dice.randint(1, 3 if small else 6)
        self.kv_lens = [min(random_length(dice, self.size or 64), most) for _ in range(batch)]
        self.kv_heads = dice.randint(1, 3 if small else 9)
        count = lambda: dice.choice((17, 64, 130)) if dice.random() < 0.2 and not small else dice.randint(1, 5)
        self.new_len, self.q_len, self.q_heads = count(), count(), dice.randint(1, 9 if small else 40)
        # A few caches and tables of angles are too short for the last tokens.
        end = lambda: max(0, max(self.kv_lens) + dice.choice((0, 0, 5, 5, -3)))
        self.length, self.positions = end(), end()
        self.make()

    def make(self):
        kernel, dice, batch, gaps = self.kernel, self.dice, len(self.kv_lens), (0, 0, 1, 8)
        dim, dim_v = kernel["head-dim"], kernel["head-dim-v"]
        self.plain("kv_lens", np.array(self.kv_lens, np.int32), "i32")
        blocks = batch
        if self.size:
            blocks = self.place_pages(self.kv_lens, self.size)
            table = self.view("block_tables")
            self.length = table.shape[1] * self.size
            if table.size and dice.random() < 0.2:
                # A page that does not exist.
                table[dice.randrange(batch), dice.randrange(table.shape[1])] = dice.choice(NO_PAGE)
        for caches in dice.choice((({"k": dim, "v": dim_v},), ({"k": dim}, {"v": dim_v}))):
            self.matrix("".join(caches), caches, (blocks, self.size or self.length, self.kv_heads), gaps)
            whole = self.buffers["".join(caches)]
            # Differs at every place from its neighbors.
            whole[...] = np.resize(np.arange(4099, dtype=np.uint16), whole.shape)
            self.written.append("".join(caches))
        for name, width in (("key_new", dim), ("value_new", dim_v)):
            self.matrix(name, {name: width}, (batch, self.new_len, self.kv_heads), gaps)
            self.view(name)[...] = self.noise(*self.view(name).shape)
        if self.columns:
            self.make_rotation(batch, gaps)

    def make_rotation(self, batch, gaps):
        self.make_angles(self.positions, self.columns)
        if self.kernel["query"]:
            for name in ("q", "q_out"):
                self.matrix(name, {name: self.kernel["head-dim"]}, (batch, self.q_len, self.q_heads), gaps)
            self.view("q")[...] = self.noise(*self.view("q").shape)
            self.written.append("q_out")

    def rotated(self, rows, positions):
        """Columns that rotate in float64, and their tolerance: that of the last rounding, and of products and sums in f32."""
        x = from_bits(rows[..., : 2 * self.columns], self.dtype)
        out, size = np.empty_like(x), np.empty_like(x)
        for own, left, right in self.rotation(x, positions):
            out[..., own], size[..., own] = left + right, abs(left) + abs(right)
        return out, UNITS[self.dtype] * abs(out) + 2.0**-22 * size + 2.0**-25

    def expect(self, wanted, made, name, at, rows, positions, shares):
        """Writes `rows` to places of `wanted`; columns that rotate are held to float64, and then taken as they are."""
        rows, turned = rows.copy(), (positions >= 0) & (positions < self.positions)
        if self.columns and name != "v" and turned.any():
            got = self.view(name, made)[at][turned][..., : 2 * self.columns]
            exact, allowed = self.rotated(rows[turned], positions[turned])
            error = abs(from_bits(got, self.dtype) - exact) / allowed
            shares[name] = max(shares.get(name, 0.0), np.where(np.isnan(error), math.inf, error).max())
            rows[turned, :, : 2 * self.columns] = got
        self.view(name, wanted)[at] = rows

    def errors(self, torch, made):
        wanted, shares = {name: self.buffers[name].copy() for name in made}, {}
        for n, length in enumerate(self.kv_lens):
            positions = length - self.new_len + np.arange(self.new_len)
            exists = (positions >= 0) & (positions < self.length) & (positions < (self.positions if self.columns else 2**31))
            tokens, positions = exists.nonzero()[0], positions[exists]
            blocks, rows = self.rows_at(n, positions)
            kept = (blocks >= 0) & (blocks < len(self.view("k")))
            for new, name in (("key_new", "k"), ("value_new", "v")):
                self.expect(wanted, made, name, (blocks[kept], rows[kept]), self.view(new)[n, tokens[kept]], positions[kept], shares)
            if "q_out" in self.written:
                # What has no angles is copied.
                positions = length - self.q_len + np.arange(self.q_len)
                at = np.full(self.q_len, n), np.arange(self.q_len)
                self.expect(wanted, made, "q_out", at, self.view("q")[n], positions, shares)
        return shares | changed(wanted, made)

    def describe(self):
        shape = f"heads {self.q_heads}/{self.kv_heads}, {self.length} rows, {self.positions} positions"
        return f"{self.kernel}; new {self.new_len}, q {self.q_len}, kv {self.kv_lens}, {shape}"
