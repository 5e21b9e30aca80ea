//===- WgmmaRegisters.h - Registers that wgmma uses -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, wgmma.fence and wgmma.wait_group: between other accesses to a
// register and a wgmma that uses it lies a fence, between a wgmma and other
// accesses a wait. Only registers that some wgmma of the function names are
// looked at.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H
#define FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H

#include "Wgmma.h"

#include <map>

namespace ptxsim {

struct Code;

/// Which instructions of a function touch registers of its wgmma.
class WgmmaTouches {
public:
  struct Touch {
    uint32_t row = 0;
    bool writes = false;
  };
  explicit WgmmaTouches(const Code &code);
  std::span<const Touch> of(size_t instruction) const {
    return {touches.data() + first[instruction],
            touches.data() + first[instruction + 1]};
  }

private:
  void add(Operand operand, bool writes, const std::vector<bool> &used);
  std::vector<Touch> touches;
  std::vector<uint32_t> first;
};

/// Of a cluster, made when a function first fences.
struct WgmmaFunctions : UnitState {
  std::map<const Code *, WgmmaTouches> functions;
  const WgmmaTouches &of(const Code &code);
};

/// Whether an instruction is wgmma.mma_async, whose dst are the registers of D
/// and whose src those of A.
bool isWgmma(const Instruction &inst);

/// The registers of one warp, by absolute row.
class WgmmaRegisters {
public:
  /// wgmma.fence: what was touched so far no longer matters.
  void fence() { ++fences; }
  /// Another instruction is about to touch registers.
  void watch(Warp &warp, const Instruction &inst);
  /// Checks the registers of a wgmma, and counts it as in flight.
  void begin(Warp &warp, const Instruction &inst);
  /// The warp has waited for a wgmma of a frame at `rowBase`.
  void end(const Instruction &inst, uint32_t rowBase);

private:
  struct Mark {
    /// The last other instruction, and the last wgmma, since fence number
    /// `touchedAt` and `usedAt`.
    const Instruction *touched = nullptr, *used = nullptr;
    uint32_t touchedAt = 0, usedAt = 0;
    bool usedAsA = false;
    /// How many in flight write it (as D) and read it (as A).
    uint32_t writes = 0, reads = 0;
  };
  Mark &markOf(uint32_t row);
  bool checkFence(const Site &site, const Mark &mark, bool sameUse,
                  bool asA) const;
  bool checkFlight(const Site &site, const Mark &mark, bool sameUse,
                   bool asA) const;
  bool isSameUse(const Mark &mark, const Instruction &inst, bool asA);
  std::vector<Mark> marks;
  /// Fences so far.
  uint32_t fences = 0;
  const Code *code = nullptr;
  const WgmmaTouches *touches = nullptr;
  /// The last two wgmma that isSameUse was asked about, and what it found.
  std::pair<const Instruction *, const Instruction *> compared;
  bool comparedIsChain = false;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H
