//===- KernelTrace.h - Runs of a kernel's synchronisation -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Projects a kernel of the specialised or the machine level into programs of
// Sync/Synchronisation.h. The function is read once, into short steps that
// keep only control flow, integers and effects; then it is run for chosen
// lengths, with all threads of a CTA at once: a branch over the warp index
// splits them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Sync/Synchronisation.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// A value in a run: what is known of it. Addresses count from the start of
/// their memory, lanes of tensor memory as the hardware does
/// (layout::tmemAddress); a tile is the stage in which it lies.
struct Interval {
  int64_t lo, hi;
  /// A power of two that divides every member, for those that are not exact.
  int64_t unit = 1;
  /// Of members that are not exact: their column of 128 bytes before the
  /// swizzle, c of (row % 8 * 16) ^ c; -1 where there is none.
  int16_t column = -1;
  bool isExact() const { return lo == hi; }
  int64_t getUnit() const {
    return !isExact() ? unit : lo == 0 ? int64_t(1) << 32 : lo & -lo;
  }
};

/// What a step does with integers.
enum class Arithmetic : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  CeilDiv,
  Rem,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Min,
  Max,
  Less,
  LessEqual,
  Equal
};

/// Sound for operands that are not exact: the result holds every value that
/// members of the operands give.
Interval apply(Arithmetic op, Interval a, Interval b);

/// Any value at all.
constexpr Interval unknown{-(int64_t(1) << 60), int64_t(1) << 60};

enum class StepCode : uint8_t {
  Constant,
  Copy,
  Not,
  Arithmetic,
  Select,
  Thread,
  Leader,
  QueryLength,
  /// Of the source that `constant` counts.
  KeyLength,
  Oracle,
  NextTile,
  TileCount,
  Unknown,
  Effect,
  If,
  For,
  While,
  Role
};

/// Operands and result are numbers of values, bodies numbers of step lists.
struct Step {
  StepCode code;
  Arithmetic arithmetic = Arithmetic::Add;
  uint32_t result = 0, a = 0, b = 0, c = 0;
  uint32_t body = 0, otherwise = 0;
  int64_t constant = 0;
  uint32_t source = 0;
};

/// SyncEffect with values as numbers; `none` where there is none.
struct TracedEffect {
  static constexpr uint32_t none = ~0u;
  schedule::sync::Event event;
  uint32_t address = none, stage = none, phase = none;
  int64_t offset = 0, extent = 0, stride = 0;
  /// Of tensor memory: only the half of the lanes that the address is in.
  bool halfLanes = false;
  /// Of shared memory: 32 bytes of each 128-byte row.
  bool strip = false;
  /// Barriers of this effect, `stages` of them.
  uint32_t stages = 1;
  /// Message n has phase n / depth in stage n % depth; 0 for stage and parity.
  uint32_t depth = 0;
  /// Added to the phase of a message.
  int64_t bias = 0;
  /// Of an MMA; the accumulator's column is the value, or is in `shape`.
  uint32_t accumulator = none;
  uint64_t shape = 0;
};

/// What is run: lengths, and what holds where a condition depends on data.
struct Scenario {
  int64_t queryLength = 0, keyLength = 0;
  /// Trips of a loop whose bounds nobody knows.
  int64_t trips = 0;
  bool oracle = true;
  /// Output tiles that the CTA does if its scheduler gives it several, all
  /// alike.
  int64_t tiles = 2;
  /// Of a second source of keys.
  int64_t keyLength2 = 0;
};

/// Threads that a branch can tell apart: lane 0 of a warp and the others, or a
/// role.
struct Member {
  std::string name;
  unsigned threads = 1;
  uint64_t warps = 0;
  schedule::sync::Rows rows = schedule::sync::allRows;
  Interval thread{0, 0};
  bool leader = true;
};

/// A kernel as steps.
struct TracedKernel {
  const KernelInfo *info = nullptr;
  /// The first one is the function's.
  std::vector<std::vector<Step>> bodies;
  std::vector<TracedEffect> effects;
  std::vector<Member> members;
  /// The ops of which steps and events come, by their `source`.
  std::vector<mlir::Operation *> ops;
  /// Its barriers and channels.
  schedule::sync::Program declared;
  uint32_t values = 0;
  /// Stages of the deepest ring.
  unsigned deepest = 1;
};

/// The runs of a kernel.
class KernelTrace {
public:
  explicit KernelTrace(TracedKernel kernel) : kernel(std::move(kernel)) {}

  /// Reads `func`; fails with a diagnostic at an op that it cannot follow.
  static mlir::FailureOr<KernelTrace> read(mlir::gpu::GPUFuncOp func,
                                           const KernelInfo &info);
  /// Lengths that take every loop not at all, once, twice, and often enough to
  /// go round every ring.
  std::vector<Scenario> scenarios() const;
  /// Fails with a diagnostic where a stage, a phase or a place is not known.
  mlir::FailureOr<schedule::sync::Program> run(const Scenario &scenario) const;
  mlir::Operation *opOf(uint32_t source) const { return kernel.ops[source]; }

private:
  TracedKernel kernel;
  /// Values of a run, kept for the next one: each is made before it is used.
  mutable std::vector<Interval> frame;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H
