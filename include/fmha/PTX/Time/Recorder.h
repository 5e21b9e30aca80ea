//===- Recorder.h - Records what warps execute ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_TIME_RECORDER_H
#define FMHA_PTX_TIME_RECORDER_H

#include "fmha/PTX/Time/Recording.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace ptxsim::timing {

/// The clusters of a launch that one SM runs first: `count` of them, of which
/// `first` is the oldest and the next one is `stride` further.
struct ClustersOfSm {
  uint64_t first = 0, stride = 1, count = 1;
};

/// Records the first clusters of one SM of a launch under Policy::Eager. A loop
/// around a wait becomes one wait: attempts that failed are forgotten, unless
/// the warp signaled something in between.
class Recorder final : public Observer {
public:
  /// Instructions of one launch; the records and times of more would take
  /// gigabytes.
  static constexpr size_t kMostSteps = size_t(1) << 25;
  /// `clusters` are those to record. After more warp instructions than
  /// `mostSteps` the launch throws Error::Launch. With `isL2Warm`, nothing is
  /// read from device memory.
  explicit Recorder(const ClustersOfSm &clusters, size_t mostSteps = kMostSteps,
                    bool isL2Warm = false)
      : clusters(clusters), mostSteps(mostSteps), isL2Warm(isL2Warm) {}
  /// Returns what has been recorded.
  Recording &recording() { return result; }

  /// Throws Error::Launch under another policy.
  bool watches(const Cluster &cluster) override;
  void begin(const Warp &warp, const Instruction &inst,
             LaneMask active) override;
  void end(const Warp &warp, const Instruction &inst, Outcome outcome) override;
  void initializes(const Warp &warp, const void *object) override;
  void signals(const Warp &warp, const void *object, uint64_t phase) override;
  void passes(const Warp &warp, const void *object, uint64_t phases) override;
  void misses(const Warp &warp) override;
  void multiplies(const Warp &warp, const ProductShape &shape) override;
  void copies(const Warp &warp, CopyDirection direction,
              uint32_t bytes) override;
  void reads(uint64_t address, uint64_t bytes) override;

private:
  /// A wait that failed: its step, and the facts before it.
  struct Missed {
    const Instruction *inst = nullptr;
    size_t step = 0, facts = 0;
  };
  /// The wgmma groups of a warp that have products: how many before the open
  /// one, whether the open one does, and how many up to each committed one.
  struct Wgmmas {
    uint64_t groups = 0;
    bool isOpen = false;
    std::vector<uint64_t> committed;
  };
  struct Object {
    std::unordered_map<uint64_t, uint32_t> phases;
  };
  using ObjectKey = std::pair<uint64_t, const void *>;

  size_t indexOf(const Warp &warp);
  uint32_t codeOf(const Warp &warp, const Instruction &inst);
  bool isFree(const Warp &warp, const Instruction &inst);
  uint32_t phaseOf(const Warp &warp, const void *object, uint64_t phase);
  void add(const Warp &warp, Fact fact);
  void notePlace(const Warp &warp, const Instruction &inst, LaneMask active,
                 Step &step);
  void noteWgmma(const Warp &warp, const Code &code);
  bool touch(uint64_t address, uint64_t bytes, uint64_t &counter,
             bool isRecorded);

  ClustersOfSm clusters;
  size_t mostSteps;
  bool isL2Warm;
  Recording result;
  std::unordered_map<const Warp *, size_t> indices;
  std::vector<Missed> missed;
  std::vector<Wgmmas> wgmmas;
  std::unordered_map<const Instruction *, uint32_t> codes;
  std::map<ObjectKey, Object> objects;
  /// Rows that a shift by 32 writes.
  std::set<std::pair<const void *, uint32_t>> highHalves;
  /// Lines of global memory that the launch and the recorded clusters have
  /// read.
  std::unordered_set<uint64_t> lines, recordedLines;
  /// Number of instructions so far.
  size_t count = 0;
  /// The instruction that is executed.
  const Instruction *current = nullptr;
  /// The fact of the copy whose reads follow, or null, with the rows and bytes
  /// that it has read.
  Fact *copying = nullptr;
  uint32_t copiedRows = 0, rowBytes = 0;
};

} // namespace ptxsim::timing

#endif // FMHA_PTX_TIME_RECORDER_H
