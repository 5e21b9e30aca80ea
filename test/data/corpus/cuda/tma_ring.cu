// A producer warp streams tiles by TMA through a ring of three stages; four
// consumer warps scale them and write them out by st.global.
#include "ptx.cuh"

constexpr u32 Stages = 3, Rows = 16, Columns = 32, Consumers = 4;

struct Ring {
  alignas(128) float tile[Stages][Rows][Columns];
  u64 full[Stages], empty[Stages];
};

INLINE void produce(Ring &ring, const TensorMap &map, u32 tiles) {
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(ring.empty[stage], (turn & 1) ^ 1);
    arriveExpect(ring.full[stage], sizeof(ring.tile[stage]));
    load2d(ring.tile[stage], map, 0, i * Rows, ring.full[stage]);
  }
}

INLINE void consume(Ring &ring, float *out, float scale, u32 tiles) {
  const u32 me = threadIdx.x - 32;
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(ring.full[stage], turn & 1);
    const float *tile = &ring.tile[stage][0][0];
    for (u32 j = me; j < Rows * Columns; j += 32 * Consumers)
      out[i * Rows * Columns + j] = tile[j] * scale;
    __syncwarp();
    if (laneIndex() == 0)
      arrive(ring.empty[stage]);
  }
}

extern "C" __global__ void __launch_bounds__(32 * (Consumers + 1))
    tma_ring(const __grid_constant__ TensorMap map, float *out, float scale,
             u32 tiles) {
  __shared__ Ring ring;
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(ring.full[i], 1);
      init(ring.empty[i], Consumers);
    }
    fenceInit();
  }
  __syncthreads();
  if (warpIndex() != 0)
    consume(ring, out, scale, tiles);
  else if (laneIndex() == 0)
    produce(ring, map, tiles);
}
