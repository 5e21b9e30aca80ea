#!/usr/bin/env python3
"""Writes a CUDA program that measures wgmma on a Hopper GPU, in clocks of an SM.

    benchmark/wgmma_speed.py [PART...] > wgmma-speed.cu
    nvcc -arch=sm_90a -O3 -cudart static wgmma-speed.cu -o wgmma-speed
    ./wgmma-speed > results.csv

Each row is one program: warpgroups of 64 rows that repeat chains of products, some with other work: a chain is what one commit ends. The column
part_of_the_rate is what products reach of the rate of the tensor cores: one of 64 x N x 16 takes N / 2 clocks at the full rate.
Figures of include/fmha/PTX/Time/Costs.def name the rows they come from.
"""

import sys

HEAD = r"""
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); std::exit(1); } } while (0)

/// A descriptor of a tile with rows of 128 bytes, swizzled.
__device__ uint64_t tile(uint32_t address, bool transposed) {
  uint64_t leading = transposed ? 8192 : 16, stride = 1024;
  return (uint64_t(1) << 62) | ((stride >> 4) << 32) | ((leading >> 4) << 16) | ((address & 0x3FFFF) >> 4);
}
__device__ float exponential(float x) { float y; asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ float packed(float x, float y) { float z; asm volatile("{.reg .b32 r; cvt.rn.bf16x2.f32 r, %1, %2; mov.b32 %0, r;}" : "=f"(z) : "f"(x), "f"(y)); return z; }
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int n> __device__ void waitFor() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory"); }
"""


def product(columns, source, transposed):
    """The device function of one product: `source` is smem or registers."""
    count = columns // 2
    name = f"mma_{columns}_{source}{'_t' if transposed else ''}"
    outs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    places = ", ".join(f"%{i}" for i in range(count))
    if source == "smem":
        a, ins, b, more = f"%{count}", '"l"(a)', f"%{count + 1}", f", p, 1, 1, 0, {int(transposed)}"
        flag, arguments = f"%{count + 2}", "uint64_t a"
    else:
        a = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        ins, b = ", ".join(f'"r"(a[{i}])' for i in range(4)), f"%{count + 4}"
        flag, more, arguments = f"%{count + 5}", f", p, 1, 1, {int(transposed)}", "const uint32_t *a"
    return f"""
__device__ __forceinline__ void {name}(float *d, {arguments}, uint64_t b, int accumulate) {{
  asm volatile("{{.reg .pred p; setp.ne.b32 p, {flag}, 0;\\n"
    "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 {{{places}}}, {a}, {b}{more};}}"
    : {outs} : {ins}, "l"(b), "r"(accumulate));
}}"""


def chain(columns, source, transposed, count, accumulator, keep):
    """Statements of `count` products into one accumulator."""
    t = "_t" if transposed else ""
    lines = []
    for i in range(count):
        a = f"tile(mine + {32 * (i % 4)}, false)" if source == "smem" else f"a + {4 * (i % 8)}"
        b = f"tile(shared + {(i % 8) * 2048 if transposed else i % 4 * 32 + i // 4 % 2 * 32768}, {'true' if transposed else 'false'})"
        lines.append(f"mma_{columns}_{source}{t}({accumulator}, {a}, {b}, {'1' if keep or i else '0'});")
    return "\n    ".join(lines)


def softmax(columns, ops):
    """Statements of the work of a softmax on the scores s, as far as `ops` names it."""
    lines = []
    n = columns // 2
    if "max" in ops:
        lines.append(f"float m0 = s[0], m1 = s[2]; for (int i = 0; i < {n}; i += 4) {{ m0 = fmaxf(m0, fmaxf(s[i], s[i + 1])); m1 = fmaxf(m1, fmaxf(s[i + 2], s[i + 3])); }}")
        lines.append("m0 = fmaxf(m0, __shfl_xor_sync(~0u, m0, 1)); m0 = fmaxf(m0, __shfl_xor_sync(~0u, m0, 2)); m1 = fmaxf(m1, __shfl_xor_sync(~0u, m1, 1)); m1 = fmaxf(m1, __shfl_xor_sync(~0u, m1, 2));")
        lines.append("float o0 = top0, o1 = top1; top0 = fmaxf(top0, m0); top1 = fmaxf(top1, m1); float f0 = exponential((o0 - top0) * scale), f1 = exponential((o1 - top1) * scale); m0 = -top0 * scale; m1 = -top1 * scale;")
    else:
        lines.append("float m0 = -scale, m1 = -scale, f0 = scale, f1 = scale;")
    body = "s[i] = fmaf(s[i], scale, (i & 2) ? m1 : m0);" if "fma" in ops else ""
    body += " s[i] = exponential(s[i]);" if "exp" in ops else ""
    lines.append(f"for (int i = 0; i < {n}; ++i) {{ {body} }}")
    if "sum" in ops:
        lines.append(f"sum0 *= f0; sum1 *= f1; for (int i = 0; i < {n}; i += 4) {{ sum0 += s[i] + s[i + 1]; sum1 += s[i + 2] + s[i + 3]; }}")
    if "pack" in ops:
        lines.append(f"for (int i = 0; i < {n // 2}; ++i) asm volatile(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(a[i]) : \"f\"(s[2 * i + 1]), \"f\"(s[2 * i]));")
    if "rescale" in ops:
        lines.append("for (int i = 0; i < D / 2; ++i) o[i] *= (i & 2) ? f1 : f0;")
    return "\n    ".join(lines)


