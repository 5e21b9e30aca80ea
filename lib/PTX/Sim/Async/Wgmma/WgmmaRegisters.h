//===- WgmmaRegisters.h - Registers that wgmma uses -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, wgmma.fence and wgmma.wait_group: a fence must separate other
// accesses to a register from a later wgmma that uses it, and a wait must
// separate a wgmma from later accesses. Only registers named by some wgmma of
// the function are checked.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H
#define FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H

#include "Wgmma.h"

#include <map>

namespace ptxsim {

struct Code;

/// The instructions of a function that access registers of its wgmma.
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

/// Kept per cluster, created when a function executes its first fence.
struct WgmmaFunctions : UnitState {
  std::map<const Code *, WgmmaTouches> functions;
  const WgmmaTouches &of(const Code &code);
};

/// Returns true for wgmma.mma_async, whose dst are the registers of D and whose
/// src are those of A.
bool isWgmma(const Instruction &inst);

/// The registers of one warp, by absolute row.
class WgmmaRegisters {
public:
  /// Executes wgmma.fence: earlier accesses no longer matter.
  void fence() { ++fences; }
  /// Checks the registers that another instruction is about to access.
  void watch(Warp &warp, const Instruction &inst);
  /// Checks the registers of a wgmma, and marks them as in flight.
  void begin(Warp &warp, const Instruction &inst);
  /// Ends a wgmma of a frame at `rowBase` that the warp has waited for.
  void end(const Instruction &inst, uint32_t rowBase);

private:
  struct Mark {
    /// The last other instruction and the last wgmma to use it, and the number
    /// of fences before each.
    const Instruction *touched = nullptr, *used = nullptr;
    uint32_t touchedAt = 0, usedAt = 0;
    bool usedAsA = false;
    /// Number of wgmma in flight that write it (as D) and read it (as A).
    uint32_t writes = 0, reads = 0;
  };
  Mark &markOf(uint32_t row);
  bool checkFence(const Site &site, const Mark &mark, bool sameUse,
                  bool asA) const;
  bool checkFlight(const Site &site, const Mark &mark, bool sameUse,
                   bool asA) const;
  bool isSameUse(const Mark &mark, const Instruction &inst, bool asA);
  std::vector<Mark> marks;
  /// Number of fences so far.
  uint32_t fences = 0;
  const Code *code = nullptr;
  const WgmmaTouches *touches = nullptr;
  /// The last two wgmma that isSameUse compared, and the result.
  std::pair<const Instruction *, const Instruction *> compared;
  bool comparedIsChain = false;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMAREGISTERS_H
