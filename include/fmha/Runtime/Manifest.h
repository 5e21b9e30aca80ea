//===- Manifest.h - Launch manifests with LLVM's errors ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch manifest of Launch/Manifest.h in this library's namespace, with
// llvm::Error.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_MANIFEST_H
#define FMHA_RUNTIME_MANIFEST_H

#include "fmha/Runtime/Element.h"
#include "fmha/Runtime/Launch/Grid.h"
#include "fmha/Runtime/Launch/Manifest.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace fmha::runtime {

using launch::AppendManifest;
using launch::CaptureElement;
using launch::CaptureType;
using launch::GridFactor;
using launch::KernelLaunch;
using launch::Manifest;
using launch::ManifestRole;
using launch::MapDim;
using launch::maxLength;
using launch::maxWindowedLength;
using launch::MergeManifest;
using launch::Parameter;
using launch::RunValue;
using launch::runValueCount;
using launch::RunValues;
using launch::Swizzle;
using launch::TensorName;

/// Returns the name of the value in a manifest.
inline llvm::StringRef stringify(RunValue value) {
  return launch::nameOf(value);
}
inline llvm::StringRef stringify(TensorName name) {
  return launch::nameOf(name);
}
inline llvm::StringRef stringify(MapDim dim) { return launch::nameOf(dim); }

/// Parses the JSON `text`. Fails if a field is unknown, missing or has the
/// wrong type; the message has the JSON path, what was expected and what was
/// found.
llvm::Expected<Manifest> parseManifest(llvm::StringRef text);
llvm::Expected<MergeManifest> parseMergeManifest(llvm::StringRef text);
llvm::Expected<AppendManifest> parseAppendManifest(llvm::StringRef text);

/// Returns the grid of output tiles for `values`, as launch::evaluateTiles()
/// does.
llvm::Expected<launch::Grid> evaluateTiles(const KernelLaunch &launch,
                                           const RunValues &values);

/// Returns the grid of the launch: that of evaluateTiles(), with at most
/// `maxCtas` CTAs in x.
llvm::Expected<launch::Grid> evaluateGrid(const Manifest &manifest,
                                          const RunValues &values);

} // namespace fmha::runtime

#endif // FMHA_RUNTIME_MANIFEST_H
