// D[m][n] = A[m][k] * B[n][k]^T in bf16, a tile of 128 x 64 a CTA: one warp loads
// through a ring of three stages, and two warpgroups of 64 rows each multiply,
// with a stage under way while the next one is issued.
#include "wgmma.cuh"

constexpr u32 M = 128, N = 64, TileK = 64, Stages = 3, Groups = 2;

struct Storage {
  alignas(1024) u16 a[Stages][M * TileK];
  alignas(1024) u16 b[Stages][N * TileK];
  u64 full[Stages], empty[Stages];
};

INLINE void produce(Storage &s, const TensorMap &a, const TensorMap &b, u32 tiles) {
#pragma unroll 1
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(s.empty[stage], (turn & 1) ^ 1);
    arriveExpect(s.full[stage], sizeof(s.a[0]) + sizeof(s.b[0]));
    load2d(s.a[stage], a, i * TileK, blockIdx.x * M, s.full[stage]);
    load2d(s.b[stage], b, i * TileK, blockIdx.y * N, s.full[stage]);
  }
}

INLINE void multiply(Storage &s, float *out, u32 pitch, u32 tiles, u32 group) {
  Tile d = {};
#pragma unroll 1
  for (u32 i = 0; i < tiles; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    wait(s.full[stage], turn & 1);
    const u64 a = wgmmaDescriptor(&s.a[stage][group * 64 * TileK]);
    const u64 b = wgmmaDescriptor(s.b[stage]);
    fence(d);
    for (u32 k = 0; k < TileK / 16; ++k)
      wgmma(d, a + 2 * k, b + 2 * k, true);
    commitWgmma();
    // All but this one are done, so the stage before may be filled again.
    waitWgmma<1>(d);
    if (i && threadIdx.x % 128 == 0)
      arrive(s.empty[(i - 1) % Stages]);
  }
  waitWgmma<0>(d);
  float *rows = out + (blockIdx.x * M + group * 64) * pitch + blockIdx.y * N;
  for (u32 i = 0; i < 32; ++i)
    rows[rowOf(i) * pitch + columnOf(i)] = d[i];
}

extern "C" __global__ void __launch_bounds__(384)
    matmul_wgmma(const __grid_constant__ TensorMap a,
                 const __grid_constant__ TensorMap b, float *d, u32 n, u32 k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage &s = *reinterpret_cast<Storage *>(memory);
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(s.full[i], 1);
      init(s.empty[i], Groups);
    }
    fenceInit();
  }
  __syncthreads();
  const u32 tiles = k / TileK, group = warpIndex() / 4;
  if (group == Groups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x % 128 == 0)
      produce(s, a, b, tiles);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  multiply(s, d, n, tiles, group);
}
