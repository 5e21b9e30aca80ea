//===- FamilyCost.h - The clocks of a kernel family -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_COST_FAMILYCOST_H
#define FMHA_LIB_SCHEDULE_COST_FAMILYCOST_H

#include "Families/Family.h"

#include "fmha/Schedule/Cost/Estimate.h"
#include "fmha/Target/Target.h"

namespace fmha::schedule {

/// A launch of CTAs that compute `heads` times the blocks of one head.
struct LaunchWork {
  const KernelModel &kernel;
  const Cost &block;
  const Workload &workload;
  const Blocks &blocks;
  double heads;
  const target::Target &gpu;
  double waves;
};

/// What the cost model asks of a kernel family.
struct FamilyCost {
  /// S buffers of each tile.
  unsigned scoreStages;
  /// The clocks are fitted to launches, so small differences count as well.
  bool measured;
  /// Conversions of K and V are modeled. If not, the choices were measured with
  /// a model in which products have the type of the cache.
  bool modelsConversions;
  /// What a report says of emulated exponentials.
  std::string_view emulation;
  /// Returns the cost of a block. Null for tiles: it then follows from the two
  /// functions below.
  Cost (*block)(const KernelModel &kernel, const target::Target &gpu);
  /// Returns the clocks in which the rings load a block. `cost` has traffic,
  /// products and the chain.
  double (*loads)(const KernelModel &kernel, const target::Target &gpu,
                  const Cost &cost);
  /// Sets the clocks of a block from those of its units and of the critical
  /// path; `unitClocks` are the most clocks of units, turns and loads.
  void (*setClocks)(const KernelModel &kernel, const target::Target &gpu,
                    double unitClocks, Cost &cost);
  /// Returns the clocks of a launch.
  double (*launch)(const LaunchWork &work);
};

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_COST_FAMILYCOST_H
