//===- Recording.h - What warps executed ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_RECORDING_H
#define FMHA_PTX_TIME_RECORDING_H

#include "fmha/PTX/Sass/Program.h"
#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Time/Classes.h"

#include <array>
#include <string>
#include <vector>

namespace ptxsim::timing {

/// An instruction of the program.
struct Code {
  const CostClass *of = nullptr;
  std::string opcode;
  uint32_t line = 0;
  /// Rows of the frame. Each function numbers its own.
  std::vector<uint32_t> reads, writes;
  /// Registers that a copy to or from tensor memory moves, operations of a
  /// product per 4096, bytes of a lane, or the groups that a wait leaves open.
  double amount = 0;
  /// Of wgmma: whether A is in shared memory.
  bool isAInSmem = false;
  /// Of SASS: the control word. It determines when the instruction issues, in
  /// order, instead of `reads` and `writes`.
  std::optional<sass::Control> control;
  /// Of SASS: registers that it reads from each of the two banks.
  std::array<uint8_t, 2> bankReads = {};
  /// Of PTX: the function that it is in, for comparisons.
  const void *function = nullptr;
};

/// Which memory an access reached.
enum class Reached : uint8_t { Nothing, Shared, Global, FirstTouch };

/// One executed warp instruction. `amount` is rows of banks in shared memory,
/// sectors of 32 bytes in global memory, and 1 for a branch that lanes take.
struct Step {
  uint32_t code = 0, rowBase = 0;
  uint16_t amount = 0;
  Reached reached = Reached::Nothing;
  /// Whether the decoder inserted it: no instruction of its own.
  bool isHelper = false;
  /// Whether no lane is active.
  bool isIdle = false;
};

constexpr uint32_t kNoPhase = UINT32_MAX;

/// Bytes of a line of global memory and of L2.
constexpr uint32_t kLineBytes = 128;

/// A non-register effect of a step. A signal after a copy belongs to the copy.
struct Fact {
  enum class Kind : uint8_t { Signal, Wait, Copy, Product };
  uint32_t step = 0;
  Kind kind = Kind::Signal;
  CopyDirection direction = CopyDirection::FromGlobal;
  bool isFirstTouch = false;
  /// The phase, or the bytes of the copy, without those outside of a tensor if
  /// its rows are not whole lines.
  uint32_t value = 0;
  /// Rows of a copy from global memory, if any of them is not whole lines.
  uint32_t partialRows = 0;
  /// Lines that the rows of a copy from global memory touch beyond the fewest
  /// that can hold each row. Only rows that do not begin at a line have any.
  uint32_t extraLines = 0;
  ProductShape shape = {};
};

/// What one warp executed, in order.
struct WarpRecord {
  uint64_t cluster = 0;
  /// %cluster_ctarank, and the index of the warp in its CTA.
  uint32_t rank = 0, warp = 0;
  std::vector<Step> steps;
  std::vector<Fact> facts;
};

/// What the first clusters of a launch executed.
struct Recording {
  std::vector<Code> codes;
  std::vector<WarpRecord> warps;
  /// Number of signals of each phase.
  std::vector<uint32_t> signals;
  uint64_t clusters = 0;
  /// Bytes of the distinct lines of global memory that copies of the whole
  /// launch read, and that loads, stores and atomics of what is recorded
  /// access.
  uint64_t copiedBytes = 0, loadedBytes = 0;
  /// Bytes of global memory that copies of the whole launch read, counted each
  /// time, without those outside of a tensor.
  uint64_t readBytes = 0;
};

/// Moves instructions that only compute descriptors of wgmma to the class of
/// the uniform pipe, as ptxas does.
void moveToUniformPipe(std::vector<Code> &codes);

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_RECORDING_H
