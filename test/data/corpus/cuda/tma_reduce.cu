// Every CTA adds its tile to the same one by TMA, in two halves of which one is
// rebuilt while the other is read.
#include "ptx.cuh"

constexpr u32 Rows = 8, Columns = 32;

extern "C" __global__ void __launch_bounds__(64)
    tma_reduce(const __grid_constant__ TensorMap sum, const float *in, u32 tiles) {
  __shared__ alignas(128) float tile[2][Rows][Columns];
  const float *mine = in + blockIdx.x * tiles * (Rows * Columns);
  for (u32 i = 0; i < tiles; ++i) {
    if (threadIdx.x == 0)
      waitGroupRead<1>();
    __syncthreads();
    float *image = &tile[i % 2][0][0];
    for (u32 j = threadIdx.x; j < Rows * Columns; j += blockDim.x)
      image[j] = mine[i * Rows * Columns + j];
    fenceAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
      reduceAdd2d(sum, 0, i % 3 * Rows, image);
      commitGroup();
    }
  }
  if (threadIdx.x == 0)
    waitGroupRead<0>();
}
