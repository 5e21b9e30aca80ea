"""Kernels around a few ops of the tcgen05 dialect: shared memory and tensor memory hold given bytes, the ops run, and tensor memory
comes back. They are compiled by fmha-opt and run in the simulator; what must come back is computed here and not by either."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

POLICIES = ("eager", "late", "random")
POISON = 0x7FC0DEAD


class Code:
    """The body of a function: each method appends an op and returns its value."""

    def __init__(self):
        self.lines, self.count = [], 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def op(self, text):
        """An op with one result."""
        value = self.name()
        self.lines.append(f"{value} = {text}")
        return value

    def do(self, text):
        self.lines.append(text)

    def i32(self, number):
        return self.op(f"llvm.mlir.constant({number if number < 2**31 else number - 2**32} : i32) : i32")

    def i64(self, number):
        return self.op(f"llvm.mlir.constant({number if number < 2**63 else number - 2**64} : i64) : i64")

    def i1(self, yes):
        return self.op(f"llvm.mlir.constant({'true' if yes else 'false'}) : i1")

    def tmem(self, lane=0, column=0, base="%base"):
        """The address of a cell from the kernel's first column, or from that of this warp's lanes (`%own`)."""
        at = self.op(f"llvm.add {base}, {self.i32(lane << 16 | column)} : i32")
        return self.op(f"llvm.inttoptr {at} : i32 to !llvm.ptr<6>")

    def gep(self, pointer, index, space, element="i8", kind="i32"):
        return self.op(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr<{space}>, {kind}) -> !llvm.ptr<{space}>, {element}")

    def descriptor(self, matrix):
        """The descriptor of a matrix of shared memory."""
        at = self.op("llvm.ptrtoint %smem : !llvm.ptr<3> to i32")
        at = self.op(f"llvm.add {at}, {self.i32(matrix.offset)} : i32")
        at = self.op(f"llvm.lshr {at}, {self.i32(4)} : i32")
        at = self.op(f"llvm.zext {at} : i32 to i64")
        return self.op(f"llvm.or {at}, {self.i64(matrix.fields())} : i64")


class Matrix:
    """A matrix in shared memory without a swizzle: 8 rows of 16 bytes are 128 bytes, and the next 16 bytes of these rows follow all
    rows. Transposed, a row of these is a k with 16 bytes of consecutive rows of the matrix; elements of 4 bytes need a swizzle."""

    def __init__(self, offset, rows, k=None, element_bytes=None, transposed=False):
        self.offset, self.rows, self.k, self.element_bytes, self.transposed = offset, rows, k, element_bytes, transposed

    def step(self):
        return (self.rows + 7) // 8 * 128

    def bit(self, row, bit):
        """The bit of shared memory at which bit `bit` of a row lies."""
        if self.transposed:
            k, rest = divmod(bit, 8 * self.element_bytes)
            if self.element_bytes == 4:
                return 8 * self.atom(row, k) + rest
            chunk, within = divmod(row * self.element_bytes, 16)
            return 8 * (self.offset + chunk * (self.k // 8 * 128) + k // 8 * 128 + k % 8 * 16 + within) + rest
        byte = bit // 8
        return 8 * (self.offset + row // 8 * 128 + row % 8 * 16 + byte // 16 * self.step() + byte % 16) + bit % 8

    def atom(self, row, k):
        """The byte of a transposed element of 4 bytes: 32 rows of the matrix are 128 bytes, whose parts of 32 bytes are swizzled."""
        chunk, within = divmod(4 * row, 128)
        at = self.offset + chunk * 128 * self.k + within + k % 4 * 128 + k // 4 * 512
        return at ^ (at >> 7 & 3) << 5

    def fields(self):
        if self.transposed and self.element_bytes == 4:
            return 1 << 61 | 1 << 46 | 512 // 16 << 32 | 128 * self.k // 16 << 16
        leading, stride = (128, self.k // 8 * 128) if self.transposed else (self.step(), 128)
        return 1 << 46 | (stride // 16) << 32 | (leading // 16) << 16


class Case:
    """One kernel: what memory holds, the ops of one thread (`issue`) or of all warps (`warps`), and the cells that must come back."""

    def __init__(self, name, instruction, group=1, shared=1024, columns=64, target="sm_100a"):
        self.name, self.instruction, self.group, self.columns, self.target = name, instruction, group, columns, target
        self.shared = np.full((group, shared), 0xFF, np.uint8)
        self.cells = np.full((group, 128, columns), POISON, np.uint32)
        self.issue = self.warps = None
        # Registers of each thread that come back, or go in, with ops of all warps.
        self.registers = None
        self.exact = False

    def prepare(self):
        """Draws what memory holds, if the constructor has not."""

    def expect(self, cells, registers):
        """Ends with an error if what came back is wrong."""
        raise NotImplementedError

    def put(self, cta, matrix, row, position, bits, code):
        """Stores element `position` of a row of a matrix."""
        self.put_bits(cta, matrix.bit(row, position * bits), bits, code)

    def put_bits(self, cta, at, bits, code):
        first, last = at // 8, (at + bits + 7) // 8
        old = int.from_bytes(self.shared[cta, first:last].tobytes(), "little")
        mask = (1 << bits) - 1 << at % 8
        new = old & ~mask | code << at % 8
        self.shared[cta, first:last] = np.frombuffer(new.to_bytes(last - first, "little"), np.uint8)

    def put_cell(self, cta, lane, column, bit, bits, code):
        column += bit // 32
        mask = ((1 << bits) - 1) << bit % 32
        self.cells[cta, lane, column] = int(self.cells[cta, lane, column]) & ~mask & 0xFFFFFFFF | code << bit % 32

    def text(self):
        c = Code()
        self.set_up(c)
        self.move(c, fill=True)
        c.do("tcgen05.wait store")
        self.synchronize(c)
        if self.warps:
            self.warps(c)
        else:
            self.single(c)
        self.move(c, fill=False)
        self.synchronize(c)
        c.do(f"scf.if %first {{\n tcgen05.dealloc {self.columns} at {c.tmem()} {self.attribute()} : !llvm.ptr<6>\n}}")
        return HEAD.format(name=self.name) + "\n".join(c.lines) + "\nllvm.return\n}\n"

    def attribute(self):
        return "{cta_group = 2 : i32}" if self.group == 2 else ""

    def synchronize(self, c):
        c.do("tcgen05.fence before\nnvvm.barrier")
        if self.group == 2:
            c.do("nvvm.cluster.arrive {aligned}\nnvvm.cluster.wait {aligned}")
        c.do("tcgen05.fence after")

    def set_up(self, c):
        size = self.shared.shape[1]
        rank = "nvvm.read.ptx.sreg.cluster.ctarank : i32" if self.group == 2 else "llvm.mlir.constant(0 : i32) : i32"
        c.do(f"""%rank = {rank}
