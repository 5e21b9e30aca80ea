//===- IssueOrder.cu - Who is next on a Hopper GPU: wgmma and MUFU --------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures how warps of one sub-partition share its tensor core and its pipes:
// warpgroups begin one after the other, `delay` clocks apart, and each does the
// same or different work once: a chain of products (what one commit ends),
// exponentials, or steps of softmax. Rows are when each group began and ended,
// medians over rounds and SMs with the first and the last tenth, in clocks
// since the first one began. Groups that take turns end together; if one goes
// first, it ends as if it were alone. Rules of lib/PTX/Time/Replay.cpp name
// these rows. Build and run:
//
//   nvcc -arch=sm_90a -O3 -cudart static benchmark/IssueOrder.cu -o issue-order
//   ./issue-order > issue-order.csv
//
//===----------------------------------------------------------------------===//

#include "CudaCheck.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kRounds = 64, kStamps = 6;

/// A descriptor of a tile with rows of 128 bytes, swizzled.
__device__ uint64_t tile(uint32_t address) {
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) |
         (uint64_t(1) << 16) | ((address & 0x3FFFF) >> 4);
}

/// One product of 64 x 64 x 16, both operands in shared memory.
__device__ __forceinline__ void multiply(float (&d)[32], uint64_t a,
                                         uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),
        "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
        "+f"(d[31])
      : "l"(a), "l"(b));
}

/// The same with A in registers.
__device__ __forceinline__ void multiply(float (&d)[32], const uint32_t (&a)[4],
                                         uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31}, {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),
        "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
        "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/// A chain of products. Stamps: before it, after the commit, at its end.
template <int count, bool fromRegisters = false> struct Chain {
  static constexpr int length = count;
  static __device__ void run(float (&x)[32], uint32_t shared, float,
                             uint32_t (&stamps)[kStamps]) {
    const uint32_t a[4] = {shared, shared + 1, shared + 2, shared + 3};
    stamps[0] = uint32_t(clock64());
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < count; ++i)
      if constexpr (fromRegisters)
        multiply(x, a, tile(shared + 8192 + i % 4 * 32));
      else
        multiply(x, tile(shared + i % 4 * 32),
                 tile(shared + 8192 + i % 4 * 32));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    stamps[1] = uint32_t(clock64());
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    stamps[2] = uint32_t(clock64());
  }
};

/// Eight products. Stamps: before them, after each of the fourth to the
/// seventh, whose descriptors and fences are done by then.
struct Issue {
  static constexpr int length = 8;
  static __device__ void run(float (&x)[32], uint32_t shared, float,
                             uint32_t (&stamps)[kStamps]) {
    stamps[0] = uint32_t(clock64());
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < length; ++i) {
      multiply(x, tile(shared + i % 4 * 32), tile(shared + 8192 + i % 4 * 32));
      if (i >= 3 && i < 7)
        stamps[i - 2] = uint32_t(clock64());
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
};

/// Exponentials of values in registers; with `fma`, each after an FMA. Stamps:
/// before them, after each quarter.
template <int count, bool fma> struct Exponentials {
  static constexpr int length = count;
  static __device__ void run(float (&x)[32], uint32_t, float scale,
                             uint32_t (&stamps)[kStamps]) {
    stamps[0] = uint32_t(clock64());
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (fma)
        asm volatile("fma.rn.f32 %0, %0, %1, %1;"
                     : "+f"(x[i % 32])
                     : "f"(scale));
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i % 32]));
      if ((i + 1) % (count / 4) == 0)
        stamps[(i + 1) / (count / 4)] = uint32_t(clock64());
    }
  }
};

/// FMAs and maxima of values in registers, as ALU work.
template <int count> struct Maxima {
  static constexpr int length = count;
  static __device__ void run(float (&x)[32], uint32_t, float scale,
                             uint32_t (&stamps)[kStamps]) {
    stamps[0] = uint32_t(clock64());
#pragma unroll
    for (int i = 0; i < count; ++i) {
      asm volatile("max.f32 %0, %0, %1;" : "+f"(x[i % 32]) : "f"(scale));
      if ((i + 1) % (count / 4) == 0)
        stamps[(i + 1) / (count / 4)] = uint32_t(clock64());
    }
  }
};

