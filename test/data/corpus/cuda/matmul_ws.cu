// D[m][n] = A[m][k] * B[n][k]^T in f16, a tile of 128 x 64 a CTA: one warp loads
// through a ring of three stages, one issues the MMAs, four write the sum out
// through shared memory by TMA.
#include "matmul.cuh"

constexpr u32 M = 128, N = 64, Stages = 3, OutColumns = 32;

struct Storage {
  alignas(1024) u16 a[Stages][M * TileK];
  alignas(1024) u16 b[Stages][N * TileK];
  alignas(1024) float d[N / OutColumns][M][OutColumns];
  u64 full[Stages], empty[Stages], done;
  u32 slot;
};

INLINE void produce(Storage &s, const TensorMap &a, const TensorMap &b, u32 tiles) {
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(s.empty[stage], (turn & 1) ^ 1);
    arriveExpect(s.full[stage], sizeof(s.a[0]) + sizeof(s.b[0]));
    load2d(s.a[stage], a, i * TileK, blockIdx.x * M, s.full[stage]);
    load2d(s.b[stage], b, i * TileK, blockIdx.y * N, s.full[stage]);
  }
}

INLINE void multiply(Storage &s, u32 sum, u32 tiles) {
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(s.full[stage], turn & 1);
    mmaTile(sum, s.a[stage], s.b[stage], instruction(M, N, F16), i != 0);
    commit(s.empty[stage]);
  }
  commit(s.done);
}

// Rows of 32 floats are 128 bytes; the swizzle spreads their 16-byte pieces over
// the banks, and the map undoes it.
INLINE void finish(Storage &s, const TensorMap &d, u32 sum, u32 warp) {
  wait(s.done, 0);
  fenceAfter();
  const u32 row = 32 * (warp % 4) + laneIndex();
  for (u32 half = 0; half < N / OutColumns; ++half) {
    u32 r[32];
    load(r, sum + lanesOf(warp) + half * OutColumns);
    waitLoad(r);
    for (u32 i = 0; i < 32; ++i)
      s.d[half][row][i ^ (row % 8 * 4)] = __uint_as_float(r[i]);
  }
  fenceAsync();
  asm volatile("barrier.sync.aligned 1, 128;" ::: "memory");
  if (warp % 4 == 0 && laneIndex() == 0) {
    for (u32 half = 0; half < N / OutColumns; ++half)
      store2d(d, blockIdx.y * N + half * OutColumns, blockIdx.x * M, s.d[half]);
    commitGroup();
    waitGroupRead<0>();
  }
}

extern "C" __global__ void __launch_bounds__(192)
    matmul_ws(const __grid_constant__ TensorMap a,
              const __grid_constant__ TensorMap b,
              const __grid_constant__ TensorMap d, u32 k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage &s = *reinterpret_cast<Storage *>(memory);
  const u32 warp = warpIndex();
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(s.full[i], 1);
      init(s.empty[i], 1);
    }
    init(s.done, 1);
    fenceInit();
  }
  if (warp == 5)
    allocate<1>(s.slot, N);
  __syncthreads();
  const u32 sum = s.slot;
  if (warp < 4)
    finish(s, d, sum, warp);
  else if (warp == 4 && laneIndex() == 0)
    produce(s, a, b, k / TileK);
  else if (warp == 5 && laneIndex() == 0)
    multiply(s, sum, k / TileK);
  __syncwarp();
  __syncthreads();
  if (warp == 5)
    deallocate<1>(sum, N);
}
