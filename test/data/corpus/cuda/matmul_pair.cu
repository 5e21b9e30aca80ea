// D[256][128] = A[256][128] * B[128][128]^T in bf16 by a pair of CTAs: each
// loads its half of A's rows and of B's, the even one multiplies for both, and
// each writes out its own 128 rows.
#include "matmul.cuh"

constexpr u32 M = 256, N = 128, Tiles = 2;

struct Storage {
  alignas(1024) u16 a[Tiles][M / 2 * TileK];
  alignas(1024) u16 b[Tiles][N / 2 * TileK];
  u64 full, done;
  u32 slot;
};

// Signals the barrier of the pair's even CTA, whichever CTA loads.
INLINE void loadPair(void *to, const TensorMap &map, int x, int y, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.cta_group::2"
               " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)),
               "l"(&map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
}
INLINE void commitPair(u64 &barrier) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one"
               ".shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                   shared(&barrier)),
               "h"(u16(3))
               : "memory");
}

INLINE void loadHalves(Storage &s, const TensorMap &a, const TensorMap &b, u32 rank) {
  if (rank == 0)
    arriveExpect(s.full, 2 * (sizeof(s.a) + sizeof(s.b)));
  const u32 full = remote(&s.full, 0);
  for (u32 i = 0; i < Tiles; ++i) {
    loadPair(s.a[i], a, i * TileK, rank * M / 2, full);
    loadPair(s.b[i], b, i * TileK, rank * N / 2, full);
  }
}

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(128)
    matmul_pair(const __grid_constant__ TensorMap a,
                const __grid_constant__ TensorMap b, float *d) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage &s = *reinterpret_cast<Storage *>(memory);
  const u32 warp = warpIndex(), rank = clusterRank();
  if (threadIdx.x == 0) {
    init(s.full, 1);
    init(s.done, 1);
    fenceInit();
  }
  if (warp == 0)
    allocate<2>(s.slot, N);
  clusterSync();
  const u32 sum = s.slot;
  if (threadIdx.x == 0) {
    loadHalves(s, a, b, rank);
    if (rank == 0) {
      wait(s.full, 0);
      for (u32 i = 0; i < Tiles; ++i)
        mmaTile<2>(sum, s.a[i], s.b[i], instruction(M, N, Bf16), i);
      commitPair(s.done);
    }
  }
  __syncwarp();
  wait(s.done, 0);
  fenceAfter();
  storeRows(sum, warp, N, d + rank * (M / 2 * N), N);
  clusterSync();
  if (warp == 0)
    deallocate<2>(sum, N);
}
