//===- Instruction.h - A pre-decoded instruction ----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_PROGRAM_INSTRUCTION_H
#define FMHA_PTX_SIM_CORE_PROGRAM_INSTRUCTION_H

#include "fmha/PTX/Sim/Core/Program/Types.h"
#include "fmha/PTX/Sim/Race/Ordering.h"

#include <span>
#include <string_view>

namespace ptxsim {

/// Executes one instruction for the lanes of `active` (never empty).
using Handler = Outcome (*)(Warp &warp, const Instruction &inst,
                            LaneMask active);

/// Which lanes must be present before a handler runs.
enum class Convergence : uint8_t {
  /// Any lanes.
  None,
  /// Every lane of the warp that has not exited (.aligned).
  Aligned,
  /// The lanes of `memberMask` (.sync with a mask operand). The warp loop
  /// gathers them; the handler receives their union in `active`.
  Members,
};

/// A memory operand: base row + offset. Without a base the offset is the whole
/// address. The opcode or the symbol gives `space`.
struct AddressOperand {
  Operand base;
  int64_t offset = 0;
  Space space = Space::Generic;
};

struct Instruction {
  Handler handler = nullptr;
  /// Destinations and sources in the order of the text, vectors flattened. They
  /// point into the program's arena.
  std::span<const Operand> dst, src;
  /// The memory operand, if exactly one matters.
  AddressOperand address;
  /// The modifiers as decoded by the instruction's family; owned by the
  /// program.
  const void *payload = nullptr;
  Operand guard;
  bool guardNegated = false;
  Convergence convergence = Convergence::None;
  Operand memberMask;
  /// Memory order, if the instruction has one.
  race::Ordering order;
  /// Branch target and reconvergence point (immediate post-dominator), as
  /// indices into the function's code.
  uint32_t target = 0, reconvergeAt = UINT32_MAX;
  uint32_t line = 0;
  /// .loc position: index into the module's file table and line, 0 = none.
  uint32_t sourceFile = 0, sourceLine = 0;
  /// The dotted opcode as written.
  std::string_view opcode;

  template <typename T> const T &data() const {
    return *static_cast<const T *>(payload);
  }
};

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_PROGRAM_INSTRUCTION_H
