// D[m][n] = A[m][k] * B[n][k]^T in bf16 by CTAs that take every gridDim.x-th
// tile of 128 x 64. Two accumulators in tensor memory: the MMAs of a tile run
// while the epilogue still reads the one before.
#include "matmul.cuh"

constexpr u32 M = 128, N = 64, Stages = 3, Sums = 2;

struct Storage {
  alignas(1024) u16 a[Stages][M * TileK];
  alignas(1024) u16 b[Stages][N * TileK];
  u64 full[Stages], empty[Stages], summed[Sums], drained[Sums];
  u32 slot;
};

struct Problem {
  u32 m, n, k;
  INLINE u32 tilesN() const { return n / N; }
  INLINE u32 tiles() const { return m / M * tilesN(); }
};

// A position in a ring, and the parity of the phase that its turn completes.
template <u32 Size> struct Cursor {
  u32 index = 0, parity = 0;
  INLINE void next() {
    index = index + 1 == Size ? 0 : index + 1;
    parity ^= index == 0;
  }
};

INLINE void produce(Storage &s, const TensorMap &a, const TensorMap &b, Problem p) {
  Cursor<Stages> at;
  for (u32 tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x)
    for (u32 k = 0; k < p.k; k += TileK, at.next()) {
      wait(s.empty[at.index], at.parity ^ 1);
      arriveExpect(s.full[at.index], sizeof(s.a[0]) + sizeof(s.b[0]));
      load2d(s.a[at.index], a, k, tile / p.tilesN() * M, s.full[at.index]);
      load2d(s.b[at.index], b, k, tile % p.tilesN() * N, s.full[at.index]);
    }
}

INLINE void multiply(Storage &s, u32 sums, Problem p) {
  Cursor<Stages> at;
  Cursor<Sums> to;
  for (u32 tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x, to.next()) {
    wait(s.drained[to.index], to.parity ^ 1);
    fenceAfter();
    for (u32 k = 0; k < p.k; k += TileK, at.next()) {
      wait(s.full[at.index], at.parity);
      mmaTile(sums + to.index * N, s.a[at.index], s.b[at.index],
              instruction(M, N, Bf16), k != 0);
      commit(s.empty[at.index]);
    }
    commit(s.summed[to.index]);
  }
}

INLINE void finish(Storage &s, u32 sums, u32 warp, float *d, Problem p) {
  Cursor<Sums> from;
  for (u32 tile = blockIdx.x; tile < p.tiles(); tile += gridDim.x, from.next()) {
    wait(s.summed[from.index], from.parity);
    fenceAfter();
    storeRows(sums + from.index * N, warp, N,
              d + tile / p.tilesN() * M * p.n + tile % p.tilesN() * N, p.n);
    fenceBefore();
    arrive(s.drained[from.index]);
  }
}

extern "C" __global__ void __launch_bounds__(192)
    matmul_persistent(const __grid_constant__ TensorMap a,
                      const __grid_constant__ TensorMap b, float *d, u32 m, u32 n, u32 k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage &s = *reinterpret_cast<Storage *>(memory);
  const Problem p = {m, n, k};
  const u32 warp = warpIndex();
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(s.full[i], 1);
      init(s.empty[i], 1);
    }
    for (u32 i = 0; i < Sums; ++i) {
      init(s.summed[i], 1);
      init(s.drained[i], 128);
    }
    fenceInit();
  }
  if (warp == 0)
    allocate<1>(s.slot, Sums * N);
  __syncthreads();
  const u32 sums = s.slot;
  if (warp >= 2)
    finish(s, sums, warp, d, p);
  else if (warp == 0 && laneIndex() == 0)
    produce(s, a, b, p);
  else if (warp == 1 && laneIndex() == 0)
    multiply(s, sums, p);
  __syncwarp();
  __syncthreads();
  if (warp == 0)
    deallocate<1>(sums, Sums * N);
}
