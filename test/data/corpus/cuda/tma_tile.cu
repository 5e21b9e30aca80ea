// One tile in by TMA, its image in shared memory written out byte for byte, and
// the tile out by TMA. The swizzle is the map's; tiles overhang the tensor.
#include "ptx.cuh"

constexpr u32 Rows = 32;

extern "C" __global__ void __launch_bounds__(128)
    tma_tile(const __grid_constant__ TensorMap from,
             const __grid_constant__ TensorMap to, u32 *image, u32 rowBytes,
             u32 elementBytes) {
  __shared__ alignas(1024) u32 tile[Rows * 32];
  __shared__ u64 full;
  const u32 words = Rows * rowBytes / 4;
  const int x = blockIdx.x * (rowBytes / elementBytes), y = blockIdx.y * Rows;
  if (threadIdx.x == 0) {
    init(full, 1);
    fenceInit();
    arriveExpect(full, Rows * rowBytes);
    load2d(tile, from, x, y, full);
  }
  __syncthreads();
  wait(full, 0);
  const u32 block = blockIdx.y * gridDim.x + blockIdx.x;
  for (u32 i = threadIdx.x; i < words; i += blockDim.x)
    image[block * words + i] = tile[i];
  if (threadIdx.x == 0) {
    store2d(to, x, y, tile);
    commitGroup();
    waitGroupRead<0>();
  }
}
