// Shared memory to tensor memory by tcgen05.cp in two shapes, to registers, back
// to other columns and to registers again.
#include "ptx.cuh"

constexpr u32 Rows = 128, Words = 8, Columns = 32;

// Pieces of 16 bytes: 8 rows are 128 bytes, the next piece of a row lies `Rows`
// pieces on. A copy of 32 rows to each quarter of the lanes takes one piece.
INLINE void copyIn(u32 address, const void *image) {
  const u64 from = descriptor(image, Rows * 16, 128, None);
  asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;\n\t"
               "tcgen05.cp.cta_group::1.32x128b.warpx4 [%2], %1;" ::"r"(address),
               "l"(from), "r"(address + Words)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(Rows)
    tmem_copy(const uint4 *in, u32 *out) {
  __shared__ alignas(1024) uint4 image[Words / 4][Rows];
  __shared__ u64 done;
  __shared__ u32 slot;
  const u32 warp = warpIndex(), row = threadIdx.x;
  if (threadIdx.x == 0) {
    init(done, 1);
    fenceInit();
  }
  if (warp == 0)
    allocate<1>(slot, Columns);
  for (u32 i = 0; i < Words / 4; ++i)
    image[i][row] = in[row * (Words / 4) + i];
  fenceAsync();
  __syncthreads();
  const u32 base = slot, mine = base + lanesOf(warp);
  if (threadIdx.x == 0) {
    copyIn(base, image);
    commit(done);
  }
  __syncwarp();
  wait(done, 0);
  fenceAfter();
  u32 r[8];
  load(r, mine);
  waitLoad(r);
  for (u32 i = 0; i < Words; ++i)
    r[i] = r[i] * 5 + i;
  store(mine + 16, r);
  waitStore();
  load(r, mine + 16);
  waitLoad(r);
  for (u32 i = 0; i < Words; ++i)
    out[row * 12 + i] = r[i];
  load(r, mine + 4);
  waitLoad(r);
  for (u32 i = 0; i < 4; ++i)
    out[row * 12 + Words + i] = r[4 + i];
  __syncthreads();
  if (warp == 0)
    deallocate<1>(base, Columns);
}
