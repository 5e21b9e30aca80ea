//===- Query.h - Find the kernel for a problem ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_QUERY_H
#define FMHA_PIPELINE_QUERY_H

#include "fmha/Pipeline/Compiler.h"

namespace fmha {

/// The result of queryKernel().
struct KernelQuery {
  /// Whether the module could be read; if not, `diagnostics` has the reasons
  /// and the rest is empty.
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  schedule::Problem problem;
  /// "tcgen05", "wgmma", or "none" if no kernel serves the problem.
  std::string family;
  /// Why the planner chose this schedule, or why there is no kernel.
  std::string reason;
  std::optional<schedule::Plan> plan;
};

/// Returns why nothing can be compiled for `target`, with the targets that are
/// supported, or "" if it is one of them.
std::string whyUnsupported(const std::string &target);

/// Plans a kernel for the attention op of `moduleText` and compiles nothing.
KernelQuery queryKernel(const std::string &moduleText, const std::string &name,
                        const CompileOptions &options);

} // namespace fmha

#endif // FMHA_PIPELINE_QUERY_H
