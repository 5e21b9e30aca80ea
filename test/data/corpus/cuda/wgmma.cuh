// Thin wrappers over wgmma, for kernels of one or more warpgroups on sm_90a.
//
// The compiler takes a wgmma for an instruction that is over at once. The fence
// and the wait therefore name the accumulator as read and written, so that its
// other uses stay ahead of the one and behind the other.
#pragma once
#include "ptx.cuh"

enum WgmmaSwizzle : u64 { W128 = 1, W64 = 2, W32 = 3 };

// 64 x 64 of f32, a thread's share.
using Tile = float[32];

// A shared-memory matrix of rows of 128 bytes, swizzled by 128 bytes; with K
// innermost, or with M or N innermost and at most 64 of it.
INLINE u64 wgmmaDescriptor(const void *start) {
  return u64((shared(start) & 0x3ffff) >> 4) | u64(1) << 16 | u64(1024 >> 4) << 32 |
         u64(W128) << 62;
}

INLINE void fence(Tile &d) {
  asm volatile("wgmma.fence.sync.aligned;" : REGS32("+f", d)::"memory");
}
INLINE void commitWgmma() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// At most `Pending` of the newest groups are still under way.
template <int Pending> INLINE void waitWgmma(Tile &d) {
  asm volatile("wgmma.wait_group.sync.aligned %32;"
               : REGS32("+f", d)
               : "n"(Pending)
               : "memory");
}

// d = a * b, or d += a * b; both operands in shared memory with K innermost.
INLINE void wgmma(Tile &d, u64 a, u64 b, bool accumulate) {
  asm volatile("{\n\t"
               ".reg .pred accumulates;\n\t"
               "setp.ne.u32 accumulates, %34, 0;\n\t"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES32
               "}, %32, %33, accumulates, 1, 1, 0, 0;\n\t"
               "}"
               : REGS32("+f", d)
               : "l"(a), "l"(b), "r"(u32(accumulate))
               : "memory");
}
// d += a * b; A in registers, B with N innermost.
INLINE void wgmma(Tile &d, const u32 (&a)[4], u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES32
               "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : REGS32("+f", d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
               : "memory");
}

// Row of the 64 and column of element i of this thread's share.
INLINE u32 rowOf(u32 i) {
  return threadIdx.x % 128 / 32 * 16 + laneIndex() / 4 + 8 * (i / 2 % 2);
}
INLINE u32 columnOf(u32 i) { return 8 * (i / 4) + 2 * (laneIndex() % 4) + i % 2; }