PROGRAMS = []


def program(title, groups, body, clocks, accumulators, others=0, other=""):
    """A kernel of `groups` warpgroups that run `body`, and `others` more that run `other` meanwhile."""
    name = f"k{len(PROGRAMS)}"
    PROGRAMS.append((name, title, groups, others, clocks))
    return f"""
__global__ void __launch_bounds__({128 * (groups + others)}) {name}(const uint4 *data, long long *clocks, float *out, int rounds, float scale) {{
  extern __shared__ __align__(1024) char memory[];
  for (int i = threadIdx.x; i < {192 * 1024 // 16}; i += blockDim.x) ((uint4 *)memory)[i] = data[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  uint32_t shared = uint32_t(__cvta_generic_to_shared(memory)), mine = shared + 65536 + 16384 * group;
  {accumulators};
  uint32_t a[64];
  float sum0 = 0, sum1 = 0, top0 = -1e30f, top1 = -1e30f;
  for (int i = 0; i < 64; ++i) a[i] = ((const uint32_t *)data)[threadIdx.x * 64 + i];
  __syncthreads();
  long long begin = clock64();
  if (group < {groups}) {{
   #pragma unroll 1
   for (int round = 0; round < rounds; ++round) {{
    {body}
   }}
  }} else {{
    {other}
  }}
  waitFor<0>();
  long long taken = clock64() - begin;
  float total = sum0 + sum1 + top0;
  {"".join(f"for (float x : {part.split('[')[0].split()[-1]}) total += x;" for part in accumulators.split(";") if part.strip().startswith("float ") and "[" in part)}
  if (threadIdx.x % 128 == 0) clocks[blockIdx.x * 4 + group] = taken;
  if (total == 12345.f) out[0] = total + a[0];
}}"""


