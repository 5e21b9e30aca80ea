// D[128][64] = A[128][64] * B[64][64]^T in bf16 with A in tensor memory: each
// thread reads its row of A, two elements a word, and stores it there.
#include "matmul.cuh"

constexpr u32 M = 128, N = 64, AColumns = TileK / 2, Columns = 128;

extern "C" __global__ void __launch_bounds__(M)
    matmul_ts(const u32 *a, const __grid_constant__ TensorMap bMap, float *d) {
  __shared__ alignas(1024) u16 b[N * TileK];
  __shared__ u64 full, done;
  __shared__ u32 slot;
  const u32 warp = warpIndex();
  if (threadIdx.x == 0) {
    init(full, 1);
    init(done, 1);
    fenceInit();
    arriveExpect(full, sizeof(b));
    load2d(b, bMap, 0, 0, full);
  }
  if (warp == 0)
    allocate<1>(slot, Columns);
  __syncthreads();
  const u32 sum = slot, left = sum + N;
  u32 row[AColumns];
  for (u32 i = 0; i < AColumns; ++i)
    row[i] = a[threadIdx.x * AColumns + i];
  store(left + lanesOf(warp), row);
  waitStore();
  syncTensor();
  if (threadIdx.x == 0) {
    wait(full, 0);
    for (u32 k = 0; k < TileK / 16; ++k)
      mmaTmem(sum, left + 8 * k, kMajor(b) + 2 * k, instruction(M, N, Bf16), k);
    commit(done);
  }
  wait(done, 0);
  fenceAfter();
  storeRows(sum, warp, N, d, N);
  __syncthreads();
  if (warp == 0)
    deallocate<1>(sum, Columns);
}
