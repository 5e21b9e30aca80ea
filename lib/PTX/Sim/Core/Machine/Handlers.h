//===- Handlers.h - Handlers and decoders shared inside the core ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_CORE_MACHINE_HANDLERS_H
#define FMHA_LIB_PTX_SIM_CORE_MACHINE_HANDLERS_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"
#include "fmha/PTX/Sim/Core/Program/Decoder.h"
#include "fmha/PTX/Sim/Core/Program/Program.h"

namespace ptxsim {

/// Calls `f(lane)` for each lane of `active`.
template <typename F> inline void eachLane(LaneMask active, F f) {
  if (active == kFullMask) {
    for (unsigned lane = 0; lane < 32; ++lane)
      f(lane);
    return;
  }
  for (LaneMask rest = active; rest; rest &= rest - 1)
    f(unsigned(std::countr_zero(rest)));
}

/// Returns the lanes whose value is not zero.
inline LaneMask lanesSet(const Row &row) {
  uint64_t bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    bits |= (row[lane] & 1) << lane;
  return LaneMask(bits);
}

inline uint64_t lowBits(unsigned bits) {
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

/// Returns true if an instruction accesses state that it does not record for an
/// exploration (Execution/Policies.cpp).
bool touchesUnnoted(const Instruction &inst);

// Semantics/Control.cpp
Outcome executeBranch(Warp &warp, const Instruction &inst, LaneMask active);
Outcome executeBranchMany(Warp &warp, const Instruction &inst, LaneMask active);
Outcome executeCall(Warp &warp, const Instruction &inst, LaneMask active);
Outcome executeRet(Warp &warp, const Instruction &inst, LaneMask active);
Outcome executeExit(Warp &warp, const Instruction &inst, LaneMask active);
Outcome executeTrap(Warp &warp, const Instruction &inst, LaneMask active);

/// Payload of executeBranchMany.
struct BranchTargets {
  std::vector<uint32_t> pcs, labels;
};

/// Payload of executeCall. An argument is a row of the caller or bytes of its
/// local memory, like the parameter it becomes.
struct CallData {
  enum class Extern : uint8_t { None, Printf, AssertFail };
  const Code *callee = nullptr; // null: indirect, src[0] is the number
  Extern external = Extern::None;
  std::vector<Slot> arguments, results;
  std::vector<Operand> argumentRows; // valid where the argument is a row
};

// Semantics/Special.cpp
struct SpecialRegister {
  unsigned bits;
  void (*read)(Warp &warp, Row &out, LaneMask active);
};
const SpecialRegister *findSpecial(std::string_view name);
Outcome executeReadSpecial(Warp &warp, const Instruction &inst,
                           LaneMask active);

// Semantics/Move.cpp
Outcome executeNot(Warp &warp, const Instruction &inst, LaneMask active);
/// payload: Type.
Outcome executeNegate(Warp &warp, const Instruction &inst, LaneMask active);
/// Constant that is added modulo 2^bits.
struct AddedConstant {
  uint64_t constant;
  unsigned bits;
};
/// payload: AddedConstant.
Outcome executeAddConstant(Warp &warp, const Instruction &inst,
                           LaneMask active);
/// payload: uint64_t offset in the frame.
Outcome executeLocalAddress(Warp &warp, const Instruction &inst,
                            LaneMask active);
void registerMove(Registry &registry);

// Semantics/ScalarOps.cpp
void decodeScalar(Decoder &decoder, Instruction &inst,
                  const scalar::Form &form);

void registerLoadStore(Registry &registry);
void registerAtomics(Registry &registry);
void registerCollectives(Registry &registry);
void registerBarriers(Registry &registry);
void registerMatrix(Registry &registry);
void registerMisc(Registry &registry);

// Semantics/Barriers.cpp
/// Completes the barriers of a CTA that miss no thread after an exit.
void barriersAfterExit(Cta &cta);
/// Completes barrier.cluster if all have arrived.
void completeClusterBarrier(Cluster &cluster);

// Decode/ControlFlow.cpp
/// Successors of every instruction: the next one, and branch targets.
struct Flow {
  bool fallsThrough = true;
  std::vector<uint32_t> targets;
};
/// Sets Instruction::reconvergeAt of every branch to its immediate
/// post-dominator and returns which instructions can be reached from the first.
std::vector<bool> analyzeFlow(const std::vector<Flow> &flow,
                              std::vector<Instruction> &instructions);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_CORE_MACHINE_HANDLERS_H
