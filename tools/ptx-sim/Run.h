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

namespace ptxsim::tool {

/// The results of a run. `outputs` has one byte string per output argument, in
/// order.
struct Outcome {
  LaunchResult result;
  double seconds = 0;
  std::vector<std::vector<uint8_t>> outputs;
};

/// Fills a fresh device, launches, and reads back the outputs. Throws BadInput
/// and Error.
Outcome run(const Module &module, LaunchConfig config,
            const Arguments &arguments, const Options &options);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_RUN_H
