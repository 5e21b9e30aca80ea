//===- MergeManifest.h - The launch of the merge kernel ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_MERGEMANIFEST_H
#define FMHA_LIB_PIPELINE_MERGEMANIFEST_H

#include "fmha/Kernel/MergeAbi.h"

#include "llvm/Support/JSON.h"

namespace fmha {

/// Returns whether launches on the target may be programmatic.
bool hasGridDependencies(const std::string &target);

/// Returns the parameters of a kernel of plain threads.
llvm::json::Array parametersOf(const std::vector<KernelParameter> &parameters);

/// Returns kernel, grid, block and parameters of a merge kernel: the part of
/// its manifest that describes the launch.
llvm::json::Object mergeLaunch(const MergeProblem &problem,
                               const std::string &target,
                               const std::string &kernel);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_MERGEMANIFEST_H
