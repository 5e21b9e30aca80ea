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

/// Options read from a JSON object.
struct Options {
  tools::ProblemFlags problem;
  std::string name = "<module>";
  /// MLIR text, for queries.
  std::string module;
  bool cubin = false, explain = false, cache = true, verifyKernels = true;
  bool verifyRegisters = false;
  /// Keys that describe the problem, as module text does.
  std::vector<std::string> problemKeys;
};

/// Reads `json` (null: no options). `isQuery` allows the key `module` in place
/// of those of a compilation. Errors name the key.
llvm::Expected<Options> parseOptions(const char *json, bool isQuery);

/// Returns the request to compile the module `text`, or the problem that
/// `options` describe if it is null.
llvm::Expected<KernelRequest> requestOf(Options &options, const char *text);

} // namespace fmha::capi

#endif // FMHA_LIB_CAPI_OPTIONS_H
