//===- Sarif.h - Findings for code review tools -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXSIM_SARIF_H
#define FMHA_TOOLS_PTXSIM_SARIF_H

#include "Output.h"

namespace ptxsim::tool {

/// Returns the findings of all runs as a log of the Static Analysis Results
/// Interchange Format, version 2.1.0 (OASIS): one run whose rules are the ids
/// of Findings.def, each result at its PTX region, with the .loc position as a
/// related location.
std::string sarifLog(const Summary &summary);

/// The reason why nothing ran. `kernel` and `ptxLine` give the place, or are
/// empty and 0.
struct Failure {
  std::string message, kernel;
  unsigned ptxLine = 0;
};

/// Returns the log if nothing ran: no result, an execution that was not
/// successful, and the reason as a notification of the tool.
std::string sarifFailure(const Failure &failure, const std::string &command);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_SARIF_H
