//===- Run.h - One simulated launch and its outputs -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_RUN_H
#define FMHA_TOOLS_PTXSIM_RUN_H

#include "Arguments.h"

#include "fmha/PTX/Time/Estimate.h"

namespace ptxsim::tool {

/// The results of a run. `outputs` has one byte string per output argument, in
/// order.
struct Outcome {
  LaunchResult result;
  double seconds = 0;
  std::vector<std::vector<uint8_t>> outputs;
  /// The modeled time, if it was asked for and the launch ended.
  std::optional<timing::Estimate> time;
  /// Its trace, in Perfetto's format.
  std::string timeline;
};

/// Fills a fresh device, launches, and reads back the outputs. With `timed`,
/// models the time as well, and with `drawn` also makes a trace.
/// Throws BadInput and Error.
Outcome run(const Module &module, LaunchConfig config,
            const Arguments &arguments, const Options &options,
            std::optional<timing::TimeOptions> timed, bool drawn);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_RUN_H
