//===- TmaSpeed.cu - Copies from L2 to shared memory on a Hopper GPU ------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures, in clocks of an SM, figures of include/fmha/PTX/Time/Costs.def:
// bytes a clock that cp.async.bulk brings to each SM from L2, with one CTA on
// every SM and with one alone, and the latency of one copy. Data is read
// several times before, so that it is in L2. With `boxes`, copies are boxes of
// tensors of 64 columns, as attention kernels load K and V. Build and run:
//
//   nvcc -arch=sm_90a -O3 -cudart static benchmark/TmaSpeed.cu -o tma-speed
//   ./tma-speed > results.csv
//   ./tma-speed boxes > boxes.csv
//
//===----------------------------------------------------------------------===//

#include "TmaProbe.h"

#include <cstring>

__device__ void copy(uint32_t to, const char *from, uint32_t bytes,
                     uint32_t barrier) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Keeps `stages` copies of `bytes` in flight, `count` of them in all, from a
/// range of `range` bytes, a power of two, that CTAs in groups of `sharers`
/// read together. Writes the clocks of each CTA.
__global__ void stream(const char *data, uint64_t range, uint32_t bytes,
                       uint32_t stages, uint32_t count, uint32_t sharers,
                       long long *clocks) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ __align__(8) uint64_t barriers[32];
  uint32_t base = uint32_t(__cvta_generic_to_shared(memory));
  uint32_t barrier = uint32_t(__cvta_generic_to_shared(barriers));
  for (uint32_t i = 0; i < stages; ++i)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier + 8 * i));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  uint64_t offset = uint64_t(blockIdx.x / sharers) * bytes * count;
  auto place = [&](uint32_t n) {
    return data + ((offset + uint64_t(n) * bytes) & (range - 1));
  };
  long long begin = clock64();
  for (uint32_t n = 0; n < stages && n < count; ++n)
    copy(base + n * bytes, place(n), bytes, barrier + 8 * n);
  for (uint32_t n = 0, stage = 0, parity = 0; n < count; ++n) {
    waitFor(barrier + 8 * stage, parity);
    if (n + stages < count)
      copy(base + stage * bytes, place(n + stages), bytes, barrier + 8 * stage);
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  clocks[blockIdx.x] = clock64() - begin;
}

/// Returns the median of five launches, after two that are not counted, of the
/// median over CTAs of the clocks that `launch` writes.
template <typename Launch>
static double medianOfLaunches(int ctas, const long long *clocks,
                               const Launch &launch) {
  std::vector<long long> taken(ctas);
  std::vector<double> medians;
  for (int repeat = 0; repeat < 7; ++repeat) {
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(taken.data(), clocks, ctas * sizeof(long long),
                     cudaMemcpyDeviceToHost));
    if (repeat > 1)
      medians.push_back(median(taken));
  }
  std::nth_element(medians.begin(), medians.begin() + 2, medians.end());
  return medians[2];
}

/// Keeps `stages` groups of boxes in flight, each of all columns of `keys` rows
/// of a tensor of `rows` rows, and writes the clocks of each CTA for `count` of
/// them.
__global__ void streamBoxes(const __grid_constant__ CUtensorMap map,
                            uint32_t rows, uint32_t keys, uint32_t panels,
                            uint32_t stages, uint32_t count, uint32_t skew,
                            long long *clocks) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ __align__(8) uint64_t barriers[32];
  uint32_t base = (uint32_t(__cvta_generic_to_shared(memory)) + 1023) & ~1023u;
  uint32_t barrier = uint32_t(__cvta_generic_to_shared(barriers));
  for (uint32_t i = 0; i < stages; ++i)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier + 8 * i));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  uint32_t row = blockIdx.x * skew * keys % rows;
  auto load = [&](uint32_t stage) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     barrier + 8 * stage),
                 "r"(panels * keys * 128)
                 : "memory");
    for (uint32_t panel = 0; panel < panels; ++panel)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                       base + (stage * panels + panel) * keys * 128),
                   "l"(&map), "r"(panel * 64), "r"(row),
                   "r"(barrier + 8 * stage)
                   : "memory");
    row = row + 2 * keys > rows ? 0 : row + keys;
  };
  long long begin = clock64();
  for (uint32_t n = 0; n < stages && n < count; ++n)
    load(n);
  for (uint32_t n = 0, stage = 0, parity = 0; n < count; ++n) {
    waitFor(barrier + 8 * stage, parity);
    if (n + stages < count)
      load(stage);
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  clocks[blockIdx.x] = clock64() - begin;
}

