//===- Types.h - Types shared by the simulator's core -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_CORE_PROGRAM_TYPES_H
#define FMHA_PTX_SIM_CORE_PROGRAM_TYPES_H

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <cstdint>

namespace ptxsim {

using scalar::LaneMask;
using scalar::Row;
using scalar::Type;

constexpr LaneMask kFullMask = 0xFFFFFFFFu;

class Warp;
class Cta;
class Cluster;
class Machine;
struct Instruction;

/// A row of 32 lane values that an instruction names: a register of the current
/// frame, or a constant row of the program. The top bit selects between them.
struct Operand {
  static constexpr uint32_t kConstant = 0x80000000u;
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  uint32_t code = kNone;
  bool valid() const { return code != kNone; }
  bool isConstant() const { return code >> 31; }
  uint32_t index() const { return code & ~kConstant; }
};

/// State spaces. Const resides in global memory. A kernel's Param is one
/// read-only bank; a function's Param resides in local memory.
enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// Generic addresses of the windowed spaces: window | 32-bit address. The low
/// half of a shared window address is the 32-bit shared address, whose bits
/// 31..24 are the CTA's rank in its cluster.
constexpr uint64_t kSharedWindow = 0x0000FF1000000000ull;
constexpr uint64_t kLocalWindow = 0x0000FF2000000000ull;
constexpr uint64_t kParamWindow = 0x0000FF3000000000ull;
constexpr uint64_t kWindowMask = 0xFFFFFFFF00000000ull;

/// Start of static shared memory; the system reserves the bytes before.
constexpr uint32_t kSharedBase = 1024;
/// Maximum shared memory of a CTA, static and dynamic, without the reserved
/// KiB.
constexpr uint32_t kSharedLimit = 232448;

/// Maximum local memory of a thread (CUDA programming guide, technical
/// specifications per compute capability).
constexpr uint32_t kLocalLimit = 512 * 1024;

/// What the warp loop does after a handler returns.
enum class Outcome : uint8_t {
  /// Continue with the next instruction.
  Next,
  /// The handler has set the program counter or split the lanes.
  Control,
  /// Not executed: the lanes sleep in Warp::wait and then execute it again.
  Retry,
  /// Executed, but the lanes sleep in Warp::wait before they continue (a failed
  /// try_wait: a soft wait, which may also end without cause).
  NextAndWait,
  /// Executed; let another warp run first (nanosleep, a poll).
  Yield,
  /// A fault was reported: the launch is over.
  Fault,
};

enum class Access : uint8_t { Read, Write, Atomic };

} // namespace ptxsim

#endif // FMHA_PTX_SIM_CORE_PROGRAM_TYPES_H
