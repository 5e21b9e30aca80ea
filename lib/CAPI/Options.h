//===- Options.h - Options of the C API, from JSON --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CAPI_OPTIONS_H
#define FMHA_LIB_CAPI_OPTIONS_H

#include "fmha/Options/ProblemFlags.h"
#include "fmha/Pipeline/KernelCache.h"

namespace fmha::capi {

/// The JSON object of options, read.
struct Options {
  tools::ProblemFlags problem;
  std::string name = "<module>";
  /// MLIR text, for queries.
  std::string module;
  bool cubin = false, explain = false, cache = true, verifyKernels = true;
  /// Keys that describe the problem, which module text does itself.
  std::vector<std::string> problemKeys;
};

/// Reads `json` (null: no options). `isQuery` allows the key `module` in place
/// of those of a compilation. Errors name the key.
llvm::Expected<Options> parseOptions(const char *json, bool isQuery);

/// The request that `options` make of the module `text`, or of the problem that
/// they describe where it is null.
llvm::Expected<KernelRequest> requestOf(Options &options, const char *text);

} // namespace fmha::capi

#endif // FMHA_LIB_CAPI_OPTIONS_H
