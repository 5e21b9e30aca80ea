//===- Program.h - Instructions of SASS -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SASS_PROGRAM_H
#define FMHA_PTX_SASS_PROGRAM_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::sass {

/// Stands for no scoreboard in a control word.
constexpr uint8_t kNoBarrier = 7;
/// Scoreboards of a warp.
constexpr unsigned kBarriers = 6;

/// The control word of an instruction: bits 105 to 125 of its encoding, the
/// same for sm_90a, sm_100a and sm_103a.
struct Control {
  /// Clocks until the next instruction of the warp may issue.
  uint8_t stall = 0;
  /// Whether the scheduler should switch to another warp.
  bool yields = false;
  /// Scoreboards that count down when the result is written, and when the
  /// operands have been read.
  uint8_t writeBarrier = kNoBarrier, readBarrier = kNoBarrier;
  /// A bit for each scoreboard that has to be at zero first.
  uint8_t waits = 0;
  /// A bit for each operand that stays in the reuse cache.
  uint8_t reuse = 0;
  friend bool operator==(const Control &, const Control &) = default;
};

/// Returns the control word of the upper half of an encoding.
Control controlOf(uint64_t high);

/// The file of a register.
enum class File : uint8_t { General, Uniform, Predicate, UniformPredicate };

/// `count` registers from `first` on. RZ, URZ, PT and UPT are none.
struct Registers {
  File file = File::General;
  uint16_t first = 0, count = 1;
  friend bool operator==(const Registers &, const Registers &) = default;
};

constexpr uint32_t kNoTarget = UINT32_MAX;

struct Instruction {
  uint32_t address = 0;
  /// "@!P0" or empty; "BRA", "HGMMA.64x64x16.F32.BF16"; the rest of the text.
  std::string guard, opcode, operands;
  Control control;
  /// Line of the PTX, 0 if unknown.
  uint32_t line = 0;
  /// Index of the instruction that it names, or kNoTarget.
  uint32_t target = kNoTarget;
  /// Indices of the instructions that BRX may branch to.
  std::vector<uint32_t> targets;
  std::vector<Registers> reads, writes;
  /// Returns the opcode up to its first dot.
  std::string_view root() const {
    return std::string_view(opcode).substr(0, opcode.find('.'));
  }
};

struct Function {
  std::string name;
  std::vector<Instruction> instructions;
};

/// Sets what the instruction reads and writes, from its text.
void setRegisters(Instruction &inst);

} // namespace ptxsim::sass

#endif // FMHA_PTX_SASS_PROGRAM_H
