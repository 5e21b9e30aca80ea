// Thin wrappers over the PTX that the kernels of this folder are about. Each is
// one instruction, or one and the loop around it.
//
// Every asm is volatile and clobbers memory, so that the compiler keeps their
// order. It may still move a use of a register that tcgen05.ld writes before the
// tcgen05.wait::ld, which it takes for unrelated; waitLoad therefore names those
// registers as read and written.
#pragma once

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

// What cuTensorMapEncodeTiled fills in.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

#define INLINE __device__ __forceinline__

INLINE u32 shared(const void *p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}
INLINE u32 warpIndex() { return __shfl_sync(0xffffffff, threadIdx.x / 32, 0); }
INLINE u32 laneIndex() { return threadIdx.x % 32; }

//===-- mbarrier ----------------------------------------------------------===//

INLINE void init(u64 &barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&barrier)),
               "r"(count)
               : "memory");
}
INLINE void fenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
INLINE void arrive(u64 &barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(&barrier))
               : "memory");
}
INLINE void arriveExpect(u64 &barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared(&barrier)),
               "r"(bytes)
               : "memory");
}
// The address of `p`'s twin in CTA `rank` of the cluster.
INLINE u32 remote(const void *p, u32 rank) {
  u32 address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared(p)), "r"(rank));
  return address;
}
INLINE void arriveRemote(u32 address) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address)
      : "memory");
}
// Returns once the phase of this parity is complete.
INLINE void wait(u64 &barrier, u32 parity) {
  asm volatile("{\n\t"
               ".reg .pred done;\n"
               "AGAIN:\n\t"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
               "@!done bra AGAIN;\n\t"
               "}" ::"r"(shared(&barrier)),
               "r"(parity)
               : "memory");
}

//===-- Copies ------------------------------------------------------------===//

INLINE void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
INLINE void load2d(void *to, const TensorMap &map, int x, int y, u64 &barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   shared(to)),
               "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier))
               : "memory");
}
INLINE void store2d(const TensorMap &map, int x, int y, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
               " [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(x), "r"(y), "r"(shared(from))
               : "memory");
}
INLINE void reduceAdd2d(const TensorMap &map, int x, int y, const void *from) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
               " [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(x), "r"(y), "r"(shared(from))
               : "memory");
}
INLINE void commitGroup() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// At most `Pending` of the newest groups may still be under way; the sources of
// the others may be overwritten, or go with the CTA.
template <int Pending> INLINE void waitGroupRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

//===-- Clusters ----------------------------------------------------------===//

INLINE u32 clusterRank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
INLINE void clusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

//===-- Tensor memory -----------------------------------------------------===//

#define CTA_GROUP_OP(name, text)                                               \
  template <int Group> INLINE void name {                                      \
    if constexpr (Group == 1)                                                  \
      text("1");                                                               \
    else                                                                       \
      text("2");                                                               \
  }

// One warp; the address goes to `slot` in shared memory.
#define ALLOCATE(g)                                                            \
  asm volatile("tcgen05.alloc.cta_group::" g                                   \
               ".sync.aligned.shared::cta.b32 [%0], %1;\n\t"                   \
               "tcgen05.relinquish_alloc_permit.cta_group::" g                 \
               ".sync.aligned;" ::"r"(shared(&slot)),                          \
               "r"(columns)                                                    \
               : "memory")
CTA_GROUP_OP(allocate(u32 &slot, u32 columns), ALLOCATE)
#define DEALLOCATE(g)                                                          \
  asm volatile("tcgen05.dealloc.cta_group::" g ".sync.aligned.b32 %0, %1;" ::  \
                   "r"(address),                                               \
               "r"(columns)                                                    \
               : "memory")
CTA_GROUP_OP(deallocate(u32 address, u32 columns), DEALLOCATE)

INLINE void fenceBefore() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
INLINE void fenceAfter() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
// A CTA barrier that tensor memory operations do not cross. Where alloc and
// dealloc alone stand on one side, which are synchronous (PTX ISA 9.7.16.6.1),
// __syncthreads() will do: the others take the address from shared memory, and
// have waited for their own operations.
INLINE void syncTensor() {
  fenceBefore();
  __syncthreads();
  fenceAfter();
}
// The 32 lanes that this warp reaches.
INLINE u32 lanesOf(u32 warp) { return (warp % 4) << 21; }

