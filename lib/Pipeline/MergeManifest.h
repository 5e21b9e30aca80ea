//===- MergeManifest.h - How the kernel that combines is launched -*- C++ -*-=//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PIPELINE_MERGEMANIFEST_H
#define FMHA_LIB_PIPELINE_MERGEMANIFEST_H

#include "fmha/Dialect/Tile/Transforms/MergeAbi.h"

#include "llvm/Support/JSON.h"

namespace fmha {

/// kernel, grid, block and parameters of a kernel that combines parts: all of
/// its manifest that says how it is launched.
llvm::json::Object mergeLaunch(const MergeProblem &problem,
                               const std::string &kernel);

} // namespace fmha

#endif // FMHA_LIB_PIPELINE_MERGEMANIFEST_H