def products_alone():
    """Chains of eight products each."""
    parts = []
    for columns in (64, 128, 176, 256):
        for source in ("smem", "registers"):
            for transposed in (False, True) if columns == 128 else (False,):
                for groups in (1, 2, 3):
                    if groups == 3 and columns > 128:
                        continue
                    body = "fence(); " + chain(columns, source, transposed, 8, "o", True) + " commit(); waitFor<0>();"
                    title = f"chain of 8; n {columns}; A {source}{'; B transposed' if transposed else ''}; groups {groups}"
                    parts.append(program(title, groups, body, groups * 8 * columns // 2, f"float o[{columns // 2}] = {{}}"))
    return parts


def small_products():
    """Chains of eight products of few columns, where the operands in shared memory bound the rate."""
    parts = []
    for columns in (8, 16, 32, 48, 64, 80, 96):
        for source in ("smem", "registers"):
            for groups in (1, 2, 3):
                body = "fence(); " + chain(columns, source, False, 8, "o", True) + " commit(); waitFor<0>();"
                title = f"small chain of 8; n {columns}; A {source}; groups {groups}"
                parts.append(program(title, groups, body, groups * 8 * columns // 2, f"float o[{columns // 2}] = {{}}"))
    return parts


# One thread that copies 256 rows of 128 bytes to shared memory a round.
COPIES = """__shared__ __align__(8) uint64_t bar;
    uint32_t barrier = uint32_t(__cvta_generic_to_shared(&bar));
    if (threadIdx.x % 128 == 0) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
      #pragma unroll 1
      for (int round = 0; round < rounds; ++round) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(32768) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared + 131072), "l"(data), "r"(32768), "r"(barrier) : "memory");
        uint32_t done = 0;
        while (!done) asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(barrier), "r"(round & 1) : "memory");
      }
    }"""


def products_with_copies():
    """Products while another warpgroup copies to shared memory."""
    parts = []
    for columns, source, groups in ((64, "smem", 0), (48, "smem", 2), (64, "smem", 1), (64, "smem", 2), (80, "smem", 2), (128, "smem", 2), (128, "registers", 2), (256, "registers", 2)):
        body = "fence(); " + chain(columns, source, False, 8, "o", True) + " commit(); waitFor<0>();"
        title = f"chain of 8; n {columns}; A {source}; groups {groups}; 1 more: copies to shared memory"
        parts.append(program(title, groups, body, groups * 8 * columns // 2, f"float o[{columns // 2}] = {{}}", 1, COPIES))
    return parts


# Four accesses of each warp through the port of shared memory. Shuffles and loads wait for the same one of the round before, waits for the one before.
ACCESSES = {
    "shuffles": 'asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(x[i]));',
    "loads": 'asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x[i]) : "r"(own + (x[i] & none)));',
    "stores": 'asm volatile("st.shared.u32 [%0], %1;" :: "r"(own + 1024 * i), "r"(x[i]));',
    "waits": 'asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 1; selp.b32 %0, 0, 8, p;}" : "=r"(x[i]) : "r"(barrier + (x[(i + 3) % 4] & none)));',
}


def products_with_accesses():
    """Two warpgroups of products while another shuffles or accesses shared memory; the row counts clocks of four accesses of each warp."""
    parts = []
    shapes = [(0, "smem", 64), *((2, source, columns) for source in ("smem", "registers") for columns in (32, 48, 64, 80, 96, 112, 128))]
    for groups, source, columns in shapes:
        for kind, statement in ACCESSES.items():
            body = "fence(); " + chain(columns, source, False, 8, "o", True) + " commit(); waitFor<0>();"
            other = f"""uint32_t x[4] = {{threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3}}, none = uint32_t(__float_as_int(scale) >> 31), own = shared + 131072 + 4 * (threadIdx.x % 128), barrier = shared + 163840;
    if (threadIdx.x % 128 == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(barrier));
    asm volatile("bar.sync 1, 128;");
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{
      #pragma unroll
      for (int i = 0; i < 4; ++i) {{ {statement} }}
    }}
    for (int i = 0; i < 4; ++i) sum0 += x[i];"""
            title = f"chain of 8; n {columns}; A {source}; groups {groups}; 1 more: 4 {kind}"
            parts.append(program(title, groups, body, groups * 8 * columns // 2, f"float o[{columns // 2}] = {{}}", 1, other))
    return parts


# What one step of the other work does to value i of 64 that a thread has in registers.
WORK = {
    "exponential": "x[i] = exponential(x[i]);",
    "fma of 3 registers": "x[i] = fmaf(x[i], x[(i + 21) % 64], x[(i + 42) % 64]);",
    "fma of 2 registers": "x[i] = fmaf(x[i], scale, m0);",
    "add of 2 registers": "x[i] = x[i] + x[(i + 21) % 64];",
    "add of 1 register": "x[i] = x[i] + scale;",
    "max of 2 registers": "x[i] = fmaxf(x[i], x[(i + 21) % 64]);",
    "pack of 2 registers": "x[i] = packed(x[i], x[(i + 21) % 64]);",
    "fma; exponential": "x[i] = exponential(fmaf(x[i], scale, m0));",
    "fma; max; add": "x[i] = fmaxf(fmaf(x[i], scale, m0), m0) + m1;",
}
TIMES = 4


def products_with_work():
    """Warpgroups of products while another one works on registers; the row counts clocks for 64 values of each thread."""
    parts = []
    for groups, source, columns, values in ((0, "smem", 128, 64), (1, "smem", 128, 64), (2, "smem", 128, 64), (1, "registers", 128, 64), (2, "registers", 128, 64), (2, "smem", 80, 64), (2, "smem", 256, 32)):
        for kind, statement in WORK.items():
            statement, times = statement.replace("64", str(values)), TIMES * 64 // values
            for others in (1, 2) if groups < 2 else (1,):
                body = "fence(); " + chain(columns, source, False, 8, "o", True) + " commit(); waitFor<0>();"
                steps = f"for (int i = 0; i < {values}; ++i) {{ {statement} }}"
                other = f"""float x[{values}], m0 = scale, m1 = -scale; for (int i = 0; i < {values}; ++i) x[i] = scale * i * threadIdx.x;
    #pragma unroll 1
    for (int round = 0; round < rounds / {TIMES}; ++round) {{ m0 += scale; {steps * times} }}
    for (int i = 0; i < {values}; ++i) sum0 += x[i];"""
                title = f"chain of 8; n {columns}; A {source}; groups {groups}; {others} more: {kind}"
                parts.append(program(title, groups, body, groups * 4 * columns, f"float o[{columns // 2}] = {{}}", others, other))
    return parts


def products_with_bursts():
    """The same with bursts of FMAs and pauses: how far products have read registers ahead. The row counts clocks of a burst with its pause."""
    parts = []
    for groups in (0, 2):
        for length in (8, 16, 32, 64, 128):
            body = "fence(); " + chain(128, "smem", False, 8, "o", True) + " commit(); waitFor<0>();"
            burst = f"for (int i = 0; i < {length}; ++i) x[i % 32] = fmaf(x[i % 32], scale, m0);"
            pause = "for (int i = 0; i < 10; ++i) m0 = exponential(m0);"
            other = f"""float x[32], m0 = scale; for (int i = 0; i < 32; ++i) x[i] = scale * i * threadIdx.x;
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) {{ {burst} {pause} m0 += x[0]; }}
    for (int i = 0; i < 32; ++i) sum0 += x[i];"""
            title = f"chain of 8; n 128; A smem; groups {groups}; 1 more: burst of {length} FMAs and a pause"
            parts.append(program(title, groups, body, groups * 512, "float o[64] = {}", 1, other))
    return parts


def attention(keys, dim, ops, overlapped, groups=2):
    """Blocks of attention without loads: Q K, softmax as far as `ops` names it, P V."""
    qk = chain(keys, "smem", False, dim // 16, "s", False)
    pv = chain(dim, "registers", True, keys // 16, "o", True)
    work = softmax(keys, ops)
    if overlapped:
        # The products of this round use the P of the round before, and P is packed and O rescaled after them.
        work = softmax(keys, [op for op in ops if op not in ("pack", "rescale")])
        late = "\n    ".join(softmax(keys, ops).splitlines()[-2:]) if ops else ""
        body = f"fence(); {qk} commit(); {pv} commit(); waitFor<1>(); {work} waitFor<0>(); {late}"
    else:
        body = f"fence(); {qk} commit(); waitFor<0>(); {work} fence(); {pv} commit(); waitFor<0>();"
    body = body.replace("D / 2", str(dim // 2))
    clocks = groups * (dim // 16 * keys // 2 + keys // 16 * dim // 2)
    title = f"attention; keys {keys}; dim {dim}; groups {groups}; {'two chains at once' if overlapped else 'one chain at a time'}; {' '.join(ops) or 'no softmax'}"
    accumulators = f"float s[{keys // 2}] = {{}}; float o[{dim // 2}] = {{}}"
    return program(title, groups, body, clocks, accumulators)


def attentions():
    every = ("max", "fma", "exp", "sum", "pack", "rescale")
    parts = []
    for keys, dim, groups in ((128, 128, 1), (128, 128, 2), (176, 128, 1), (176, 128, 2), (128, 64, 1), (128, 64, 2), (128, 64, 3), (80, 256, 1), (80, 256, 2)):
        for ops in ((), ("fma", "exp", "pack"), every):
            parts.append(attention(keys, dim, ops, False, groups))
        for ops in ((), every):
            parts.append(attention(keys, dim, ops, True, groups))
    return parts


def main():
    parts = {"alone": products_alone, "work": products_with_work, "bursts": products_with_bursts, "attention": attentions, "small": small_products, "copies": products_with_copies, "accesses": products_with_accesses}
    kernels = [kernel for part in sys.argv[1:] or parts for kernel in parts[part]()]
    used = "\n".join(product(n, s, t) for n in (8, 16, 32, 48, 64, 80, 96, 112, 128, 176, 256) for s in ("smem", "registers") for t in (False, True))
    print(HEAD, used, *kernels, sep="\n")
    rows = ",\n  ".join(f'{{"{title}", {name}, {groups}, {groups + others}, {clocks}}}' for name, title, groups, others, clocks in PROGRAMS)
    print(MAIN.replace("ROWS", rows))


MAIN = r"""
/// Writes when each CTA begins, in clocks of its SM.
__global__ void begin(long long *clocks, unsigned *sms) {
  extern __shared__ __align__(1024) char memory[];
  if (threadIdx.x) return;
  long long now = clock64();
  unsigned sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  clocks[blockIdx.x] = now; sms[blockIdx.x] = sm;
  while (clock64() - now < 100000);
}
/// Prints how much later the CTAs of an SM begin than its first one: medians over SMs.
static void printBegins(const char *gpu, int sms, int each, int threads) {
  long long *clocks; unsigned *places;
  CHECK(cudaMallocManaged(&clocks, 8 * sms * each)); CHECK(cudaMallocManaged(&places, 4 * sms * each));
  int smem = 200 * 1024 / each;
  CHECK(cudaFuncSetAttribute(begin, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  std::vector<std::vector<long long>> later(each);
  for (int repeat = 0; repeat < 5; ++repeat) {
    begin<<<sms * each, threads, smem>>>(clocks, places);
    CHECK(cudaDeviceSynchronize());
    std::vector<std::vector<long long>> of(1024);
    for (int c = 0; c < sms * each; ++c) of[places[c]].push_back(clocks[c]);
    for (auto &each : of) { std::sort(each.begin(), each.end()); for (size_t i = 0; i < each.size() && i < later.size(); ++i) later[i].push_back(each[i] - each[0]); }
  }
  for (int i = 1; i < each; ++i) {
    std::sort(later[i].begin(), later[i].end());
    std::printf("%s,begin of CTA %d of %d on an SM; threads %d,%d,none,%lld,0,0\n", gpu, i, each, threads, sms * each, later[i][later[i].size() / 2]);
  }
}
struct Row { const char *title; void (*kernel)(const uint4 *, long long *, float *, int, float); int groups, all, clocks; };
static Row rows[] = {
  ROWS};
int main() {
  cudaDeviceProp gpu; CHECK(cudaGetDeviceProperties(&gpu, 0));
  const int smem = 192 * 1024, rounds = 400, sms = gpu.multiProcessorCount;
  std::vector<uint16_t> host(smem); // twice what is read
  uint4 *data; long long *clocks; float *out;
  CHECK(cudaMalloc(&data, 2 * smem)); CHECK(cudaMalloc(&clocks, 4 * sms * 8)); CHECK(cudaMalloc(&out, 4));
  std::printf("gpu,program,ctas,data,clocks_per_round,part_of_the_rate,clocks_per_round_of_others\n");
  for (int each : {2, 3}) for (int threads : {128, 256, 384}) printBegins(gpu.name, sms, each, threads);
  for (Row &row : rows) {
    CHECK(cudaFuncSetAttribute(row.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    for (int mode = 0; mode < 3; ++mode) { // one CTA, all of them with random data, all of them with zeros
      int ctas = mode ? sms : 1;
      uint32_t dice = 12345;
      for (uint16_t &x : host) { dice = dice * 1664525u + 1013904223u; x = mode == 2 ? 0 : uint16_t((dice >> 16) & 0xbfff) % 0x400 + 0x3c00 + ((dice >> 8) & 0x8000); }
      CHECK(cudaMemcpy(data, host.data(), 2 * smem, cudaMemcpyHostToDevice));
      std::vector<double> medians, others;
      for (int repeat = 0; repeat < 5; ++repeat) {
        row.kernel<<<ctas, 128 * row.all, smem>>>(data, clocks, out, rounds, 0.001f);
        CHECK(cudaGetLastError());
        std::vector<long long> taken(4 * sms);
        CHECK(cudaMemcpy(taken.data(), clocks, 4 * sms * 8, cudaMemcpyDeviceToHost));
        std::vector<double> most, other;
        for (int c = 0; c < ctas; ++c) {
          long long longest = 0;
          for (int g = 0; g < std::max(row.groups, 1); ++g) longest = std::max(longest, taken[4 * c + g]);
          most.push_back(double(longest) / rounds);
          other.push_back(row.all > row.groups ? double(taken[4 * c + row.all - 1]) / rounds : 0);
        }
        std::sort(most.begin(), most.end()); std::sort(other.begin(), other.end());
        if (repeat) { medians.push_back(most[most.size() / 2]); others.push_back(other[other.size() / 2]); }
      }
      std::sort(medians.begin(), medians.end()); std::sort(others.begin(), others.end());
      std::printf("%s,%s,%d,%s,%.1f,%.4f,%.1f\n", gpu.name, row.title, ctas, mode == 2 ? "zeros" : "random", medians[2], row.clocks / medians[2], others[2]);
      std::fflush(stdout);
    }
  }
  return 0;
}
"""

if __name__ == "__main__":
    main()
