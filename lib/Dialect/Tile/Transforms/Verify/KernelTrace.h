//===- KernelTrace.h - Runs of a kernel's synchronization -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Projects a kernel of the specialised or the machine level to programs of
// Sync/Synchronization.h. The function is read once, into short steps that have
// only control flow, integers and effects. Then it is run for chosen lengths,
// with all threads of a CTA at once; a branch on the warp index splits them.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H

#include "fmha/Dialect/Tile/IR/Tile.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Sync/Synchronization.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fmha::tile {

/// The set of possible values of an SSA value in a run. Addresses count from
/// the start of their memory, with lanes of tensor memory encoded as in
/// hardware (layout::tmemAddress). The value of a tile is its stage.
struct Interval {
  int64_t lo, hi;
  /// A power of two that divides every member, if the interval is not exact.
  int64_t unit = 1;
  /// If the interval is not exact, the column of the members in a row of 128
  /// bytes before the swizzle, c in (row % 8 * 16) ^ c; -1 if there is none.
  int16_t column = -1;
  bool isExact() const { return lo == hi; }
  int64_t getUnit() const {
    return !isExact() ? unit : lo == 0 ? int64_t(1) << 32 : lo & -lo;
  }
};

/// The arithmetic of a step.
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
  UnsignedMin,
  UnsignedMax,
  Less,
  LessEqual,
  UnsignedLess,
  UnsignedLessEqual,
  Equal
};

/// Returns an interval that contains the results of `op` for all members of the
/// operands.
Interval apply(Arithmetic op, Interval a, Interval b);

/// Any value at all.
constexpr Interval unknown{-(int64_t(1) << 60), int64_t(1) << 60};

/// Whether both ends of an interval are known.
bool isKnown(Interval x);

/// Returns an interval that contains both.
Interval hull(Interval a, Interval b);

enum class StepCode : uint8_t {
  Constant,
  Copy,
  Not,
  Arithmetic,
  Select,
  Thread,
  Leader,
  QueryLength,
  /// Key length of source number `constant`.
  KeyLength,
  Oracle,
  NextTile,
  TileCount,
  /// The iterations, of all `b`, that a role computes, and those that it skips.
  ComputedTrips,
  SkippedTrips,
  Unknown,
  Effect,
  If,
  For,
  While,
  Role
};

/// A step. Operands and results are numbers of values, and bodies are numbers
/// of lists of steps.
struct Step {
  StepCode code;
  Arithmetic arithmetic = Arithmetic::Add;
  uint32_t result = 0, a = 0, b = 0, c = 0;
  uint32_t body = 0, otherwise = 0;
  int64_t constant = 0;
  uint32_t source = 0;
};

/// A SyncEffect with numbers in place of values; `none` is no value.
struct TracedEffect {
  static constexpr uint32_t none = ~0u, allLanes = 32;
  schedule::sync::Event event;
  uint32_t address = none, stage = none, phase = none;
  int64_t offset = 0, extent = 0, stride = 0;
  /// In tensor memory, an access to the half of the lanes at the address.
  bool halfLanes = false;
  /// In shared memory, an access to 32 bytes of each 128-byte row.
  bool strip = false;
  /// The first lanes of a warp, whose addresses count.
  uint32_t lanes = allLanes;
  /// Number of barriers of this effect.
  uint32_t stages = 1;
  /// If not 0, `stage` is a message n, with phase n / depth in stage n % depth;
  /// otherwise the effect has a stage and a parity.
  uint32_t depth = 0;
  /// Added to the phase of a message.
  int64_t bias = 0;
  /// The accumulator of an MMA and its shape; the column is the value of
  /// `accumulator`, or is in `shape`.
  uint32_t accumulator = none;
  uint64_t shape = 0;
};

/// The parameters of a run: lengths, and the value of conditions on data.
struct Scenario {
  int64_t queryLength = 0, keyLength = 0;
  /// Number of iterations of a loop with unknown bounds.
  int64_t trips = 0;
  bool oracle = true;
  /// Number of output tiles of the CTAs of a cluster if the scheduler gives a
  /// CTA several. All have the same lengths.
  int64_t tiles = 2;
  /// Key length of the second source.
  int64_t keyLength2 = 0;
};

/// A set of threads that no branch splits: lane 0 of a warp, its other lanes,
/// or a role.
struct Member {
  std::string name;
  unsigned threads = 1;
  uint64_t warps = 0;
  schedule::sync::Rows rows = schedule::sync::allRows;
  Interval thread{0, 0};
  bool leader = true;
};

/// The steps of a kernel.
struct TracedKernel {
  const KernelInfo *info = nullptr;
  /// Lists of steps, of which the first one is that of the function.
  std::vector<std::vector<Step>> bodies;
  std::vector<TracedEffect> effects;
  std::vector<Member> members;
  /// The ops of steps and events, by their `source`.
  std::vector<mlir::Operation *> ops;
  /// The barriers and channels of the kernel.
  schedule::sync::Program declared;
  uint32_t values = 0;
  /// Stages of the deepest ring.
  unsigned deepest = 1;
  /// Number of output tiles of the CTAs of a cluster, if they compute several.
  int64_t tiles = 2;
};

/// The runs of a kernel.
class KernelTrace {
public:
  explicit KernelTrace(TracedKernel kernel) : kernel(std::move(kernel)) {}

  /// Reads `func`. Fails with a diagnostic at an unsupported op.
  static mlir::FailureOr<KernelTrace> read(mlir::gpu::GPUFuncOp func,
                                           const KernelInfo &info);
  /// Returns scenarios in which loops have no iteration, one, two, and enough
  /// to go round every ring.
  std::vector<Scenario> scenarios() const;
  /// Runs the kernel. Fails with a diagnostic if a stage, a phase or a place is
  /// unknown.
  mlir::FailureOr<schedule::sync::Program> run(const Scenario &scenario) const;
  mlir::Operation *opOf(uint32_t source) const { return kernel.ops[source]; }

private:
  TracedKernel kernel;
  /// Values of a run. The memory is reused by the next run, which writes each
  /// value before it reads it.
  mutable std::vector<Interval> frame;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_KERNELTRACE_H
