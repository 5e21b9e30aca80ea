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
// tensors of 64 columns, as attention kernels load K and V. With `rings`, CTAs
// load such boxes into rings of stages that a consumer frees at a pace, and the
// rows are when blocks arrive. Build and run:
//
//   nvcc -arch=sm_90a -O3 -cudart static benchmark/TmaSpeed.cu -o tma-speed
//   ./tma-speed > results.csv
//   ./tma-speed boxes > boxes.csv
//   ./tma-speed rings > rings.csv
//
//===----------------------------------------------------------------------===//

#include "CudaCheck.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <vector>

/// Waits for the phase `parity` of the mbarrier at `barrier`.
__device__ void waitFor(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n .reg .pred p;\n"
                 " mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                 " selp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
}

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

static double median(std::vector<long long> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return double(values[values.size() / 2]);
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

static CUtensorMap tensorMap(void *data, uint64_t columns, uint64_t rows,
                             uint64_t pitch, uint32_t keys) {
  void *encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode,
                                         12000, cudaEnableDefault, &found));
  CUtensorMap map;
  cuuint64_t dims[] = {columns, rows}, strides[] = {pitch};
  cuuint32_t box[] = {64, keys}, steps[] = {1, 1};
  auto error = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, dims, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(error));
    std::exit(1);
  }
  return map;
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
    CUtensorMap map = tensorMap(data, columns, rows, pitch, keys);
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

/// What the CTAs of a launch load: blocks of `keys` rows, `count` of them, each
/// of `panels` boxes, through `stages`. `sharers` CTAs read the same rows. A
/// block is freed `pace` clocks after it has arrived or the one before it was
/// freed.
struct Ring {
  uint32_t keys, panels, stages, count, sharers, pace;
};

constexpr uint32_t headRows = 1024;

/// The stages of a ring in turn, without a division for each block.
struct Turn {
  uint32_t stage = 0, parity = 0;
  __device__ void next(uint32_t stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

__device__ void produce(const CUtensorMap &map, const Ring &ring, uint32_t base,
                        uint32_t full, uint32_t empty) {
  const uint32_t bytes = ring.keys * 128;
  const uint32_t first = blockIdx.x / ring.sharers * headRows;
  const uint32_t last = first + headRows - ring.keys;
  uint32_t row = first;
  Turn turn;
  for (uint32_t n = 0; n < ring.count; ++n, turn.next(ring.stages)) {
    if (n >= ring.stages)
      waitFor(empty + 8 * turn.stage, turn.parity ^ 1);
    const uint32_t barrier = full + 8 * turn.stage;
    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(ring.panels * bytes)
        : "memory");
    for (uint32_t panel = 0; panel < ring.panels; ++panel)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                       base + (turn.stage * ring.panels + panel) * bytes),
                   "l"(&map), "r"(panel * 64), "r"(row), "r"(barrier)
                   : "memory");
    row = row + ring.keys > last ? first : row + ring.keys;
  }
}

/// Warp 0 loads, warp 1 consumes and writes when each block has arrived, in
/// clocks since the CTA began.
__global__ void streamRing(const __grid_constant__ CUtensorMap map, Ring ring,
                           long long *clocks) {
  extern __shared__ __align__(1024) char memory[];
  __shared__ __align__(8) uint64_t barriers[64];
  uint32_t base = (uint32_t(__cvta_generic_to_shared(memory)) + 1023) & ~1023u;
  uint32_t full = uint32_t(__cvta_generic_to_shared(barriers));
  uint32_t empty = full + 256;
  if (threadIdx.x == 0)
    for (uint32_t i = 0; i < 64; ++i)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full + 8 * i));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  __syncthreads();
  uint32_t begin = uint32_t(clock64()), freed = begin;
  if (threadIdx.x == 0)
    produce(map, ring, base, full, empty);
  if (threadIdx.x != 32)
    return;
  long long *out = clocks + uint64_t(blockIdx.x) * ring.count;
  Turn turn;
  for (uint32_t n = 0; n < ring.count; ++n, turn.next(ring.stages)) {
    waitFor(full + 8 * turn.stage, turn.parity);
    uint32_t now = uint32_t(clock64());
    out[n] = now - begin;
    freed = int32_t(now - freed) > 0 ? now : freed;
    freed += ring.pace;
    while (int32_t(uint32_t(clock64()) - freed) < 0)
      ;
    asm volatile(
        "mbarrier.arrive.shared.b64 _, [%0];" ::"r"(empty + 8 * turn.stage)
        : "memory");
  }
}

