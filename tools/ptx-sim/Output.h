//===- Output.h - The output of ptx-sim -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_OUTPUT_H
#define FMHA_TOOLS_PTXSIM_OUTPUT_H

#include "Compare.h"
#include "fmha/PTX/Host/Report.h"

namespace ptxsim::tool {

struct Summary {
  const CommandLine &line;
  const LaunchConfig &config;
  const Arguments &arguments;
  const Comparison &comparison;
  /// The PTX text.
  const std::string &text;
};

/// Returns {schema_version, status, entry, target..., findings, outputs,
/// schedules, checked}.
std::string jsonReport(const Summary &summary);
/// Returns the same object if nothing ran: status "error".
std::string jsonError(const std::string &message, unsigned ptxLine);
std::string textReport(const Summary &summary, Color color);
std::string listEntries(const Module &module, bool json);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_OUTPUT_H
