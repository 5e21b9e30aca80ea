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

/// The findings of the run, and of the first schedule that differs, as a log of
/// the Static Analysis Results Interchange Format, version 2.1.0 (OASIS): one
/// run whose rules are the ids of Findings.def, each result at its PTX region,
/// with the .loc position as a related location.
std::string sarifLog(const Summary &summary);

} // namespace ptxsim::tool

#endif // FMHA_TOOLS_PTXSIM_SARIF_H