/// Prints the median over CTAs and launches of when some of the blocks arrive.
static void runRing(const cudaDeviceProp &gpu, char *data, uint32_t columns,
                    uint32_t pitch, uint32_t perSm, Ring ring) {
  const uint32_t ctas = gpu.multiProcessorCount * perSm;
  const uint32_t heads = (ctas + ring.sharers - 1) / ring.sharers;
  if (uint64_t(heads) * headRows * pitch > 256ull << 20)
    return;
  CUtensorMap map =
      tensorMap(data, columns, heads * headRows, pitch, ring.keys);
  std::vector<long long> taken(size_t(ctas) * ring.count);
  long long *clocks;
  CHECK(cudaMalloc(&clocks, taken.size() * 8));
  const uint32_t smem = (212u << 10) / perSm;
  std::vector<std::vector<long long>> arrivals(ring.count);
  for (int repeat = 0; repeat < 9; ++repeat) {
    streamRing<<<ctas, 64, smem>>>(map, ring, clocks);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(taken.data(), clocks, taken.size() * 8,
                     cudaMemcpyDeviceToHost));
    for (size_t i = 0; repeat > 1 && i < taken.size(); ++i)
      arrivals[i % ring.count].push_back(taken[i]);
  }
  CHECK(cudaFree(clocks));
  std::printf("%s,%u,%u,%u,%u,%u,%u,%u,%u", gpu.name, perSm, ring.sharers,
              columns, pitch, ring.keys, ring.panels, ring.stages, ring.pace);
  for (uint32_t n : {0u, 1u, 3u, 7u, 15u, 31u, 63u, 127u, 255u})
    std::printf(",%.0f", median(arrivals[n]));
  std::printf("\n");
  std::fflush(stdout);
}

/// Rings like those of attention kernels: head dims, blocks, CTAs of an SM.
static void runRings(const cudaDeviceProp &gpu, char *data) {
  CHECK(cudaFuncSetAttribute(
      streamRing, cudaFuncAttributeMaxDynamicSharedMemorySize, 212 << 10));
  std::printf("gpu,ctas_per_sm,sharers,columns,pitch,keys,panels,stages,pace");
  for (uint32_t n : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u})
    std::printf(",arrival_of_block_%u", n);
  std::printf("\n");
  struct Like {
    uint32_t columns, keys, perSm;
  };
  const Like likes[] = {
      {32, 64, 3},   {32, 128, 2}, {32, 128, 1}, {48, 96, 2},   {48, 128, 1},
      {64, 64, 3},   {64, 96, 2},  {64, 128, 1}, {80, 96, 2},   {80, 128, 1},
      {96, 96, 1},   {112, 96, 1}, {128, 64, 2}, {128, 128, 1}, {160, 80, 1},
      {160, 128, 1}, {176, 96, 1}, {224, 80, 1}, {224, 64, 1},  {240, 64, 1},
      {256, 80, 1}};
  for (const Like &like : likes) {
    const uint32_t panels = (like.columns + 63) / 64;
    const uint32_t bytes = panels * like.keys * 128;
    const uint32_t room = (208u << 10) / like.perSm - 2048;
    const uint32_t most = std::min(room / bytes, 16u);
    const uint32_t all = gpu.multiProcessorCount * like.perSm;
    for (uint32_t stages : {most, std::max(most / 2, 2u), 2u})
      for (uint32_t pace : {0u, 4 * like.keys})
        for (uint32_t sharers : {all, 33 * like.perSm, 11 * like.perSm})
          runRing(gpu, data, like.columns, 2 * like.columns, like.perSm,
                  {like.keys, panels, stages, 256, sharers, pace});
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
  if (argc > 1 && !std::strcmp(argv[1], "rings")) {
    runRings(gpu, data);
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
