//===- TmaRings.cu - Loads of K and V as in attention on a Hopper GPU -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures how long loads of K and V take: figures of
// include/fmha/PTX/Time/Costs.def. K and V are [keys, heads, head dim] with
// four KV heads. A quarter of the CTAs reads each head: blocks of K and of V in
// turn, into a ring whose stages a consumer frees after a given time. Rows may
// begin at a line of 128 bytes or not: with head dim 80, those of head 0 do,
// those of head 1 begin 32 bytes after one. Each row of the results has the
// clocks for one block of K and one of V (of the slowest CTA, the median of all
// CTAs, and the median of each head), and the median clocks from the issue of a
// load to its arrival for heads 0 and 1. Build and run:
//
//   nvcc -arch=sm_90a -O3 -cudart static benchmark/TmaRings.cu -o tma-rings
//   ./tma-rings > results.csv
//
//===----------------------------------------------------------------------===//

#include "TmaProbe.h"

constexpr uint32_t kHeads = 4, kKeys = 4096, kMostBlocks = 400;

/// A launch. A consumer holds each block for `hold` clocks, and waits `gap`
/// more after each block of K. Both vary at random by up to `jitter` percent.
/// CTA n begins with block n * `apart`, modulo the number of blocks.
struct Ring {
  uint32_t dim, keys, stages, ctasPerSm, hold, gap, jitter, apart;
};

/// The blocks of a CTA, and the place of its head.
struct Work {
  uint32_t count, boxes, ctasPerHead;
};

/// When a block was loaded, and when it had arrived.
struct Load {
  uint32_t issued, arrived;
};

/// The stages of a ring in turn.
struct Turn {
  uint32_t stage = 0, parity = 0;
  __device__ void next(uint32_t stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

__device__ void spin(uint32_t clocks) {
  const uint32_t begin = clock();
  while (uint32_t(clock()) - begin < clocks)
    ;
}

/// Returns the clocks, more or less by up to `jitter` percent.
__device__ uint32_t around(uint32_t clocks, uint32_t jitter, uint32_t &dice) {
  dice = dice * 1664525u + 1013904223u;
  const uint64_t share = uint64_t(clocks) * jitter * (dice >> 16) / 3276800u;
  return clocks - clocks * jitter / 100 + uint32_t(share);
}

__device__ void produce(const CUtensorMap &k, const CUtensorMap &v,
                        const Ring &ring, const Work &work, uint32_t base,
                        uint32_t full, uint32_t empty, Load *loads) {
  const uint32_t bytes = ring.keys * 128;
  const uint32_t head = min(blockIdx.x / work.ctasPerHead, kHeads - 1);
  const uint32_t blocks = kKeys / ring.keys;
  uint32_t block = blockIdx.x * ring.apart % blocks;
  Turn turn;
  for (uint32_t n = 0; n < work.count; ++n, turn.next(ring.stages)) {
    if (n >= ring.stages)
      waitFor(empty + 8 * turn.stage, turn.parity ^ 1);
    const uint32_t barrier = full + 8 * turn.stage;
    loads[n].issued = clock();
    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(work.boxes * bytes)
        : "memory");
    for (uint32_t box = 0; box < work.boxes; ++box)
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                   "complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                       base + (turn.stage * work.boxes + box) * bytes),
                   "l"(n & 1 ? &v : &k), "r"(box * 64), "r"(block * ring.keys),
                   "r"(head), "r"(barrier)
                   : "memory");
    if (n & 1)
      block = block + 1 == blocks ? 0 : block + 1;
  }
}

__device__ void consume(const Ring &ring, const Work &work, uint32_t full,
                        uint32_t empty) {
  uint32_t dice = blockIdx.x * 747796405u + clock();
  Turn turn;
  for (uint32_t n = 0; n < work.count; ++n, turn.next(ring.stages)) {
    waitFor(full + 8 * turn.stage, turn.parity);
    spin(around(ring.hold, ring.jitter, dice));
    asm volatile(
        "mbarrier.arrive.shared.b64 _, [%0];" ::"r"(empty + 8 * turn.stage)
        : "memory");
    if (n % 2 == 0)
      spin(around(ring.gap, ring.jitter, dice));
  }
}

/// Warp 0 loads, warp 1 consumes, and warp 2 notes when blocks arrive.
__global__ void attend(const __grid_constant__ CUtensorMap k,
                       const __grid_constant__ CUtensorMap v, Ring ring,
                       Work work, Load *loads) {
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
  loads += uint64_t(blockIdx.x) * work.count;
  if (threadIdx.x == 0)
    produce(k, v, ring, work, base, full, empty, loads);
  if (threadIdx.x == 32)
    consume(ring, work, full, empty);
  Turn turn;
  for (uint32_t n = 0; threadIdx.x == 64 && n < work.count;
       ++n, turn.next(ring.stages)) {
    waitFor(full + 8 * turn.stage, turn.parity);
    loads[n].arrived = clock();
  }
}

