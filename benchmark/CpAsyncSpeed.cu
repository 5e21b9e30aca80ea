//===- CpAsyncSpeed.cu - How long cp.async takes to issue and to arrive ---===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp issues cp.async of 16 bytes a lane from L2 in a row, with constant
// offsets, as kernels do
// that load blocks of keys without TMA, and reads the clock after 1, 2, 4, ...
// of them and after all have arrived. Rows are medians over rounds and SMs, of
// the last warp of a CTA, in clocks since the first one begins. With
// `products`, another warpgroup runs wgmma of 64 x 64 x 16 with both operands
// in shared memory meanwhile. Build and run:
//
//   nvcc -gencode arch=compute_90a,code=sm_90a -O3 -cudart static
//     benchmark/CpAsyncSpeed.cu -o cp-async-speed
//   ./cp-async-speed > cp-async-speed.csv
//
//===----------------------------------------------------------------------===//

#include "CudaCheck.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kRounds = 40, kStamps = 8, kMost = 32, kBytes = 160 * 1024;

/// A descriptor of a tile with rows of 128 bytes, swizzled.
__device__ uint64_t tile(uint32_t address) {
  return (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) |
         (uint64_t(1) << 16) | ((address & 0x3FFFF) >> 4);
}

/// Products of 64 x 64 x 16 in chains of eight.
__device__ void multiply(uint32_t shared, int chains, float *out) {
  float d[32] = {};
#pragma unroll 1
  for (int i = 0; i < chains; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
          "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
          "%28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
            "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
            "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
            "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
            "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
            "+f"(d[30]), "+f"(d[31])
          : "l"(tile(shared + k % 4 * 32)),
            "l"(tile(shared + 8192 + k % 4 * 32)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float total = 0;
  for (float x : d)
    total += x;
  if (total == 12345.f)
    *out = total;
}

/// `loaders` warps copy; the warps of one more warpgroup multiply.
template <int loaders>
__global__ void copy(const uint4 *data, uint32_t *clocks, float *out,
                     int chains) {
  extern __shared__ __align__(1024) char memory[];
  uint32_t shared = uint32_t(__cvta_generic_to_shared(memory));
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint4 *from = data + threadIdx.x;
  uint32_t to = shared + 16384 + threadIdx.x * 16;
  constexpr int step = loaders * 32;
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    __syncthreads();
    if (warp >= loaders) {
      multiply(shared, chains, out);
      continue;
    }
    uint32_t stamps[kStamps];
    stamps[0] = uint32_t(clock64());
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      asm volatile(
          "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * step * 16),
          "l"(from + i * step)
          : "memory");
      if (i + 1 == 1 || i + 1 == 2 || i + 1 == 4 || i + 1 == 8 || i + 1 == 16 ||
          i + 1 == 32)
        stamps[1 + (31 - __builtin_clz(i + 1))] = uint32_t(clock64());
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    stamps[7] = uint32_t(clock64());
    from = data + (round * 4096 + threadIdx.x) % 65536;
    if (lane == 0)
      for (int i = 0; i < kStamps; ++i)
        clocks[((blockIdx.x * kRounds + round) * 16 + warp) * kStamps + i] =
            stamps[i];
  }
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  uint4 *data;
  uint32_t *clocks;
  float *out;
  size_t size = size_t(gpu.multiProcessorCount) * kRounds * 16 * kStamps;
  CHECK(cudaMalloc(&data, 4 << 20));
  CHECK(cudaMemset(data, 0, 4 << 20));
  CHECK(cudaMalloc(&clocks, size * 4));
  CHECK(cudaMalloc(&out, 4));
  std::printf("gpu,ctas,warps,products,first_1,after_1,after_2,after_4,"
              "after_8,after_16,after_32,arrived\n");
  struct Row {
    int loaders;
    void (*kernel)(const uint4 *, uint32_t *, float *, int);
  };
  for (int ctas : {1, gpu.multiProcessorCount})
    for (auto [loaders, kernel] : {Row{1, copy<1>}, {4, copy<4>}, {8, copy<8>}})
      for (int chains : {0, 8}) {
        int threads = loaders * 32 + (chains ? 128 : 0);
        if (chains && loaders == 1)
          continue;
        CHECK(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
        for (int launch = 0; launch < 2; ++launch)
          kernel<<<ctas, threads, kBytes>>>(data, clocks, out, chains);
        CHECK(cudaDeviceSynchronize());
        std::vector<uint32_t> host(size);
        CHECK(
            cudaMemcpy(host.data(), clocks, size * 4, cudaMemcpyDeviceToHost));
        std::printf("%s,%d,%d,%s", gpu.name, ctas, loaders,
                    chains ? "yes" : "no");
        for (int stamp = 0; stamp < kStamps; ++stamp) {
          std::vector<uint32_t> all;
          for (int c = 0; c < ctas; ++c)
            for (int round = 4; round < kRounds; ++round) {
              uint32_t first = ~0u, last = 0;
              const uint32_t *of =
                  &host[(size_t(c) * kRounds + round) * 16 * kStamps];
              for (int w = 0; w < loaders; ++w)
                first = std::min(first, of[w * kStamps]);
              for (int w = 0; w < loaders; ++w)
                last = std::max(last, of[w * kStamps + stamp] - first);
              all.push_back(last);
            }
          std::sort(all.begin(), all.end());
          std::printf(",%u", all[all.size() / 2]);
        }
        std::printf("\n");
      }
  return 0;
}
