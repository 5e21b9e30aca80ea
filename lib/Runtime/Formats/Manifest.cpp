//===- Manifest.cpp - Launch manifests with LLVM's errors -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Manifest.h"
#include "fmha/Runtime/Files.h"

#include <algorithm>

namespace fmha::runtime {

/// Returns the result of a reader, or its sentence as an error.
template <typename Found>
static llvm::Expected<Found> expected(std::optional<Found> found,
                                      const std::string &problem) {
  if (!found)
    return failure(problem);
  return std::move(*found);
}

llvm::Expected<Manifest> parseManifest(llvm::StringRef text) {
  std::string problem;
  return expected(launch::parseManifest(text, problem), problem);
}

llvm::Expected<MergeManifest> parseMergeManifest(llvm::StringRef text) {
  std::string problem;
  return expected(launch::parseMergeManifest(text, problem), problem);
}

llvm::Expected<AppendManifest> parseAppendManifest(llvm::StringRef text) {
  std::string problem;
  return expected(launch::parseAppendManifest(text, problem), problem);
}

llvm::Expected<launch::Grid> evaluateTiles(const KernelLaunch &launch,
                                           const RunValues &values) {
  launch::Grid grid;
  std::string problem;
  if (!launch::evaluateTiles(launch, values, grid, problem))
    return failure(problem);
  return grid;
}

llvm::Expected<launch::Grid> evaluateGrid(const Manifest &manifest,
                                          const RunValues &values) {
  auto grid = evaluateTiles(manifest, values);
  if (grid && manifest.maxCtas)
    (*grid)[0] = launch::boundCtas(manifest, (*grid)[0], manifest.maxCtas);
  return grid;
}

} // namespace fmha::runtime