/// Takes four clocks a count, and few slots, which other warps may need.
__device__ float waste(uint32_t count, float scale) {
  float y = scale;
#pragma unroll 1
  for (uint32_t i = 0; i < count; i += 16)
#pragma unroll
    for (int j = 0; j < 15; ++j)
      asm volatile("add.f32 %0, %0, %1;" : "+f"(y) : "f"(scale));
  return y;
}

/// Steps of the softmax of 64 values of a thread, in the order that ptxas gives
/// them: two rows, as in attention. Stamps: before, after.
template <bool max, bool sum, bool pack> struct Softmax {
  static constexpr int length = 64;
  static __device__ void run(float (&x)[32], uint32_t, float scale,
                             uint32_t (&stamps)[kStamps]) {
    float s[64], tops[2] = {x[0], x[1]}, sums[2] = {};
    for (int i = 0; i < 64; ++i)
      s[i] = x[i % 32] + (i < 32 ? 0.f : scale);
    // All values are there before the clock is read.
    for (int i = 0; i < 64; ++i)
      asm volatile("mov.b32 %0, %0;" : "+f"(s[i]));
    stamps[0] = uint32_t(clock64());
    for (int i = 0; max && i < 64; ++i)
      tops[i / 2 % 2] = fmaxf(tops[i / 2 % 2], s[i]);
    for (int i = 0; i < 64; ++i) {
      float y = fmaf(s[i], scale, -tops[i / 2 % 2]);
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(s[i]) : "f"(y));
      if (sum)
        sums[i / 2 % 2] += s[i];
    }
    for (int i = 0; i < 64; i += 2)
      if (pack) {
        uint32_t both;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
            : "=r"(both)
            : "f"(s[i]), "f"(s[i + 1]));
        s[i] = __uint_as_float(both);
      }
    for (int i = 0; i < 64; i += pack ? 2 : 1)
      asm volatile("mov.b32 %0, %0;" : "+f"(s[i]));
    asm volatile("mov.b32 %0, %0;" : "+f"(sums[0]));
    asm volatile("mov.b32 %0, %0;" : "+f"(sums[1]));
    stamps[1] = uint32_t(clock64());
    for (int i = 0; i < 32; ++i)
      x[i] = s[pack ? i / 2 * 2 : i] * 0.01f;
    x[0] += sums[0] + sums[1];
  }
};

template <typename Work>
__device__ void rounds(uint32_t delay, float scale, uint32_t shared,
                       uint32_t *out) {
  const uint32_t group = threadIdx.x / 128, groups = blockDim.x / 128;
  float x[32];
  for (int i = 0; i < 32; ++i)
    x[i] = scale * float(i + threadIdx.x);
  for (int round = 0; round < kRounds; ++round) {
    __syncthreads();
    uint32_t stamps[kStamps] = {};
    x[0] += waste(delay * group / 4, scale);
    Work::run(x, shared, scale, stamps);
    if (threadIdx.x % 128 == 0)
      for (int i = 0; i < kStamps; ++i)
        out[((blockIdx.x * kRounds + round) * groups + group) * kStamps + i] =
            stamps[i];
  }
  float sum = 0;
  for (int i = 0; i < 32; ++i)
    sum += x[i];
  if (sum == 1.25f)
    out[0] = 0;
}

