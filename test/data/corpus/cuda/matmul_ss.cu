// One tile, D[128][128] = A[128][K] * B[128][K]^T in bf16, both operands in
// shared memory with the sum's dimension innermost. One tile of K at a time.
#include "matmul.cuh"

constexpr u32 M = 128, N = 128;

struct Storage {
  alignas(1024) u16 a[M * TileK];
  alignas(1024) u16 b[N * TileK];
  u64 full, used, done;
  u32 slot;
};

// The barriers `full` and `used` pass once per tile, so only this thread may
// wait for them: another that came late would miss a phase.
INLINE void sumUp(Storage &s, const TensorMap &a, const TensorMap &b, u32 tiles, u32 sum) {
  for (u32 i = 0; i < tiles; ++i) {
    arriveExpect(s.full, sizeof(s.a) + sizeof(s.b));
    load2d(s.a, a, i * TileK, 0, s.full);
    load2d(s.b, b, i * TileK, 0, s.full);
    wait(s.full, i & 1);
    mmaTile(sum, s.a, s.b, instruction(M, N, Bf16), i != 0);
    commit(s.used);
    wait(s.used, i & 1);
  }
  commit(s.done);
}

extern "C" __global__ void __launch_bounds__(128)
    matmul_ss(const __grid_constant__ TensorMap a,
              const __grid_constant__ TensorMap b, float *d, u32 k) {
  __shared__ Storage s;
  const u32 warp = warpIndex();
  if (threadIdx.x == 0) {
    init(s.full, 1);
    init(s.used, 1);
    init(s.done, 1);
    fenceInit();
  }
  if (warp == 0)
    allocate<1>(s.slot, N);
  __syncthreads();
  const u32 sum = s.slot;
  if (threadIdx.x == 0)
    sumUp(s, a, b, k / TileK, sum);
  wait(s.done, 0);
  fenceAfter();
  storeRows(sum, warp, N, d, N);
  __syncthreads();
  if (warp == 0)
    deallocate<1>(sum, N);
}
