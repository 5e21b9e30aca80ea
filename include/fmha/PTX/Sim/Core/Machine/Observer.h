//===- Observer.h - What warps execute, as it happens -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options::observer receives what warps execute and how they synchronize. A
// call between begin() and end() of a warp concerns the instruction that it
// executes; under Policy::Eager the completions of asynchronous work do, too.
//
// Synchronization is reported in phases of objects: an mbarrier, a named
// barrier or the barrier of a cluster, each known by an address that stays the
// same while its cluster runs.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_MACHINE_OBSERVER_H
#define FMHA_PTX_SIM_CORE_MACHINE_OBSERVER_H

#include "fmha/PTX/Sim/Core/Program/Instruction.h"

namespace ptxsim {

/// The direction of an asynchronous copy, seen from shared memory of a CTA.
enum class CopyDirection : uint8_t { FromGlobal, ToGlobal, BetweenCtas };

/// The shape of a tcgen05.mma: rows and columns of D over all participating
/// CTAs.
struct ProductShape {
  uint32_t m = 0, n = 0, ctas = 1;
  bool aInTmem = false;
};

class Observer {
public:
  virtual ~Observer() = default;
  /// Returns true if the warps of the cluster are observed.
  virtual bool watches(const Cluster &cluster) = 0;

  /// An instruction of an observed warp begins; no lane is active if its guard
  /// is false in all.
  virtual void begin(const Warp &warp, const Instruction &inst,
                     LaneMask active) = 0;
  /// It ends. After Retry the warp will execute it again.
  virtual void end(const Warp &warp, const Instruction &inst,
                   Outcome outcome) = 0;

  /// The object has been initialized: its phases count from 0 again.
  virtual void initializes(const Warp &warp, const void *object) = 0;
  /// The phase cannot complete before this: an arrival, a change of the bytes
  /// that it expects, or the end of a copy.
  virtual void signals(const Warp &warp, const void *object,
                       uint64_t phase) = 0;
  /// A wait ends, or will end, that needs the first `phases` phases. Not
  /// reported if other lanes of the warp may have to arrive first: where some
  /// lanes wait at a barrier of threads.
  virtual void passes(const Warp &warp, const void *object,
                      uint64_t phases) = 0;
  /// A wait has found its phase incomplete, and may be repeated.
  virtual void misses(const Warp &warp) = 0;

  virtual void multiplies(const Warp &warp, const ProductShape &shape) = 0;
  /// Called for all warps of the launch, observed or not, as is `reads`.
  virtual void copies(const Warp &warp, CopyDirection direction,
                      uint32_t bytes) = 0;
  /// A copy reads these bytes of global memory.
  virtual void reads(uint64_t address, uint64_t bytes) = 0;
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_MACHINE_OBSERVER_H
