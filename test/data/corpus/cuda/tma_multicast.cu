// Each CTA of a pair loads half of every tile and TMA writes it to both; both
// write the whole tile out, times their rank plus one. A stage is free once the
// consumers of both CTAs have said so.
#include "ptx.cuh"

constexpr u32 Stages = 2, Rows = 16, Columns = 32, Ranks = 2;

struct Ring {
  alignas(128) float tile[Stages][Ranks][Rows / Ranks][Columns];
  u64 full[Stages], empty[Stages];
};

INLINE void loadMulticast(void *to, const TensorMap &map, int x, int y, u64 &barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster"
               " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared(to)),
               "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier)), "h"(u16(3))
               : "memory");
}

INLINE void produce(Ring &ring, const TensorMap &map, u32 rank, u32 tiles) {
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(ring.empty[stage], (turn & 1) ^ 1);
    arriveExpect(ring.full[stage], sizeof(ring.tile[stage]));
    loadMulticast(ring.tile[stage][rank], map, 0, i * Rows + rank * (Rows / Ranks),
                  ring.full[stage]);
  }
}

INLINE void consume(Ring &ring, float *out, u32 rank, u32 tiles) {
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(ring.full[stage], turn & 1);
    const float *tile = &ring.tile[stage][0][0][0];
    for (u32 j = laneIndex(); j < Rows * Columns; j += 32)
      out[(rank * tiles + i) * Rows * Columns + j] = tile[j] * float(rank + 1);
    __syncwarp();
    if (laneIndex() < Ranks)
      arriveRemote(remote(&ring.empty[stage], laneIndex()));
  }
}

extern "C" __global__ void __cluster_dims__(Ranks) __launch_bounds__(64)
    tma_multicast(const __grid_constant__ TensorMap map, float *out, u32 tiles) {
  __shared__ Ring ring;
  const u32 rank = clusterRank();
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(ring.full[i], 1);
      init(ring.empty[i], Ranks);
    }
    fenceInit();
  }
  clusterSync();
  if (warpIndex() == 1)
    consume(ring, out, rank, tiles);
  else if (laneIndex() == 0)
    produce(ring, map, rank, tiles);
  __syncwarp();
  // The other CTA's copies and arrivals still come here.
  clusterSync();
}