/// The first group does First, all others Second.
template <typename First, typename Second>
__global__ void __launch_bounds__(384)
    measure(uint32_t delay, float scale, uint32_t *out) {
  extern __shared__ __align__(1024) char memory[];
  for (uint32_t i = threadIdx.x; i < 16384 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(memory)[i] = 0x3c003c00 + i;
  asm volatile("fence.proxy.async;" ::: "memory");
  uint32_t shared = uint32_t(__cvta_generic_to_shared(memory));
  if (threadIdx.x < 128)
    rounds<First>(delay, scale, shared, out);
  else
    rounds<Second>(delay, scale, shared, out);
}

/// Prints the median and how far the tenth and the last tenth are from it.
static void printSpread(std::vector<long> values) {
  std::sort(values.begin(), values.end());
  long middle = values[values.size() / 2];
  std::printf(",%ld (%ld to %ld)", middle, values[values.size() / 10],
              values[values.size() * 9 / 10]);
}

static const char *gpuName;
static int sms;

/// Prints a row for each group.
template <typename First, typename Second>
static void row(const char *first, const char *second, int groups,
                uint32_t delay) {
  const int ctas = sms, smem = 32 << 10;
  const size_t count = size_t(ctas) * kRounds * groups * kStamps;
  uint32_t *out;
  CHECK(cudaMalloc(&out, count * 4));
  measure<First, Second><<<ctas, 128 * groups, smem>>>(delay, 0.001f, out);
  CHECK(cudaGetLastError());
  std::vector<uint32_t> taken(count);
  CHECK(cudaMemcpy(taken.data(), out, count * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(out));
  for (int group = 0; group < groups; ++group) {
    std::printf("%s,%s x %d,%s x %d,%d,%u,%d", gpuName, first, First::length,
                second, Second::length, groups, delay, group);
    for (int i = 0; i < kStamps - 1; ++i) {
      std::vector<long> values;
      // The first rounds load instructions.
      for (int at = 0; at < ctas * kRounds; ++at)
        if (at % kRounds >= 8) {
          const uint32_t *round = &taken[size_t(at) * groups * kStamps];
          uint32_t stamp = round[group * kStamps + i];
          values.push_back(stamp ? long(int32_t(stamp - round[0])) : -1);
        }
      printSpread(std::move(values));
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

template <typename First, typename Second>
static void rows(const char *first, const char *second) {
  for (int groups : {1, 2, 3})
    for (uint32_t delay : {0u, 64u, 128u, 256u, 384u})
      if (groups > 1 || !delay)
        row<First, Second>(first, second, groups, delay);
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  gpuName = gpu.name;
  sms = gpu.multiProcessorCount;
  std::printf("gpu,first_group,other_groups,groups,delay,group,began,stamp_1,"
              "stamp_2,stamp_3,stamp_4\n");
  rows<Chain<8>, Chain<8>>("chain", "chain");
  rows<Chain<4>, Chain<4>>("chain", "chain");
  row<Issue, Issue>("issue of a chain", "issue of a chain", 1, 0);
  rows<Chain<16>, Chain<16>>("chain", "chain");
  rows<Chain<16>, Chain<4>>("chain", "chain");
  rows<Chain<8, true>, Chain<8, true>>("chain of registers",
                                       "chain of registers");
  rows<Chain<16, true>, Chain<8>>("chain of registers", "chain");
  rows<Chain<8>, Chain<16, true>>("chain", "chain of registers");
  rows<Chain<4>, Chain<16>>("chain", "chain");
  rows<Exponentials<64, false>, Exponentials<64, false>>("ex2", "ex2");
  rows<Exponentials<64, true>, Exponentials<64, true>>("fma ex2", "fma ex2");
  rows<Exponentials<64, true>, Maxima<128>>("fma ex2", "max");
  rows<Maxima<128>, Maxima<128>>("max", "max");
  using Sums = Softmax<false, true, false>;
  rows<Sums, Sums>("softmax: fma ex2 sum", "softmax: fma ex2 sum");
  using Packs = Softmax<false, true, true>;
  rows<Packs, Packs>("softmax: fma ex2 sum pack", "softmax: fma ex2 sum pack");
  using All = Softmax<true, true, true>;
  rows<All, All>("softmax: max fma ex2 sum pack",
                 "softmax: max fma ex2 sum pack");
  rows<Chain<16>, Packs>("chain", "softmax: fma ex2 sum pack");
  rows<Chain<16>, Exponentials<64, true>>("chain", "fma ex2");
  rows<Chain<16>, Maxima<128>>("chain", "max");
  return 0;
}