/// Boxes of 64 columns of tensors with the head dims and pitches of attention.
static void runBoxes(const cudaDeviceProp &gpu, char *data, long long *clocks) {
  CHECK(cudaFuncSetAttribute(
      streamBoxes, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  std::printf("gpu,ctas,skew,columns,pitch,keys,panels,stages,count,"
              "median_clocks,clocks_per_group,bytes_per_clock_and_sm\n");
  auto run = [&](int ctas, uint32_t skew, uint32_t columns, uint32_t pitch,
                 uint32_t keys, uint32_t stages, uint32_t count) {
    const uint32_t rows = 4096 / keys * keys, panels = (columns + 63) / 64;
    CUtensorMap map = tensorMap(data, {columns, rows}, {pitch}, keys,
                                CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
    double taken = medianOfLaunches(ctas, clocks, [&] {
      streamBoxes<<<ctas, 1, 200 << 10>>>(map, rows, keys, panels, stages,
                                          count, skew, clocks);
    });
    std::printf("%s,%d,%u,%u,%u,%u,%u,%u,%u,%.0f,%.1f,%.2f\n", gpu.name, ctas,
                skew, columns, pitch, keys, panels, stages, count, taken,
                taken / count, 2.0 * columns * keys * count / taken);
    std::fflush(stdout);
  };
  const uint32_t dims[] = {16,  32,  48,  64,  80,  96,  112, 128,
                           144, 160, 176, 192, 208, 224, 240, 256};
  for (uint32_t columns : dims)
    for (uint32_t keys : {64u, 96u}) {
      uint32_t bytes = (columns + 63) / 64 * keys * 128;
      uint32_t stages = std::min(196608 / bytes, 16u);
      for (int ctas : {1, gpu.multiProcessorCount})
        for (uint32_t skew : {0u, 1u})
          if (ctas > 1 || !skew) {
            run(ctas, skew, columns, 2 * columns, keys, stages, 1024);
            // The same columns at a pitch of whole lines.
            if (columns % 64)
              run(ctas, skew, columns, (columns + 63) / 64 * 128, keys, stages,
                  1024);
          }
      run(1, 0, columns, 2 * columns, keys, 1, 1);
      run(gpu.multiProcessorCount, 0, columns, 2 * columns, keys, 1, 1);
    }
}

int main(int argc, char **argv) {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  const uint64_t most = 256ull << 20;
  char *data;
  long long *clocks;
  CHECK(cudaMalloc(&data, most));
  CHECK(cudaMemset(data, 1, most));
  CHECK(cudaMalloc(&clocks, gpu.multiProcessorCount * sizeof(long long)));
  if (argc > 1 && !std::strcmp(argv[1], "boxes")) {
    runBoxes(gpu, data, clocks);
    return 0;
  }
  const int smem = 192 << 10;
  CHECK(cudaFuncSetAttribute(
      stream, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  std::printf("gpu,ctas,sharers,range_mib,bytes,stages,count,median_clocks,"
              "bytes_per_clock_and_sm\n");
  auto run = [&](int ctas, uint32_t sharers, uint64_t range, uint32_t bytes,
                 uint32_t stages, uint32_t count) {
    double taken = medianOfLaunches(ctas, clocks, [&] {
      stream<<<ctas, 1, smem>>>(data, range, bytes, stages, count, sharers,
                                clocks);
    });
    std::printf("%s,%d,%u,%llu,%u,%u,%u,%.0f,%.2f\n", gpu.name, ctas, sharers,
                (unsigned long long)(range >> 20), bytes, stages, count, taken,
                double(bytes) * count / taken);
    std::fflush(stdout);
  };
  for (uint32_t bytes : {128u, 1024u, 4096u, 16384u, 32768u})
    run(1, 1, 4ull << 20, bytes, 1, 1);
  for (uint32_t bytes : {4096u, 8192u, 16384u, 32768u})
    for (uint32_t kib : {32u, 64u, 96u, 128u, 160u})
      if (uint32_t stages = kib * 1024 / bytes; stages && stages <= 32)
        for (int ctas : {1, gpu.multiProcessorCount})
          run(ctas, 1, 16ull << 20, bytes, stages, 1024);
  for (uint64_t range : {4ull, 16ull, 32ull, 64ull})
    for (uint32_t sharers : {1u, 4u, 16u, 132u})
      run(gpu.multiProcessorCount, sharers, range << 20, 16384, 8, 1024);
  return 0;
}
