// O = softmax(Q K^T) V for 64 queries of dimension 64 a CTA and any number of
// blocks of 64 keys: scores from shared memory, weights from registers. The next
// block's scores are computed while the weights of this one meet the values.
#include "wgmma.cuh"

constexpr u32 Rows = 64, Dim = 64, Stages = 2;

struct Storage {
  alignas(1024) u16 q[Rows * Dim];
  alignas(1024) u16 k[Stages][Rows * Dim];
  alignas(1024) u16 v[Stages][Rows * Dim];
  u64 query, fullK[Stages], fullV[Stages], empty[Stages];
};

INLINE void produce(Storage &s, const TensorMap &q, const TensorMap &k,
                    const TensorMap &v, u32 blocks) {
  arriveExpect(s.query, sizeof(s.q));
  load2d(s.q, q, 0, blockIdx.x * Rows, s.query);
#pragma unroll 1
  for (u32 i = 0; i < blocks; ++i) {
    const u32 stage = i % Stages;
    wait(s.empty[stage], (i / Stages & 1) ^ 1);
    arriveExpect(s.fullK[stage], sizeof(s.k[0]));
    load2d(s.k[stage], k, 0, i * Rows, s.fullK[stage]);
    arriveExpect(s.fullV[stage], sizeof(s.v[0]));
    load2d(s.v[stage], v, 0, i * Rows, s.fullV[stage]);
  }
}

INLINE void issueScores(Storage &s, Tile &d, u32 i) {
  const u32 stage = i % Stages;
  wait(s.fullK[stage], i / Stages & 1);
  const u64 a = wgmmaDescriptor(s.q), b = wgmmaDescriptor(s.k[stage]);
  fence(d);
  for (u32 k = 0; k < Dim / 16; ++k)
    wgmma(d, a + 2 * k, b + 2 * k, k != 0);
  commitWgmma();
}

INLINE void scale(Tile &d, const float (&by)[2]) {
  for (u32 i = 0; i < 32; ++i)
    d[i] *= by[i / 2 % 2];
}

// Two weights as bf16, the first in the low half.
INLINE u32 pack(float low, float high) {
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

INLINE void issueValues(Storage &s, Tile &d, const u32 (&p)[4][4], u32 i) {
  const u32 stage = i % Stages;
  wait(s.fullV[stage], i / Stages & 1);
  const u64 b = wgmmaDescriptor(s.v[stage]);
  fence(d);
  for (u32 k = 0; k < Rows / 16; ++k)
    wgmma(d, p[k], b + 128 * k);
  commitWgmma();
}

struct Softmax {
  float high[2] = {-__int_as_float(0x7f800000), -__int_as_float(0x7f800000)};
  float sum[2] = {};
  float shrink[2];

  // Scores become weights; `shrink` is what older sums are worth.
  INLINE void update(Tile &scores) {
    for (u32 r = 0; r < 2; ++r) {
      float above = high[r];
      for (u32 i = 2 * r; i < 32; i += 4)
        above = fmaxf(above, fmaxf(scores[i], scores[i + 1]));
      above = fmaxf(above, __shfl_xor_sync(0xffffffff, above, 1));
      above = fmaxf(above, __shfl_xor_sync(0xffffffff, above, 2));
      shrink[r] = exp2f(high[r] - above);
      high[r] = above;
      sum[r] *= shrink[r];
      for (u32 i = 2 * r; i < 32; i += 4)
        for (u32 j = i; j < i + 2; ++j) {
          scores[j] = exp2f(scores[j] - above);
          sum[r] += scores[j];
        }
    }
  }
};

INLINE void weights(const Tile &scores, u32 (&p)[4][4]) {
  for (u32 k = 0; k < 4; ++k)
    for (u32 r = 0; r < 4; ++r)
      p[k][r] = pack(scores[8 * k + 2 * r], scores[8 * k + 2 * r + 1]);
}

INLINE void attend(Storage &s, float *out, u32 blocks) {
  Tile scores, o = {};
  u32 p[4][4];
  Softmax softmax;
  wait(s.query, 0);
  issueScores(s, scores, 0);
  waitWgmma<0>(scores);
  softmax.update(scores);
#pragma unroll 1
  for (u32 i = 1; i < blocks; ++i) {
    weights(scores, p);
    issueScores(s, scores, i);
    scale(o, softmax.shrink);
    issueValues(s, o, p, i - 1);
    waitWgmma<1>(scores);
    softmax.update(scores);
    waitWgmma<0>(o);
    if (threadIdx.x == 0)
      arrive(s.empty[(i - 1) % Stages]);
  }
  weights(scores, p);
  scale(o, softmax.shrink);
  issueValues(s, o, p, blocks - 1);
  waitWgmma<0>(o);
  float *rows = out + blockIdx.x * Rows * Dim;
  for (u32 r = 0; r < 2; ++r) {
    float total = softmax.sum[r];
    total += __shfl_xor_sync(0xffffffff, total, 1);
    total += __shfl_xor_sync(0xffffffff, total, 2);
    for (u32 i = 0; i < 32; ++i)
      if (i / 2 % 2 == r)
        rows[rowOf(i) * Dim + columnOf(i)] = o[i] / total;
  }
}

extern "C" __global__ void __launch_bounds__(160)
    attention_wgmma(const __grid_constant__ TensorMap q,
                    const __grid_constant__ TensorMap k,
                    const __grid_constant__ TensorMap v, float *o, u32 length) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Storage &s = *reinterpret_cast<Storage *>(memory);
  if (threadIdx.x == 0) {
    init(s.query, 1);
    for (u32 i = 0; i < Stages; ++i) {
      init(s.fullK[i], 1);
      init(s.fullV[i], 1);
      init(s.empty[i], 1);
    }
    fenceInit();
  }
  __syncthreads();
  if (warpIndex() == 4) {
    if (laneIndex() == 0)
      produce(s, q, k, v, length / Rows);
  } else {
    attend(s, o, length / Rows);
  }
}