%tid = nvvm.read.ptx.sreg.tid.x : i32
%zero = llvm.mlir.constant(0 : i32) : i32
%one = llvm.mlir.constant(1 : i32) : i32
%five = llvm.mlir.constant(5 : i32) : i32
%size = llvm.mlir.constant({size} : i32) : i32
%warp = llvm.lshr %tid, %five : i32
%first = llvm.icmp "eq" %warp, %zero : i32
%leader = llvm.icmp "eq" %tid, %zero : i32
%smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
%barrier = llvm.getelementptr %smem[{size}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%slot = llvm.getelementptr %smem[{size + 8}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {{
  tcgen05.alloc {self.columns} to %slot {self.attribute()} : !llvm.ptr<3>
  tcgen05.relinquish {self.attribute()}
}}
scf.if %leader {{
  nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
}}
%sixteen = llvm.mlir.constant(16 : i32) : i32
%row = llvm.mul %tid, %sixteen : i32
%step = llvm.mlir.constant(2048 : i32) : i32
%image = llvm.mul %rank, %size : i32
scf.for %i = %row to %size step %step : i32 {{
  %at = llvm.add %image, %i : i32
  %from = llvm.getelementptr %shared[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %word = llvm.load %from {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<4xi32>
  %to = llvm.getelementptr %smem[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  llvm.store %word, %to {{alignment = 16 : i64}} : vector<4xi32>, !llvm.ptr<3>
}}
nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}""")
        self.synchronize(c)
        c.do(f"""%base = llvm.load %slot : !llvm.ptr<3> -> i32
%twentyone = llvm.mlir.constant(21 : i32) : i32
%lanes = llvm.shl %warp, %twentyone : i32
%own = llvm.add %base, %lanes : i32
%seven = llvm.mlir.constant(7 : i32) : i32
%ofcta = llvm.shl %rank, %seven : i32
%thread = llvm.add %ofcta, %tid : i32
%width = llvm.mlir.constant({self.columns} : i32) : i32
%mine = llvm.mul %thread, %width : i32
%myin = llvm.getelementptr %cells[%mine] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
%myout = llvm.getelementptr %out[%mine] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32""")
        if self.registers is not None:
            c.do(f"""%count = llvm.mlir.constant({self.registers.shape[1]} : i32) : i32
%their = llvm.mul %thread, %count : i32
%myregs = llvm.getelementptr %regs[%their] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32""")

    def move(self, c, fill):
        """Moves this thread's lane between tensor and global memory."""
        vector, column = "vector<32xi32>", c.name()
        c.do(f"scf.for {column} = %zero to %width step {c.i32(32)} : i32 {{")
        at = c.op(f"llvm.add %own, {column} : i32")
        at = c.op(f"llvm.inttoptr {at} : i32 to !llvm.ptr<6>")
        memory = c.gep("%myin" if fill else "%myout", column, 1, "i32")
        if fill:
            value = c.op(f"llvm.load {memory} {{alignment = 16 : i64}} : !llvm.ptr<1> -> {vector}")
            c.do(f"tcgen05.st shape_32x32b {value} to {at} : {vector}, !llvm.ptr<6>\n}}")
        else:
            value = c.op(f"tcgen05.ld shape_32x32b {at} : !llvm.ptr<6> -> {vector}")
            value = c.op(f"tcgen05.wait load of {value} : {vector}")
            c.do(f"llvm.store {value}, {memory} {{alignment = 16 : i64}} : {vector}, !llvm.ptr<1>\n}}")

    def single(self, c):
        """The ops of one thread, and the wait of all for their completion."""
        both = c.op('llvm.icmp "eq" %thread, %zero : i32')
        c.do(f"scf.if {both} {{")
        self.issue(c)
        if self.group == 2:
            mask = c.op("llvm.mlir.constant(3 : i16) : i16")
            c.do(f"tcgen05.commit %barrier multicast {mask} {{cta_group = 2 : i32}} : !llvm.ptr<3>\n}}")
        else:
            c.do("tcgen05.commit %barrier : !llvm.ptr<3>\n}")
        yes, ready = c.i1(True), c.name()
        c.do(f"""scf.while : () -> () {{
  {ready} = nvvm.mbarrier.try_wait %barrier, %zero : !llvm.ptr<3>, i32 -> i1
  {ready}again = llvm.xor {ready}, {yes} : i1
  scf.condition({ready}again)
}} do {{
  scf.yield
}}
tcgen05.fence after""")


HEAD = """llvm.func @{name}(%shared: !llvm.ptr<1>, %cells: !llvm.ptr<1>, %out: !llvm.ptr<1>, %regs: !llvm.ptr<1>)
    attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>}} {{
"""

MODULE = """gpu.module @tests [#nvvm.target<chip = "{target}", features = "+ptx88">] {{
llvm.mlir.global external @smem() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
{functions}}}
"""

ESCAPE = re.compile(r"\\([0-9A-F]{2}|.)")


def run_tool(line):
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, line))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def ptx_of(source, pipeline="--tcgen05-to-ptx"):
    """The PTX in the gpu.binary that fmha-opt makes of a file."""
    text = run_tool(["fmha-opt", str(source), pipeline])
    assembly = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', text)[1]
    return ESCAPE.sub(lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], assembly).rstrip("\0")


def compile_cases(cases, folder):
    """One PTX file of all cases, which have one target."""
    source = folder / "cases.mlir"
    for case in cases:
        case.prepare()
    source.write_text(MODULE.format(target=cases[0].target, functions="\n".join(case.text() for case in cases)))
    path = folder / "cases.ptx"
    path.write_text(ptx_of(source))
    if shutil.which("ptxas"):
        assemble(path, cases[0].target)
    return path


def assemble(path, target):
    """Assembles a file; ptxas 13 knows sm_101a by the name of sm_110a, from PTX 9.0 on."""
    if target == "sm_101a":
        text = re.sub(r"^\.version .*$", ".version 9.0", path.read_text(), flags=re.M)
        target, path = "sm_110a", path.with_suffix(".sm_110a.ptx")
        path.write_text(re.sub(r"^\.target .*$", ".target sm_110a", text, flags=re.M))
    run_tool(["ptxas", "-O0", f"-arch={target}", str(path), "-o", str(path.with_suffix(".cubin"))])


def run_case(case, ptx, folder, policy, seed):
    """Runs one case under a policy and compares what comes back."""
    names = [folder / f"{name}.npy" for name in ("shared", "cells", "out", "regs")]
    np.save(names[0], case.shared)
    np.save(names[1], case.cells)
    count = case.registers.shape[1] if case.registers is not None else 4
    np.save(names[3], case.registers if case.registers is not None else np.zeros((128, 4), np.uint32))
    line = ["ptx-sim", str(ptx), f"--entry={case.name}", f"--grid={case.group}", "--block=128", "--threads=1"]
    line += [f"--smem={case.shared.shape[1] + 64}", f"--policy={policy}", f"--schedule-seed={seed}"]
    line += ["--cluster=2"] if case.group == 2 else []
    line += ["--mma=exact"] if case.exact else []
    line += [f"--arg=in:{names[0]}", f"--arg=in:{names[1]}"]
    line += [f"--arg=out:{names[2]}:u32:{case.group}x128x{case.columns}", f"--arg=inout:{names[3]}:{names[3]}"]
    run_tool(line)
    case.expect(np.load(names[2]), np.load(names[3]).reshape(-1, count))


def run_cases(family, numbered, folder, seed, share):
    """Compiles cases of a family and runs each. Its number in the family gives the policy, whichever share of the cases runs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    by_target = {}
    for number, case in numbered:
        by_target.setdefault(case.target, []).append((number, case))
    for target, group in by_target.items():
        ptx = compile_cases([case for _, case in group], folder)
        text = ptx.read_text()
        for number, case in group:
            body = text[text.index(f".entry {case.name}(") :].partition("\n}\n")[0]
            if not re.search(case.instruction, body):
                raise SystemExit(f"{family}, {case.name}: expected PTX with {case.instruction}, got none")
            policy = POLICIES[number % 3]
            try:
                run_case(case, ptx, folder, policy, seed)
            except (AssertionError, SystemExit) as error:
                raise SystemExit(f"{family}, {case.name} under {policy}, --seed={seed} --share={share}: {error}")
    print(f"{family}: {len(numbered)} forms are right, seed {seed}")
