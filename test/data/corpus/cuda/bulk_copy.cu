// Chunks in by a bulk copy with an mbarrier, changed in place, and out by bulk
// groups; two buffers, of which one may still be read by the copy out.
#include "ptx.cuh"

constexpr u32 Chunk = 256;

INLINE void loadBulk(void *to, const void *from, u32 bytes, u64 &barrier) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %2, [%3];" ::"r"(shared(to)),
               "l"(from), "r"(bytes), "r"(shared(&barrier))
               : "memory");
}
INLINE void storeBulk(void *to, const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared(from)), "r"(bytes)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(64)
    bulk_copy(const int *in, int *out, u32 chunks) {
  __shared__ alignas(128) int buffer[2][Chunk];
  __shared__ u64 full[2];
  if (threadIdx.x == 0) {
    init(full[0], 1);
    init(full[1], 1);
    fenceInit();
  }
  __syncthreads();
  for (u32 i = 0; i < chunks; ++i) {
    const u32 b = i % 2;
    if (threadIdx.x == 0) {
      waitGroupRead<1>();
      arriveExpect(full[b], sizeof(buffer[b]));
      loadBulk(buffer[b], in + i * Chunk, sizeof(buffer[b]), full[b]);
    }
    wait(full[b], i / 2 & 1);
    for (u32 j = threadIdx.x; j < Chunk; j += blockDim.x)
      buffer[b][j] = buffer[b][j] * 3 + int(j);
    fenceAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
      storeBulk(out + i * Chunk, buffer[b], sizeof(buffer[b]));
      commitGroup();
    }
  }
  if (threadIdx.x == 0)
    waitGroupRead<0>();
}
