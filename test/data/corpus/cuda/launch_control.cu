// One CTA, or a pair, takes tiles over from clusters that have not started, until
// there are none or the hardware gives none: every tile is done once, whoever
// does it. One thread asks for the next tile before this one is done; in a pair
// the CTA of rank 0 asks for both, and each writes its half of the tile.
#include "ptx.cuh"

constexpr u32 Stages = 2, Warps = 2, Columns = 256;

struct alignas(16) Answer {
  u32 opaque[4];
};

struct Ring {
  Answer answer[Stages];
  u64 full[Stages], empty[Stages];
};

// This thread has nothing to hand on: the answer comes with the phase.
INLINE void expectAnswer(u64 &barrier) {
  asm volatile("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%0], %1;" ::"r"(
                   shared(&barrier)),
               "n"(sizeof(Answer))
               : "memory");
}
template <u32 Ranks> INLINE void tryCancel(Answer &answer, u64 &barrier) {
  if constexpr (Ranks == 1)
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta"
                 ".mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                     shared(&answer)),
                 "r"(shared(&barrier))
                 : "memory");
  else
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta"
                 ".mbarrier::complete_tx::bytes.multicast::cluster::all.b128"
                 " [%0], [%1];" ::"r"(shared(&answer)),
                 "r"(shared(&barrier))
                 : "memory");
}

// Whether a cluster was cancelled, and then its first CTA, of which y and z are
// 0 here.
INLINE bool decode(const Answer &answer, u32 &first) {
  u32 canceled;
  asm volatile(
      "{\n\t"
      ".reg .pred some;\n\t"
      ".reg .b128 handle;\n\t"
      "ld.shared.b128 handle, [%2];\n\t"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 some, handle;\n\t"
      "selp.u32 %0, 1, 0, some;\n\t"
      "mov.u32 %1, 0;\n\t"
      "@some clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128"
      " {%1, _, _, _}, handle;\n\t"
      "}"
      : "=r"(canceled), "=r"(first)
      : "r"(shared(&answer))
      : "memory");
  return canceled;
}

// Times three; some tiles take longer than others.
template <u32 Ranks>
INLINE void work(const int *in, int *out, int *done, u32 tile, u32 rank) {
  constexpr u32 Mine = Columns / Ranks;
  for (u32 turn = 0; turn <= tile % 3; ++turn)
    for (u32 i = threadIdx.x; i < Mine; i += Warps * 32) {
      const u32 at = tile * Columns + rank * Mine + i;
      out[at] = turn ? out[at] + in[at] : in[at] * (3 - int(tile % 3));
    }
  if (threadIdx.x == 0)
    atomicAdd(&done[tile], 1);
}

template <u32 Ranks> INLINE void kernel(const int *in, int *out, int *done) {
  __shared__ Ring ring;
  const u32 rank = Ranks == 1 ? 0 : clusterRank();
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < Stages; ++i) {
      init(ring.full[i], 1);
      init(ring.empty[i], Warps * Ranks);
    }
    fenceInit();
  }
  if constexpr (Ranks == 1)
    __syncthreads();
  else
    clusterSync();
  u32 first = blockIdx.x - rank;
  for (u32 i = 0;; ++i) {
    const u32 stage = i % Stages, turn = i / Stages;
    if (threadIdx.x == 0) {
      expectAnswer(ring.full[stage]);
      if (rank == 0) {
        wait(ring.empty[stage], (turn & 1) ^ 1);
        tryCancel<Ranks>(ring.answer[stage], ring.full[stage]);
      }
    }
    work<Ranks>(in, out, done, first / Ranks, rank);
    wait(ring.full[stage], turn & 1);
    const bool some = decode(ring.answer[stage], first);
    fenceAsync();
    __syncwarp();
    if (laneIndex() == 0) {
      if constexpr (Ranks == 1)
        arrive(ring.empty[stage]);
      else
        arriveRemote(remote(&ring.empty[stage], 0));
    }
    if (!some)
      break;
  }
  if constexpr (Ranks > 1) // Rank 1 arrives at barriers of rank 0.
    clusterSync();
}

extern "C" __global__ void __launch_bounds__(Warps * 32)
    launch_control(const int *in, int *out, int *done) {
  kernel<1>(in, out, done);
}

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(Warps * 32)
    launch_control_pair(const int *in, int *out, int *done) {
  kernel<2>(in, out, done);
}
