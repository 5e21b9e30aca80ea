//===- Run.h - One simulated launch and what it left ------------*- C++ -*-===//
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

/// What a run left behind. `outputs` has one byte string per argument that is
/// an output, in order.
struct Outcome {
  LaunchResult result;
  double seconds = 0;
  std::vector<std::vector<uint8_t>> outputs;
};

/// Fills a fresh device, launches, and reads the outputs back. Throws BadInput
/// and Error.
Outcome run(const Module &module, LaunchConfig config,
            const Arguments &arguments, const Options &options);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_RUN_H