/// What is printed of the launches of a ring.
struct Seen {
  std::vector<double> slowest, all, ofHead[kHeads], latency[2];
};

/// Adds the clocks of one launch, without its first quarter.
static void note(const std::vector<Load> &loads, const Work &work, Seen &seen) {
  const uint32_t from = work.count / 8 * 2 + 1, to = work.count - 1;
  double slowest = 0;
  for (uint32_t cta = 0; cta < loads.size() / work.count; ++cta) {
    const Load *of = &loads[size_t(cta) * work.count];
    const uint32_t head = std::min(cta / work.ctasPerHead, kHeads - 1);
    double clocks = of[to].arrived - of[from].arrived;
    clocks /= (to - from) / 2;
    slowest = std::max(slowest, clocks);
    seen.all.push_back(clocks);
    seen.ofHead[head].push_back(clocks);
    for (uint32_t n = from; head < 2 && n <= to; ++n)
      seen.latency[head].push_back(of[n].arrived - of[n].issued);
  }
  seen.slowest.push_back(slowest);
}

static void run(const cudaDeviceProp &gpu, char *data, Load *device,
                const Ring &ring) {
  const uint32_t ctas = gpu.multiProcessorCount * ring.ctasPerSm;
  Work work{std::min(kMostBlocks, 6 * (kKeys / ring.keys)),
            (ring.dim + 63) / 64, ctas / kHeads};
  const uint32_t smem = (224u << 10) / ring.ctasPerSm - 2048;
  const cuuint64_t headPitch = 2 * ring.dim, pitch = kHeads * headPitch;
  auto map = [&](char *of) {
    return tensorMap(of, {ring.dim, kKeys, kHeads}, {pitch, headPitch},
                     ring.keys);
  };
  CUtensorMap k = map(data), v = map(data + kKeys * pitch);
  std::vector<Load> loads(size_t(ctas) * work.count);
  Seen seen;
  for (int repeat = 0; repeat < 6; ++repeat) {
    attend<<<ctas, 96, smem>>>(k, v, ring, work, device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(loads.data(), device, loads.size() * sizeof(Load),
                     cudaMemcpyDeviceToHost));
    if (repeat)
      note(loads, work, seen);
  }
  std::printf("%s,%u,%u,%u,%u,%u,%u,%u,%u,%.0f,%.0f", gpu.name, ring.ctasPerSm,
              ring.dim, ring.keys, ring.stages, ring.hold, ring.gap,
              ring.jitter, ring.apart, median(seen.slowest), median(seen.all));
  for (const auto &clocks : seen.ofHead)
    std::printf(",%.0f", median(clocks));
  std::printf(",%.0f,%.0f\n", median(seen.latency[0]), median(seen.latency[1]));
  std::fflush(stdout);
}

int main() {
  cudaDeviceProp gpu;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  char *data;
  Load *loads;
  const size_t bytes = 2 * kKeys * kHeads * 256 * 2;
  CHECK(cudaMalloc(&data, bytes));
  CHECK(cudaMemset(data, 0, bytes));
  CHECK(cudaMalloc(&loads,
                   gpu.multiProcessorCount * 2 * kMostBlocks * sizeof(Load)));
  CHECK(cudaFuncSetAttribute(
      attend, cudaFuncAttributeMaxDynamicSharedMemorySize, 222 << 10));
  std::printf("gpu,ctas_per_sm,head_dim,keys,stages,hold,gap,jitter_percent,"
              "blocks_apart,slowest,median,head_0,head_1,head_2,head_3,"
              "latency_of_head_0,latency_of_head_1\n");
  for (uint32_t dim = 32; dim <= 256; dim += 16)
    for (uint32_t ctasPerSm : {1u, 2u})
      for (uint32_t keys : {64u, 128u}) {
        const uint32_t bytesOfBlock = (dim + 63) / 64 * keys * 128;
        const uint32_t room = (224u << 10) / ctasPerSm - 4096;
        const uint32_t stages = std::min(room / bytesOfBlock, 4u);
        if (stages < 2)
          continue;
        for (uint32_t gap : {0u, 500u, 1000u, 2000u, 3000u})
          for (uint32_t jitter : {0u, 30u})
            run(gpu, data, loads,
                {dim, keys, stages, ctasPerSm, 200, gap, jitter, 0});
        run(gpu, data, loads, {dim, keys, stages, ctasPerSm, 200, 1000, 30, 3});
      }
  return 0;
}