#define REGS8(c, r, i)                                                         \
  c(r[i]), c(r[i + 1]), c(r[i + 2]), c(r[i + 3]), c(r[i + 4]), c(r[i + 5]),    \
      c(r[i + 6]), c(r[i + 7])
#define REGS32(c, r) REGS8(c, r, 0), REGS8(c, r, 8), REGS8(c, r, 16), REGS8(c, r, 24)
#define NAMES8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES32                                                                \
  NAMES8 ", %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "   \
         "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"

INLINE void load(u32 (&r)[8], u32 address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {" NAMES8 "}, [%8];"
               : REGS8("=r", r, 0)
               : "r"(address)
               : "memory");
}
INLINE void load(u32 (&r)[32], u32 address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" NAMES32 "}, [%32];"
               : REGS32("=r", r)
               : "r"(address)
               : "memory");
}
INLINE void waitLoad(u32 (&r)[8]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" : REGS8("+r", r, 0)::"memory");
}
INLINE void waitLoad(u32 (&r)[32]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" : REGS32("+r", r)::"memory");
}
INLINE void store(u32 address, const u32 (&r)[8]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {" NAMES8 "};" ::REGS8(
                   "r", r, 0),
               "r"(address)
               : "memory");
}
INLINE void store(u32 address, const u32 (&r)[32]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], {" NAMES32
               "};" ::REGS32("r", r),
               "r"(address)
               : "memory");
}
INLINE void waitStore() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

//===-- Tensor cores ------------------------------------------------------===//

enum Swizzle : u32 { None = 0, Swizzle128 = 2, Swizzle64 = 4, Swizzle32 = 6 };
enum Element : u32 { F16 = 0, Bf16 = 1 };
enum Major : u32 { K = 0, MN = 1 };

// A shared-memory matrix descriptor; offsets in bytes.
INLINE u64 descriptor(const void *start, u32 leading, u32 stride, Swizzle swizzle) {
  return u64((shared(start) & 0x3ffff) >> 4) | u64(leading >> 4) << 16 |
         u64(stride >> 4) << 32 | u64(1) << 46 | u64(swizzle) << 61;
}
// Rows of 128 bytes, the sum's dimension innermost, swizzled by 128 bytes.
INLINE u64 kMajor(const void *start) {
  return descriptor(start, 16, 1024, Swizzle128);
}

// Of kind::f16 with an f32 sum.
__host__ __device__ constexpr u32 instruction(u32 m, u32 n, Element element, Major b = K) {
  return 1u << 4 | element << 7 | element << 10 | b << 16 | (n >> 3) << 17 |
         (m >> 4) << 24;
}

#define MMA_SHARED(g)                                                          \
  asm volatile("{\n\t"                                                         \
               ".reg .pred accumulates;\n\t"                                   \
               "setp.ne.u32 accumulates, %4, 0;\n\t"                           \
               "tcgen05.mma.cta_group::" g                                     \
               ".kind::f16 [%0], %1, %2, %3, accumulates;\n\t"                 \
               "}" ::"r"(d),                                                   \
               "l"(a), "l"(b), "r"(kind), "r"(u32(accumulate))                 \
               : "memory")
CTA_GROUP_OP(mma(u32 d, u64 a, u64 b, u32 kind, bool accumulate), MMA_SHARED)

// A in tensor memory.
INLINE void mmaTmem(u32 d, u32 a, u64 b, u32 kind, bool accumulate) {
  asm volatile("{\n\t"
               ".reg .pred accumulates;\n\t"
               "setp.ne.u32 accumulates, %4, 0;\n\t"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, accumulates;\n\t"
               "}" ::"r"(d),
               "r"(a), "l"(b), "r"(kind), "r"(u32(accumulate))
               : "memory");
}
// `barrier` gets one arrival when this thread's operations so far are done.
INLINE void commit(u64 &barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one"
               ".shared::cluster.b64 [%0];" ::"r"(shared(&barrier))
               : "memory");
}
