// D[128][128] = A[128][64] * B[64][128] in bf16. B lies as it is read by rows,
// n innermost: two boxes of 64 columns, one behind the other.
#include "matmul.cuh"

constexpr u32 M = 128, N = 128, BoxColumns = 64;

extern "C" __global__ void __launch_bounds__(128)
    matmul_mn(const __grid_constant__ TensorMap aMap,
              const __grid_constant__ TensorMap bMap, float *d) {
  __shared__ alignas(1024) u16 a[M * TileK];
  __shared__ alignas(1024) u16 b[N / BoxColumns][TileK * BoxColumns];
  __shared__ u64 full, done;
  __shared__ u32 slot;
  const u32 warp = warpIndex();
  if (threadIdx.x == 0) {
    init(full, 1);
    init(done, 1);
    fenceInit();
  }
  if (warp == 0)
    allocate<1>(slot, N);
  __syncthreads();
  const u32 sum = slot;
  if (threadIdx.x == 0) {
    arriveExpect(full, sizeof(a) + sizeof(b));
    load2d(a, aMap, 0, 0, full);
    for (u32 i = 0; i < N / BoxColumns; ++i)
      load2d(b[i], bMap, i * BoxColumns, 0, full);
    wait(full, 0);
    // 16 rows of 128 bytes of B an instruction.
    const u64 right = descriptor(b, sizeof(b[0]), 1024, Swizzle128);
    for (u32 k = 0; k < TileK / 16; ++k)
      mma<1>(sum, kMajor(a) + 2 * k, right + k * (16 * RowBytes / 16),
             instruction(M, N, Bf16, MN), k);
    commit(done);
  }
  wait(done, 0);
  fenceAfter();
  storeRows(sum, warp, N, d, N);
  __syncthreads();
  if (warp == 0)
    deallocate<1>(sum, N);
}
